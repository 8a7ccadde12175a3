package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// calm is how many rounds in a row must find nothing to do. One is not enough: a Cluster is still Healthy for a moment after a change,
// until its controller has seen it.
const calm = 5

// follow goes on until real clusters have settled: nothing is done any more, and no Application waits for something that is on its way.
// `registrations` are kubeconfigs by name; each cluster is registered once its file is there.
func (a *applier) follow(ctx context.Context, rounds int, interval time.Duration, registrations map[string]string, say func(string)) error {
	quiet := 0
	var left []string
	for number := range rounds {
		if err := a.register(registrations); err != nil {
			return err
		}
		a.changed = false
		did, err := a.round(ctx)
		if err != nil {
			return fmt.Errorf("round %d: %w", number+1, err)
		}
		for _, one := range did {
			say(fmt.Sprintf("round %d: %s", number+1, one))
		}
		waiting, err := a.states(ctx, onItsWay)
		if err != nil {
			return fmt.Errorf("round %d: %w", number+1, err)
		}
		if left = append(did, waiting...); len(left) > 0 || a.changed {
			quiet = 0
		} else if quiet++; quiet == calm {
			return nil
		}
		time.Sleep(interval)
	}
	return fmt.Errorf("not settled after %d rounds; the last one:\n%s", rounds, strings.Join(left, "\n"))
}

// register adds the clusters whose kubeconfigs have come.
func (a *applier) register(registrations map[string]string) error {
	for name, file := range registrations {
		if _, err := os.Stat(file); a.clusters[name] != nil || os.IsNotExist(err) {
			continue
		}
		where, err := load(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		a.look(where)
		a.clusters[name] = where
	}
	return nil
}

// look has a cluster searched for what left git, in those kinds of the fleet that it has.
func (a *applier) look(where *target) {
	for gvk := range a.kinds {
		if _, _, err := where.of(gvk, ""); err == nil {
			where.note(gvk)
		}
	}
}

// state is what an Application says of itself.
type state struct{ sync, health, phase, message string }

func stateOf(app *unstructured.Unstructured) state {
	at := func(path ...string) string {
		text, _, _ := unstructured.NestedString(app.Object, append([]string{"status"}, path...)...)
		return text
	}
	is := state{at("sync", "status"), at("health", "status"), at("operationState", "phase"), at("operationState", "message")}
	conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
	for _, one := range conditions {
		if condition, ok := one.(map[string]any); ok {
			is.message = fmt.Sprint(condition["type"], ": ", condition["message"])
		}
	}
	return is
}

func onItsWay(is state) bool { return is.health == "Progressing" || is.phase == "Running" }

func unsettled(is state) bool { return is.sync != "Synced" || is.health != "Healthy" }

// states lists the Applications whose state is as asked, with it.
func (a *applier) states(ctx context.Context, asked func(state) bool) (lines []string, err error) {
	apps, err := a.hub.list(ctx, applicationKind)
	if err != nil {
		return nil, err
	}
	for _, app := range apps {
		if is := stateOf(&app); app.GetNamespace() == a.namespace && asked(is) {
			lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s is %s, %s: %s", app.GetName(), is.sync, is.health, is.message), ": "))
		}
	}
	slices.Sort(lines)
	return lines, nil
}
