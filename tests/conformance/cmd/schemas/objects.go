package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"stackloom.dev/conformance/internal/module"
)

// custom are the kinds of Cluster API that users write beside a cluster, and that the topology library does not judge.
var custom = map[string][]string{
	"v1beta1": {"ClusterResourceSet", "IPAddressClaim", "MachineDeployment", "MachineDrainRule", "MachineHealthCheck", "MachinePool"},
	"v1beta2": {"ClusterResourceSet", "IPAddressClaim", "MachineDrainRule"},
}

// builtIn are the kinds of Kubernetes that users write beside a cluster, and whose fields rarely change.
var builtIn = []struct{ version, kind, name string }{
	{"networking.k8s.io/v1", "NetworkPolicy", "networking"},
	{"policy/v1", "PodDisruptionBudget", "policy"},
	{"rbac.authorization.k8s.io/v1", "Role", "rbac"},
	{"rbac.authorization.k8s.io/v1", "RoleBinding", "rbac"},
	{"v1", "LimitRange", "core"},
	{"v1", "ResourceQuota", "core"},
	{"v1", "ServiceAccount", "core"},
}

const api, machinery = "io.k8s.api.", "io.k8s.apimachinery.pkg."

// values are the values that Kubernetes accepts in a field, beyond its type. The sources are `pkg/apis/*/validation` of
// Kubernetes, and `ParseQuantity` and `ValidateLabelSelector` of apimachinery.
var values = map[string]any{
	machinery + "apis.meta.v1.LabelSelectorRequirement.operator":         enum("DoesNotExist", "Exists", "In", "NotIn"),
	api + "core.v1.LimitRangeItem.type":                                  map[string]any{"minLength": 1},
	api + "networking.v1.NetworkPolicyPort.protocol":                     enum("SCTP", "TCP", "UDP"),
	api + "networking.v1.NetworkPolicySpec.policyTypes[]":                enum("Egress", "Ingress"),
	api + "policy.v1.PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy": enum("AlwaysAllow", "IfHealthyBudget"),
	api + "rbac.v1.PolicyRule.verbs":                                     map[string]any{"minItems": 1},
	api + "rbac.v1.RoleRef.kind":                                         enum("ClusterRole", "Role"),
	api + "rbac.v1.Subject.kind":                                         enum("Group", "ServiceAccount", "User"),
}

// required are the fields that Kubernetes requires, from the same sources.
var required = map[string][]any{
	machinery + "apis.meta.v1.LabelSelectorRequirement": {"key", "operator"},
	api + "core.v1.LimitRangeItem":                      {"type"},
	api + "networking.v1.IPBlock":                       {"cidr"},
	api + "rbac.v1.PolicyRule":                          {"verbs"},
	api + "rbac.v1.RoleBinding":                         {"roleRef"},
	api + "rbac.v1.RoleRef":                             {"kind", "name"},
	api + "rbac.v1.Subject":                             {"kind", "name"},
}

// quantity is the syntax of quantities; they may be numbers, too.
const quantity = `^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`

func enum(words ...any) map[string]any { return map[string]any{"enum": words} }

// deriveObjects gives the file: an object with a line for each version of a kind.
func deriveObjects() ([]byte, error) {
	var lines []string
	add := func(version, kind string, schema any) error {
		line, err := line(version+"/"+kind, schema)
		lines = append(lines, line)
		return err
	}
	types, err := readTypes()
	if err != nil {
		return nil, err
	}
	for _, one := range builtIn {
		schema, err := types.schema(reference{Named: api + one.name + ".v1." + one.kind})
		if err != nil {
			return nil, err
		}
		if err := add(one.version, one.kind, withoutFrame(schema)); err != nil {
			return nil, err
		}
	}
	for _, version := range []string{"v1beta1", "v1beta2"} {
		found, err := definitions(version)
		if err != nil {
			return nil, err
		}
		for _, name := range custom[version] {
			one, ok := found[name]
			if !ok {
				return nil, fmt.Errorf("%s has no %s in %s", module.Name, name, version)
			}
			if err := add(one.Group+"/"+version, name, one.Schema); err != nil {
				return nil, err
			}
		}
	}
	return file(lines), nil
}

