package oracle

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/admission/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrap "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	controlplane "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	core "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	pairs "stackloom.dev/conformance/internal/random"
)

// webhook is a kind's defaulting and validating webhook; without a defaulter nothing is filled in.
type webhook[T any] struct {
	fill   func(context.Context, T) error
	create func(context.Context, T) (admission.Warnings, error)
	update func(context.Context, T, T) (admission.Warnings, error)
}

// ErrNeverStood says that no API server can hold the object before a change: its webhooks refuse it.
var ErrNeverStood = errors.New("the object before the change is refused itself")

// Written gives what the webhooks refuse of an object, or of its change where there was one before.
func Written(ctx context.Context, pair pairs.Pair) ([]Refusal, error) {
	if err := feature.MutableGates.Set(pair.Gates); err != nil {
		return nil, err
	}
	switch kind := pair.New["kind"]; kind {
	case "KubeadmControlPlane":
		hook := &controlplane.KubeadmControlPlane{}
		return written(ctx, pair, &controlplanev1.KubeadmControlPlane{}, &controlplanev1.KubeadmControlPlane{},
			webhook[*controlplanev1.KubeadmControlPlane]{hook.Default, hook.ValidateCreate, hook.ValidateUpdate})
	case "KubeadmControlPlaneTemplate":
		hook := &controlplane.KubeadmControlPlaneTemplate{}
		return written(ctx, pair, &controlplanev1.KubeadmControlPlaneTemplate{}, &controlplanev1.KubeadmControlPlaneTemplate{},
			webhook[*controlplanev1.KubeadmControlPlaneTemplate]{nil, hook.ValidateCreate, hook.ValidateUpdate})
	case "KubeadmConfigTemplate":
		hook := &bootstrap.KubeadmConfigTemplate{}
		return written(ctx, pair, &bootstrapv1.KubeadmConfigTemplate{}, &bootstrapv1.KubeadmConfigTemplate{},
			webhook[*bootstrapv1.KubeadmConfigTemplate]{hook.Default, hook.ValidateCreate, hook.ValidateUpdate})
	case "MachineDeployment":
		hook := &core.MachineDeployment{}
		return written(ctx, pair, &clusterv1.MachineDeployment{}, &clusterv1.MachineDeployment{},
			webhook[*clusterv1.MachineDeployment]{hook.Default, hook.ValidateCreate, hook.ValidateUpdate})
	case "MachinePool":
		hook := &core.MachinePool{}
		return written(ctx, pair, &clusterv1.MachinePool{}, &clusterv1.MachinePool{},
			webhook[*clusterv1.MachinePool]{hook.Default, hook.ValidateCreate, hook.ValidateUpdate})
	default:
		return nil, fmt.Errorf("no webhook of kind %v is known here", kind)
	}
}

// written fills in both as for a creation, since what stands already was filled in when it came. An error of the defaulter
// names no field.
func written[T any](ctx context.Context, pair pairs.Pair, before, after T, hook webhook[T]) ([]Refusal, error) {
	ctx = admission.NewContextWithRequest(ctx, admission.Request{AdmissionRequest: v1.AdmissionRequest{Operation: v1.Create}})
	if err := decode(pair.New, after); err != nil {
		return nil, err
	}
	if pair.Old != nil {
		if err := decode(pair.Old, before); err != nil {
			return nil, err
		}
	}
	if hook.fill != nil {
		if err := hook.fill(ctx, after); err != nil {
			return []Refusal{{Stage: "apply", By: "webhook-default", Detail: err.Error()}}, nil
		}
		if pair.Old != nil {
			if err := hook.fill(ctx, before); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrNeverStood, err)
			}
		}
	}
	var err error
	if pair.Old == nil {
		_, err = hook.create(ctx, after)
	} else {
		_, err = hook.update(ctx, before, after)
	}
	if err == nil {
		return []Refusal{}, nil
	}
	return refusals("apply", "webhook-validate", err)
}
