package oracle

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestStep shows that a step of one minor is accepted, and that each sort of refusal is found.
func TestStep(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	class := file(t, largest, "input/class.yaml")
	side := func(version string, edit func(topology map[string]any)) Side {
		cluster := file(t, largest, "input/cluster.yaml")[0]
		topology := cluster["spec"].(map[string]any)["topology"].(map[string]any)
		topology["version"] = version
		if edit != nil {
			edit(topology)
		}
		return Side{class, cluster}
	}
	for _, one := range []struct {
		name, refused string
		after         Side
	}{
		{"the next minor", "", side("v1.35.1", nil)},
		{"two minors", `version cannot be increased from "1.34.1" to "1.36.1"`, side("v1.36.1", nil)},
		{"back", `version cannot be decreased from "1.34.1" to "1.33.1"`, side("v1.33.1", nil)},
		{"a variable that is not there", "variable is not defined", side("v1.35.1", func(topology map[string]any) {
			variables, _ := topology["variables"].([]any)
			topology["variables"] = append(variables, map[string]any{"name": "absent", "value": 1})
		})},
	} {
		refused, err := Step(t.Context(), "ClusterTopology=true,MachinePool=true", side("v1.34.1", nil), one.after)
		if err != nil {
			t.Fatalf("%s: %v", one.name, err)
		}
		switch {
		case one.refused == "" && len(refused) > 0:
			t.Errorf("%s: %v", one.name, refused)
		case one.refused != "" && (len(refused) == 0 || !strings.Contains(refused[0].Detail, one.refused)):
			t.Errorf("%s: %v", one.name, refused)
		}
	}
}
