// Package random makes up classes and Clusters: mostly sound ones, with a fault here and there.
package random

import (
	"fmt"
	"math/rand/v2"
)

type object = map[string]any

// Case is a class with its templates, the class first, and a Cluster.
type Case struct {
	Objects []object `json:"objects"`
	Cluster object   `json:"cluster"`
}

// maker draws everything of one case from one seed.
type maker struct {
	*rand.Rand
	// sound cases hold no fault that a schema or a webhook sees; others may have some.
	sound     bool
	variables []variable
}

// New makes up a case; the same seed and number give the same one.
func New(seed, number uint64) Case {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, number))}
	m.sound = m.chance(75)
	for n := range 1 + m.IntN(6) {
		m.variables = append(m.variables, m.variable(fmt.Sprintf("v%d", n)))
	}
	return Case{Objects: m.objects(), Cluster: m.cluster()}
}

// chance is true in so many of a hundred cases.
func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// faulty is true in so many of a hundred cases, and never in sound ones.
func (m *maker) faulty(percent int) bool { return !m.sound && m.chance(percent) }

func pick[T any](m *maker, all ...T) T { return all[m.IntN(len(all))] }
