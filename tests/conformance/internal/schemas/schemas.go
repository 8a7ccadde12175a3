// Package schemas validates objects against the schemas of CustomResourceDefinitions, in the order of the API server.
package schemas

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"stackloom.dev/conformance/internal/apitypes"
	"stackloom.dev/conformance/internal/report"
	"stackloom.dev/conformance/internal/tree"
)

// Catalog holds the definitions of a folder by kind; a schema is compiled when an object first needs it.
type Catalog struct {
	definitions map[apischema.GroupVersionKind]definition
	compiled    map[apischema.GroupVersionKind]*validator
	labels      map[string]map[string]string
}

type definition struct {
	file       string
	namespaced bool
	schema     *apiextensionsv1.JSONSchemaProps
}

type validator struct {
	structural *schema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator
	namespaced bool
	types      managedfields.TypeConverter
}

// Load reads every CustomResourceDefinition below folders.
func Load(folders ...string) (*Catalog, error) {
	c := &Catalog{definitions: map[apischema.GroupVersionKind]definition{}, compiled: map[apischema.GroupVersionKind]*validator{}, labels: map[string]map[string]string{}}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(name) != ".yaml" {
				return err
			}
			return c.add(name)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(c.definitions) == 0 {
		return nil, fmt.Errorf("%s: no CustomResourceDefinition", strings.Join(folders, ", "))
	}
	return c, nil
}

func (c *Catalog) add(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(document, crd); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if crd.Kind != "CustomResourceDefinition" {
			continue
		}
		c.labels[crd.Name] = crd.Labels
		for _, v := range crd.Spec.Versions {
			gvk := apischema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}
			if !v.Served || v.Schema == nil {
				continue
			}
			if other, twice := c.definitions[gvk]; twice {
				return fmt.Errorf("%s: %s is in %s too", name, gvk, other.file)
			}
			c.definitions[gvk] = definition{name, crd.Spec.Scope == apiextensionsv1.NamespaceScoped, v.Schema.OpenAPIV3Schema}
		}
	}
}

// Known says whether the folder has a schema for this kind in this version.
func (c *Catalog) Known(gvk apischema.GroupVersionKind) bool {
	_, ok := c.definitions[gvk]
	return ok
}

// Namespaced says whether a kind that is known lives in a namespace.
func (c *Catalog) Namespaced(gvk apischema.GroupVersionKind) bool {
	return c.definitions[gvk].namespaced
}

// Rules says whether a kind's schema has CEL rules.
func (c *Catalog) Rules(gvk apischema.GroupVersionKind) bool {
	v, err := c.validator(gvk)
	return err == nil && v.rules != nil
}

func (c *Catalog) validator(gvk apischema.GroupVersionKind) (*validator, error) {
	if v, ok := c.compiled[gvk]; ok {
		return v, nil
	}
	d, ok := c.definitions[gvk]
	if !ok {
		return nil, fmt.Errorf("no schema for %s", gvk)
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(d.schema, internal, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", d.file, err)
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.file, err)
	}
	openAPI, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.file, err)
	}
	v := &validator{structural, openAPI, cel.NewValidator(structural, true, celconfig.PerCallLimit), d.namespaced, nil}
	c.compiled[gvk] = v
	return v, nil
}

// Labels gives the labels of every definition, by name.
func (c *Catalog) Labels() map[string]map[string]string { return c.labels }

// Default fills in what the schema of a kind has as defaults.
func (c *Catalog) Default(object *unstructured.Unstructured) error {
	v, err := c.validator(object.GroupVersionKind())
	if err == nil {
		defaulting.Default(object.Object, v.structural)
	}
	return err
}

// Validate returns every reason for which an API server would refuse a new object or drop a part of it.
func (c *Catalog) Validate(ctx context.Context, object *unstructured.Unstructured) []error {
	return c.validate(ctx, object, defaulting.PruneNonNullableNullsWithoutDefaults)
}

// ValidateApplied is the same for what a server-side apply makes: it is not decoded from a request, so nulls stay in it.
func (c *Catalog) ValidateApplied(ctx context.Context, object *unstructured.Unstructured) []error {
	return c.validate(ctx, object, func(any, *schema.Structural) {})
}

func (c *Catalog) validate(ctx context.Context, object *unstructured.Unstructured, pruneNulls func(any, *schema.Structural)) []error {
	v, err := c.validator(object.GroupVersionKind())
	if err != nil {
		return []error{err}
	}
	var errs []error
	o := object.DeepCopy()
	if v.namespaced && o.GetNamespace() == "" {
		// The engine sets the namespace of such an object; whether it does is another check's business.
		o.SetNamespace("default")
	}
	coercion, unknownMetadata := objectmeta.CoerceWithOptions(nil, o.Object, v.structural, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if coercion != nil {
		return append(errs, coercion)
	}
	for _, unknown := range unknownMetadata {
		errs = append(errs, fmt.Errorf("%s: unknown field", unknown))
	}
	options := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	for _, unknown := range pruning.PruneWithOptions(o.Object, v.structural, true, options) {
		errs = append(errs, fmt.Errorf("%s: unknown field", unknown))
	}
	pruneNulls(o.Object, v.structural)
	defaulting.Default(o.Object, v.structural)

	list := metadata(o, v.namespaced)
	list = append(list, validation.ValidateCustomResource(nil, o.Object, v.openAPI)...)
	list = append(list, listtype.ValidateListSetsAndMaps(nil, v.structural, o.Object)...)
	list = append(list, objectmeta.Validate(nil, o.Object, v.structural, false)...)
	if len(list) == 0 && v.rules != nil {
		found, _ := v.rules.Validate(ctx, nil, v.structural, o.Object, nil, celconfig.RuntimeCELCostBudget)
		list = append(list, found...)
	}
	for _, e := range list {
		errs = append(errs, e)
	}
	return errs
}

func metadata(o *unstructured.Unstructured, namespaced bool) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessor(o, namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// Check validates every object of the tree that has a schema.
func Check(ctx context.Context, t *tree.Tree, c *Catalog, d *apitypes.Decoder, r *report.Report) {
	builtin, unknown := map[string]int{}, map[string]int{}
	withRules := map[apischema.GroupVersionKind]bool{}
	r.Count("schema-checked", 0)
	for _, f := range t.Objects {
		gvk := f.Object.GroupVersionKind()
		if !c.Known(gvk) {
			if d.Known(f.Object) && builtinGroup(gvk.Group) {
				builtin[f.Kind()]++
			} else {
				unknown[f.Kind()]++
			}
			continue
		}
		r.Count("schema-checked", 1)
		withRules[gvk] = withRules[gvk] || c.Rules(gvk)
		for _, err := range c.Validate(ctx, f.Object) {
			r.Fail(f.Path, "schema", "%v", err)
		}
	}
	n := 0
	for _, rules := range withRules {
		if rules {
			n++
		}
	}
	r.Count("schemas with CEL rules", n)
	r.Require("generated objects", "schema-checked")
	if len(builtin) > 0 {
		r.Note("Kubernetes' own kinds, checked by type only: %s", apitypes.List(builtin))
	}
	if len(unknown) > 0 {
		r.Note("no schema in the folder, not validated: %s", apitypes.List(unknown))
	}
}

// builtinGroup says whether Kubernetes itself owns an API group.
func builtinGroup(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") && !strings.HasSuffix(group, ".x-k8s.io")
}
