package schemas

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"stackloom.dev/conformance/internal/needed"
	"stackloom.dev/conformance/internal/tree"
)

const widget = "{apiVersion: example.org/v1, kind: Widget, metadata: {name: w, namespace: d%s}, spec: {%s}}"

func TestValidate(t *testing.T) {
	c, err := Load("../../testdata/crds")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, metadata, spec, want string }{
		{"good", "", "size: 3", ""},
		{"default serves a rule and a required field", "", "size: 10, ports: [{name: a}]", ""},
		{"unknown field", "", "size: 3, sise: 3", "spec.sise: unknown field"},
		{"unknown metadata", ", label: {}", "size: 3", "metadata.label: unknown field"},
		{"label", ", labels: {a: b c}", "size: 3", "metadata.labels"},
		{"missing", "", "limit: 3", "spec.size: Required"},
		{"type", "", "size: three", "spec.size: Invalid"},
		{"minimum", "", "size: 0", "greater than or equal to 1"},
		{"enum", "", "size: 1, mode: fest", "Unsupported value"},
		{"CEL", "", "size: 11", "size must not exceed limit"},
		{"list map", "", "size: 1, ports: [{name: a}, {name: a}]", "Duplicate value"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, err := tree.Decode(fmt.Appendf(nil, widget, test.metadata, test.spec))
			if err != nil {
				t.Fatal(err)
			}
			errs := fmt.Sprint(c.Validate(context.Background(), o))
			if test.want == "" && errs != "[]" || !strings.Contains(errs, test.want) {
				t.Errorf("want %q, got %s", test.want, errs)
			}
		})
	}
}

func TestLoadRefusesAnEmptyFolder(t *testing.T) {
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("an empty folder passes")
	}
	if _, err := Load("absent"); err == nil {
		t.Error("an absent folder passes")
	}
}

func TestEveryDefinitionCompiles(t *testing.T) {
	c, err := Load(needed.Folder(t, "STACKLOOM_CRDS"))
	if err != nil {
		t.Fatal(err)
	}
	for gvk := range c.definitions {
		if _, err := c.validator(gvk); err != nil {
			t.Errorf("%s: %v", gvk, err)
		}
	}
}
