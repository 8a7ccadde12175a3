package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Commits of a fleet with the clusters blue/one and green/two, in folders of their own; the test suite of the program writes them.
func commits(t *testing.T) string {
	t.Helper()
	const missing = "STACKLOOM_ARGOCD is not set: `cargo test --test suite argocd_commits` writes target/argocd"
	folder := os.Getenv("STACKLOOM_ARGOCD")
	if folder == "" && os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	if folder == "" {
		t.Skip(missing)
	}
	return folder
}

var (
	clusterKind = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}
	machineKind = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}
	namespaces  = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	configMaps  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// world is a hub with Argo CD and Cluster API, its workload clusters, and a working tree.
type world struct {
	t         *testing.T
	applier   *applier
	hub       *server
	workloads map[string]*server
	folder    string
}

// kinds are those of the objects in all commits, and those of Cluster API's machines.
func kinds(t *testing.T, folder string) []kind {
	objects, err := manifests(folder)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[schema.GroupVersionKind]bool{machineKind: true, namespaces: true, configMaps: true}
	for _, object := range objects {
		if object.GroupVersionKind().Group != "stackloom.dev" {
			seen[object.GroupVersionKind()] = true
		}
	}
	var all []kind
	for gvk := range seen {
		plural := strings.ToLower(gvk.Kind) + "s"
		if strings.HasSuffix(gvk.Kind, "s") {
			plural = strings.ToLower(gvk.Kind) + "es"
		}
		all = append(all, kind{gvk, plural, gvk != namespaces})
	}
	return all
}

// inNamespaces refuses objects in namespaces that do not exist.
func inNamespaces(s *server, object *unstructured.Unstructured) error {
	if name := object.GetNamespace(); name != "" && s.objects[key(namespaces, "", name)] == nil {
		return fmt.Errorf("namespace %s does not exist", name)
	}
	return nil
}

func (w *world) put(s *server, object map[string]any) {
	s.Lock()
	defer s.Unlock()
	s.put(&unstructured.Unstructured{Object: object})
}

func newWorld(t *testing.T, folder string) *world {
	w := &world{t: t, folder: folder, workloads: map[string]*server{}}
	w.hub = newServer(t, kinds(t, folder))
	w.hub.refuse = inNamespaces
	for _, name := range []string{"argocd", "default"} {
		w.put(w.hub, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
	}
	every := []any{map[string]any{"group": "*", "kind": "*"}}
	w.put(w.hub, map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": map[string]any{"name": "default", "namespace": "argocd"},
		"spec": map[string]any{
			"sourceRepos": []any{"*"}, "clusterResourceWhitelist": every,
			"destinations": []any{map[string]any{"server": "*", "namespace": "*"}},
		},
	})
	hub, err := newTarget(w.hub.config())
	if err != nil {
		t.Fatal(err)
	}
	overrides, err := healthScripts(scripts + "argocd-cm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.applier = &applier{
		namespace: "argocd", hub: hub, clusters: map[string]*target{argo.KubernetesInternalAPIServerAddr: hub}, scripts: overrides,
		running: map[string]*operation{}, last: map[string]attempt{}, charts: standIn,
	}
	return w
}

// commit checks a commit out and lets Argo CD and Cluster API go on until nothing happens any more.
func (w *world) commit(name string) {
	w.t.Helper()
	w.applier.root, w.applier.revision = filepath.Join(w.folder, name), name
	if err := w.applier.settle(context.Background(), 40, w.clusterAPI); err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
}

// clusterAPI does in one step what Cluster API's controllers do in many: machines of the version and class of each Cluster, its status,
// its deletion; and what a bridge does: the registration of its workload cluster.
func (w *world) clusterAPI() {
	w.hub.Lock()
	defer w.hub.Unlock()
	for _, object := range w.hub.of(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "ClusterClass"}) {
		condition(object, "VariablesReady", "RefVersionsUpToDate")
	}
	for _, cluster := range w.hub.of(clusterKind) {
		name := cluster.GetNamespace() + "-" + cluster.GetName()
		if cluster.GetDeletionTimestamp() != nil {
			for _, machine := range w.machines(cluster.GetName()) {
				delete(w.hub.objects, keyOf(machine))
			}
			delete(w.hub.objects, keyOf(cluster))
			delete(w.applier.clusters, name)
			continue
		}
		cluster.SetFinalizers([]string{"cluster.cluster.x-k8s.io"})
		condition(cluster, "Available", "TopologyReconciled")
		w.reconcileMachines(cluster)
		if w.workloads[name] == nil {
			w.register(name)
		}
	}
}

