// Package apitypes decodes objects strictly into the Go types of the projects that own them.
package apitypes

import (
	"fmt"
	"sort"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	orcv1alpha1 "github.com/k-orc/openstack-resource-controller/v2/api/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	capov1beta1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	dockerv1 "sigs.k8s.io/cluster-api/test/infrastructure/docker/api/v1beta2"

	"stackloom.dev/conformance/internal/report"
	"stackloom.dev/conformance/internal/tree"
)

// Scheme holds every upstream type that a generated object can have.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		kubernetes.AddToScheme, apiextensionsv1.AddToScheme,
		clusterv1.AddToScheme, addonsv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, ipamv1.AddToScheme,
		capov1beta1.AddToScheme, dockerv1.AddToScheme, orcv1alpha1.AddToScheme,
		kustomizev1.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// Decoder decodes with unknown and repeated fields as errors.
type Decoder struct {
	scheme  *runtime.Scheme
	decoder runtime.Decoder
}

func NewDecoder(scheme *runtime.Scheme) *Decoder {
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	return &Decoder{scheme: scheme, decoder: codecs.UniversalDeserializer()}
}

// Known says whether upstream's Go type of an object is at hand.
func (d *Decoder) Known(object *unstructured.Unstructured) bool {
	return d.scheme.Recognizes(object.GroupVersionKind())
}

// Decode returns the typed object, or what of it the type does not have.
func (d *Decoder) Decode(object *unstructured.Unstructured) (runtime.Object, error) {
	j, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	typed, _, err := d.decoder.Decode(j, nil, nil)
	return typed, err
}

// Check decodes every object of the tree.
func Check(t *tree.Tree, d *Decoder, r *report.Report) {
	kinds, unknown := map[string]int{}, map[string]int{}
	r.Count("typed", 0)
	for _, f := range t.Objects {
		if !d.Known(f.Object) {
			unknown[f.Kind()]++
			continue
		}
		kinds[f.Kind()]++
		r.Count("typed", 1)
		if _, err := d.Decode(f.Object); err != nil {
			r.Fail(f.Path, "type", "%v", err)
		}
	}
	r.Count("kinds", len(kinds)+len(unknown))
	r.Require("generated objects", "typed")
	if len(unknown) > 0 {
		r.Note("no Go type at hand, not decoded: %s", List(unknown))
	}
}

// List prints counts by name, sorted.
func List(counts map[string]int) string {
	var parts []string
	for name, n := range counts {
		parts = append(parts, fmt.Sprintf("%s (%d)", name, n))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}
