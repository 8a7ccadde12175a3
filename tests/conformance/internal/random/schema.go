package random

import (
	"fmt"
	"regexp"
	"slices"
)

type variable struct {
	name     string
	required bool
	schema   object
}

func (m *maker) variable(name string) variable {
	return variable{name, m.chance(30), m.schema(2, true)}
}

// schema is one of a type; defaults are allowed outside of what stands in for others.
func (m *maker) schema(depth int, defaults bool) object {
	kinds := []string{"string", "string", "integer", "integer", "number", "boolean"}
	if depth > 0 {
		kinds = append(kinds, "array", "object", "object", "map")
	}
	s := object{}
	switch kind := pick(m, kinds...); kind {
	case "string":
		s["type"] = kind
		switch m.IntN(5) {
		case 0:
			s["enum"] = []any{"a", "bb", "1.30"}
		case 1:
			s["pattern"] = pick(m, "^[a-z]+$", "b", "^v?[0-9.]+$")
		case 2:
			s["minLength"], s["maxLength"] = 1, 4
		case 3:
			s["format"] = pick(m, "ipv4", "cidr", "date", "uuid", "hostname", "duration")
		}
	case "integer", "number":
		s["type"] = kind
		if m.chance(40) {
			s["minimum"] = m.IntN(5)
			if m.chance(20) {
				s["exclusiveMinimum"] = true
			}
		}
		if m.chance(20) {
			s["maximum"] = 5 + m.IntN(20_000_000)
		}
		if m.chance(10) {
			rule := pick(m, "self >= 0", "self < 100000000")
			if m.faulty(50) {
				rule = pick(m, "self > 1", "self < 100", "self != 7")
			}
			s["x-kubernetes-validations"] = []any{object{"rule": rule, "message": "no"}}
		}
	case "boolean":
		s["type"] = kind
	case "array":
		s["type"], s["items"] = kind, m.schema(depth-1, defaults)
		if m.chance(20) {
			s["minItems"] = 1
		}
		if m.chance(20) {
			s["maxItems"] = 2
		}
	case "map":
		s["type"], s["additionalProperties"] = "object", m.schema(depth-1, defaults)
	case "object":
		s["type"] = kind
		properties, required := object{}, []any{}
		for n := range 1 + m.IntN(3) {
			name := fmt.Sprintf("p%d", n)
			properties[name] = m.schema(depth-1, defaults)
			if m.chance(30) {
				required = append(required, name)
			}
		}
		s["properties"] = properties
		if len(required) > 0 {
			s["required"] = required
		}
		if m.chance(15) {
			rule := "has(self.p0) || !has(self.p0)"
			if m.faulty(60) {
				rule = pick(m, "has(self.p0)", "!has(self.p1)", "self.p0 != self.p0")
			}
			s["x-kubernetes-validations"] = []any{object{"rule": rule, "message": "no"}}
		}
		if m.chance(10) {
			s["x-kubernetes-preserve-unknown-fields"] = true
		}
	}
	if defaults && m.chance(35) {
		s["default"] = m.value(s, 4)
	}
	return s
}

// value is one that a schema takes, save for so many of a hundred scalars.
func (m *maker) value(s object, wrong int) any {
	if m.faulty(wrong) {
		return pick[any](m, "other", 3, -1, true, 2.5, []any{}, object{"x": 1})
	}
	if all, ok := s["enum"].([]any); ok {
		return pick(m, all...)
	}
	switch s["type"] {
	case "string":
		return m.text(s)
	case "integer":
		return m.number(s)
	case "number":
		if m.chance(50) {
			return m.number(s)
		}
		return pick[any](m, 1.5, 3.25, 1e21, 0.000001, 12345678.5)
	case "boolean":
		return m.chance(50)
	case "array":
		out := []any{}
		least, _ := s["minItems"].(int)
		for range least + m.IntN(2) {
			out = append(out, m.value(s["items"].(object), wrong))
		}
		return out
	}
	out := object{}
	if inner, ok := s["additionalProperties"].(object); ok {
		for n := range m.IntN(3) {
			out[fmt.Sprintf("k%d", n)] = m.value(inner, wrong)
		}
	}
	properties, _ := s["properties"].(object)
	for n := range len(properties) {
		name := fmt.Sprintf("p%d", n)
		required, _ := s["required"].([]any)
		if m.chance(65) || m.sound && slices.Contains(required, any(name)) {
			out[name] = m.value(properties[name].(object), wrong)
		}
	}
	if m.faulty(wrong) {
		out["unknown"] = 1
	}
	return out
}

func (m *maker) text(s object) string {
	switch s["format"] {
	case "ipv4":
		return m.of(pick(m, "10.0.0.1", "192.168.1.7"), "010.0.0.1")
	case "cidr":
		return m.of(pick(m, "10.0.0.0/8", "fd00::/8"), "10.0.0.0")
	case "date":
		return m.of("2026-11-21", "2026-02-30")
	case "uuid":
		return m.of("11111111-2222-3333-4444-555555555555", "1-2")
	case "hostname":
		return m.of("a.example", "-a")
	case "duration":
		return m.of("1h", "5")
	}
	all := []string{"b", "ab", "1.30", "on", "a: b", "x\ny", "012", "#c", "ä", "null", "v1.2"}
	if pattern, ok := s["pattern"].(string); ok && m.sound {
		all = slices.DeleteFunc(all, func(text string) bool { return !regexp.MustCompile(pattern).MatchString(text) })
	}
	return pick(m, all...)
}

// of is the one, or in a case that is not sound perhaps the other.
func (m *maker) of(sound, other string) string {
	if m.faulty(30) {
		return other
	}
	return sound
}

func (m *maker) number(s object) int {
	least, _ := s["minimum"].(int)
	if _, ok := s["exclusiveMinimum"]; ok && m.sound {
		least++
	}
	if most, ok := s["maximum"].(int); ok && m.sound {
		return least + m.IntN(max(1, most-least))
	}
	return least + pick(m, 0, 1, 2, 3, 7, 100, 999_999, 1_000_000, 12_345_678)
}
