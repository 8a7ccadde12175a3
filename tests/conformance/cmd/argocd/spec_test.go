package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	repository = "../../../.."
	scripts    = "../../internal/argohealth/testdata/"
)

// own is the management cluster of this repository's fleet whose engine is Argo CD.
func own(t *testing.T) *fleet {
	t.Helper()
	f, err := loadFleet(repository, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.applications) < 8 || len(f.projects) < 2 {
		t.Fatalf("only %d Applications, %d projects", len(f.applications), len(f.projects))
	}
	return f
}

func TestArgoCDAcceptsTheFleet(t *testing.T) {
	for _, fault := range own(t).faults() {
		t.Error(fault)
	}
}

func TestProjectsForbidEverythingElse(t *testing.T) {
	for what, spoil := range map[string]func(f *fleet){
		"kind": func(f *fleet) {
			for _, project := range f.projects {
				project.Spec.NamespaceResourceWhitelist = []metav1.GroupKind{}
			}
		},
		"destination": func(f *fleet) {
			for _, app := range f.applications {
				app.Spec.Destination.Namespace = "kube-public"
			}
		},
		"source": func(f *fleet) {
			for _, app := range f.applications {
				app.Spec.Source.RepoURL = "https://git.example.org/other.git"
			}
		},
		"sync option": func(f *fleet) {
			f.entry.Spec.SyncPolicy.SyncOptions = append(f.entry.Spec.SyncPolicy.SyncOptions, "ServerSideApplies=true")
		},
		"no project": func(f *fleet) { f.projects = map[string]*argo.AppProject{} },
	} {
		f := own(t)
		spoil(f)
		if len(f.faults()) == 0 {
			t.Errorf("%s: nothing was found", what)
		}
	}
}

// The scripts give the healths of the recorded and written states in Argo CD's own package, as they do in its Lua library.
func TestHealthScripts(t *testing.T) {
	overrides, err := healthScripts(scripts + "argocd-cm.yaml")
	if err != nil || len(overrides) == 0 {
		t.Fatal(overrides, err)
	}
	files, err := filepath.Glob(scripts + "*/*.yaml")
	if err != nil || len(files) < 100 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var due struct {
			Health struct{ Status, Message string }
			Object map[string]any
		}
		if err := yaml.Unmarshal(text, &due); err != nil {
			t.Fatal(err)
		}
		found, err := overrides.GetResourceHealth(&unstructured.Unstructured{Object: due.Object})
		if err != nil || found == nil {
			t.Errorf("%s: %v, %v", file, found, err)
			continue
		}
		if string(found.Status) != due.Health.Status || strings.TrimSpace(found.Message) != strings.TrimSpace(due.Health.Message) {
			t.Errorf("%s: %+v instead of %+v", file, found, due.Health)
		}
	}
}