func (w *world) register(name string) {
	s := newServer(w.t, []kind{{namespaces, "namespaces", false}, {configMaps, "configmaps", true}})
	s.refuse = inNamespaces
	for _, one := range []string{"default", "kube-system"} {
		w.put(s, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": one}})
	}
	target, err := newTarget(s.config())
	if err != nil {
		w.t.Fatal(err)
	}
	w.workloads[name], w.applier.clusters[name] = s, target
}

func (w *world) reconcileMachines(cluster *unstructured.Unstructured) {
	topology, _, _ := unstructured.NestedMap(cluster.Object, "spec", "topology")
	is := map[string]any{"version": topology["version"], "class": topology["classRef"]}
	pools, _, _ := unstructured.NestedSlice(topology, "workers", "machineDeployments")
	sizes := map[string]int64{}
	sizes["control-plane"], _, _ = unstructured.NestedInt64(topology, "controlPlane", "replicas")
	for _, pool := range pools {
		sizes[pool.(map[string]any)["name"].(string)], _, _ = unstructured.NestedInt64(pool.(map[string]any), "replicas")
	}
	for pool, size := range sizes {
		for number := range size {
			machine := &unstructured.Unstructured{Object: map[string]any{"spec": is}}
			machine.SetGroupVersionKind(machineKind)
			machine.SetNamespace(cluster.GetNamespace())
			machine.SetName(fmt.Sprintf("%s-%s-%d", cluster.GetName(), pool, number))
			machine.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: cluster.GetName(), UID: cluster.GetUID()}})
			if old := w.hub.objects[keyOf(machine)]; old == nil || !same(old.Object["spec"], machine.Object["spec"]) {
				delete(w.hub.objects, keyOf(machine))
				w.hub.put(machine)
			}
		}
	}
}

func condition(object *unstructured.Unstructured, names ...string) {
	var conditions []any
	for _, name := range append(names, "Paused", "RollingOut") {
		status := "True"
		if name == "Paused" || name == "RollingOut" {
			status = "False"
		}
		conditions = append(conditions, map[string]any{
			"type": name, "status": status, "reason": name, "observedGeneration": object.GetGeneration(), "lastTransitionTime": "2026-01-05T10:00:00Z",
		})
	}
	object.Object["status"] = map[string]any{"observedGeneration": object.GetGeneration(), "conditions": conditions}
}

func (s *server) of(gvk schema.GroupVersionKind) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, object := range s.objects {
		if object.GroupVersionKind() == gvk {
			found = append(found, object)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return strings.Compare(keyOf(a), keyOf(b)) })
	return found
}

func (w *world) machines(cluster string) []*unstructured.Unstructured {
	return slices.DeleteFunc(w.hub.of(machineKind), func(one *unstructured.Unstructured) bool { return one.GetOwnerReferences()[0].Name != cluster })
}

// identities are the machines of a cluster: other ones have other uids.
func (w *world) identities(cluster string) (uids []types.UID) {
	for _, machine := range w.machines(cluster) {
		uids = append(uids, machine.GetUID())
	}
	return uids
}

// unsettled are the Applications that are not synced and healthy.
func (w *world) unsettled() (names []string) {
	for _, app := range w.hub.of(applicationKind) {
		if is := stateOf(app); unsettled(is) {
			names = append(names, fmt.Sprintf("%s is %s, %s: %s", app.GetName(), is.sync, is.health, is.message))
		}
	}
	return names
}

func (w *world) start() {
	text, err := os.ReadFile(filepath.Join(w.folder, "first/generated/management/mgmt/argocd/fleet/entry.yaml"))
	if err != nil {
		w.t.Fatal(err)
	}
	text, err = yaml.YAMLToJSON(text)
	if err != nil {
		w.t.Fatal(err)
	}
	entry := map[string]any{}
	if err := utiljson.Unmarshal(text, &entry); err != nil {
		w.t.Fatal(err)
	}
	w.put(w.hub, entry)
	w.commit("first")
	if left := w.unsettled(); left != nil {
		w.t.Fatal(strings.Join(left, "\n"))
	}
}

func (w *world) has(s *server, gvk schema.GroupVersionKind, namespace, name string) bool {
	return s.objects[key(gvk, namespace, name)] != nil
}

func inOrder(t *testing.T, applied []string, order ...string) {
	t.Helper()
	at := -1
	for _, part := range order {
		next := slices.IndexFunc(applied, func(one string) bool { return strings.HasPrefix(one, part) })
		if next <= at {
			t.Errorf("%s comes too early, or never: %s", part, strings.Join(applied, "\n"))
		}
		at = next
	}
}

func TestTheFleetComesUpInOrder(t *testing.T) {
	w := newWorld(t, commits(t))
	w.start()
	inOrder(t, w.hub.applied, "AppProject.argoproj.io/argocd/mgmt.namespace.blue", "Application.argoproj.io/argocd/mgmt.clusters.blue",
		"Application.argoproj.io/argocd/mgmt.cluster.blue.one", "Cluster.cluster.x-k8s.io/blue/one", "Application.argoproj.io/argocd/mgmt.cluster.blue.one.addon.net")
	inOrder(t, w.hub.applied, "Namespace.//blue", "Cluster.cluster.x-k8s.io/blue/one")
	inOrder(t, w.workloads["blue-one"].applied, "ConfigMap./kube-system/net", "ConfigMap./default/notes")
	if machines := w.machines("one"); len(machines) != 3 {
		t.Errorf("%d machines", len(machines))
	}
}

