// Package health runs the health expressions of Flux Kustomizations with Flux's own evaluator over sample Clusters.
package health

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stackloom.dev/conformance/internal/report"
	"stackloom.dev/conformance/internal/tree"
)

//go:embed testdata/*.yaml
var testdata embed.FS

// sample is a Cluster at one moment of its life.
type sample struct {
	name   string
	object *unstructured.Unstructured
}

// gate is what a Kustomization waits for: it must be Current exactly when all conditions are True.
type gate struct {
	name       string
	conditions []string
}

var (
	clusterGate = gate{"cluster", []string{"ControlPlaneInitialized"}}
	readyGate   = gate{"ready", []string{"Available", "TopologyReconciled"}}
	clusterKind = schema.GroupKind{Group: "cluster.x-k8s.io", Kind: "Cluster"}
)

func samples() ([]sample, error) {
	names, err := fs.Glob(testdata, "testdata/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []sample
	for _, name := range names {
		text, err := testdata.ReadFile(name)
		if err != nil {
			return nil, err
		}
		object, err := tree.Decode(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, sample{strings.TrimSuffix(path.Base(name), ".yaml"), object})
	}
	return all, nil
}

// Check evaluates the expressions of every Kustomization of the tree.
func Check(ctx context.Context, t *tree.Tree, r *report.Report) {
	for _, what := range []string{"health expressions", "evaluations", "cluster gates", "ready gates"} {
		r.Count(what, 0)
	}
	all, err := samples()
	if err != nil {
		r.Fail("samples", "health", "%v", err)
		return
	}
	for _, f := range t.Of(kustomizev1.GroupVersion.Group, kustomizev1.KustomizationKind) {
		k := &kustomizev1.Kustomization{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(f.Object.Object, k); err != nil {
			r.Fail(f.Path, "health", "%v", err)
			continue
		}
		checkKustomization(ctx, f, k, all, r)
	}
	r.Require("Flux Kustomizations", "health expressions", "cluster gates")
}

func checkKustomization(ctx context.Context, f tree.File, k *kustomizev1.Kustomization, all []sample, r *report.Report) {
	expected, gated := gateOf(k)
	met := false
	for _, e := range k.Spec.HealthCheckExprs {
		r.Count("health expressions", 1)
		evaluator, err := cel.NewStatusEvaluator(&e.HealthCheckExpressions)
		if err != nil {
			r.Fail(f.Path, "health", "%v", err)
			continue
		}
		kind := schema.FromAPIVersionAndKind(e.APIVersion, e.Kind).GroupKind()
		if kind != clusterKind {
			checkYoung(ctx, f, e, evaluator, r)
			continue
		}
		if !gated {
			r.Fail(f.Path, "health", "waits for a Cluster, but its path %q is neither a cluster's nor a ready folder", k.Spec.Path)
			continue
		}
		met = true
		expected.check(ctx, f, evaluator, all, r)
	}
	if !gated {
		return
	}
	r.Count(expected.name+" gates", 1)
	if !met {
		r.Fail(f.Path, "health", "has no health expression for a Cluster, so nothing waits for %s", strings.Join(expected.conditions, " and "))
	}
	if !k.Spec.Wait && !looksAtCluster(k) {
		r.Fail(f.Path, "health", "has an expression for a Cluster, but neither wait nor a health check that names one")
	}
	if _, err := cel.NewStatusReader(k.Spec.HealthCheckExprs); err != nil {
		r.Fail(f.Path, "health", "%v", err)
	}
}

// gateOf goes by the folder, since a cluster may itself be called something-ready.
func gateOf(k *kustomizev1.Kustomization) (gate, bool) {
	parts := strings.Split(path.Clean(k.Spec.Path), "/")
	if k.Spec.KubeConfig != nil || len(parts) < 4 || parts[len(parts)-4] != "clusters" {
		return gate{}, false
	}
	switch parts[len(parts)-1] {
	case "cluster":
		return clusterGate, true
	case "ready":
		return readyGate, true
	}
	return gate{}, false
}

func looksAtCluster(k *kustomizev1.Kustomization) bool {
	for _, h := range k.Spec.HealthChecks {
		if schema.FromAPIVersionAndKind(h.APIVersion, h.Kind).GroupKind() == clusterKind {
			return true
		}
	}
	return false
}

func (g gate) check(ctx context.Context, f tree.File, evaluator *cel.StatusEvaluator, all []sample, r *report.Report) {
	for _, s := range all {
		r.Count("evaluations", 1)
		result, err := evaluator.Evaluate(ctx, s.object)
		if err != nil {
			r.Fail(f.Path, "health", "sample %s: %v", s.name, err)
			continue
		}
		open := g.open(s.object)
		switch {
		case open && result.Status != status.CurrentStatus:
			r.Fail(f.Path, "health", "sample %s: %s, where the %s gate must be Current", s.name, result.Status, g.name)
		case !open && result.Status == status.CurrentStatus:
			r.Fail(f.Path, "health", "sample %s: Current, where the %s gate must wait for %s", s.name, g.name, strings.Join(g.conditions, " and "))
		}
	}
}

// open says what the gate should be, independently of any expression.
func (g gate) open(o *unstructured.Unstructured) bool {
	observed, found, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if found && observed != o.GetGeneration() {
		return false
	}
	for _, c := range g.conditions {
		if !isTrue(o, c) {
			return false
		}
	}
	return true
}

func isTrue(o *unstructured.Unstructured, condition string) bool {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["type"] == condition && c["status"] == "True" {
			return true
		}
	}
	return false
}

// checkYoung runs expressions for other kinds over an object that no controller has touched yet.
func checkYoung(ctx context.Context, f tree.File, e kustomize.CustomHealthCheck, evaluator *cel.StatusEvaluator, r *report.Report) {
	for name, status := range map[string]any{"without status": nil, "with an empty status": map[string]any{}} {
		o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "young", "generation": int64(1)}, "spec": map[string]any{}}}
		o.SetAPIVersion(e.APIVersion)
		o.SetKind(e.Kind)
		if status != nil {
			o.Object["status"] = status
		}
		checkYoungObject(ctx, f, name, o, evaluator, r)
	}
}

func checkYoungObject(ctx context.Context, f tree.File, name string, o *unstructured.Unstructured, evaluator *cel.StatusEvaluator, r *report.Report) {
	r.Count("evaluations", 1)
	result, err := evaluator.Evaluate(ctx, o)
	if err != nil {
		r.Fail(f.Path, "health", "a new %s %s: %v", o.GetKind(), name, err)
	} else if result.Status != status.InProgressStatus {
		r.Fail(f.Path, "health", "a new %s %s: %s, where it must be in progress", o.GetKind(), name, result.Status)
	}
}
