package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stackloom.dev/conformance/internal/needed"
	"stackloom.dev/conformance/internal/report"
)

const (
	mgmt    = "generated/management/mgmt/"
	cluster = mgmt + "clusters/team-a/one/"
	flux    = mgmt + "flux/clusters/team-a/one/"
	release = "generated/releases/docker-scs-1-35-v1/"
	class   = release + "cluster-class/class.yaml"
)

// fault is one change of the good tree, and a part of the failure that must come of it.
type fault struct {
	name, file, old, new, want string
}

// Where old is empty, new is the whole file; where both are empty, the file is removed.
var faults = []fault{
	{"timestamp", cluster + "ready/gate.yaml", "one-ready\n", "one-ready\n  labels:\n    since: 2026-01-01\n", "time.Time"},
	{"octal", cluster + "ready/gate.yaml", "one-ready\n", "one-ready\n  labels:\n    mode: 0o17\n", "[type]"},
	{"bool for one reader", cluster + "ready/gate.yaml", "one-ready\n", "one-ready\n  labels:\n    x: y\n", "different values"},
	{"bool key", cluster + "addons/cilium.yaml", `"y": "on"`, `y: "on"`, "the key true is read as bool"},
	{"merge key", cluster + "addons/cilium.yaml", `"y": "on"`, "<<: {a: b}", "the key << is read as merge"},
	{"big integer", cluster + "addons/cilium.yaml", `"on"`, "9007199254740993", "loses digits"},
	{"duplicate key", cluster + "ready/gate.yaml", "kind: ConfigMap\n", "kind: ConfigMap\nkind: ConfigMap\n", "[readers]"},
	{"anchor", cluster + "ready/gate.yaml", "name: one-ready", "name: &n one-ready", "anchor &n"},
	{"tag", cluster + "ready/gate.yaml", "name: one-ready", "name: !!str one-ready", "tag !!str"},
	{"no comment", cluster + "ready/gate.yaml", "# Generated", "x: y # Generated", "first line is not a comment"},
	{"no newline", cluster + "ready/gate.yaml", "namespace: team-a\n", "namespace: team-a", "exactly one newline"},
	{"two newlines", cluster + "ready/gate.yaml", "namespace: team-a\n", "namespace: team-a\n\n", "exactly one newline"},
	{"two documents", cluster + "ready/gate.yaml", "  namespace: team-a\n", "  namespace: team-a\n---\nkind: Second\n", "2 documents"},
	{"no object", cluster + "ready/gate.yaml", "kind: ConfigMap", "sort: ConfigMap", "[object]"},
	{"stray file", "generated/notes.yaml", "", "# A comment.\na: b\n", "no part of the tree"},
	{"release data", release + "release.yaml", "templateLanguage: 1", "templateLanguage: 1\n  templateLanguage: 1", "release.yaml: [readers]"},
	{"template", release + "addons/cilium/values.yaml", "mode: kubernetes", "mode: *kubernetes", "values.yaml: [readers]"},
	{"endless expression", release + "addons/cilium/values.yaml", "}} }}", "}", "does not end on its line"},

	{"unknown field", cluster + "addons/cilium.yaml", "storageNamespace:", "storageNameSpace:", `unknown field "spec.storageNameSpace"`},
	{"wrong type", cluster + "cluster/cluster.yaml", "replicas: 3", `replicas: "3"`, "[type]"},

	{"expression that fails", flux + "cluster.yaml", "!has(spec.controlPlaneRef) || ", "", "no such attribute"},
	{"expression for v1beta1", flux + "ready.yaml", "c.type == 'Available' &&", "c.type == 'Ready' &&", "sample available: InProgress, where the ready gate must be Current"},
	{"gate too early", flux + "cluster.yaml", "ControlPlaneInitialized", "TopologyReconciled", "sample not-initialized: Current"},
	{"broken expression", flux + "cluster.yaml", "c.status == 'True')", "c.status == 'True'", "failed to parse the expression Current"},
	{"gate on nothing", flux + "ready.yaml", "kind: Cluster\n", "kind: Clutter\n", "nothing waits for Available"},
	{"gate that nobody asks", flux + "ready.yaml", "      kind: Cluster\n      name: one\n", "      kind: ConfigMap\n      name: one\n", "neither wait nor a health check"},

	{"path", flux + "addons.yaml", "one/addons", "one/addon", "is no folder of the repository"},
	{"path outside", flux + "addons.yaml", "./generated", "../generated", "leaves the repository"},
	{"empty path", cluster + "ready/gate.yaml", "", "", "is no folder"},
	{"foreign file", "clusters/prod/one.d/values.yaml", "", "a: b\n", "not a Kubernetes object"},
	{"dependsOn", flux + "addons.yaml", "- name: one", "- name: two", "depends on Kustomization team-a/two"},
	{"cycle", flux + "cluster.yaml", "name: team-a\n      namespace: flux-system", "name: one-addons\n      namespace: team-a", "wait for each other"},
	{"unapplied", flux + "addons.yaml", "", "", "no Kustomization and no Application of management cluster mgmt applies"},
	{"chart", cluster + "addons/cilium.yaml", "name: cilium-1.18.9", "name: cilium-1.18.8", "HelmChart cluster-classes/cilium-1.18.8, which does not exist"},
	{"chart source", mgmt + "flux/charts/repository.yaml", "", "", "HelmRepository cluster-classes/cilium, which does not exist"},
	{"HelmRelease dependsOn", cluster + "addons/metrics-server.yaml", "- name: one-cilium", "- name: one-calico", "depends on HelmRelease team-a/one-calico"},
	{"kubeconfig", cluster + "addons/cilium.yaml", "one-kubeconfig", "two-kubeconfig", "belongs to no Cluster"},
	{"class", cluster + "cluster/cluster.yaml", "name: docker-scs-1-35-v1", "name: docker-scs-1-35-v2", "brings ClusterClass cluster-classes/docker-scs-1-35-v2"},
	{"class namespace", mgmt + "flux/releases/docker-scs-1-35-v1.yaml", "targetNamespace: cluster-classes", "targetNamespace: team-a", "brings ClusterClass cluster-classes/docker-scs-1-35-v1"},
	{"undeclared variable", cluster + "cluster/cluster.yaml", "- name: certSANs", "- name: certSan", "does not declare the variables certSan"},
	{"template missing", release + "cluster-class/bootstrap-template.yaml", "", "", "which the release does not hold"},
	{"same object twice", cluster + "ready/again.yaml", "", "# A comment.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one-ready\n  namespace: team-a\n", "and, from management/mgmt"},
	{"no namespace", cluster + "ready/gate.yaml", "  namespace: team-a\n", "", "has no namespace"},

	{"health check of nothing", flux + "cluster.yaml", "      name: one\n      namespace", "      name: two\n      namespace", "checks the health of Cluster team-a/two"},
	{"substitution", cluster + "ready/gate.yaml", "one-ready\n", "one-ready\n  labels:\n    x: ${x}\n", "holds ${ without"},

	{"class webhook", class, "path: /spec/template/spec/files/-", "path: /status/files/-", "[webhook]"},
	{"variable webhook", cluster + "cluster/cluster.yaml", "port: 5000", `port: "5000"`, "[webhook]"},
	{"default left out", cluster + "cluster/cluster.yaml", "      - name: certSANs\n        value: []\n", "", "variable certSANs is not written out"},
	{"nested default left out", cluster + "cluster/cluster.yaml", "          port: 5000\n", "", "variable registry is not written out whole"},
	{"version", cluster + "cluster/cluster.yaml", "v1.35.10", "1.35.10", "topology.version 1.35.10 becomes v1.35.10"},
	{"patch of an unknown field", class, "path: /etc/mirror", "pfad: /etc/mirror", "the bootstrap of node pool md-0"},
	{"patch that fails", class, "path: /spec/template/spec/files/-", "path: /spec/template/spec/users/-", "[topology]"},
	{"even control plane", cluster + "cluster/cluster.yaml", "replicas: 3", "replicas: 2", "cannot be an even number"},
}

