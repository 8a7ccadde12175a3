package oracle

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/exp/topology/scope"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// random is how many characters Cluster API draws for a name.
const random = 5

var kinds = map[reflect.Type]string{
	reflect.TypeFor[*clusterv1.Cluster]():            "Cluster",
	reflect.TypeFor[*clusterv1.MachineDeployment]():  "MachineDeployment",
	reflect.TypeFor[*clusterv1.MachinePool]():        "MachinePool",
	reflect.TypeFor[*clusterv1.MachineHealthCheck](): "MachineHealthCheck",
}

// roles gives the objects of a state by what they are for, with a symbol for the random end of each name that is another one in
// the same state drawn again.
func roles(state, again *scope.ClusterState) (map[string]any, error) {
	found, other := objects(state), objects(again)
	all := map[string]any{}
	var drawn []string
	for role, o := range found {
		if reflect.ValueOf(o).IsNil() {
			continue
		}
		object, err := plain(o)
		if err != nil {
			return nil, err
		}
		// Typed objects do not know their type.
		if kind, typed := kinds[reflect.TypeOf(o)]; typed {
			object["apiVersion"], object["kind"] = clusterv1.GroupVersion.String(), kind
		}
		all[role] = object
		// A health check has the name of what it checks, and the Cluster has its own.
		if role != "cluster" && !strings.HasSuffix(role, ".health-check") && o.GetName() != other[role].GetName() {
			drawn = append(drawn, o.GetName())
		}
	}
	for role, object := range all {
		all[role] = symbolic(object, drawn)
	}
	return all, nil
}

func objects(state *scope.ClusterState) map[string]client.Object {
	found := map[string]client.Object{
		"cluster": state.Cluster, "infrastructure-cluster": state.InfrastructureCluster, "control-plane": state.ControlPlane.Object,
		"control-plane.machine-template": state.ControlPlane.InfrastructureMachineTemplate,
		"control-plane.health-check":     state.ControlPlane.MachineHealthCheck,
	}
	for name, md := range state.MachineDeployments {
		role := pool("md", name)
		found[role] = md.Object
		found[role+".bootstrap"] = md.BootstrapTemplate
		found[role+".infrastructure"] = md.InfrastructureMachineTemplate
		found[role+".health-check"] = md.MachineHealthCheck
	}
	for name, mp := range state.MachinePools {
		role := pool("mp", name)
		found[role] = mp.Object
		found[role+".bootstrap"] = mp.BootstrapObject
		found[role+".infrastructure"] = mp.InfrastructureMachinePoolObject
	}
	return found
}

var plainName = regexp.MustCompile("^[A-Za-z0-9-]+$")

// pool is the role of a pool. A name that holds more than letters, digits and dashes stands in brackets: `md.gpu.bootstrap` is
// the bootstrap of gpu, and the pool gpu.bootstrap is `md[gpu.bootstrap]`.
func pool(kind, name string) string {
	if plainName.MatchString(name) {
		return kind + "." + name
	}
	return kind + "[" + name + "]"
}

// plain is an object as JSON has it, without what an API server or a controller adds.
func plain(o any) (map[string]any, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
			delete(metadata, field)
		}
		owners, _ := metadata["ownerReferences"].([]any)
		for _, owner := range owners {
			delete(owner.(map[string]any), "uid")
		}
	}
	return object, nil
}

// symbolic writes #1 for the random end of names, wherever the names stand.
func symbolic(value any, names []string) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range v {
			out[key] = symbolic(inner, names)
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range v {
			out = append(out, symbolic(inner, names))
		}
		return out
	case string:
		for _, name := range names {
			v = strings.ReplaceAll(v, name, name[:len(name)-random]+"#1")
		}
		return v
	default:
		return v
	}
}
