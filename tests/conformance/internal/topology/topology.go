// Package topology runs what Cluster API itself would do with the tree's classes and Clusters: its admission webhooks,
// its defaulting and validation of variables, and the objects that its topology controller would create.
package topology

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrap "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	controlplane "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	core "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/feature"

	"stackloom.dev/conformance/internal/apitypes"
	"stackloom.dev/conformance/internal/report"
	"stackloom.dev/conformance/internal/schemas"
	"stackloom.dev/conformance/internal/tree"
)

// Checker holds what every class and Cluster is checked with; Schemas is nil where no folder of them was given.
type Checker struct {
	Tree    *tree.Tree
	Types   *apitypes.Decoder
	Schemas *schemas.Catalog
	// Gates are Cluster API's feature gates, as its managers take them.
	Gates  string
	Report *report.Report
}

// Check runs the webhooks over classes and templates, and everything over each Cluster.
func (c *Checker) Check(ctx context.Context) error {
	if err := feature.MutableGates.Set(c.Gates); err != nil {
		return err
	}
	for _, what := range []string{"classes and templates admitted", "Clusters admitted", "desired objects"} {
		c.Report.Count(what, 0)
	}
	for _, f := range c.Tree.Objects {
		c.admit(ctx, f)
	}
	for _, f := range c.Tree.Of(clusterv1.GroupVersion.Group, "Cluster") {
		c.cluster(ctx, f)
	}
	c.Report.Require("generated objects", "classes and templates admitted", "Clusters admitted", "desired objects")
	return nil
}

// admit runs the create webhook of an object that does not depend on another one.
func (c *Checker) admit(ctx context.Context, f tree.File) {
	if !c.Types.Known(f.Object) {
		return
	}
	typed, err := c.Types.Decode(f.Object)
	if err != nil {
		return // reported where types are checked
	}
	known, err := admitTyped(ctx, typed)
	if !known {
		return
	}
	c.Report.Count("classes and templates admitted", 1)
	if err != nil {
		c.Report.Fail(f.Path, "webhook", "%v", err)
	}
}

// admitTyped runs the defaulting and validating webhooks of an object, if Cluster API has one for it that stands alone.
func admitTyped(ctx context.Context, typed runtime.Object) (known bool, err error) {
	switch o := typed.(type) {
	case *clusterv1.ClusterClass:
		_, err = (&core.ClusterClass{}).ValidateCreate(ctx, o)
	case *clusterv1.MachineDeployment:
		_, err = (&core.MachineDeployment{}).ValidateCreate(ctx, o)
	case *clusterv1.MachineHealthCheck:
		_, err = (&core.MachineHealthCheck{}).ValidateCreate(ctx, o)
	case *controlplanev1.KubeadmControlPlaneTemplate:
		_, err = (&controlplane.KubeadmControlPlaneTemplate{}).ValidateCreate(ctx, o)
	case *controlplanev1.KubeadmControlPlane:
		webhook := &controlplane.KubeadmControlPlane{}
		if err = webhook.Default(ctx, o); err == nil {
			_, err = webhook.ValidateCreate(ctx, o)
		}
	case *bootstrapv1.KubeadmConfigTemplate:
		_, err = (&bootstrap.KubeadmConfigTemplate{}).ValidateCreate(ctx, o)
	default:
		return false, nil
	}
	return true, err
}

func (c *Checker) cluster(ctx context.Context, f tree.File) {
	cluster := &clusterv1.Cluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(f.Object.Object, cluster); err != nil {
		return // reported where types are checked
	}
	release, err := c.release(cluster)
	if err != nil {
		c.Report.Fail(f.Path, "topology", "%v", err)
		return
	}
	cluster.UID = "00000000-0000-0000-0000-000000000000"
	if err := c.admitCluster(ctx, cluster, release); err != nil {
		c.Report.Fail(f.Path, "webhook", "%v", err)
		return
	}
	c.Report.Count("Clusters admitted", 1)
	desired, err := release.desired(ctx, cluster)
	if err != nil {
		c.Report.Fail(f.Path, "topology", "%v", err)
		return
	}
	for _, o := range desired {
		c.Report.Count("desired objects", 1)
		for _, err := range c.checkDesired(ctx, o.object) {
			c.Report.Fail(f.Path, "topology", "%s, as Cluster API would create it: %v", o.role, err)
		}
	}
}

// admitCluster also requires that defaulting has nothing left to do: what it writes into the live object stays there
// when a later class has another default, since no engine owns it.
func (c *Checker) admitCluster(ctx context.Context, cluster *clusterv1.Cluster, release *release) error {
	before := cluster.Spec.DeepCopy()
	webhook := &core.Cluster{Client: release.client}
	if err := webhook.Default(ctx, cluster); err != nil {
		return err
	}
	if err := notDefaulted(before, &cluster.Spec); err != nil {
		return err
	}
	warnings, err := webhook.ValidateCreate(ctx, cluster)
	if err == nil && len(warnings) > 0 {
		err = fmt.Errorf("warning: %s", warnings[0])
	}
	return err
}

func notDefaulted(before, after *clusterv1.ClusterSpec) error {
	if before.Topology.Version != after.Topology.Version {
		return fmt.Errorf("topology.version %s becomes %s", before.Topology.Version, after.Topology.Version)
	}
	values := map[string]string{}
	for _, v := range before.Topology.Variables {
		values[v.Name] = string(v.Value.Raw)
	}
	for _, v := range after.Topology.Variables {
		was, written := values[v.Name]
		if !written {
			return fmt.Errorf("variable %s is not written out: Cluster API sets its default %s", v.Name, v.Value.Raw)
		}
		if !sameJSON([]byte(was), v.Value.Raw) {
			return fmt.Errorf("variable %s is not written out whole: Cluster API makes %s of %s", v.Name, v.Value.Raw, was)
		}
	}
	return sameOverrides(before, after)
}

func sameOverrides(before, after *clusterv1.ClusterSpec) error {
	was, err := json.Marshal(before.Topology)
	if err != nil {
		return err
	}
	is, err := json.Marshal(after.Topology)
	if err != nil {
		return err
	}
	if !sameJSON(was, is) {
		return fmt.Errorf("a variable of a part is not written out whole: Cluster API makes %s of %s", is, was)
	}
	return nil
}

func (c *Checker) checkDesired(ctx context.Context, o *unstructured.Unstructured) []error {
	var errs []error
	if c.Types.Known(o) {
		typed, err := c.Types.Decode(o)
		if err != nil {
			errs = append(errs, err)
		} else if _, err := admitTyped(ctx, typed); err != nil {
			errs = append(errs, err)
		}
	}
	if c.Schemas != nil && c.Schemas.Known(o.GroupVersionKind()) {
		errs = append(errs, c.Schemas.Validate(ctx, o)...)
	}
	return errs
}
