package oracle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	core "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/exp/topology/scope"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pairs "stackloom.dev/conformance/internal/random"
	"stackloom.dev/conformance/internal/topology"
)

// Side is a Cluster, and its class with the templates: the class first.
type Side struct {
	Class   []map[string]any
	Cluster map[string]any
}

// Step gives what the webhooks refuse when a Cluster that is rolled out is changed: of the new class, of the Cluster, and of
// the objects that the topology controller then changes.
func Step(ctx context.Context, gates string, before, after Side) ([]Refusal, error) {
	if err := feature.MutableGates.Set(gates); err != nil {
		return nil, err
	}
	was, err := Compute(ctx, before.Class, before.Cluster, nil)
	if err != nil || len(was.Errors) > 0 {
		return nil, fmt.Errorf("%w: %v %v", ErrNeverStood, was.Errors, err)
	}
	is, err := Compute(ctx, after.Class, after.Cluster, nil)
	if err != nil || len(is.Errors) > 0 {
		return is.Errors, err
	}
	if refused, err := changed(ctx, before, after); err != nil || len(refused) > 0 {
		return refused, err
	}
	for _, role := range slices.Sorted(maps.Keys(is.Desired)) {
		refused, err := rolled(ctx, gates, was.Desired[role], is.Desired[role])
		if err != nil || len(refused) > 0 {
			return refused, err
		}
	}
	return nil, nil
}

// rolled gives what is refused of an object that the topology controller changes, if its kind has a webhook. Templates that
// are rotated get another name: they are created.
func rolled(ctx context.Context, gates string, before, after any) ([]Refusal, error) {
	pair := pairs.Pair{Gates: gates, New: drawn(after).(map[string]any)}
	if old, stood := drawn(before).(map[string]any); stood && !strings.HasSuffix(fmt.Sprint(pair.New["kind"]), "Template") {
		pair.Old = old
	}
	switch pair.New["kind"] {
	case "KubeadmControlPlane", "KubeadmConfigTemplate", "MachineDeployment", "MachinePool":
		return Written(ctx, pair)
	}
	return nil, nil
}

// drawn puts letters for the symbol of what Cluster API draws for a name.
func drawn(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range v {
			out[key] = drawn(inner)
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range v {
			out = append(out, drawn(inner))
		}
		return out
	case string:
		return strings.ReplaceAll(v, "#1", "zzzzz")
	default:
		return v
	}
}

// changed gives what the webhook of Clusters refuses of the change.
func changed(ctx context.Context, before, after Side) ([]Refusal, error) {
	oldClass, oldTemplates, err := readClass(before.Class)
	if err != nil {
		return nil, err
	}
	newClass, newTemplates, err := readClass(after.Class)
	if err != nil {
		return nil, err
	}
	written, err := readCluster(before.Cluster)
	if err != nil {
		return nil, err
	}
	cluster, err := readCluster(after.Cluster)
	if err != nil {
		return nil, err
	}
	from, to := topology.NewRelease(oldClass, oldTemplates, nil), topology.NewRelease(newClass, newTemplates, nil)
	if err := (&core.Cluster{Client: from.Client()}).Default(ctx, written); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNeverStood, err)
	}
	state, err := from.State(ctx, written)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNeverStood, err)
	}
	// What the topology controller wrote into the Cluster stays, since no engine applies it.
	old := state.Cluster
	cluster.Spec.ControlPlaneRef, cluster.Spec.InfrastructureRef = old.Spec.ControlPlaneRef, old.Spec.InfrastructureRef
	webhook := &core.Cluster{Client: stands(to.Client(), from.Client(), state)}
	if errs := webhook.DefaultAndValidateVariables(ctx, cluster, old, newClass); len(errs) > 0 {
		kind := clusterv1.GroupVersion.WithKind("Cluster").GroupKind()
		return refusals("cluster", "webhook-default", apierrors.NewInvalid(kind, cluster.Name, errs))
	}
	warnings, err := webhook.ValidateUpdate(ctx, old, cluster)
	if err != nil {
		return refusals("cluster", "webhook-validate", err)
	}
	if len(warnings) > 0 {
		return []Refusal{{Stage: "cluster", By: "webhook-validate", Type: "warning", Detail: warnings[0]}}, nil
	}
	return nil, nil
}

// standing answers what the webhook asks about a Cluster that is rolled out.
type standing struct {
	client.Client
	old          client.Client
	controlPlane *unstructured.Unstructured
	version      string
	deployments  []clusterv1.MachineDeployment
}

func stands(class, old client.Client, state *scope.ClusterState) standing {
	version := state.Cluster.Spec.Topology.Version
	s := standing{Client: class, old: old, controlPlane: state.ControlPlane.Object.DeepCopy(), version: version}
	if err := unstructured.SetNestedField(s.controlPlane.Object, version, "status", "version"); err != nil {
		panic(err)
	}
	for _, md := range state.MachineDeployments {
		s.deployments = append(s.deployments, *md.Object)
	}
	return s
}

func (s standing) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if o, ok := into.(*unstructured.Unstructured); ok && key == client.ObjectKeyFromObject(s.controlPlane) {
		s.controlPlane.DeepCopyInto(o)
		return nil
	}
	if err := s.Client.Get(ctx, key, into, options...); !apierrors.IsNotFound(err) {
		return err
	}
	return s.old.Get(ctx, key, into, options...)
}

func (s standing) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *clusterv1.MachineDeploymentList:
		l.Items = s.deployments
	case *clusterv1.MachinePoolList:
	case *clusterv1.MachineList:
		l.Items = []clusterv1.Machine{{Spec: clusterv1.MachineSpec{Version: s.version}}}
	default:
		return fmt.Errorf("%T is not known here", list)
	}
	return nil
}