func TestGoodTreePasses(t *testing.T) {
	for _, line := range check(t, copyOfGood(t), os.Getenv("STACKLOOM_CRDS")) {
		t.Error(line)
	}
	if os.Getenv("STACKLOOM_CRDS") == "" {
		t.Log("without schemas: STACKLOOM_CRDS is not set")
	}
}

func TestEachFaultIsFound(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			root := copyOfGood(t)
			f.make(t, root)
			lines := check(t, root, "")
			if !strings.Contains(strings.Join(lines, "\n"), f.want) {
				t.Errorf("no failure says %q, but:\n%s", f.want, strings.Join(lines, "\n"))
			}
		})
	}
}

const (
	lab     = "generated/management/lab/"
	argocd  = lab + "argocd/"
	project = argocd + "fleet/projects/lab/"
)

// Faults of this repository's own tree for Argo CD.
var argocdFaults = []fault{
	{"project", argocd + "clusters/lab/lab-1/cluster.yaml", "project: lab.namespace.lab", "project: other", `in the project "other", which does not exist`},
	{"destination", project + "clusters.yaml", "namespace: lab", "namespace: bal", "does not allow the destination"},
	{"destination of addons", project + "addons.yaml", "lab-lab-*", "lab-bal-*", "does not allow the destination"},
	{"source", project + "addons.yaml", "https://helm.cilium.io", "https://helm.example.org", "does not allow the source https://helm.cilium.io"},
	{"kind", project + "addons.yaml", "clusterResourceWhitelist:\n    - kind: '*'", "clusterResourceWhitelist:\n    - kind: Node", "does not allow Namespace"},
	{"path", argocd + "clusters/lab/lab-1/cluster.yaml", "lab-1/cluster", "lab-3/cluster", "is no folder of the repository"},
	{"unapplied", argocd + "clusters/lab/lab-1/cluster.yaml", "", "", "no Application of management cluster lab applies"},
	{"twice", argocd + "clusters/lab/lab-2/cluster.yaml", "lab-2/cluster", "lab-1/cluster", "is applied by Application lab.cluster.lab.lab-2 and"},
	{"class that is pruned", argocd + "fleet/releases/docker-scs-1-36-v5.yaml", "      - Prune=false\n", "", "lacks the sync option Prune=false"},
	{"class that goes", argocd + "fleet/releases/docker-scs-1-36-v5.yaml", "  namespace: argocd\n", "  namespace: argocd\n  finalizers: [resources-finalizer.argocd.argoproj.io]\n", "deletes its classes with itself"},
	{"cluster that goes", lab + "clusters/lab/lab-1/cluster/cluster.yaml", "Prune=false,", "", "Argo CD may delete it"},
	{"client-side apply", argocd + "clusters/lab/lab-1/cluster.yaml", "      - ServerSideApply=true\n", "", "does not apply on the server's side"},
	{"application elsewhere", argocd + "clusters/lab/lab-1/addons.yaml", "server: https://kubernetes.default.svc", "name: lab", "and Argo CD runs in"},
	{"no entry", argocd + "fleet/entry.yaml", "", "", "no entry Application"},
	{"unknown field", argocd + "clusters/lab/lab-1/cluster.yaml", "retry:", "retrying:", "retrying"},
}

