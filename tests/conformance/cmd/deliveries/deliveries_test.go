// Package deliveries renders the charts of a fleet with Helm's library, once for each delivery, from what its engine makes of its objects.
package deliveries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

type object map[string]any

func (o object) at(path ...string) any {
	var node any = map[string]any(o)
	for _, key := range path {
		inner, _ := node.(map[string]any)
		node = inner[key]
	}
	return node
}

func (o object) text(path ...string) string {
	text, _ := o.at(path...).(string)
	return text
}

// release is what is installed: all that decides what a chart renders to.
type release struct {
	cluster, name, namespace, chart, version string
	// values is the file that Helm reads; with Flux, the JSON that it reads without Helm.
	values string
	isJSON bool
}

// isValues says whether a file holds the values of a chart: <cluster>/values/<addon>/<version>-<hash>.yaml.
func isValues(file string) bool {
	parts := strings.Split(filepath.ToSlash(file), "/")
	at := len(parts) - 6
	return at >= 0 && parts[at] == "clusters" && parts[at+3] == "values"
}

// objects reads a tree that the test suite of the program wrote: `cargo test --test suite deliveries`.
func objects(t *testing.T, folder string) (found []object) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(folder, "generated", "management"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" || isValues(file) {
			return err
		}
		found = append(found, read(t, file))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, file string) object {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	one := object{}
	if err := yaml.UnmarshalStrict(text, &one); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return one
}

