// Schemas derives what the program knows of the schemas of kinds from Go modules, and compares it with the file in the
// repository, or writes that. Those of Cluster API's kinds come from its CustomResourceDefinitions, those of Kubernetes' own
// kinds from client-go.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"stackloom.dev/conformance/internal/module"
)

// kinds are those that the library judges when they are written.
var kinds = []string{"Cluster", "ClusterClass", "KubeadmConfig", "KubeadmConfigTemplate", "KubeadmControlPlane",
	"KubeadmControlPlaneTemplate", "MachineDeployment", "MachineHealthCheck", "MachinePool"}

// old are those that people still write in v1beta1.
var old = kinds[:6]

type kind struct {
	Group   string         `json:"group"`
	Schema  map[string]any `json:"schema"`
	Version string         `json:"version"`
}

func main() {
	flags := flag.NewFlagSet("schemas", flag.ContinueOnError)
	file := flags.String("file", "", "the `file` in the repository")
	version := flags.String("version", "v1beta2", "the `version` of the kinds")
	objects := flags.Bool("objects", false, "derive the kinds that users write beside a cluster")
	write := flags.Bool("write", false, "write the file instead of comparing it")
	if err := flags.Parse(os.Args[1:]); err != nil || *file == "" || flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: schemas -file FILE [-version VERSION | -objects] [-write]")
		os.Exit(2)
	}
	derive, options := func() ([]byte, error) { return derive(*version) }, "-version "+*version
	if *objects {
		derive, options = deriveObjects, "-objects"
	}
	if err := run(*file, options, derive, *write); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(file, options string, derive func() ([]byte, error), write bool) error {
	derived, err := derive()
	if err != nil {
		return err
	}
	if write {
		return os.WriteFile(file, derived, 0o644)
	}
	there, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(there, derived) {
		return fmt.Errorf("%s is not what the modules have: run `go run ./cmd/schemas %s -file %s -write` and look at the difference", file, options, file)
	}
	fmt.Printf("%s: as in the modules\n", filepath.Base(file))
	return nil
}

// derive gives the file: an object with a line for each kind, its keys in order.
func derive(version string) ([]byte, error) {
	found, err := definitions(version)
	if err != nil {
		return nil, err
	}
	lines := []string{}
	wanted := kinds
	if version == "v1beta1" {
		wanted = old
	}
	for _, name := range wanted {
		k, ok := found[name]
		if !ok {
			return nil, fmt.Errorf("%s has no %s in %s", module.Name, name, version)
		}
		line, err := line(name, k)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return file(lines), nil
}

// file is the text of the file with these lines.
func file(lines []string) []byte {
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}\n")
}

// line is an entry of the file.
func line(name string, value any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return fmt.Sprintf("%q: %s", name, strings.TrimSpace(text.String())), nil
}

// definitions gives the kinds of Cluster API in a version, by name.
func definitions(version string) (map[string]kind, error) {
	folders, err := module.Definitions()
	if err != nil {
		return nil, err
	}
	found := map[string]kind{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("%s holds no CustomResourceDefinition", folder)
		}
		for _, name := range files {
			if err := read(name, version, found); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return found, nil
}

func read(name, version string, found map[string]kind) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	for _, v := range crd.Spec.Versions {
		if v.Name != version {
			continue
		}
		schema := bare(v.Schema.OpenAPIV3Schema)
		// Neither is written by who writes the object.
		properties := schema["properties"].(map[string]any)
		delete(properties, "status")
		delete(properties, "metadata")
		found[crd.Spec.Names.Kind] = kind{crd.Spec.Group, schema, version}
	}
	return nil
}

// bare is a schema without the descriptions of it and of what is inside.
func bare(schema map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range schema {
		switch inner := value.(type) {
		case map[string]any:
			if key == "properties" {
				properties := map[string]any{}
				for name, property := range inner {
					properties[name] = bare(property.(map[string]any))
				}
				out[key] = properties
			} else if key != "default" {
				out[key] = bare(inner)
			} else {
				out[key] = inner
			}
		case []any:
			out[key] = list(inner)
		default:
			if key != "description" {
				out[key] = value
			}
		}
	}
	return out
}

func list(items []any) []any {
	out := []any{}
	for _, item := range items {
		if inner, ok := item.(map[string]any); ok {
			out = append(out, bare(inner))
		} else {
			out = append(out, item)
		}
	}
	return out
}