func TestEachFaultOfArgoCDIsFound(t *testing.T) {
	ofArgoCD := func(lines []string) string {
		var found []string
		for _, line := range lines {
			if strings.HasPrefix(line, "management/lab/") {
				found = append(found, line)
			}
		}
		return strings.Join(found, "\n")
	}
	if found := ofArgoCD(check(t, copyOfOwn(t), "")); found != "" {
		t.Fatal(found)
	}
	for _, f := range argocdFaults {
		t.Run(f.name, func(t *testing.T) {
			// Schemas take long to read, and one case needs them.
			schemas := ""
			if f.name == "unknown field" {
				schemas = needed.Folder(t, "STACKLOOM_CRDS")
			}
			root := copyOfOwn(t)
			f.make(t, root)
			lines := check(t, root, schemas)
			if !strings.Contains(strings.Join(lines, "\n"), f.want) {
				t.Errorf("no failure says %q, but:\n%s", f.want, strings.Join(lines, "\n"))
			}
		})
	}
}

// copyOfOwn copies this repository's own tree for Argo CD, with the release that its clusters use.
func copyOfOwn(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{"management/lab", "releases/docker-scs-1-36-v5"} {
		from := filepath.Join("../../../../generated", folder)
		if err := os.CopyFS(filepath.Join(root, "generated", folder), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestNothingToCheckFails(t *testing.T) {
	lines := strings.Join(check(t, t.TempDir(), ""), "\n")
	for _, want := range []string{"no files", "no objects", "no health expressions", "no Kustomizations", "no Clusters", "no desired objects"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no failure says %q, but:\n%s", want, lines)
		}
	}
}

func TestUsersOwnKustomizationIsSaid(t *testing.T) {
	root := copyOfGood(t)
	f := fault{file: "clusters/prod/one.d/kustomization.yaml", new: "resources: [quota.yaml]\n"}
	f.make(t, root)
	for _, line := range check(t, root, "") {
		t.Error(line)
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]bool{"": false, "-generated x": true, "-fuzz-in x.yaml": true, "-crds x": false, "-unknown": false} {
		if _, ok := parse(strings.Fields(args)); ok != want {
			t.Errorf("%q: %v", args, ok)
		}
	}
}

func check(t *testing.T, root, crds string) []string {
	t.Helper()
	r := report.New()
	generated := filepath.Join(root, "generated")
	if err := os.MkdirAll(generated, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), options{generated: generated, crds: crds, gates: defaultGates}, r); err != nil {
		t.Fatal(err)
	}
	return r.Failures()
}

func copyOfGood(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("../../testdata/good")); err != nil {
		t.Fatal(err)
	}
	return root
}

func (f fault) make(t *testing.T, root string) {
	t.Helper()
	name := filepath.Join(root, filepath.FromSlash(f.file))
	var err error
	switch {
	case f.old != "":
		text, readErr := os.ReadFile(name)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if !strings.Contains(string(text), f.old) {
			t.Fatalf("%s does not hold %q", f.file, f.old)
		}
		err = os.WriteFile(name, []byte(strings.ReplaceAll(string(text), f.old, f.new)), 0o644)
	case f.new != "":
		err = os.WriteFile(name, []byte(f.new), 0o644)
	default:
		if err = os.Remove(name); err == nil && strings.HasSuffix(f.file, "ready/gate.yaml") {
			err = os.Remove(filepath.Dir(name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
