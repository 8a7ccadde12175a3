// Package hazards checks that strings come out of an emitted file exactly as they went in, as keys and as values.
package hazards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"stackloom.dev/conformance/internal/report"
)

var libraries = []struct {
	name   string
	decode func([]byte, any) error
}{
	{"yaml.v2", yamlv2.UnmarshalStrict},
	{"yaml.v3", yamlv3.Unmarshal},
	{"sigs.k8s.io/yaml", func(text []byte, into any) error { return yaml.UnmarshalStrict(text, into) }},
}

// Check reads NAME.yaml, a sequence of mappings with one entry each, and NAME.json, the strings that key and value must be.
func Check(file, counted string, r *report.Report) {
	r.Count(counted, 0)
	stem, isYAML := strings.CutSuffix(file, ".yaml")
	if !isYAML {
		r.Fail(file, "hazards", "the file's name must end in .yaml; the strings due stand beside it in .json")
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		r.Fail(file, "hazards", "%v", err)
		return
	}
	due, err := expected(stem + ".json")
	if err != nil {
		r.Fail(stem+".json", "hazards", "%v", err)
		return
	}
	r.Count(counted, len(due))
	for _, library := range libraries {
		for _, err := range compare(text, due, library.decode) {
			r.Fail(file, "hazards", "%s: %v", library.name, err)
		}
	}
	r.Require(file, counted)
}

func expected(file string) ([]string, error) {
	j, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var due []string
	if err := json.Unmarshal(j, &due); err != nil {
		return nil, err
	}
	return due, nil
}

func compare(text []byte, due []string, decode func([]byte, any) error) []error {
	var entries []any
	if err := decode(text, &entries); err != nil {
		return blame(text, due, decode, err)
	}
	if len(entries) != len(due) {
		return []error{fmt.Errorf("%d entries, where %d strings are due", len(entries), len(due))}
	}
	var errs []error
	for i, entry := range entries {
		if err := same(entry, due[i]); err != nil {
			errs = append(errs, fmt.Errorf("entry %d: %w", i, err))
		}
	}
	return errs
}

func same(entry any, due string) error {
	key, value, err := only(entry)
	if err != nil {
		return fmt.Errorf("%q: %w", due, err)
	}
	if key != any(due) {
		return fmt.Errorf("the key %q is read as %#v", due, key)
	}
	if value != any(due) {
		return fmt.Errorf("the value %q is read as %#v", due, value)
	}
	return nil
}

// only returns the one key and value of a mapping in either form that the libraries give.
func only(entry any) (key, value any, err error) {
	n := 0
	switch m := entry.(type) {
	case map[string]any:
		for k, v := range m {
			key, value, n = k, v, n+1
		}
	case map[any]any:
		for k, v := range m {
			key, value, n = k, v, n+1
		}
	default:
		return nil, nil, fmt.Errorf("read as %T, not as a mapping", entry)
	}
	if n != 1 {
		return nil, nil, fmt.Errorf("a mapping of %d entries, where one is due", n)
	}
	return key, value, nil
}

// blame reads entry by entry, so that a file that a library refuses names the strings at fault.
func blame(text []byte, due []string, decode func([]byte, any) error, whole error) []error {
	errs := []error{whole}
	items := bytes.Split(append([]byte("\n"), text...), []byte("\n- "))[1:]
	if len(items) != len(due) {
		return errs
	}
	for i, item := range items {
		var entries []any
		if err := decode(append(append([]byte("- "), item...), '\n'), &entries); err != nil {
			errs = append(errs, fmt.Errorf("entry %d: %q: %w", i, due[i], err))
		}
	}
	return errs
}
