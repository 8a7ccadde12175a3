package files

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stackloom.dev/conformance/internal/oracle"
	"stackloom.dev/conformance/internal/random"
)

// Creation is why the API server or a webhook refuses a desired object when the topology controller creates it.
type Creation struct {
	Role string `json:"role"`
	oracle.Refusal
}

// webhooks are the kinds that have webhooks of Cluster API when they are created for a Cluster.
var webhooks = map[string]bool{"KubeadmControlPlane": true, "KubeadmConfigTemplate": true, "MachineDeployment": true, "MachinePool": true}

// Created says what becomes of desired objects of Cluster API's own kinds: the API server's own code looks at them by their schemas,
// in the version in which they are written, and then the webhooks look at what is stored.
func (r *Reader) Created(ctx context.Context, desired map[string]any, gates string) ([]Creation, error) {
	var roles []string
	for role := range desired {
		if role != "cluster" {
			roles = append(roles, role)
		}
	}
	sort.Strings(roles)
	all := []Creation{}
	for _, role := range roles {
		o := &unstructured.Unstructured{}
		if err := convertJSON(real(desired[role]), o); err != nil {
			return nil, fmt.Errorf("%s: %w", role, err)
		}
		owners := o.GetOwnerReferences()
		for i := range owners {
			owners[i].UID = oracle.UID
		}
		o.SetOwnerReferences(owners)
		if !groups[o.GroupVersionKind().Group] || !r.Schemas.Known(o.GroupVersionKind()) {
			continue
		}
		var refused []oracle.Refusal
		if err := r.Schemas.Apply(o); err != nil {
			refused = append(refused, oracle.Refusal{Stage: "apply", By: "server-side-apply", Detail: err.Error()})
		} else {
			refused = refusals("apply", r.Schemas.ValidateApplied(ctx, o))
		}
		if len(refused) == 0 && webhooks[o.GetKind()] {
			stored, err := r.hub(ctx, o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", role, err)
			}
			if refused, err = oracle.Written(ctx, random.Pair{Gates: gates, New: stored}); err != nil {
				return nil, fmt.Errorf("%s: %w", role, err)
			}
		}
		for _, one := range refused {
			all = append(all, Creation{role, one})
		}
	}
	return all, nil
}

// real gives objects whose names are symbols names as Cluster API draws them.
func real(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range v {
			if text, ok := inner.(string); ok && key == "name" {
				inner = strings.ReplaceAll(text, "#1", "xxxxx")
			}
			out[key] = real(inner)
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range v {
			out = append(out, real(inner))
		}
		return out
	default:
		return v
	}
}
