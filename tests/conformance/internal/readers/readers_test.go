package readers

import (
	"fmt"
	"strings"
	"testing"
)

func TestStrict(t *testing.T) {
	for text, want := range map[string]string{
		"a: b":                      "[]",
		"a: [1, 1.5, -3, 1e3, 0.1]": "[]",
		"a: 12345678901234567890":   "loses digits",
		"a: 1e300":                  "loses digits",
		"a: .inf":                   "no JSON form",
		"a: yes":                    "different values",
		"a: 2026-01-01":             "time.Time",
		"1: a":                      "not as a string",
		"a: {b: *c}":                "yaml.v2",
		"a: b\na: b":                "yaml.v3",
		"":                          "[]",
	} {
		_, errs := Strict([]byte(text))
		if got := fmt.Sprint(errs); !strings.Contains(got, want) {
			t.Errorf("%q: want %q, got %s", text, want, got)
		}
	}
}

func TestTemplate(t *testing.T) {
	for text, want := range map[string]string{
		"#% if a\na: 1\n#% else\na: 2\n#% endif\n": "[]",
		"a: [${{ b }}, c]\n":                       "[]",
		"a: \"${{ b | default(\\\"}}\\\") }}\"\n":  "[]",
		"a: ${{ {'b': {'c': 1}}}}\n":               "[]",
		"${{ a }}: 1\n${{ b }}: 2\n":               "[]",
		"a: ${{ b\n":                               "does not end on its line",
		"a: yes\n":                                 "different values",
		"a: &b c\n":                                "anchor",
		"a: [\n":                                   "yaml.v3",
	} {
		if got := fmt.Sprint(Template([]byte("# A comment.\n" + text))); !strings.Contains(got, want) {
			t.Errorf("%q: want %q, got %s", text, want, got)
		}
	}
}
