package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apppath "github.com/argoproj/argo-cd/v3/util/app/path"
	pathutil "github.com/argoproj/argo-cd/v3/util/io/path"
)

// fleetsWithFiles are those that the test suite of the program writes with values in files of the repository.
func fleetsWithFiles(t *testing.T) []*fleet {
	t.Helper()
	const missing = "STACKLOOM_DELIVERIES is not set: `cargo test --test suite deliveries` writes target/deliveries"
	folder := os.Getenv("STACKLOOM_DELIVERIES")
	if folder == "" && os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	if folder == "" {
		t.Skip(missing)
	}
	var fleets []*fleet
	for _, name := range []string{"hostile", "own"} {
		f, err := loadFleet(filepath.Join(folder, name, "argocd-multi-source-application"), "mgmt")
		if err != nil {
			t.Fatal(err)
		}
		fleets = append(fleets, f)
	}
	return fleets
}

// Projects allow both sources of an Application, Argo CD finds the values file in the checkout of the repository, and it looks at the
// commits that change the file, and at no commit of another cluster.
func TestValuesFilesAreFound(t *testing.T) {
	for _, f := range fleetsWithFiles(t) {
		for _, fault := range f.faults() {
			t.Error(fault)
		}
		found := 0
		for _, app := range f.applications {
			if !app.Spec.HasMultipleSources() {
				continue
			}
			found++
			file := valuesFile(t, f.root, app)
			for _, source := range app.Spec.GetSources() {
				paths := apppath.GetSourceRefreshPaths(app, source)
				if len(paths) == 0 || !apppath.AppFilesHaveChanged(paths, []string{file}) {
					t.Errorf("%s does not see changes of %s: %v", app.Name, file, paths)
				}
				other := strings.Replace(file, "/"+app.Labels["stackloom.dev/cluster"]+"/", "/another/", 1)
				if other == file || apppath.AppFilesHaveChanged(paths, []string{other}) {
					t.Errorf("%s sees changes of %s: %v", app.Name, other, paths)
				}
			}
		}
		if found < 2 {
			t.Errorf("%s: only %d Applications with several sources", f.root, found)
		}
	}
}

// valuesFile is the path of the only values file of an Application in the repository, as the repo server finds it.
func valuesFile(t *testing.T, root string, app *argo.Application) string {
	t.Helper()
	chart, repository := app.Spec.Sources[0], app.Spec.Sources[1]
	if len(app.Spec.Sources) != 2 || chart.Helm == nil || len(chart.Helm.ValueFiles) != 1 || chart.Helm.IgnoreMissingValueFiles || !repository.IsRef() {
		t.Fatalf("%s: %+v", app.Name, app.Spec.Sources)
	}
	// As `getResolvedRefValueFile` does, with an environment of Argo CD.
	ref, rest, _ := strings.Cut(chart.Helm.ValueFiles[0], "/")
	if ref != "$"+repository.Ref {
		t.Fatalf("%s: %s", app.Name, ref)
	}
	env := argo.Env{&argo.EnvEntry{Name: "ARGOCD_APP_NAME", Value: app.Name}}
	if env.Envsubst(rest) != rest || strings.ContainsAny(rest, "*?[") {
		t.Errorf("%s: something in %s is replaced", app.Name, rest)
	}
	resolved, remote, err := pathutil.ResolveValueFilePathOrUrl(root, root, "/"+rest, nil)
	if err != nil || remote {
		t.Fatalf("%s: %v", rest, err)
	}
	if info, err := os.Stat(string(resolved)); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%s: %v", resolved, err)
	}
	return rest
}

// An Application whose project does not allow the repository of the values is refused, and so is one without the file.
func TestMissingPermissionsAreFound(t *testing.T) {
	f := fleetsWithFiles(t)[0]
	for _, project := range f.projects {
		project.Spec.SourceRepos = []string{"https://charts.example.org/"}
	}
	count := 0
	for _, fault := range f.faults() {
		if strings.Contains(fault.Error(), "forbids the source") {
			count++
		}
	}
	if count == 0 {
		t.Error("nothing was found")
	}
}
