package topology

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/exp/topology/desiredstate"
	"sigs.k8s.io/cluster-api/exp/topology/scope"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"stackloom.dev/conformance/internal/tree"
)

// release is a ClusterClass as it would stand reconciled in the API, with the templates beside it.
type release struct {
	class     *clusterv1.ClusterClass
	templates map[string]*unstructured.Unstructured
	client    client.Client
}

// release finds the class of a Cluster and does what its controller does to the status.
func (c *Checker) release(cluster *clusterv1.Cluster) (*release, error) {
	key := cluster.GetClassKey()
	for _, f := range c.Tree.Of(clusterv1.GroupVersion.Group, "ClusterClass") {
		if f.Object.GetName() != key.Name {
			continue
		}
		class := &clusterv1.ClusterClass{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(f.Object.Object, class); err != nil {
			return nil, err
		}
		class.Namespace = key.Namespace
		reconcile(class)
		return &release{class, templates(c.Tree, f, key.Namespace), api{class: class, labels: known}}, nil
	}
	return nil, fmt.Errorf("no release of the tree holds ClusterClass %s", key.Name)
}

// Release is a class with its templates, as it would stand reconciled in the API.
type Release struct{ release *release }

// Labels are those of CustomResourceDefinitions, by name: they tell the contract of each version.
type Labels map[string]map[string]string

var known = Labels{contract.CalculateCRDName(controlplanev1.GroupVersion.Group, "KubeadmControlPlane"): {
	clusterv1.GroupVersion.Group + "/v1beta1": "v1beta1", clusterv1.GroupVersion.Group + "/v1beta2": "v1beta2",
}}

// NewRelease does to a class what its controller does. Labels are those of kinds that are not Cluster API's own.
func NewRelease(class *clusterv1.ClusterClass, templates []*unstructured.Unstructured, labels Labels) *Release {
	reconcile(class)
	all := Labels{}
	maps.Copy(all, labels)
	maps.Copy(all, known)
	found := map[string]*unstructured.Unstructured{}
	for _, t := range templates {
		found[t.GetAPIVersion()+"/"+t.GetKind()+" "+t.GetName()] = t
	}
	return &Release{&release{class, found, api{class: class, labels: all}}}
}

// Client answers what the webhooks ask about the class.
func (r *Release) Client() client.Client { return r.release.client }

// State computes what the topology controller wants to exist for a new Cluster.
func (r *Release) State(ctx context.Context, cluster *clusterv1.Cluster) (*scope.ClusterState, error) {
	return r.release.state(ctx, cluster)
}

func reconcile(class *clusterv1.ClusterClass) {
	for _, v := range class.Spec.Variables {
		class.Status.Variables = append(class.Status.Variables, clusterv1.ClusterClassStatusVariable{
			Name: v.Name,
			Definitions: []clusterv1.ClusterClassStatusVariableDefinition{{
				From: clusterv1.VariableDefinitionFromInline, Required: v.Required, Schema: v.Schema,
			}},
		})
	}
	sort.Slice(class.Status.Variables, func(i, j int) bool { return class.Status.Variables[i].Name < class.Status.Variables[j].Name })
	class.Status.ObservedGeneration = class.Generation
	class.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ClusterClassVariablesReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ClusterClassVariablesReadyReason,
	}}
}

func templates(t *tree.Tree, class tree.File, namespace string) map[string]*unstructured.Unstructured {
	folder := class.Path[:strings.LastIndex(class.Path, "/")]
	found := map[string]*unstructured.Unstructured{}
	for _, f := range t.Below(folder) {
		o := f.Object.DeepCopy()
		o.SetNamespace(namespace)
		found[f.Kind()+" "+o.GetName()] = o
	}
	return found
}

// api answers the two questions that Cluster API asks about a new Cluster: for its class, and for the label of a
// CustomResourceDefinition that tells the contract of the control plane's version. Anything else is no use of it.
type api struct {
	client.Client
	class  *clusterv1.ClusterClass
	labels Labels
}

func (a api) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch o := into.(type) {
	case *clusterv1.ClusterClass:
		if key == client.ObjectKeyFromObject(a.class) {
			a.class.DeepCopyInto(o)
			return nil
		}
		return apierrors.NewNotFound(clusterv1.GroupVersion.WithResource("clusterclasses").GroupResource(), key.String())
	case *metav1.PartialObjectMetadata:
		if labels, ok := a.labels[key.Name]; ok {
			o.Labels = labels
			return nil
		}
	}
	return fmt.Errorf("%T %s is not known here", into, key)
}

// unreachable stands for the workload clusters, of which none is asked while a Cluster is new.
type unreachable struct{ clustercache.ClusterCache }

// object is one that the topology controller would create, and what it is for.
type object struct {
	role   string
	object *unstructured.Unstructured
}

