package cross

import (
	"fmt"
	"sort"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"stackloom.dev/conformance/internal/report"
	"stackloom.dev/conformance/internal/tree"
)

// Check looks at every management cluster of the tree by itself, and at every release.
func Check(t *tree.Tree, r *report.Report) {
	for _, what := range []string{"management clusters", "Kustomizations", "paths", "HelmReleases", "Clusters", "ClusterClasses"} {
		r.Count(what, 0)
	}
	for _, name := range managementClusters(t) {
		r.Count("management clusters", 1)
		e := load(name, t, r)
		e.checkKustomizations(r)
		e.checkHelmReleases(r)
		e.checkSources(r)
		e.checkClusters(r)
		e.checkArgoClusters(r)
	}
	for _, f := range t.Objects {
		checkSubstitution(f, r)
	}
	for _, f := range t.Of(clusterv1.GroupVersion.Group, "ClusterClass") {
		r.Count("ClusterClasses", 1)
		checkClass(t, f, r)
	}
	r.Require("generated objects", "management clusters", "Kustomizations", "Kustomizations of releases", "Clusters", "ClusterClasses")
}

// Annotations that keep Flux from deleting an object and from replacing text in it.
const (
	prune      = "kustomize.toolkit.fluxcd.io/prune"
	substitute = "kustomize.toolkit.fluxcd.io/substitute"
)

// checkRelease requires that the Kustomization of a release protects all that it applies.
func checkRelease(file string, spec kustomizev1.KustomizationSpec, r *report.Report) {
	if !strings.HasSuffix(spec.Path, "/cluster-class") {
		return
	}
	r.Count("Kustomizations of releases", 1)
	for _, annotation := range []string{prune, substitute} {
		if spec.CommonMetadata == nil || spec.CommonMetadata.Annotations[annotation] != "disabled" {
			r.Fail(file, "cross", "does not set the annotation %s: disabled on the class", annotation)
		}
	}
	if spec.PostBuild != nil {
		r.Fail(file, "cross", "substitutes variables in a class")
	}
}

// checkSubstitution requires that Flux leaves an object alone that holds what its variable substitution would replace.
func checkSubstitution(f tree.File, r *report.Report) {
	text, err := f.Object.MarshalJSON()
	if err != nil {
		r.Fail(f.Path, "cross", "%v", err)
		return
	}
	const annotation = substitute
	// The Kustomization of a release adds the annotation: the release itself is the same for every engine.
	if strings.HasPrefix(f.Path, "releases/") {
		return
	}
	if strings.Contains(string(text), "${") && f.Object.GetAnnotations()[annotation] != "disabled" {
		r.Fail(f.Path, "cross", "holds ${ without the annotation %s: disabled", annotation)
	}
}

func managementClusters(t *tree.Tree) []string {
	names := map[string]bool{}
	for _, f := range t.Below("management") {
		names[strings.Split(f.Path, "/")[1]] = true
	}
	var sorted []string
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	return sorted
}

func (e *engine) has(group, kind, namespace, name string) bool {
	_, ok := e.objects[identity{group, kind, namespace, name}]
	return ok
}

func (e *engine) checkKustomizations(r *report.Report) {
	edges := map[string][]string{}
	files := map[string]string{}
	for _, k := range e.kustomizations {
		r.Count("Kustomizations", 1)
		checkRelease(k.file, k.spec.Spec, r)
		id := k.spec.Namespace + "/" + k.spec.Name
		files[id] = k.file
		for _, d := range k.spec.Spec.DependsOn {
			namespace := orElse(d.Namespace, k.spec.Namespace)
			edges[id] = append(edges[id], namespace+"/"+d.Name)
			if !e.has(kustomizev1.GroupVersion.Group, kustomizev1.KustomizationKind, namespace, d.Name) {
				r.Fail(k.file, "cross", "depends on Kustomization %s/%s, which does not exist", namespace, d.Name)
			}
		}
		for _, h := range k.spec.Spec.HealthChecks {
			group := schema.FromAPIVersionAndKind(h.APIVersion, h.Kind).Group
			if !e.has(group, h.Kind, orElse(h.Namespace, k.spec.Namespace), h.Name) {
				r.Fail(k.file, "cross", "checks the health of %s %s/%s, which does not exist", h.Kind, h.Namespace, h.Name)
			}
		}
		if c := k.spec.Spec.KubeConfig; c != nil && c.SecretRef != nil {
			e.checkKubeConfig(k.file, k.spec.Namespace, c.SecretRef.Name, r)
		}
	}
	reportCycles("Kustomization", edges, files, r)
}

// checkKubeConfig requires the Cluster whose Secret Cluster API will write.
func (e *engine) checkKubeConfig(file, namespace, secret string, r *report.Report) {
	cluster, ok := strings.CutSuffix(secret, "-kubeconfig")
	if !ok || !e.has(clusterv1.GroupVersion.Group, "Cluster", namespace, cluster) {
		r.Fail(file, "cross", "kubeConfig names Secret %s/%s, which belongs to no Cluster of the tree", namespace, secret)
	}
}

