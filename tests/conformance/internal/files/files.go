// Package files reads classes and Clusters from files as people have them, and has Cluster API convert old versions of its kinds.
package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"stackloom.dev/conformance/internal/oracle"
	"stackloom.dev/conformance/internal/schemas"
	"stackloom.dev/conformance/internal/topology"
)

// Case is a Cluster with its class and the templates that the class names.
type Case struct {
	// Text is what stands in the file.
	Text string `json:"text"`
	// Objects are the class, first, and its templates, each as Cluster API's controllers get it.
	Objects []map[string]any `json:"objects"`
	Cluster map[string]any   `json:"cluster"`
	// Refused is what the schemas refuse of the class and its templates, else of the Cluster, in the versions that are written.
	Refused []oracle.Refusal `json:"-"`
}

// Reader has the schemas of Cluster API's kinds.
type Reader struct{ Schemas *schemas.Catalog }

// Read gives a case for each Cluster with a class in a file.
func (r *Reader) Read(ctx context.Context, name string) ([]Case, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	objects, err := documents(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var cases []Case
	for _, o := range objects {
		if o.GetKind() != "Cluster" || o.GroupVersionKind().Group != clusterv1.GroupVersion.Group {
			continue
		}
		refused := r.refused(ctx, "cluster", o)
		cluster, err := r.hub(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("%s: Cluster %s: %w", name, o.GetName(), err)
		}
		class, _, _ := unstructured.NestedString(cluster, "spec", "topology", "classRef", "name")
		if class == "" {
			continue
		}
		found, of, err := r.of(ctx, objects, class)
		if err != nil {
			return nil, fmt.Errorf("%s: class %s: %w", name, class, err)
		}
		if len(of) > 0 {
			refused = of
		}
		cases = append(cases, Case{string(text), found, cluster, refused})
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s: there is no Cluster with a class", name)
	}
	return cases, nil
}

func documents(text string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// refused is what the API server says of an object that someone writes.
func (r *Reader) refused(ctx context.Context, stage string, o *unstructured.Unstructured) []oracle.Refusal {
	if _, own := pairs[o.GetKind()]; !own || !r.Schemas.Known(o.GroupVersionKind()) {
		return nil
	}
	return refusals(stage, r.Schemas.Validate(ctx, o))
}

// refusals are what a schema refuses of an object.
func refusals(stage string, errs []error) []oracle.Refusal {
	var all []oracle.Refusal
	for _, err := range errs {
		var at *field.Error
		if !errors.As(err, &at) {
			// Fields that are not known end the matter.
			return []oracle.Refusal{{Stage: stage, By: "server-side-apply", Detail: err.Error()}}
		}
		all = append(all, oracle.Refusal{Stage: stage, By: "schema", Field: at.Field, Type: string(at.Type), Detail: at.Error()})
	}
	return all
}

// of gives a class and what it names, and what the schemas refuse of them.
func (r *Reader) of(ctx context.Context, objects []*unstructured.Unstructured, class string) ([]map[string]any, []oracle.Refusal, error) {
	var found []map[string]any
	var refused []oracle.Refusal
	for _, o := range objects {
		if o.GetKind() == "ClusterClass" && o.GetName() == class {
			refused = append(refused, r.refused(ctx, "class", o)...)
			converted, err := r.hub(ctx, o)
			if err != nil {
				return nil, nil, err
			}
			found = append(found, converted)
			break
		}
	}
	if found == nil {
		return nil, nil, errors.New("it is not in the file")
	}
	typed := &clusterv1.ClusterClass{}
	if err := convertJSON(found[0], typed); err != nil {
		return nil, nil, err
	}
	for _, ref := range topology.References(typed) {
		for _, o := range objects {
			gvk := o.GroupVersionKind()
			if gvk.Kind != ref.Kind || o.GetName() != ref.Name || gvk.Group != ref.GroupVersionKind().Group {
				continue
			}
			refused = append(refused, r.refused(ctx, "template", o)...)
			template, err := r.at(ctx, o, ref.GroupVersionKind().GroupVersion())
			if err != nil {
				return nil, nil, fmt.Errorf("%s %s: %w", ref.Kind, ref.Name, err)
			}
			found = append(found, template)
			break
		}
	}
	return found, refused, nil
}

func convertJSON(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// plain is a typed object as the API server would hand it out, without what is empty because it is typed.
func plain(typed any) (map[string]any, error) {
	o := map[string]any{}
	if err := convertJSON(typed, &o); err != nil {
		return nil, err
	}
	delete(o, "status")
	if metadata, ok := o["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
		annotations, _ := metadata["annotations"].(map[string]any)
		delete(annotations, "cluster.x-k8s.io/conversion-data")
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	return o, nil
}
