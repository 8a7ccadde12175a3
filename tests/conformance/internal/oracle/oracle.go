// Package oracle computes what Cluster API makes of a class and a Cluster, with Cluster API's own packages.
package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	core "sigs.k8s.io/cluster-api/core/webhooks/admission"

	"stackloom.dev/conformance/internal/topology"
)

// UID stands for the uid of every Cluster.
const UID = "11111111-2222-3333-4444-555555555555"

// Refusal is why something is refused; the words are a help, and not compared.
type Refusal struct {
	Stage  string `json:"stage"`
	By     string `json:"by"`
	Field  string `json:"field"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

// Outcome is what becomes of a class and a Cluster.
type Outcome struct {
	Errors  []Refusal      `json:"errors"`
	Cluster map[string]any `json:"cluster,omitempty"`
	Desired map[string]any `json:"desired,omitempty"`
	// External says that runtime extensions have the last word, and that only the class was judged.
	External bool `json:"external,omitempty"`
}

// Compute writes the class, then the Cluster, and computes the desired objects, as far as nothing is refused. Objects are
// the class, first, and its templates; labels are those of the CustomResourceDefinitions of other projects.
func Compute(ctx context.Context, objects []map[string]any, written map[string]any, labels topology.Labels) (Outcome, error) {
	class, templates, err := readClass(objects)
	if err != nil {
		return Outcome{}, err
	}
	cluster, err := readCluster(written)
	if err != nil {
		return Outcome{}, err
	}
	outcome := Outcome{Errors: []Refusal{}}
	if refused, err := Class(ctx, class); err != nil || len(refused) > 0 {
		outcome.Errors = refused
		return outcome, err
	}
	for _, patch := range class.Spec.Patches {
		if patch.External != nil {
			outcome.External = true
			return outcome, nil
		}
	}
	release := topology.NewRelease(class, templates, labels)
	webhook := &core.Cluster{Client: release.Client()}
	if err := webhook.Default(ctx, cluster); err != nil {
		outcome.Errors, err = refusals("cluster", "webhook-default", err)
		return outcome, err
	}
	if _, err := webhook.ValidateCreate(ctx, cluster); err != nil {
		outcome.Errors, err = refusals("cluster", "webhook-validate", err)
		return outcome, err
	}
	if outcome.Cluster, err = plain(cluster); err != nil {
		return outcome, err
	}
	state, err := release.State(ctx, cluster)
	if err != nil {
		outcome.Errors = []Refusal{{Stage: "desired", By: "topology", Detail: err.Error()}}
		return outcome, nil
	}
	// Names of which no part is drawn come out the same again.
	again, err := release.State(ctx, cluster)
	if err != nil {
		return outcome, err
	}
	outcome.Desired, err = roles(state, again)
	return outcome, err
}

// readClass reads a class, which comes first, and its templates.
func readClass(objects []map[string]any) (*clusterv1.ClusterClass, []*unstructured.Unstructured, error) {
	class := &clusterv1.ClusterClass{}
	if err := decode(objects[0], class); err != nil {
		return nil, nil, err
	}
	class.Namespace = "default"
	var templates []*unstructured.Unstructured
	for _, o := range objects[1:] {
		template := &unstructured.Unstructured{}
		if err := decode(o, template); err != nil {
			return nil, nil, err
		}
		template.SetNamespace("default")
		templates = append(templates, template)
	}
	return class, templates, nil
}

func readCluster(written map[string]any) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	err := decode(written, cluster)
	cluster.Namespace, cluster.UID = "default", UID
	return cluster, err
}

// Class gives what the webhook refuses of a class.
func Class(ctx context.Context, class *clusterv1.ClusterClass) ([]Refusal, error) {
	if _, err := (&core.ClusterClass{}).ValidateCreate(ctx, class); err != nil {
		return refusals("class", "webhook-validate", err)
	}
	return nil, nil
}

func decode(from map[string]any, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// refusals takes the field errors out of what a webhook returned.
func refusals(stage, by string, err error) ([]Refusal, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil, fmt.Errorf("%s, %s: an error without fields: %w", stage, by, err)
	}
	if status.Status().Reason != metav1.StatusReasonInvalid {
		return nil, fmt.Errorf("%s, %s: %w", stage, by, err)
	}
	var all []Refusal
	for _, c := range status.Status().Details.Causes {
		all = append(all, Refusal{stage, by, c.Field, string(c.Type), c.Message})
	}
	return all, nil
}