// withoutFrame drops the fields that every object has.
func withoutFrame(schema map[string]any) map[string]any {
	properties := schema["properties"].(map[string]any)
	for _, name := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(properties, name)
	}
	return schema
}

// reference and typed are types as structured-merge-diff writes them.
type reference struct {
	Named  string `json:"namedType"`
	Scalar string
	Map    *mapping
	List   *sequence
}

type mapping struct {
	Fields []struct {
		Name string
		Type reference
	}
	ElementType *reference
}

type sequence struct {
	ElementType         reference
	ElementRelationship string
	Keys                []string
}

type registry map[string]reference

// readTypes reads the types of all built-in kinds from client-go, which has them as text in its code.
func readTypes() (registry, error) {
	dir, err := module.Dir("k8s.io/client-go")
	if err != nil {
		return nil, err
	}
	code, err := os.ReadFile(filepath.Join(dir, "applyconfigurations", "internal", "internal.go"))
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(string(code), "var schemaYAML = typed.YAMLObject(`")
	text, _, ok := strings.Cut(text, "`")
	if !ok {
		return nil, fmt.Errorf("client-go has its types elsewhere")
	}
	var all struct {
		Types []struct {
			Name string
			reference
		}
	}
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	types := registry{}
	for _, one := range all.Types {
		types[one.Name] = one.reference
	}
	return types, nil
}

// schema is the structural schema of a type.
func (types registry) schema(of reference) (map[string]any, error) {
	switch {
	case of.Named == machinery+"api.resource.Quantity":
		return map[string]any{"pattern": quantity}, nil
	case of.Named == machinery+"util.intstr.IntOrString":
		return map[string]any{"x-kubernetes-int-or-string": true}, nil
	case strings.HasPrefix(of.Named, "__untyped"):
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true}, nil
	case of.Named != "":
		return types.named(of.Named)
	case of.Map != nil && of.Map.ElementType != nil && len(of.Map.Fields) == 0:
		value, err := types.schema(*of.Map.ElementType)
		return map[string]any{"type": "object", "additionalProperties": value}, err
	case of.Map != nil:
		properties := map[string]any{}
		for _, field := range of.Map.Fields {
			value, err := types.schema(field.Type)
			if err != nil {
				return nil, err
			}
			properties[field.Name] = value
		}
		return map[string]any{"type": "object", "properties": properties}, nil
	case of.List != nil:
		items, err := types.schema(of.List.ElementType)
		list := map[string]any{"type": "array", "items": items}
		if of.List.ElementRelationship == "associative" && len(of.List.Keys) > 0 {
			list["x-kubernetes-list-type"], list["x-kubernetes-list-map-keys"] = "map", of.List.Keys
		} else if of.List.ElementRelationship == "associative" {
			list["x-kubernetes-list-type"] = "set"
		}
		return list, err
	}
	switch of.Scalar {
	case "string", "boolean":
		return map[string]any{"type": of.Scalar}, nil
	case "numeric":
		return map[string]any{"type": "integer"}, nil
	}
	return map[string]any{}, nil
}

// named is the schema of a type with a name, and what Kubernetes requires of its fields.
func (types registry) named(name string) (map[string]any, error) {
	of, ok := types[name]
	if !ok {
		return nil, fmt.Errorf("client-go has no type %s", name)
	}
	schema, err := types.schema(of)
	if err != nil {
		return nil, err
	}
	if fields := required[name]; fields != nil {
		schema["required"] = fields
	}
	properties, _ := schema["properties"].(map[string]any)
	for field, value := range properties {
		into := value.(map[string]any)
		add, ok := values[name+"."+field].(map[string]any)
		if !ok {
			add, ok = values[name+"."+field+"[]"].(map[string]any)
			into, _ = into["items"].(map[string]any)
		}
		if ok {
			for key, limit := range add {
				into[key] = limit
			}
		}
	}
	return schema, nil
}
