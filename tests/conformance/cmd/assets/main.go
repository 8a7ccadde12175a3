// Assets reads the assets of a release as the cluster stack operator does: it finds the charts by its rules for names,
// renders the class with helm, evaluates the overwrite.yaml of each stage for a Cluster, and renders each stage with it.
// What comes out of the class must be the objects of the release, as they stand in its folder.
//
//	assets -assets cluster-stacks/docker-scs-1-35-v1 -class generated/releases/docker-scs-1-35-v1/cluster-class
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func main() {
	assets := flag.String("assets", "", "the `folder` of one release's assets")
	class := flag.String("class", "", "the `folder` cluster-class of the release")
	flag.Parse()
	if *assets == "" || *class == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: assets -assets FOLDER -class FOLDER")
		os.Exit(2)
	}
	if err := run(*assets, *class); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type metadata struct {
	Versions struct {
		ClusterStack string `yaml:"clusterStack"`
		Kubernetes   string `yaml:"kubernetes"`
		Components   struct {
			ClusterAddon string `yaml:"clusterAddon"`
		} `yaml:"components"`
	} `yaml:"versions"`
}

type stages struct {
	AddonStages map[string][]struct {
		Name   string `yaml:"name"`
		Action string `yaml:"action"`
	} `yaml:"addonStages"`
}

func run(assets, class string) error {
	var data metadata
	if err := read(filepath.Join(assets, "metadata.yaml"), &data); err != nil {
		return err
	}
	parts := strings.SplitN(filepath.Base(assets), "-", 5)
	if len(parts) != 5 {
		return fmt.Errorf("%s is not a name of a release", assets)
	}
	prefix := strings.Join(parts[:4], "-")
	classChart, err := os.ReadFile(filepath.Join(assets, prefix+"-cluster-class-"+data.Versions.ClusterStack+".tgz"))
	if err != nil {
		return err
	}
	if err := sameClass(classChart, prefix, class); err != nil {
		return err
	}
	addons, err := unpack(filepath.Join(assets, prefix+"-cluster-addon-"+data.Versions.Components.ClusterAddon+".tgz"))
	if err != nil {
		return err
	}
	var config stages
	if err := read(filepath.Join(assets, "clusteraddon.yaml"), &config); err != nil {
		return err
	}
	count := 0
	for _, stage := range config.AddonStages["AfterControlPlaneInitialized"] {
		if stage.Action != "apply" {
			return fmt.Errorf("stage %s: %s", stage.Name, stage.Action)
		}
		objects, err := renderStage(addons, stage.Name)
		if err != nil {
			return fmt.Errorf("stage %s: %w", stage.Name, err)
		}
		count += len(objects)
	}
	fmt.Printf("the class is that of the release; %d stages, %d objects\n", len(config.AddonStages["AfterControlPlaneInitialized"]), count)
	return nil
}

func sameClass(archive []byte, name, folder string) error {
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	found, err := render(loaded, name, nil)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	var due []any
	for _, file := range files {
		var object any
		if err := read(file, &object); err != nil {
			return err
		}
		due = append(due, object)
	}
	if len(due) == 0 || len(due) != len(found) {
		return fmt.Errorf("the chart of the class gives %d objects, the release has %d", len(found), len(due))
	}
	for at := range due {
		if !reflect.DeepEqual(due[at], found[at]) {
			return fmt.Errorf("%s is another one in the chart of the class", files[at])
		}
	}
	return nil
}

func renderStage(addons map[string][]byte, name string) ([]any, error) {
	var files []*loader.BufferedFile
	var values map[string]any
	for path, data := range addons {
		inside, ok := strings.CutPrefix(path, name+"/")
		if !ok {
			continue
		}
		if inside == "overwrite.yaml" {
			var err error
			if values, err = overwrite(data); err != nil {
				return nil, err
			}
			continue
		}
		files = append(files, &loader.BufferedFile{Name: inside, Data: data})
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	return render(loaded, "cluster-addon", values)
}

// overwrite evaluates an overwrite.yaml for a Cluster whose name looks like a number.
func overwrite(data []byte) (map[string]any, error) {
	parsed, err := template.New("overwrite.yaml").Funcs(sprig.TxtFuncMap()).Parse(string(data))
	if err != nil {
		return nil, err
	}
	cluster := map[string]any{"metadata": map[string]any{"name": "12345", "namespace": "team-a"}}
	var text bytes.Buffer
	if err := parsed.Execute(&text, map[string]any{"Cluster": cluster}); err != nil {
		return nil, err
	}
	var whole struct {
		Values string `yaml:"values"`
	}
	if err := yaml.Unmarshal(text.Bytes(), &whole); err != nil {
		return nil, err
	}
	values := map[string]any{}
	return values, yaml.Unmarshal([]byte(whole.Values), &values)
}

// render gives the objects of a chart, in order of its files.
func render(loaded *chart.Chart, name string, values map[string]any) ([]any, error) {
	options := chartutil.ReleaseOptions{Name: name, Namespace: "kube-system", IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range texts {
		names = append(names, name)
	}
	sort.Strings(names)
	var objects []any
	for _, name := range names {
		decoder := yaml.NewDecoder(strings.NewReader(texts[name]))
		for {
			var object any
			if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if object != nil {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

func unpack(path string) (map[string][]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	reader := tar.NewReader(unzipped)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			return nil, fmt.Errorf("%s in %s is no plain file", header.Name, path)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			return nil, err
		}
	}
}

func read(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(data, into)
}
