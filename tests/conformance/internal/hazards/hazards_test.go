package hazards

import (
	"strings"
	"testing"

	"stackloom.dev/conformance/internal/report"
)

func TestCheck(t *testing.T) {
	for name, want := range map[string][]string{
		"good.yaml":   nil,
		"bad.yaml":    {`yaml.v2: entry 0: the key "y" is read as true`, `entry 1: the value "1.30" is read as 1.3`, `yaml.v3: entry 2: the value "2026-01-01" is read as time.Date`, `entry 3: the value "a\n" is read as "a"`},
		"broken.yaml": {`yaml.v2: entry 1: "b"`, `yaml.v3: entry 1: "b"`, `sigs.k8s.io/yaml: entry 1: "b"`},
		"none.yaml":   {"nothing to check: no strings"},
		"short.yaml":  {"1 entries, where 2 strings are due"},
		"absent.yaml": {"no such file"},
		"good.json":   {"must end in .yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			r := report.New()
			Check("../../testdata/hazards/"+name, "strings", r)
			lines := strings.Join(r.Failures(), "\n")
			if len(want) == 0 && lines != "" {
				t.Error(lines)
			}
			for _, w := range want {
				if !strings.Contains(lines, w) {
					t.Errorf("no failure says %q, but:\n%s", w, lines)
				}
			}
		})
	}
}
