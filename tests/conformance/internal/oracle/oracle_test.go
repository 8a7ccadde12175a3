package oracle

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	core "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/feature"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"stackloom.dev/conformance/internal/topology"
)

// largest is the worked example by which `cargo bench --bench topology` measures, too.
const largest = "../../../../crates/capi-topology/tests/topology/cases/stack-openstack/rebase-gpu-template.txt"

// file takes a file out of an archive of a case, as its documents.
func file(tb testing.TB, archive, name string) []map[string]any {
	tb.Helper()
	text, err := os.ReadFile(archive)
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "-- "+name+" --\n")
	if !found {
		tb.Fatalf("%s has no %s", archive, name)
	}
	rest = rest[:regexp.MustCompile(`(?m)^-- .* --$|\z`).FindStringIndex(rest)[0]]
	var documents []map[string]any
	for _, document := range regexp.MustCompile(`(?m)^---$`).Split(rest, -1) {
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			tb.Fatal(err)
		}
		documents = append(documents, object)
	}
	return documents
}

// BenchmarkCluster is what Cluster API's own code takes for one more Cluster of a class that is read: its webhooks, and its
// generator of desired state with all patches.
func BenchmarkCluster(b *testing.B) {
	ctrl.SetLogger(logr.Discard())
	if err := feature.MutableGates.Set("ClusterTopology=true,MachinePool=true"); err != nil {
		b.Fatal(err)
	}
	objects, written := file(b, largest, "input/class.yaml"), file(b, largest, "input/cluster.yaml")[0]
	class, cluster := &clusterv1.ClusterClass{}, &clusterv1.Cluster{}
	if err := decode(objects[0], class); err != nil {
		b.Fatal(err)
	}
	if err := decode(written, cluster); err != nil {
		b.Fatal(err)
	}
	class.Namespace, cluster.Namespace, cluster.UID = "default", "default", UID
	var templates []*unstructured.Unstructured
	for _, o := range objects[1:] {
		template := &unstructured.Unstructured{}
		if err := decode(o, template); err != nil {
			b.Fatal(err)
		}
		template.SetNamespace("default")
		templates = append(templates, template)
	}
	release := topology.NewRelease(class, templates, nil)
	webhook := &core.Cluster{Client: release.Client()}
	ctx := b.Context()
	number := 0
	admit := func(b *testing.B) *clusterv1.Cluster {
		next := cluster.DeepCopy()
		number++
		next.Name = fmt.Sprintf("cluster-%d", number)
		if err := webhook.Default(ctx, next); err != nil {
			b.Fatal(err)
		}
		if _, err := webhook.ValidateCreate(ctx, next); err != nil {
			b.Fatal(err)
		}
		return next
	}
	b.Run("admitted", func(b *testing.B) {
		for b.Loop() {
			admit(b)
		}
	})
	desired := func(b *testing.B, cluster *clusterv1.Cluster) {
		if _, err := release.State(ctx, cluster); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("desired", func(b *testing.B) {
		admitted := admit(b)
		for b.Loop() {
			desired(b, admitted)
		}
	})
	b.Run("admitted and desired", func(b *testing.B) {
		for b.Loop() {
			desired(b, admit(b))
		}
	})
}
