package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apppath "github.com/argoproj/argo-cd/v3/util/app/path"
	"sigs.k8s.io/yaml"
)

// What docs/argocd.md says about ApplicationSets is measured here: `go test -run '^$' -bench . -benchtime 2000x`.

const clusterApplication = repository + "/generated/management/lab/argocd/clusters/lab/lab-1/cluster.yaml"

// BenchmarkSet is what the controller of ApplicationSets does for one Application each time it looks at a set with a git files generator:
// it reads the file of parameters and renders the template. Reading the repository and comparing with what is there come on top.
func BenchmarkSet(b *testing.B) {
	text, err := os.ReadFile(clusterApplication)
	if err != nil {
		b.Fatal(err)
	}
	text, err = yaml.YAMLToJSON(text)
	if err != nil {
		b.Fatal(err)
	}
	app := argo.Application{}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "lab-1", "{{ .cluster }}")), &app); err != nil {
		b.Fatal(err)
	}
	if !strings.Contains(app.Name, "{{ .cluster }}") {
		b.Fatal(app.Name)
	}
	render := utils.Render{}
	number, before := 0, cpu(b)
	for b.Loop() {
		number++
		file := fmt.Sprintf("cluster: cluster-%d\nnamespace: team-a\nmanagementCluster: lab\nlabels: {env: dev}\n", number)
		params := map[string]any{}
		if err := yaml.Unmarshal([]byte(file), &params); err != nil {
			b.Fatal(err)
		}
		made, err := render.RenderTemplateParams(&app, nil, params, true, []string{"missingkey=error"})
		if err != nil || made.Spec.Source.Path == app.Spec.Source.Path {
			b.Fatal(made, err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(number), "cpu-ns/op")
}

// cpu is the time that this process has computed: other processes do not count.
func cpu(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// BenchmarkCommit is what a commit costs for one Application with `manifest-generate-paths` that the commit does not concern.
func BenchmarkCommit(b *testing.B) {
	text, err := os.ReadFile(clusterApplication)
	if err != nil {
		b.Fatal(err)
	}
	app := argo.Application{}
	if err := yaml.Unmarshal(text, &app); err != nil {
		b.Fatal(err)
	}
	changed := []string{"clusters/team-a/other.yaml", "generated/management/lab/clusters/team-a/other/cluster/cluster.yaml"}
	number, before := 0, cpu(b)
	for b.Loop() {
		number++
		if apppath.AppFilesHaveChanged(apppath.GetSourceRefreshPaths(&app, app.Spec.GetSource()), changed) {
			b.Fatal("the commit concerns another cluster")
		}
	}
	size, err := json.Marshal(app)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(number), "cpu-ns/op")
	b.ReportMetric(float64(len(size)), "bytes")
}

// A commit concerns the Applications of its cluster, and those that belong to no single cluster.
func TestACommitConcernsItsClusterAlone(t *testing.T) {
	f := own(t)
	concerned := 0
	for _, app := range f.applications {
		source := app.Spec.GetSource()
		if source.Helm != nil {
			continue
		}
		paths := apppath.GetSourceRefreshPaths(app, source)
		if len(paths) == 0 {
			shared := []string{"lab.fleet", "lab.clusters.", "lab.namespace.", "lab.flux-sources"}
			if !slices.ContainsFunc(shared, func(name string) bool { return strings.HasPrefix(app.Name, name) }) {
				t.Errorf("%s is rendered at each commit", app.Name)
			}
			continue
		}
		if apppath.AppFilesHaveChanged(paths, []string{"generated/management/lab/clusters/lab/lab-1/cluster/cluster.yaml"}) {
			if app.Name == "lab.cluster.lab.lab-1" {
				concerned++
			} else if !strings.HasPrefix(app.Name, "lab.cluster.lab.lab-1.") {
				t.Errorf("%s is concerned", app.Name)
			}
		}
	}
	if concerned != 1 {
		t.Errorf("%d Applications are concerned", concerned)
	}
}