// desired computes what the topology controller creates for a new Cluster, patches applied.
func (r *release) desired(ctx context.Context, cluster *clusterv1.Cluster) ([]object, error) {
	state, err := r.state(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return flatten(state)
}

func (r *release) state(ctx context.Context, cluster *clusterv1.Cluster) (*scope.ClusterState, error) {
	generator, err := desiredstate.NewGenerator(r.client, unreachable{}, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	s := scope.New(cluster)
	s.Current.ControlPlane = &scope.ControlPlaneState{}
	if s.Blueprint, err = r.blueprint(cluster); err != nil {
		return nil, err
	}
	return generator.Generate(ctx, s)
}

// References are those of a class to its templates, each once.
func References(class *clusterv1.ClusterClass) []clusterv1.ClusterClassTemplateReference {
	spec := class.Spec
	all := []clusterv1.ClusterClassTemplateReference{
		spec.Infrastructure.TemplateRef, spec.ControlPlane.TemplateRef, spec.ControlPlane.MachineInfrastructure.TemplateRef,
	}
	for _, md := range spec.Workers.MachineDeployments {
		all = append(all, md.Bootstrap.TemplateRef, md.Infrastructure.TemplateRef)
	}
	for _, mp := range spec.Workers.MachinePools {
		all = append(all, mp.Bootstrap.TemplateRef, mp.Infrastructure.TemplateRef)
	}
	var once []clusterv1.ClusterClassTemplateReference
	for _, ref := range all {
		if ref.Name != "" && !slices.Contains(once, ref) {
			once = append(once, ref)
		}
	}
	return once
}

func (r *release) template(ref clusterv1.ClusterClassTemplateReference) (*unstructured.Unstructured, error) {
	if t, ok := r.templates[ref.APIVersion+"/"+ref.Kind+" "+ref.Name]; ok {
		return t.DeepCopy(), nil
	}
	return nil, fmt.Errorf("the release does not hold %s %s in %s", ref.Kind, ref.Name, ref.APIVersion)
}

func (r *release) blueprint(cluster *clusterv1.Cluster) (*scope.ClusterBlueprint, error) {
	spec := r.class.Spec
	b := &scope.ClusterBlueprint{
		Topology: cluster.Spec.Topology, ClusterClass: r.class, ControlPlane: &scope.ControlPlaneBlueprint{},
		MachineDeployments: map[string]*scope.MachineDeploymentBlueprint{}, MachinePools: map[string]*scope.MachinePoolBlueprint{},
	}
	var err error
	get := func(ref clusterv1.ClusterClassTemplateReference) *unstructured.Unstructured {
		t, e := r.template(ref)
		if e != nil && err == nil {
			err = e
		}
		return t
	}
	b.InfrastructureClusterTemplate = get(spec.Infrastructure.TemplateRef)
	b.ControlPlane.Template = get(spec.ControlPlane.TemplateRef)
	if b.HasControlPlaneInfrastructureMachine() {
		b.ControlPlane.InfrastructureMachineTemplate = get(spec.ControlPlane.MachineInfrastructure.TemplateRef)
	}
	if b.HasControlPlaneMachineHealthCheck() {
		b.ControlPlane.HealthCheck = spec.ControlPlane.HealthCheck
	}
	for _, md := range spec.Workers.MachineDeployments {
		b.MachineDeployments[md.Class] = &scope.MachineDeploymentBlueprint{
			Metadata: md.Metadata, HealthCheck: md.HealthCheck,
			InfrastructureMachineTemplate: get(md.Infrastructure.TemplateRef), BootstrapTemplate: get(md.Bootstrap.TemplateRef),
		}
	}
	for _, mp := range spec.Workers.MachinePools {
		b.MachinePools[mp.Class] = &scope.MachinePoolBlueprint{
			Metadata:                          mp.Metadata,
			InfrastructureMachinePoolTemplate: get(mp.Infrastructure.TemplateRef), BootstrapTemplate: get(mp.Bootstrap.TemplateRef),
		}
	}
	return b, err
}

func flatten(state *scope.ClusterState) ([]object, error) {
	all := []object{
		{"the infrastructure cluster", state.InfrastructureCluster},
		{"the control plane", state.ControlPlane.Object},
		{"the machines of the control plane", state.ControlPlane.InfrastructureMachineTemplate},
	}
	var err error
	typed := func(role string, o client.Object) {
		if reflect.ValueOf(o).IsNil() {
			return
		}
		content, e := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if e != nil {
			err = e
			return
		}
		// A typed object prints its empty status, which is not part of what is applied.
		delete(content, "status")
		all = append(all, object{role, &unstructured.Unstructured{Object: content}})
	}
	typed("the control plane's health check", state.ControlPlane.MachineHealthCheck)
	for name, md := range state.MachineDeployments {
		typed("node pool "+name, md.Object)
		typed("the health check of node pool "+name, md.MachineHealthCheck)
		all = append(all, object{"the machines of node pool " + name, md.InfrastructureMachineTemplate},
			object{"the bootstrap of node pool " + name, md.BootstrapTemplate})
	}
	for name, mp := range state.MachinePools {
		typed("machine pool "+name, mp.Object)
		all = append(all, object{"the machines of machine pool " + name, mp.InfrastructureMachinePoolObject},
			object{"the bootstrap of machine pool " + name, mp.BootstrapObject})
	}
	var present []object
	for _, o := range all {
		if o.object != nil {
			present = append(present, o)
		}
	}
	sort.Slice(present, func(i, j int) bool { return present[i].role < present[j].role })
	return present, err
}

func sameJSON(a, b []byte) bool {
	var left, right any
	for text, into := range map[*[]byte]*any{&a: &left, &b: &right} {
		d := json.NewDecoder(bytes.NewReader(*text))
		d.UseNumber()
		if err := d.Decode(into); err != nil {
			return false
		}
	}
	return reflect.DeepEqual(left, right)
}
