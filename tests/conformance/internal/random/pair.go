package random

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
)

// Pair is an object that is written, and the one that it replaces, where there is one.
type Pair struct {
	// Gates are Cluster API's feature gates.
	Gates string `json:"gates"`
	Old   object `json:"old,omitempty"`
	New   object `json:"new"`
}

// edit puts one of some values at a path; a nil takes away what is there.
type edit struct {
	path   string
	values []any
}

// NewPair makes up an object around the rules of its webhook; the same seed and number give the same one.
func NewPair(seed, number uint64) Pair {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, number))}
	gates := []string{"ClusterTopology=true", "MachinePool=true"}
	for _, gate := range []string{"MachineTaintPropagation", "KubeadmBootstrapFormatIgnition"} {
		gates = append(gates, gate+"="+pick(m, "true", "false"))
	}
	base, edits := m.kind()
	sound := base
	if m.chance(50) {
		sound = m.edited(base, edits, m.IntN(4))
	}
	pair := Pair{Gates: strings.Join(gates, ","), New: m.edited(sound, edits, m.IntN(4))}
	if m.chance(60) {
		pair.Old = sound
	}
	return pair
}

func (m *maker) kind() (object, []edit) {
	switch m.IntN(10) {
	case 0, 1, 2, 3:
		return controlPlaneObject(), append(controlPlaneEdits("spec"), controlPlaneOwnEdits...)
	case 4, 5, 6:
		return controlPlaneTemplateObject(), append(controlPlaneEdits("spec.template.spec"), templateEdits...)
	case 7:
		return template(bootstrap, "KubeadmConfigTemplate", "one", object{}), append(kubeadmEdits("spec.template.spec"), templateEdits...)
	case 8:
		return machineDeploymentObject(), machineDeploymentEdits
	default:
		return machinePoolObject(), machinePoolEdits
	}
}

// edited is a copy with so many edits.
func (m *maker) edited(from object, edits []edit, count int) object {
	into := clone(from)
	for range count {
		one := edits[m.IntN(len(edits))]
		put(into, strings.Split(one.path, "."), clone(one.values[m.IntN(len(one.values))]))
	}
	return into
}

func clone[T any](value T) T {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var into T
	if err := json.Unmarshal(text, &into); err != nil {
		panic(err)
	}
	return into
}

func put(into object, path []string, value any) {
	key := path[0]
	switch {
	case len(path) == 1 && value == nil:
		delete(into, key)
	case len(path) == 1:
		into[key] = value
	default:
		inner, ok := into[key].(object)
		if !ok {
			inner = object{}
			into[key] = inner
		}
		put(inner, path[1:], value)
	}
}
