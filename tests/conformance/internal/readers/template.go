package readers

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Template reads a frozen template. It is YAML only once each expression is taken for a scalar, as Stackloom itself does
// before parsing; the branches of its statements may repeat a key, so that duplicates are no fault here.
func Template(text []byte) []error {
	plain, err := withoutExpressions(text)
	if err != nil {
		return []error{err}
	}
	documents, errs := Form(plain)
	for i, node := range documents {
		one, err := yamlv3.Marshal(lastWins(node))
		if err != nil {
			errs = append(errs, fmt.Errorf("document %d: %w", i+1, err))
			continue
		}
		_, found := Strict(one)
		errs = append(errs, found...)
	}
	return append(errs, readable(plain)...)
}

// readable runs the two readers that know duplicate keys only as errors or as "the last wins" over the text itself.
func readable(plain []byte) []error {
	var errs []error
	d := yamlv2.NewDecoder(bytes.NewReader(plain))
	for {
		var v yamlv2.MapSlice
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("yaml.v2: %w", err))
			break
		}
	}
	for _, document := range bytes.Split(plain, []byte("\n---\n")) {
		if _, err := yaml.YAMLToJSON(document); err != nil {
			errs = append(errs, fmt.Errorf("sigs.k8s.io/yaml: %w", err))
		}
	}
	return errs
}

// lastWins drops all but the last entry of each key.
func lastWins(n *yamlv3.Node) *yamlv3.Node {
	out := *n
	out.Content = nil
	if n.Kind != yamlv3.MappingNode {
		for _, child := range n.Content {
			out.Content = append(out.Content, lastWins(child))
		}
		return &out
	}
	last := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		last[n.Content[i].Value] = i
	}
	for i := 0; i < len(n.Content); i += 2 {
		if last[n.Content[i].Value] == i {
			out.Content = append(out.Content, n.Content[i], lastWins(n.Content[i+1]))
		}
	}
	return &out
}

// withoutExpressions puts a word in the place of every expression.
func withoutExpressions(text []byte) ([]byte, error) {
	var out bytes.Buffer
	rest := text
	for n := 0; ; n++ {
		start := bytes.Index(rest, []byte("${{"))
		if start < 0 {
			out.Write(rest)
			return out.Bytes(), nil
		}
		out.Write(rest[:start])
		length := expressionLength(rest[start:])
		if length < 0 {
			return nil, errors.New("an expression that does not end on its line")
		}
		fmt.Fprintf(&out, "expression-%d", n)
		rest = rest[start+length:]
	}
}

// expressionLength is the length of the expression that a text begins with, or -1. Braces within quotes do not end it.
func expressionLength(text []byte) int {
	quote := byte(0)
	for i := len("${{"); i < len(text) && text[i] != '\n'; i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '}' && i+1 < len(text) && text[i+1] == '}':
			for i+2 < len(text) && text[i+2] == '}' {
				i++
			}
			return i + 2
		}
	}
	return -1
}
