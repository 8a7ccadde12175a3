package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// manager is the name under which Argo CD owns fields.
const manager = "argocd-controller"

// target is a cluster that Applications apply to.
type target struct {
	config *rest.Config
	client dynamic.Interface
	disco  discovery.DiscoveryInterface
	// kinds are those that were applied here: in these the applier looks for what left git.
	kinds map[schema.GroupVersionKind]bool
	// resources are those of kinds that were asked for before.
	resources map[schema.GroupVersionKind]*metav1.APIResource
	// lock guards both: the engine applies objects of one wave at the same time.
	lock sync.Mutex
}

// note adds a kind.
func (t *target) note(gvk schema.GroupVersionKind) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.kinds[gvk] = true
}

// noted lists the kinds.
func (t *target) noted() []schema.GroupVersionKind {
	t.lock.Lock()
	defer t.lock.Unlock()
	return slices.Collect(maps.Keys(t.kinds))
}

func newTarget(config *rest.Config) (*target, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &target{config: config, client: client, disco: disco, kinds: map[schema.GroupVersionKind]bool{}, resources: map[schema.GroupVersionKind]*metav1.APIResource{}}, nil
}

// of is the interface to the objects of a kind, and whether the kind is namespaced.
func (t *target) of(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, bool, error) {
	resource, err := t.resource(gvk)
	if err != nil {
		return nil, false, err
	}
	return kube.ToResourceInterface(t.client, resource, kube.ToGroupVersionResource(gvk.GroupVersion().String(), resource), namespace), resource.Namespaced, nil
}

// resource asks once: a question to the server for each object would make rounds slow.
func (t *target) resource(gvk schema.GroupVersionKind) (*metav1.APIResource, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if known := t.resources[gvk]; known != nil {
		return known, nil
	}
	resource, err := kube.ServerResourceForGroupVersionKind(t.disco, gvk, "get")
	if err == nil {
		t.resources[gvk] = resource
	}
	return resource, err
}

// get reads an object; none if it or its kind does not exist.
func (t *target) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	objects, _, err := t.of(gvk, namespace)
	if err == nil {
		var found *unstructured.Unstructured
		if found, err = objects.Get(ctx, name, metav1.GetOptions{}); err == nil {
			return found, nil
		}
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return nil, err
}

func (t *target) list(ctx context.Context, gvk schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	objects, _, err := t.of(gvk, "")
	if err != nil {
		return nil, err
	}
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// apply applies an object on the server's side, or asks what that would give.
func (t *target) apply(ctx context.Context, object *unstructured.Unstructured, dry bool) (*unstructured.Unstructured, error) {
	objects, namespaced, err := t.of(object.GroupVersionKind(), object.GetNamespace())
	if err != nil {
		return nil, err
	}
	object = object.DeepCopy()
	if !namespaced {
		object.SetNamespace("")
	}
	options := metav1.ApplyOptions{FieldManager: manager, Force: true}
	if dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return objects.Apply(ctx, object.GetName(), object, options)
}

// patch changes an object by a JSON merge patch.
func (t *target) patch(ctx context.Context, object *unstructured.Unstructured, patch string) error {
	objects, _, err := t.of(object.GroupVersionKind(), object.GetNamespace())
	if err != nil {
		return err
	}
	_, err = objects.Patch(ctx, object.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "argocd-application-controller"})
	return err
}

// kubectl is Argo CD's own access to a cluster, but for applying: that is client-go's server-side apply instead of kubectl's command.
type kubectl struct {
	kube.KubectlCmd
	target *target
}

func newKubectl(where *target) *kubectl {
	return &kubectl{KubectlCmd: kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}, target: where}
}

func (k *kubectl) ManageResources(*rest.Config) (kube.ResourceOperations, func(), error) {
	return operations{k.target}, func() {}, nil
}

type operations struct{ *target }

func (o operations) ApplyResource(ctx context.Context, object *unstructured.Unstructured, how cmdutil.DryRunStrategy, _, _, serverSide bool, by string) (string, error) {
	if how == cmdutil.DryRunClient {
		// kubectl reads the object, and asks the server nothing.
		return "dry run", nil
	}
	if !serverSide || by != manager {
		return "", fmt.Errorf("%s %s would not be applied on the server's side by %s", object.GetKind(), object.GetName(), manager)
	}
	o.note(object.GroupVersionKind())
	_, err := o.apply(ctx, object, how == cmdutil.DryRunServer)
	return "applied", err
}

func (o operations) ReplaceResource(context.Context, *unstructured.Unstructured, cmdutil.DryRunStrategy, bool) (string, error) {
	return "", fmt.Errorf("nothing is to be replaced")
}

func (o operations) CreateResource(context.Context, *unstructured.Unstructured, cmdutil.DryRunStrategy, bool) (string, error) {
	return "", fmt.Errorf("nothing is to be created but by applying it")
}

func (o operations) UpdateResource(context.Context, *unstructured.Unstructured, cmdutil.DryRunStrategy) (*unstructured.Unstructured, error) {
	return nil, fmt.Errorf("nothing is to be updated but by applying it")
}
