package deliveries

import (
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hasJinja is the delivery whose controller evaluates templates with Python's Jinja.
const hasJinja = "azimuth-helm-release"

//go:embed azimuth.py
var program string

// canJinja says whether Python has the libraries of the addon provider. It must in CI.
func canJinja(t *testing.T) bool {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import jinja2, yaml").CombinedOutput()
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("python3 needs jinja2 and yaml (python3-jinja2, python3-yaml): %v\n%s", err, out)
	}
	return err == nil
}

// azimuth evaluates a template as the addon provider does, and reads the documents in it.
func azimuth(t *testing.T, text string) (documents []any) {
	t.Helper()
	run := exec.Command("python3", "-c", program)
	run.Stdin = strings.NewReader(text)
	var problems strings.Builder
	run.Stderr = &problems
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, problems.String())
	}
	if err := json.Unmarshal(out, &documents); err != nil {
		t.Fatal(err)
	}
	return documents
}

// The addon provider applies the manifests that Flux applies.
func TestAzimuthAppliesTheSameManifests(t *testing.T) {
	if !canJinja(t) {
		t.Skip("python3 lacks jinja2 or yaml")
	}
	for _, fleet := range []string{"hostile", "own"} {
		compared := 0
		for _, one := range objects(t, filepath.Join(trees(t), fleet, hasJinja)) {
			sources, _ := one.at("spec", "manifestSources").([]any)
			if one.text("kind") != "Manifests" || len(sources) != 1 {
				continue
			}
			compared++
			addon := strings.TrimPrefix(one.text("spec", "releaseName"), "stackloom-")
			pattern := filepath.Join(trees(t), fleet, "flux-helm-release", "generated", "management", "*", "clusters",
				one.text("metadata", "namespace"), one.text("spec", "clusterName"), "manifests", addon, "*.yaml")
			want, got := map[string]bool{}, map[string]bool{}
			files, err := filepath.Glob(pattern)
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: no files: %v", pattern, err)
			}
			for _, file := range files {
				want[encoded(t, withoutMarks(read(t, file)))] = true
			}
			for _, document := range azimuth(t, object(sources[0].(map[string]any)).text("template")) {
				got[encoded(t, document)] = true
			}
			if !maps.Equal(want, got) {
				t.Errorf("%s: the manifests %s differ: %v instead of %v", fleet, one.text("metadata", "name"),
					slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			}
		}
		if compared < 2 {
			t.Errorf("%s: only %d manifests were compared", fleet, compared)
		}
	}
}

// withoutMarks takes away what tells Flux, and no other controller, how to read an object.
func withoutMarks(one object) object {
	metadata, _ := one.at("metadata").(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	delete(annotations, "kustomize.toolkit.fluxcd.io/substitute")
	if annotations != nil && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return one
}
