// Package deliveries reads what addon deliveries write as their controllers do: schemas with the API server's own code, values
// with Go's own templates, sprig and YAML.
package deliveries

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
	"sigs.k8s.io/yaml"

	"stackloom.dev/conformance/internal/needed"
	"stackloom.dev/conformance/internal/schemas"
	"stackloom.dev/conformance/internal/tree"
)

const (
	cases   = "../../../cases-good"
	cluster = "out/generated/management/mgmt/clusters/blue/one/addons/"
)

// objects are those of a case that install addons.
func objects(t *testing.T, name string) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	root := filepath.Join(cases, name, "out")
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(filepath.ToSlash(file), "/addons/") || !strings.Contains(filepath.ToSlash(file), "/clusters/") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		object, err := tree.Decode(text)
		if err != nil {
			return err
		}
		found[file] = object
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("%s has no addons", name)
	}
	return found
}

func TestObjectsFitTheirSchemas(t *testing.T) {
	catalog, err := schemas.Load(needed.Folder(t, "STACKLOOM_CRDS"))
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(cases, "delivery-*"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, folder := range folders {
		for file, object := range objects(t, filepath.Base(folder)) {
			if !catalog.Known(object.GroupVersionKind()) {
				continue
			}
			kinds[object.GetKind()]++
			for _, fault := range catalog.Validate(context.Background(), object) {
				t.Errorf("%s: %v", file, fault)
			}
		}
	}
	for _, kind := range []string{"ClusterResourceSet", "HelmChartProxy", "Profile", "HelmRelease", "Application"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s was validated: %v", kind, kinds)
		}
	}
}

// known is what the controllers give to templates, as far as the hostile values name it.
var known = map[string]any{"Cluster": map[string]any{"metadata": map[string]any{"name": "changed"}}}

func evaluate(t *testing.T, text string) string {
	t.Helper()
	// The addon provider for Helm and Sveltos take the same functions.
	parsed, err := template.New("values").Option("missingkey=error").Funcs(sprig.TxtFuncMap()).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, known); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func read(t *testing.T, text string) any {
	t.Helper()
	var values any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return values
}

// sveltos evaluates the text of a field as part of a YAML document, and then the field itself, as its controller does when it
// installs a chart.
func sveltos(t *testing.T, text string) any {
	t.Helper()
	document, err := yaml.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	var field string
	if err := yaml.Unmarshal([]byte(evaluate(t, string(document))), &field); err != nil {
		t.Fatal(err)
	}
	return read(t, evaluate(t, field))
}

func TestValuesArriveAsTheyAreMeant(t *testing.T) {
	object := func(name string) *unstructured.Unstructured {
		found := objects(t, name)
		for file, object := range found {
			if strings.HasSuffix(filepath.ToSlash(file), cluster+"net.yaml") {
				return object
			}
		}
		t.Fatalf("%s has no addon net", name)
		return nil
	}
	meant, ok, err := unstructured.NestedMap(object("delivery-flux-helm-release").Object, "spec", "values")
	if err != nil || !ok || !strings.Contains(meant["script"].(string), "{{ .Cluster.metadata.name }}") {
		t.Fatalf("the values of Flux: %v, %v", meant, err)
	}
	var want any
	text, err := yaml.Marshal(meant)
	if err != nil {
		t.Fatal(err)
	}
	want = read(t, string(text))

	proxy, _, _ := unstructured.NestedString(object("delivery-helm-chart-proxy").Object, "spec", "valuesTemplate")
	charts, _, _ := unstructured.NestedSlice(object("delivery-sveltos-profile").Object, "spec", "helmCharts")
	profile := charts[0].(map[string]any)["values"].(string)
	for name, found := range map[string]any{
		"HelmChartProxy":                read(t, evaluate(t, proxy)),
		"Profile":                       sveltos(t, profile),
		"Profile, looking for changes":  read(t, evaluate(t, profile)),
		"Profile, not evaluated at all": read(t, profile),
	} {
		if !reflect.DeepEqual(found, want) {
			t.Errorf("%s:\n%v\ninstead of\n%v", name, found, want)
		}
	}
	// The test can fail: written as it is, the text would become something else.
	if reflect.DeepEqual(read(t, evaluate(t, string(text))), want) {
		t.Error("the values are no template, so nothing was shown")
	}
}

// Cluster API reads each entry of a ConfigMap with this function, and applies what comes out.
func TestManifestsArriveAsTheyAreMeant(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(cases, "plain/out/generated/management/mgmt/clusters/blue/one/manifests/notes/configmap-notes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	meant, err := tree.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"delivery-helm-chart-proxy", "delivery-cluster-resource-set", "delivery-sveltos-profile"} {
		count := 0
		for file, object := range objects(t, name) {
			if !strings.HasSuffix(filepath.ToSlash(file), cluster+"notes.manifests-data.yaml") {
				continue
			}
			data, _, _ := unstructured.NestedStringMap(object.Object, "data")
			for key, text := range data {
				count++
				found, err := utilyaml.ToUnstructured([]byte(text))
				if err != nil || len(found) != 1 || !reflect.DeepEqual(found[0].Object, meant.Object) {
					t.Errorf("%s, %s: %v, %v", name, key, found, err)
				}
			}
		}
		if count != 1 {
			t.Errorf("%s has %d manifests", name, count)
		}
	}
}
