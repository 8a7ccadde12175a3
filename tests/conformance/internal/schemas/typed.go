package schemas

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// converter is how an API server reads what is applied of a kind. Of metadata, which no CustomResourceDefinition describes, only
// what people write is described.
func converter(gvk apischema.GroupVersionKind, structural *schema.Structural) (managedfields.TypeConverter, error) {
	model := structural.ToKubeOpenAPI()
	metadata := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	metadata.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	for _, name := range []string{"labels", "annotations"} {
		metadata.SetProperty(name, *spec.MapProperty(spec.StringProperty()))
	}
	model.SetProperty("metadata", metadata)
	for _, name := range []string{"apiVersion", "kind"} {
		model.SetProperty(name, *spec.StringProperty())
	}
	model.AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
	})
	return managedfields.NewTypeConverter(map[string]*spec.Schema{gvk.Kind: model}, false)
}

// Apply returns why a server-side apply of an object is refused before anything else looks at it: a field is not declared, or a
// value is of another type.
func (c *Catalog) Apply(object *unstructured.Unstructured) error {
	v, err := c.validator(object.GroupVersionKind())
	if err != nil {
		return err
	}
	if v.types == nil {
		if v.types, err = converter(object.GroupVersionKind(), v.structural); err != nil {
			return err
		}
	}
	_, err = v.types.ObjectToTyped(object)
	return err
}

// Converter is how an API server reads what is applied of a kind; of a kind that is not known, it merges maps and takes lists as
// one value.
func (c *Catalog) Converter(gvk apischema.GroupVersionKind) (managedfields.TypeConverter, error) {
	if !c.Known(gvk) {
		return converter(gvk, &schema.Structural{Generic: schema.Generic{Type: "object"}, Extensions: schema.Extensions{XPreserveUnknownFields: true}})
	}
	v, err := c.validator(gvk)
	if err != nil {
		return nil, err
	}
	return converter(gvk, v.structural)
}
