package argohealth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

const prefix = "resource.customizations.health."

// A case: an object as it is read from the API server, whether that is where it was taken from, and its health.
type example struct {
	Recorded bool           `json:"recorded"`
	Health   Health         `json:"health"`
	Object   map[string]any `json:"object"`
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// The scripts by group and kind, from what the program prints; a test of the program holds the file equal to that.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	var configMap struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Data       map[string]string `json:"data"`
	}
	read(t, "testdata/argocd-cm.yaml", &configMap)
	found := map[string]string{}
	for key, script := range configMap.Data {
		kind, ok := strings.CutPrefix(key, prefix)
		if !ok {
			t.Errorf("%s is no key for a health script", key)
		}
		found[strings.Replace(kind, "_", "/", 1)] = script
	}
	return found
}

func script(t *testing.T, all map[string]string, object map[string]any) (string, string) {
	t.Helper()
	group, _, _ := strings.Cut(object["apiVersion"].(string), "/")
	kind := group + "/" + object["kind"].(string)
	if all[kind] == "" {
		t.Fatalf("there is no script for %s", kind)
	}
	return kind, all[kind]
}

// Every state of every kind has the health that it should have, and every script can tell all healths of its kind.
func TestStates(t *testing.T) {
	all, seen := scripts(t), map[string]map[string]bool{}
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".yaml"), func(t *testing.T) {
			var due example
			read(t, file, &due)
			kind, script := script(t, all, due.Object)
			found, err := Run(script, due.Object)
			if err != nil {
				t.Fatal(err)
			}
			if found != due.Health {
				t.Errorf("due   %+v\nfound %+v", due.Health, found)
			}
			if seen[kind] == nil {
				seen[kind] = map[string]bool{}
			}
			seen[kind][found.Status] = true
		})
	}
	for kind := range all {
		for _, status := range []string{"Healthy", "Progressing", "Degraded", "Suspended"} {
			if kind == "openstack.k-orc.cloud/Image" && status == "Suspended" {
				continue // nothing suspends one
			}
			if !seen[kind][status] {
				t.Errorf("%s: no case is %s", kind, status)
			}
		}
	}
}

// What controllers have not seen yet is Progressing: every healthy object as soon as its spec is newer than its status and conditions, or
// they are not there.
func TestNothingIsHealthyTooEarly(t *testing.T) {
	all := scripts(t)
	files, _ := filepath.Glob("testdata/*/healthy*.yaml")
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			var due example
			read(t, file, &due)
			kind, script := script(t, all, due.Object)
			if due.Object["status"] == nil || kind == "argoproj.io/Application" {
				return // a HelmRepository of a registry has no status, and the generation of an Application means nothing
			}
			metadata, status := due.Object["metadata"].(map[string]any), due.Object["status"].(map[string]any)
			early := func(what string) {
				found, err := Run(script, due.Object)
				if err != nil || found.Status != "Progressing" {
					t.Errorf("%s: %+v, %v", what, found, err)
				}
			}
			generation := metadata["generation"].(float64)
			metadata["generation"] = generation + 1
			early("everything is of an older generation")
			metadata["generation"] = generation
			for _, gone := range []any{nil, map[string]any{}} {
				due.Object["status"] = gone
				early("without status")
				due.Object["status"] = status
				holder := status
				if v1beta2, ok := status["v1beta2"].(map[string]any); ok {
					holder = v1beta2
				}
				kept := holder["conditions"]
				holder["conditions"] = gone
				if kind != "cluster.x-k8s.io/MachinePool" { // it has none but Paused
					early("without conditions")
				}
				holder["conditions"] = kept
			}
		})
	}
}

// A condition that has just turned False is not yet a failure, whatever the time zone in which Argo CD runs.
func TestFailuresNeedTime(t *testing.T) {
	all := scripts(t)
	var due example
	read(t, "testdata/Cluster/degraded-topology.yaml", &due)
	_, script := script(t, all, due.Object)
	conditions := due.Object["status"].(map[string]any)["conditions"].([]any)
	local := time.Local
	defer func() { time.Local = local }()
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("east", 12*3600), time.FixedZone("west", -9*3600)} {
		time.Local = zone
		for minutes, status := range map[time.Duration]string{1: "Progressing", 8: "Progressing", 12: "Degraded", 600: "Degraded"} {
			for _, condition := range conditions {
				at := time.Now().Add(-minutes * time.Minute).UTC().Format(time.RFC3339)
				condition.(map[string]any)["lastTransitionTime"] = at
			}
			found, err := Run(script, due.Object)
			if err != nil || found.Status != status {
				t.Errorf("%v, %d minutes: %+v, %v, and should be %s", zone, minutes, found, err, status)
			}
		}
	}
}