func (e *engine) checkHelmReleases(r *report.Report) {
	edges := map[string][]string{}
	files := map[string]string{}
	for _, a := range e.of(helmv2.GroupVersion.Group, helmv2.HelmReleaseKind) {
		r.Count("HelmReleases", 1)
		h := &helmv2.HelmRelease{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(a.object.Object, h); err != nil {
			r.Fail(a.file, "cross", "%v", err)
			continue
		}
		h.Namespace = a.id.namespace
		id := h.Namespace + "/" + h.Name
		files[id] = a.file
		for _, d := range h.Spec.DependsOn {
			namespace := orElse(d.Namespace, h.Namespace)
			edges[id] = append(edges[id], namespace+"/"+d.Name)
			if !e.has(helmv2.GroupVersion.Group, helmv2.HelmReleaseKind, namespace, d.Name) {
				r.Fail(a.file, "cross", "depends on HelmRelease %s/%s, which does not exist", namespace, d.Name)
			}
		}
		if c := h.Spec.KubeConfig; c != nil && c.SecretRef != nil {
			e.checkKubeConfig(a.file, h.Namespace, c.SecretRef.Name, r)
		}
		e.checkChart(a.file, h, r)
	}
	reportCycles("HelmRelease", edges, files, r)
}

func (e *engine) checkChart(file string, h *helmv2.HelmRelease, r *report.Report) {
	kind, namespace, name := "", "", ""
	switch {
	case h.Spec.ChartRef != nil:
		kind, namespace, name = h.Spec.ChartRef.Kind, h.Spec.ChartRef.Namespace, h.Spec.ChartRef.Name
	case h.Spec.Chart != nil:
		kind, namespace, name = h.Spec.Chart.Spec.SourceRef.Kind, h.Spec.Chart.Spec.SourceRef.Namespace, h.Spec.Chart.Spec.SourceRef.Name
	default:
		r.Fail(file, "cross", "names no chart")
		return
	}
	namespace = orElse(namespace, h.Namespace)
	if !e.has(sourcev1.GroupVersion.Group, kind, namespace, name) {
		r.Fail(file, "cross", "its chart comes from %s %s/%s, which does not exist", kind, namespace, name)
	}
}

func (e *engine) checkSources(r *report.Report) {
	for _, a := range e.of(sourcev1.GroupVersion.Group, sourcev1.HelmChartKind) {
		c := &sourcev1.HelmChart{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(a.object.Object, c); err != nil {
			r.Fail(a.file, "cross", "%v", err)
			continue
		}
		ref := c.Spec.SourceRef
		if !e.has(sourcev1.GroupVersion.Group, ref.Kind, a.id.namespace, ref.Name) {
			r.Fail(a.file, "cross", "its source is %s %s/%s, which does not exist", ref.Kind, a.id.namespace, ref.Name)
		}
	}
}

func (e *engine) checkClusters(r *report.Report) {
	for _, a := range e.of(clusterv1.GroupVersion.Group, "Cluster") {
		r.Count("Clusters", 1)
		c := &clusterv1.Cluster{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(a.object.Object, c); err != nil {
			r.Fail(a.file, "cross", "%v", err)
			continue
		}
		c.Namespace = a.id.namespace
		if !e.has("", "Namespace", "", c.Namespace) {
			r.Fail(a.file, "cross", "its Namespace %q is not in the tree", c.Namespace)
		}
		if err := e.checkClassOf(c); err != nil {
			r.Fail(a.file, "cross", "%v", err)
		}
	}
}

func (e *engine) checkClassOf(c *clusterv1.Cluster) error {
	key := c.GetClassKey()
	a, ok := e.objects[identity{clusterv1.GroupVersion.Group, "ClusterClass", key.Namespace, key.Name}]
	if !ok {
		return fmt.Errorf("no Kustomization or Application of management cluster %s brings ClusterClass %s", e.name, key)
	}
	class := &clusterv1.ClusterClass{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(a.object.Object, class); err != nil {
		return err
	}
	declared := map[string]bool{}
	for _, v := range class.Spec.Variables {
		declared[v.Name] = true
	}
	var unknown []string
	for _, v := range Variables(c) {
		if !declared[v.Name] {
			unknown = append(unknown, v.Name)
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("ClusterClass %s does not declare the variables %s", key, strings.Join(unknown, ", "))
	}
	return nil
}

// Variables returns every variable that a Cluster sets, for itself or for a part of it.
func Variables(c *clusterv1.Cluster) []clusterv1.ClusterVariable {
	all := append([]clusterv1.ClusterVariable{}, c.Spec.Topology.Variables...)
	all = append(all, c.Spec.Topology.ControlPlane.Variables.Overrides...)
	for _, md := range c.Spec.Topology.Workers.MachineDeployments {
		all = append(all, md.Variables.Overrides...)
	}
	for _, mp := range c.Spec.Topology.Workers.MachinePools {
		all = append(all, mp.Variables.Overrides...)
	}
	return all
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
