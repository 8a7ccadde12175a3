// Package readers reads YAML with the three libraries that stand between a generated file and a controller, and
// requires that they see the same JSON value.
package readers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// number keeps integers exact and makes a float comparable with another reader's.
type number string

// Strict reads one document with all three libraries; duplicate keys are errors. It returns the value as JSON has it.
func Strict(text []byte) (any, []error) {
	read := map[string]func([]byte) (any, error){"yaml.v2": strictV2, "yaml.v3": strictV3, "sigs.k8s.io/yaml": strictSigs}
	return agree(text, read)
}

func agree(text []byte, read map[string]func([]byte) (any, error)) (any, []error) {
	var errs []error
	values := map[string]any{}
	for _, name := range []string{"yaml.v2", "yaml.v3", "sigs.k8s.io/yaml"} {
		value, err := read[name](text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		values[name] = value
	}
	if len(errs) > 0 {
		return nil, errs
	}
	want := values["sigs.k8s.io/yaml"]
	for _, name := range []string{"yaml.v2", "yaml.v3"} {
		if where, differs := difference("", want, values[name]); differs {
			errs = append(errs, fmt.Errorf("%s and sigs.k8s.io/yaml read different values: %s", name, where))
		}
	}
	return want, errs
}

func strictV2(text []byte) (any, error) {
	var v any
	if err := yamlv2.UnmarshalStrict(text, &v); err != nil {
		return nil, err
	}
	return canonical("", v)
}

func strictV3(text []byte) (any, error) {
	d := yamlv3.NewDecoder(bytes.NewReader(text))
	var v any
	if err := d.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return canonical("", v)
}

func strictSigs(text []byte) (any, error) {
	j, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	return fromJSON(j)
}

func fromJSON(j []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return canonical("", v)
}

// canonical turns what a library gives into maps with string keys, slices, strings, bools, nil and numbers.
// Any other type (a timestamp, a key that is no string) has no JSON form of its own and is an error.
func canonical(path string, v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, number:
		return v, nil
	case int, int64, uint64, float64, json.Number:
		return canonicalNumber(path, v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			c, err := canonical(fmt.Sprintf("%s[%d]", path, i), item)
			if err != nil {
				return nil, err
			}
			out[i] = c
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			c, err := canonical(path+"."+k, item)
			if err != nil {
				return nil, err
			}
			out[k] = c
		}
		return out, nil
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			key, ok := k.(string)
			if !ok {
				return nil, fmt.Errorf("%s: the key %v is read as %T, not as a string", at(path), k, k)
			}
			out[key] = item
		}
		return canonical(path, out)
	default:
		return nil, fmt.Errorf("%s: %v is read as %T, which JSON does not have", at(path), v, v)
	}
}

// exactInteger is the largest integer up to which every JSON reader is exact.
const exactInteger = 1 << 53

func canonicalNumber(path string, v any) (any, error) {
	text := fmt.Sprint(v)
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		if i > exactInteger || i < -exactInteger {
			return nil, fmt.Errorf("%s: %d loses digits in readers that keep numbers as floats", at(path), i)
		}
		return number(strconv.FormatInt(i, 10)), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at(path), err)
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("%s: %v has no JSON form", at(path), f)
	}
	if f == math.Trunc(f) && math.Abs(f) <= exactInteger {
		return number(strconv.FormatInt(int64(f), 10)), nil
	}
	if f == math.Trunc(f) {
		return nil, fmt.Errorf("%s: %s loses digits in readers that keep numbers as floats", at(path), text)
	}
	return number(strconv.FormatFloat(f, 'g', -1, 64)), nil
}

// difference finds the first place where two canonical values differ.
func difference(path string, a, b any) (string, bool) {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return fmt.Sprintf("%s: %#v and %#v", at(path), a, b), true
		}
		for k, v := range a {
			w, ok := other[k]
			if !ok {
				return fmt.Sprintf("%s: the key %q is missing", at(path), k), true
			}
			if where, differs := difference(path+"."+k, v, w); differs {
				return where, true
			}
		}
		return "", false
	case []any:
		other, ok := b.([]any)
		if !ok || len(a) != len(other) {
			return fmt.Sprintf("%s: %#v and %#v", at(path), a, b), true
		}
		for i := range a {
			if where, differs := difference(fmt.Sprintf("%s[%d]", path, i), a[i], other[i]); differs {
				return where, true
			}
		}
		return "", false
	default:
		if a != b {
			return fmt.Sprintf("%s: %#v and %#v", at(path), a, b), true
		}
		return "", false
	}
}

func at(path string) string {
	if path == "" {
		return "root"
	}
	return path
}
