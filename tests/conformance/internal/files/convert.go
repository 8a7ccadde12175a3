package files

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrap "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/conversion"
	controlplane "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	core "sigs.k8s.io/cluster-api/core/webhooks/conversion"
)

// pair has both ways between the version that people still write and the one that is stored.
type pair struct {
	old, hub func() runtime.Object
	up       func(ctx context.Context, old, hub runtime.Object) error
	down     func(ctx context.Context, hub, old runtime.Object) error
}

func of2[O, H any, PO interface {
	*O
	runtime.Object
}, PH interface {
	*H
	runtime.Object
}](up func(context.Context, PO, PH) error, down func(context.Context, PH, PO) error) pair {
	return pair{
		old:  func() runtime.Object { return PO(new(O)) },
		hub:  func() runtime.Object { return PH(new(H)) },
		up:   func(ctx context.Context, o, h runtime.Object) error { return up(ctx, o.(PO), h.(PH)) },
		down: func(ctx context.Context, h, o runtime.Object) error { return down(ctx, h.(PH), o.(PO)) },
	}
}

var pairs = map[string]pair{
	"Cluster": of2[clusterv1beta1.Cluster, clusterv1.Cluster](core.ConvertClusterV1Beta1ToHub, core.ConvertClusterHubToV1Beta1),
	"ClusterClass": of2[clusterv1beta1.ClusterClass, clusterv1.ClusterClass](
		core.ConvertClusterClassV1Beta1ToHub, core.ConvertClusterClassHubToV1Beta1),
	"KubeadmConfig": of2[bootstrapv1beta1.KubeadmConfig, bootstrapv1.KubeadmConfig](
		bootstrap.ConvertKubeadmConfigV1Beta1ToHub, bootstrap.ConvertKubeadmConfigHubToV1Beta1),
	"KubeadmConfigTemplate": of2[bootstrapv1beta1.KubeadmConfigTemplate, bootstrapv1.KubeadmConfigTemplate](
		bootstrap.ConvertKubeadmConfigTemplateV1Beta1ToHub, bootstrap.ConvertKubeadmConfigTemplateHubToV1Beta1),
	"KubeadmControlPlane": of2[controlplanev1beta1.KubeadmControlPlane, controlplanev1.KubeadmControlPlane](
		controlplane.ConvertKubeadmControlPlaneV1Beta1ToHub, controlplane.ConvertKubeadmControlPlaneHubToV1Beta1),
	"KubeadmControlPlaneTemplate": of2[controlplanev1beta1.KubeadmControlPlaneTemplate, controlplanev1.KubeadmControlPlaneTemplate](
		controlplane.ConvertKubeadmControlPlaneTemplateV1Beta1ToHub, controlplane.ConvertKubeadmControlPlaneTemplateHubToV1Beta1),
}

var groups = map[string]bool{
	clusterv1.GroupVersion.Group: true, bootstrapv1.GroupVersion.Group: true, controlplanev1.GroupVersion.Group: true,
}

// hub gives an object of Cluster API in the version that is stored.
func (r *Reader) hub(ctx context.Context, o *unstructured.Unstructured) (map[string]any, error) {
	return r.at(ctx, o, schema.GroupVersion{Group: o.GroupVersionKind().Group, Version: "v1beta2"})
}

// at gives an object in a version, as the API server does. Kinds that are not Cluster API's stay as they are.
func (r *Reader) at(ctx context.Context, o *unstructured.Unstructured, wanted schema.GroupVersion) (map[string]any, error) {
	own := o.GroupVersionKind()
	p, known := pairs[own.Kind]
	if !known || !groups[own.Group] || (own.Version != "v1beta1" && own.Version != "v1beta2") {
		if own.Version != wanted.Version {
			return nil, fmt.Errorf("it is of %s, and %s is asked for", own.Version, wanted.Version)
		}
		return o.Object, nil
	}
	stored := p.hub()
	if own.Version == "v1beta2" {
		if err := convertJSON(o.Object, stored); err != nil {
			return nil, err
		}
	} else {
		old, written := p.old(), o.DeepCopy()
		if err := r.Schemas.Default(written); err != nil {
			return nil, err
		}
		if err := convertJSON(written.Object, old); err != nil {
			return nil, err
		}
		if err := p.up(ctx, old, stored); err != nil {
			return nil, err
		}
	}
	made := stored
	if wanted.Version == "v1beta1" {
		made = p.old()
		if err := p.down(ctx, stored, made); err != nil {
			return nil, err
		}
	} else if own.Version == "v1beta2" {
		// Stored as it was written.
		return o.Object, nil
	}
	converted, err := plain(made)
	if err != nil {
		return nil, err
	}
	converted["apiVersion"], converted["kind"] = wanted.String(), own.Kind
	return converted, nil
}
