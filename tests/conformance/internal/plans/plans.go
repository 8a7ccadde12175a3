// Package plans has the program upgrade a fleet step by step, and judges each step.
package plans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"stackloom.dev/conformance/internal/oracle"
	"stackloom.dev/conformance/internal/report"
	"stackloom.dev/conformance/internal/tree"
)

// Options say which program is checked, and with what.
type Options struct {
	Program, Root string
	Seed          uint64
	Count         int
}

// gates are Cluster API's feature gates in the management clusters.
const gates = "ClusterTopology=true,MachinePool=true"

// rounds are more than any plan has steps.
const rounds = 12

// state is what is generated for the fleet at one time: each Cluster with its class.
type state map[string]oracle.Side

// Check makes the fleet and follows its plans to the end.
func Check(ctx context.Context, o Options, r *report.Report) error {
	fleet, err := newFleet(o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(fleet.folder)
	planned, err := fleet.planned()
	if err != nil {
		return err
	}
	for _, what := range []string{"plans", "steps", "changes of a Cluster"} {
		r.Count(what, 0)
	}
	before, err := fleet.read(r)
	if err != nil {
		return err
	}
	taken := map[string]int{}
	for round := 0; ; round++ {
		if round == rounds {
			return fmt.Errorf("after %d rounds there are still steps to take", rounds)
		}
		clusters, err := fleet.next()
		if err != nil {
			return err
		}
		if len(clusters) == 0 {
			break
		}
		after, err := fleet.read(r)
		if err != nil {
			return err
		}
		for _, cluster := range clusters {
			taken[cluster]++
			judge(ctx, fmt.Sprintf("%s, step %d", cluster, taken[cluster]), before[cluster], after[cluster], r)
		}
		before = after
	}
	for cluster, steps := range planned {
		r.Count("plans", 1)
		if taken[cluster] != steps {
			r.Fail(cluster, "plan", "%d steps were planned, and %d were taken", steps, taken[cluster])
		}
	}
	r.Require("plans", "plans", "steps", "changes of a Cluster")
	return nil
}

func judge(ctx context.Context, place string, before, after oracle.Side, r *report.Report) {
	r.Count("steps", 1)
	was, wasErr := json.Marshal(before)
	is, isErr := json.Marshal(after)
	if err := errors.Join(wasErr, isErr); err != nil {
		r.Fail(place, "webhook", "%v", err)
		return
	}
	if string(was) != string(is) {
		r.Count("changes of a Cluster", 1)
	}
	refused, err := oracle.Step(ctx, gates, before, after)
	if err != nil {
		r.Fail(place, "webhook", "%v", err)
	}
	for _, one := range refused {
		r.Fail(place, one.By, "%s %s: %s", one.Stage, one.Field, one.Detail)
	}
}

// read gives the Clusters that are generated, each with the class of its release.
func (f *fleet) read(r *report.Report) (state, error) {
	t := tree.Load(filepath.Join(f.folder, "generated"), f.folder, report.New())
	classes := map[string][]map[string]any{}
	for _, file := range t.Of(clusterv1.GroupVersion.Group, "ClusterClass") {
		objects := []map[string]any{file.Object.Object}
		for _, other := range t.Below(filepath.ToSlash(filepath.Dir(file.Path))) {
			if other.Path != file.Path {
				objects = append(objects, other.Object.Object)
			}
		}
		classes[file.Object.GetName()] = objects
	}
	found := state{}
	for _, file := range t.Of(clusterv1.GroupVersion.Group, "Cluster") {
		o := file.Object
		name, _, err := unstructured.NestedString(o.Object, "spec", "topology", "classRef", "name")
		if err != nil || classes[name] == nil {
			return nil, fmt.Errorf("%s: the class %q is not in the tree", file.Path, name)
		}
		// Classes and Clusters share a namespace there.
		unstructured.RemoveNestedField(o.Object, "spec", "topology", "classRef", "namespace")
		found[o.GetNamespace()+"/"+o.GetName()] = oracle.Side{Class: classes[name], Cluster: o.Object}
	}
	r.Count("trees", 1)
	return found, nil
}

// answer is the part of the program's documents that is used here; docs/output.md describes them.
type answer struct {
	Groups []struct {
		Clusters []clusterName
		State    string
		Steps    []json.RawMessage
	}
	Files []struct{ Clusters []clusterName }
}

type clusterName struct{ Namespace, Name string }

func (c clusterName) String() string { return c.Namespace + "/" + c.Name }

// planned gives the number of steps of each plan.
func (f *fleet) planned() (map[string]int, error) {
	found, err := f.ask("plan")
	if err != nil {
		return nil, err
	}
	steps := map[string]int{}
	for _, group := range found.Groups {
		if group.State != "plan" && group.State != "done" {
			return nil, fmt.Errorf("%v is %s, and should have a plan", group.Clusters, group.State)
		}
		for _, cluster := range group.Clusters {
			if len(group.Steps) > 0 {
				steps[cluster.String()] = len(group.Steps)
			}
		}
	}
	return steps, nil
}

// next takes the next step of each plan, and gives the clusters that took one.
func (f *fleet) next() ([]string, error) {
	found, err := f.ask("next", "--commit")
	if err != nil {
		return nil, err
	}
	var clusters []string
	for _, file := range found.Files {
		for _, cluster := range file.Clusters {
			clusters = append(clusters, cluster.String())
		}
	}
	return clusters, nil
}

func (f *fleet) ask(what string, more ...string) (answer, error) {
	var found answer
	out, err := f.run(f.program, append([]string{"upgrade", what, "--latest", "--format", "json"}, more...)...)
	if err != nil {
		return found, err
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&found); err != nil {
		return found, fmt.Errorf("upgrade %s: %w", what, err)
	}
	return found, nil
}
