package random

import (
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// Applies are objects of one kind and name, which one manager applies one after another. Between them, someone who owns nothing
// fills in fields, as webhooks and defaults do.
type Applies struct {
	*maker
	base  object
	slots []slot
}

// slot is a place that holds one of some values, or nothing.
type slot struct {
	path string
	draw func(m *maker) any
}

// NewApplies makes up a kind; the same seed and number give the same one.
func NewApplies(seed, number uint64) *Applies {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, number))}
	base := object{"metadata": object{"name": "one", "namespace": "default"}}
	slots := []slot{{"metadata.labels", texts}, {"metadata.annotations", texts}}
	switch m.IntN(5) {
	case 0:
		base["apiVersion"], base["kind"] = "cluster.x-k8s.io/v1beta2", "Cluster"
		put(base, []string{"spec", "topology"}, object{"classRef": object{"name": "mini"}, "version": "v1.34.1"})
		slots = append(slots, slot{"spec.topology.variables", variables}, slot{"spec.topology.controlPlane.metadata.labels", texts},
			slot{"spec.topology.controlPlane.variables.overrides", variables}, slot{"spec.clusterNetwork.pods.cidrBlocks", list},
			slot{"spec.topology.workers.machineDeployments", pools}, slot{"spec.clusterNetwork.services", structure})
	case 1:
		base["apiVersion"], base["kind"] = "controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane"
		slots = append(slots, kubeadm("spec.kubeadmConfigSpec")...)
		slots = append(slots, slot{"spec.machineTemplate.metadata.labels", texts}, slot{"spec.rollout", structure})
	case 2:
		base["apiVersion"], base["kind"] = "bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfigTemplate"
		slots = append(slots, kubeadm("spec.template.spec")...)
	case 3:
		base["apiVersion"], base["kind"] = "cluster.x-k8s.io/v1beta2", "ClusterClass"
		slots = append(slots, slot{"spec.workers", structure}, slot{"spec.controlPlane.metadata.labels", texts},
			slot{"spec.workers.machineDeployments", classes}, slot{"spec.variables", definitions})
	default:
		base["apiVersion"], base["kind"] = "infrastructure.acme.io/v1beta2", "AcmeMachineTemplate"
		slots = append(slots, slot{"spec.template.spec", structure}, slot{"spec.template.spec.a", free}, slot{"spec.template.spec.b", free})
	}
	return &Applies{m, base, slots}
}

func kubeadm(spec string) []slot {
	slots := []slot{
		{"clusterConfiguration", structure}, {"clusterConfiguration.featureGates", gates}, {"clusterConfiguration.apiServer", structure},
		{"clusterConfiguration.apiServer.extraArgs", arguments}, {"clusterConfiguration.apiServer.certSANs", list},
		{"clusterConfiguration.controllerManager.extraArgs", arguments}, {"joinConfiguration", structure},
		{"joinConfiguration.nodeRegistration.kubeletExtraArgs", arguments}, {"joinConfiguration.nodeRegistration.taints", nodeTaints},
		{"preKubeadmCommands", list}, {"files", files}, {"ntp.servers", list},
	}
	for n := range slots {
		slots[n].path = spec + "." + slots[n].path
	}
	return slots
}

// Next is what is applied next.
func (a *Applies) Next() (map[string]any, error) {
	next := clone(a.base)
	for _, slot := range a.slots {
		if a.chance(70) {
			put(next, strings.Split(slot.path, "."), slot.draw(a.maker))
		}
	}
	text, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	made := map[string]any{}
	return made, json.Unmarshal(text, &made)
}

// Fill puts entries into maps of a live object that nobody owns.
func (a *Applies) Fill(live map[string]any) {
	for _, slot := range a.slots {
		labels, ok := at(live, strings.Split(slot.path, ".")).(object)
		if ok && strings.HasSuffix(slot.path, ".labels") && a.chance(30) {
			labels["filled"] = "f"
		}
	}
	for _, one := range items(at(live, []string{"spec", "topology", "variables"})) {
		if value, ok := one["value"].(object); ok && a.chance(40) {
			value[pick(a.maker, "a", "b", "filled")] = "f"
		}
	}
}

func items(list any) (all []object) {
	each, _ := list.([]any)
	for _, one := range each {
		if item, ok := one.(object); ok {
			all = append(all, item)
		}
	}
	return all
}

func at(value any, path []string) any {
	for _, key := range path {
		fields, _ := value.(object)
		value = fields[key]
	}
	return value
}

// some draws entries under a few names; none, or null, in many cases.
func (m *maker) some(draw func() any) any {
	if m.chance(10) {
		return nullValue{}
	}
	all := object{}
	for _, key := range []string{"a", "b", "c"} {
		if m.chance(35) {
			all[key] = draw()
		}
	}
	return all
}

// nullValue stands for an explicit null, since nil means that there is nothing.
type nullValue struct{}

// MarshalJSON writes null.
func (nullValue) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func texts(m *maker) any { return m.some(func() any { return pick(m, "x", "y") }) }

func gates(m *maker) any { return m.some(func() any { return m.chance(50) }) }

func structure(m *maker) any { return pick[any](m, object{}, object{}, nullValue{}) }

func list(m *maker) any {
	all := []any{}
	for range m.IntN(3) {
		all = append(all, pick[any](m, "x", "y"))
	}
	return all
}

// keyed draws a list with keys.
func (m *maker) keyed(key string, with func(item object)) any {
	if m.chance(10) {
		return nullValue{}
	}
	names := []string{"a", "b", "c", "d"}
	m.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	all := []any{}
	for _, name := range names[:m.IntN(4)] {
		item := object{key: name}
		with(item)
		all = append(all, item)
	}
	return all
}

func arguments(m *maker) any {
	return m.keyed("name", func(item object) { item["value"] = pick(m, "1", "2") })
}

func nodeTaints(m *maker) any {
	return m.keyed("key", func(item object) { item["effect"] = "NoSchedule" })
}

func files(m *maker) any {
	return m.keyed("path", func(item object) { item["content"] = pick(m, "1", "2") })
}

func variables(m *maker) any { return m.keyed("name", func(item object) { item["value"] = free(m) }) }

func pools(m *maker) any {
	return m.keyed("name", func(item object) {
		item["class"] = "worker"
		if m.chance(60) {
			item["metadata"] = pick[any](m, object{}, object{"labels": texts(m)}, object{"annotations": texts(m), "labels": texts(m)})
		}
		if m.chance(60) {
			item["variables"] = object{"overrides": variables(m)}
		}
		if m.chance(30) {
			item["rollout"] = structure(m)
		}
	})
}

func classes(m *maker) any {
	return m.keyed("class", func(item object) {
		if m.chance(60) {
			item["metadata"] = object{"labels": texts(m)}
		}
	})
}

func definitions(m *maker) any {
	return m.keyed("name", func(item object) {
		item["schema"] = object{"openAPIV3Schema": object{"type": "object", "default": free(m), "properties": pick[any](m, object{}, object{"a": object{"type": "string"}})}}
	})
}

// free draws any value.
func free(m *maker) any { return m.free(3) }

func (m *maker) free(depth int) any {
	switch kind := m.IntN(10); {
	case kind < 5 && depth > 0:
		return m.some(func() any { return m.free(depth - 1) })
	case kind < 7 && depth > 0:
		all := []any{}
		for range m.IntN(3) {
			all = append(all, m.free(depth-1))
		}
		return all
	case kind == 7:
		return nullValue{}
	case kind == 8:
		return pick[any](m, true, int64(1), 1.5)
	default:
		return pick[any](m, "x", "y", "")
	}
}