// evaluate is what HelmChartProxies and Profiles are read with. A value must never get to see what it is given.
func evaluate(t *testing.T, text string) string {
	t.Helper()
	parsed, err := template.New("values").Option("missingkey=error").Funcs(sprig.TxtFuncMap()).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, map[string]any{"Cluster": map[string]any{"metadata": map[string]any{"name": "changed"}}}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// encoded is a field with values as an engine hands it to Helm: as JSON.
func encoded(t *testing.T, values any) string {
	t.Helper()
	if values == nil {
		values = map[string]any{}
	}
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// of reads the release that an object installs; none for other objects.
func of(t *testing.T, folder string, one object, all []object) *release {
	switch one.text("kind") + " " + strings.Split(one.text("apiVersion"), "/")[0] {
	case "HelmRelease helm.toolkit.fluxcd.io":
		chart, version := fluxChart(one, all)
		return &release{
			strings.TrimSuffix(one.text("spec", "kubeConfig", "secretRef", "name"), "-kubeconfig"), one.text("spec", "releaseName"),
			one.text("spec", "targetNamespace"), chart, version, encoded(t, one.at("spec", "values")), true,
		}
	case "Application argoproj.io":
		source := object{}
		if sources, _ := one.at("spec", "sources").([]any); len(sources) == 2 {
			source = sources[0].(map[string]any)
		} else if single, ok := one.at("spec", "source").(map[string]any); ok {
			source = single
		}
		if source.at("helm") == nil {
			return nil
		}
		var text []byte
		var err error
		if files, _ := source.at("helm", "valueFiles").([]any); len(files) == 1 {
			// Argo CD passes the file to Helm as it is.
			name, _ := files[0].(string)
			text, err = os.ReadFile(filepath.Join(folder, strings.TrimPrefix(name, "$values/")))
		} else {
			text, err = yaml.JSONToYAML([]byte(encoded(t, source.at("helm", "valuesObject"))))
		}
		if err != nil {
			t.Fatal(err)
		}
		labels, _ := one.at("metadata", "labels").(map[string]any)
		cluster, _ := labels["stackloom.dev/cluster"].(string)
		return &release{
			cluster, source.text("helm", "releaseName"), one.text("spec", "destination", "namespace"),
			source.text("chart"), source.text("targetRevision"), string(text), false,
		}
	case "HelmChartProxy addons.cluster.x-k8s.io":
		labels, _ := one.at("spec", "clusterSelector", "matchLabels").(map[string]any)
		cluster, _ := labels["cluster.x-k8s.io/cluster-name"].(string)
		return &release{
			cluster, one.text("spec", "releaseName"), one.text("spec", "namespace"), one.text("spec", "chartName"), one.text("spec", "version"),
			evaluate(t, one.text("spec", "valuesTemplate")), false,
		}
	case "Profile config.projectsveltos.io":
		charts, _ := one.at("spec", "helmCharts").([]any)
		if len(charts) == 0 {
			return nil
		}
		first := object(charts[0].(map[string]any))
		reference := object(one.at("spec", "clusterRefs").([]any)[0].(map[string]any))
		chart := first.text("chartName")
		return &release{
			reference.text("name"), first.text("releaseName"), first.text("releaseNamespace"), chart[strings.LastIndex(chart, "/")+1:],
			first.text("chartVersion"), sveltos(t, first.text("values")), false,
		}
	case "HelmRelease addons.stackhpc.com":
		var values any
		if sources, _ := one.at("spec", "valuesSources").([]any); len(sources) > 0 {
			values = azimuth(t, object(sources[0].(map[string]any)).text("template"))[0]
		}
		return &release{
			one.text("spec", "clusterName"), one.text("spec", "releaseName"), one.text("spec", "targetNamespace"),
			one.text("spec", "chart", "name"), one.text("spec", "chart", "version"), encoded(t, values), true,
		}
	}
	return nil
}

// sveltos evaluates the field as part of a YAML document, and then the field itself.
func sveltos(t *testing.T, text string) string {
	t.Helper()
	document, err := yaml.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	var field string
	if err := yaml.Unmarshal([]byte(evaluate(t, string(document))), &field); err != nil {
		t.Fatal(err)
	}
	return evaluate(t, field)
}

// fluxChart finds the chart and version in the object that a HelmRelease refers to.
func fluxChart(one object, all []object) (string, string) {
	kind, name := one.text("spec", "chartRef", "kind"), one.text("spec", "chartRef", "name")
	for _, other := range all {
		if other.text("kind") != kind || other.text("metadata", "name") != name {
			continue
		}
		if kind == "HelmChart" {
			return other.text("spec", "chart"), other.text("spec", "version")
		}
		url := other.text("spec", "url")
		return url[strings.LastIndex(url, "/")+1:], other.text("spec", "ref", "tag")
	}
	return one.text("spec", "chart", "spec", "chart"), one.text("spec", "chart", "spec", "version")
}

// probe is a chart that renders all that a chart can see of its release, with the types of all values.
const probe = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
data:
  chart: {{ .Chart.Name }} {{ .Chart.Version }}
  default: {{ .Values.default | quote }}
  removed: {{ hasKey .Values "removed" | quote }}
  json: {{ toJson .Values | quote }}
  yaml: |
{{ toYaml .Values | indent 4 }}
  types: |
{{ include "types" .Values | indent 4 }}
{{- define "types" }}
{{- if kindIs "map" . }}{{ range $key, $value := . }}
{{ $key | quote }} {{ include "types" $value }}{{ end }}
{{- else if kindIs "slice" . }}{{ range . }}
- {{ include "types" . }}{{ end }}
{{- else }}{{ printf "%T %v" . . | quote }}{{ end }}
{{- end }}
`

// rendered is what Helm makes of the probe for a release.
func rendered(t *testing.T, one release) string {
	t.Helper()
	values := chartutil.Values{}
	var err error
	if one.isJSON {
		err = json.Unmarshal([]byte(one.values), &values)
	} else {
		values, err = chartutil.ReadValues([]byte(one.values))
	}
	if err != nil {
		t.Fatalf("%s: %v", one.name, err)
	}
	defaults := map[string]any{"default": "kept", "removed": "by null", "nested": map[string]any{"removed": "by null", "default": 1}}
	is := &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: "v2", Name: one.chart, Version: strings.ReplaceAll(one.version, "_", "+")},
		Templates: []*chart.File{{Name: "templates/all.yaml", Data: []byte(probe)}},
		Values:    defaults,
	}
	options := chartutil.ReleaseOptions{Name: one.name, Namespace: one.namespace, Revision: 1, IsInstall: true}
	given, err := chartutil.ToRenderValues(is, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(is, given)
	if err != nil {
		t.Fatal(err)
	}
	return files[one.chart+"/templates/all.yaml"]
}

// nextLine is what YAML 1.1 folds into a space, with the spaces around it.
var nextLine = regexp.MustCompile(" *\u0085 *")

func releases(t *testing.T, folder string) (found map[string]release) {
	t.Helper()
	found = map[string]release{}
	all := objects(t, folder)
	for _, one := range all {
		if is := of(t, folder, one, all); is != nil {
			found[is.cluster+"/"+is.name] = *is
		}
	}
	return found
}

func trees(t *testing.T) string {
	t.Helper()
	const missing = "STACKLOOM_DELIVERIES is not set: `cargo test --test suite deliveries` writes target/deliveries"
	folder := os.Getenv("STACKLOOM_DELIVERIES")
	if folder == "" && os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	if folder == "" {
		t.Skip(missing)
	}
	return folder
}

// Every delivery renders, for this repository's fleet and for one with hostile values, what Flux renders.
func TestEveryDeliveryRendersTheSame(t *testing.T) {
	compared := map[string]int{}
	// In the smaller hostile fleet, the values fit an Application that holds them: check refuses the large ones there.
	for _, fleet := range []string{"hostile", "hostile-smaller", "own"} {
		due := releases(t, filepath.Join(trees(t), fleet, "flux-helm-release"))
		if len(due) < 2 {
			t.Fatalf("%s: only %d releases", fleet, len(due))
		}
		for _, delivery := range deliveries(t, fleet) {
			if delivery == hasJinja && !canJinja(t) {
				continue
			}
			compared[delivery]++
			found := releases(t, filepath.Join(trees(t), fleet, delivery))
			for name, one := range due {
				other, ok := found[name]
				if !ok {
					t.Errorf("%s: %s does not install %s, only %v", fleet, delivery, name, slices.Collect(maps.Keys(found)))
					continue
				}
				if delivery == holdsValues {
					// Argo CD reads JSON as YAML, in which U+0085 is a line break: docs/deliveries.md says so.
					one.values = nextLine.ReplaceAllString(one.values, " ")
				}
				if want, got := rendered(t, one), rendered(t, other); want != got {
					t.Errorf("%s: %s renders %s differently: %s", fleet, delivery, name, difference(want, got))
				}
			}
			if len(found) != len(due) {
				t.Errorf("%s: %s installs %d releases, Flux %d", fleet, delivery, len(found), len(due))
			}
		}
	}
	for delivery, count := range compared {
		if count < 2 {
			t.Errorf("%s was compared for %d fleets only", delivery, count)
		}
	}
	if len(compared) < 4 {
		t.Errorf("only %d deliveries were compared: %v", len(compared), compared)
	}
}

// holdsValues is the delivery whose Applications hold the values of charts.
const holdsValues = "argocd-application"

// deliveries are those with which the test suite wrote a fleet, but for Flux', which the others are compared with.
func deliveries(t *testing.T, fleet string) (found []string) {
	t.Helper()
	folders, err := os.ReadDir(filepath.Join(trees(t), fleet))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if name := folder.Name(); name != "flux-helm-release" {
			found = append(found, name)
		}
	}
	return found
}

// The values of the hostile fleet are what the name says: the test above compares something.
func TestHostileValuesAreHostile(t *testing.T) {
	for name, one := range releases(t, filepath.Join(trees(t), "hostile", "flux-helm-release")) {
		if !strings.HasSuffix(name, "/net") || len(one.values) < 10_000 {
			continue
		}
		if len(one.values) < 1<<20 {
			t.Errorf("%s: only %d bytes", name, len(one.values))
		}
		for _, text := range []string{"{{ .Cluster.metadata.name }}", "{% raw %}", "${HOME}", `\t`, "\U0001f600", `"1.30"`, `"0x1f"`} {
			if !strings.Contains(strings.ReplaceAll(one.values, `\u003c`, "<"), text) {
				t.Errorf("%s: no %s", name, text)
			}
		}
		raw, err := yaml.JSONToYAML([]byte(one.values))
		if err != nil {
			t.Fatal(err)
		}
		// Without protection, a template engine changes it or fails.
		if parsed, err := template.New("raw").Funcs(sprig.TxtFuncMap()).Parse(string(raw)); err == nil {
			var out bytes.Buffer
			if err := parsed.Execute(&out, map[string]any{}); err == nil && out.String() == string(raw) {
				t.Errorf("%s: nothing in it is a template", name)
			}
		}
		output := rendered(t, one)
		if !strings.Contains(output, "default: \"kept\"") || !strings.Contains(output, "removed: \"false\"") {
			t.Errorf("%s: null removes no default", name)
		}
		return
	}
	t.Fatal("no release has the values")
}

func difference(a, b string) string {
	for at := range min(len(a), len(b)) {
		if a[at] != b[at] {
			from := max(0, at-60)
			return fmt.Sprintf("%q instead of %q", b[from:min(len(b), at+60)], a[from:min(len(a), at+60)])
		}
	}
	return fmt.Sprintf("%d bytes instead of %d", len(b), len(a))
}
