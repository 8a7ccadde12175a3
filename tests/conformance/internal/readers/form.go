package readers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Form checks what the three libraries accept but a generated file must not have: it opens with a comment, ends with
// one newline, and holds no anchors, aliases, tags or keys that are not plain strings. It returns the documents.
func Form(text []byte) ([]*yamlv3.Node, []error) {
	errs := formOfText(text)
	var documents []*yamlv3.Node
	d := yamlv3.NewDecoder(bytes.NewReader(text))
	for {
		node := &yamlv3.Node{}
		err := d.Decode(node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, append(errs, fmt.Errorf("yaml.v3: %w", err))
		}
		documents = append(documents, node)
		errs = append(errs, formOfNode(node)...)
	}
	return documents, errs
}

func formOfText(text []byte) []error {
	var errs []error
	if !bytes.HasPrefix(text, []byte("# ")) {
		errs = append(errs, errors.New("the first line is not a comment"))
	}
	if !bytes.HasSuffix(text, []byte("\n")) || bytes.HasSuffix(text, []byte("\n\n")) {
		errs = append(errs, errors.New("the file does not end with exactly one newline"))
	}
	if bytes.ContainsRune(text, '\r') {
		errs = append(errs, errors.New("the file holds a carriage return"))
	}
	return errs
}

func formOfNode(n *yamlv3.Node) []error {
	var errs []error
	if n.Anchor != "" {
		errs = append(errs, fmt.Errorf("line %d: anchor &%s", n.Line, n.Anchor))
	}
	if n.Kind == yamlv3.AliasNode {
		return append(errs, fmt.Errorf("line %d: alias *%s", n.Line, n.Value))
	}
	if n.Style&yamlv3.TaggedStyle != 0 {
		errs = append(errs, fmt.Errorf("line %d: tag %s", n.Line, n.Tag))
	}
	for i, child := range n.Content {
		if n.Kind == yamlv3.MappingNode && i%2 == 0 {
			errs = append(errs, formOfKey(child)...)
		}
		errs = append(errs, formOfNode(child)...)
	}
	return errs
}

func formOfKey(key *yamlv3.Node) []error {
	if key.Kind != yamlv3.ScalarNode {
		return []error{fmt.Errorf("line %d: a key that is no scalar", key.Line)}
	}
	if tag := key.ShortTag(); tag != "!!str" {
		return []error{fmt.Errorf("line %d: the key %s is read as %s, not as a string", key.Line, key.Value, strings.TrimPrefix(tag, "!!"))}
	}
	return nil
}