func TestAnUpgradeReplacesTheMachinesOfItsClusterAlone(t *testing.T) {
	w := newWorld(t, commits(t))
	w.start()
	one, two := w.identities("one"), w.identities("two")
	w.commit("upgraded")
	for _, machine := range w.machines("one") {
		version, _, _ := unstructured.NestedString(machine.Object, "spec", "version")
		if slices.Contains(one, machine.GetUID()) || !strings.HasPrefix(version, "v1.36.") {
			t.Errorf("%s was not replaced: %s", machine.GetName(), version)
		}
	}
	if !slices.Equal(two, w.identities("two")) {
		t.Error("machines of another cluster were replaced")
	}
	if left := w.unsettled(); left != nil {
		t.Error(strings.Join(left, "\n"))
	}
}

func TestALostDefinitionTakesNothingAway(t *testing.T) {
	w := newWorld(t, commits(t))
	w.start()
	w.commit("upgraded")
	one, two := w.identities("one"), w.identities("two")
	uid := w.hub.objects[key(clusterKind, "green", "two")].GetUID()
	addons := len(w.workloads["green-two"].objects)
	w.commit("lost")
	for _, app := range w.hub.of(applicationKind) {
		// Those that install addons stay, without a project that would let them do anything.
		if strings.Contains(app.GetName(), "green") && !strings.Contains(app.GetName(), ".addon.") {
			t.Errorf("%s is still there", app.GetName())
		}
	}
	check := func(when string) {
		t.Helper()
		cluster := w.hub.objects[key(clusterKind, "green", "two")]
		if cluster == nil || cluster.GetUID() != uid || cluster.GetDeletionTimestamp() != nil {
			t.Fatalf("%s: the Cluster is not what it was: %v", when, cluster)
		}
		if !w.has(w.hub, namespaces, "", "green") || !slices.Equal(one, w.identities("one")) || !slices.Equal(two, w.identities("two")) {
			t.Errorf("%s: the namespace or machines are not what they were", when)
		}
		if found := len(w.workloads["green-two"].objects); found != addons {
			t.Errorf("%s: %d objects in the workload cluster instead of %d", when, found, addons)
		}
	}
	check("lost")
	w.commit("upgraded")
	check("reverted")
	if left := w.unsettled(); left != nil {
		t.Error(strings.Join(left, "\n"))
	}
}

// The tests above can fail: without the annotation, the same commit deletes the Cluster.
func TestTheAnnotationIsWhatKeepsACluster(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(commits(t))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "upgraded", "lost"} {
		for _, file := range []string{"green/two/cluster/cluster.yaml"} {
			file = filepath.Join(folder, name, "generated/management/mgmt/clusters", file)
			text, err := os.ReadFile(file)
			if os.IsNotExist(err) {
				continue
			}
			bare := strings.Replace(string(text), "argocd.argoproj.io/sync-options", "example.org/nothing", 1)
			if err != nil || bare == string(text) || os.WriteFile(file, []byte(bare), 0o600) != nil {
				t.Fatal(err, string(text))
			}
		}
	}
	w := newWorld(t, folder)
	w.start()
	// The Application still applies its folder, and the Cluster is not in it any more.
	cluster := filepath.Join(folder, "first/generated/management/mgmt/clusters/green/two/cluster/cluster.yaml")
	if err := os.Remove(cluster); err != nil {
		t.Fatal(err)
	}
	w.commit("first")
	if w.has(w.hub, clusterKind, "green", "two") {
		t.Error("the Cluster stays without protection")
	}
	if !w.has(w.hub, clusterKind, "blue", "one") {
		t.Error("the other one is gone")
	}
}

func TestStepsOfRemoval(t *testing.T) {
	w := newWorld(t, commits(t))
	w.start()
	w.commit("upgraded")
	w.commit("addon-off")
	if w.has(w.workloads["blue-one"], configMaps, "default", "notes") {
		t.Error("an addon that is off is still installed")
	}
	one := w.identities("one")
	installed := len(w.workloads["green-two"].objects)
	w.commit("detached")
	if !w.has(w.hub, clusterKind, "green", "two") || len(w.workloads["green-two"].objects) != installed {
		t.Error("detaching deletes")
	}
	w.commit("deleted")
	if w.has(w.hub, clusterKind, "green", "two") || len(w.machines("two")) > 0 {
		t.Error("the Cluster is still there")
	}
	w.commit("gone")
	for _, app := range w.hub.of(applicationKind) {
		if strings.Contains(app.GetName(), "green") {
			t.Errorf("%s is still there", app.GetName())
		}
	}
	if !w.has(w.hub, namespaces, "", "green") || !slices.Equal(one, w.identities("one")) {
		t.Error("something else is gone")
	}
}
