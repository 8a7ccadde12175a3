// Package tree loads a generated tree: which file is what, and the Kubernetes objects in it.
package tree

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stackloom.dev/conformance/internal/readers"
	"stackloom.dev/conformance/internal/report"
)

// Class says how a file is to be read.
type Class int

const (
	// Object files hold one Kubernetes object each.
	Object Class = iota
	// Data files describe a release, or hold the values of a chart; they are plain YAML, but no Kubernetes objects.
	Data
	// Template files are frozen templates of a release.
	Template
	// Stray files have no place in the layout.
	Stray
)

// Classify goes by the place of a file below the generated folder.
func Classify(rel string) Class {
	parts := strings.Split(rel, "/")
	switch {
	case parts[0] == "management" && len(parts) == 8 && parts[2] == "clusters" && parts[5] == "values":
		return Data
	case parts[0] == "management" && len(parts) > 2:
		return Object
	case parts[0] == "releases" && len(parts) == 3:
		return Data
	case parts[0] == "releases" && len(parts) > 3 && parts[2] == "cluster-class":
		return Object
	case parts[0] == "releases" && len(parts) > 3:
		return Template
	}
	return Stray
}

// File is one Kubernetes object with the place it came from, which is relative to the generated folder.
type File struct {
	Path   string
	Object *unstructured.Unstructured
}

// Kind is the object's group, version and kind in one word, as in cluster.x-k8s.io/v1beta2/Cluster.
func (f File) Kind() string {
	return f.Object.GetAPIVersion() + "/" + f.Object.GetKind()
}

// Tree is what was read.
type Tree struct {
	// Generated is the folder of the program's output, Root the repository's, both as paths of this machine.
	Generated, Root string
	Objects         []File
}

// Load reads every YAML file below a folder and reports each that its readers do not agree about.
func Load(generated, root string, r *report.Report) *Tree {
	t := &Tree{Generated: generated, Root: root}
	for _, what := range []string{"files", "objects", "templates"} {
		r.Count(what, 0)
	}
	err := filepath.WalkDir(generated, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isYAML(name) {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(generated, name)
		if err != nil {
			return err
		}
		r.Count("files", 1)
		t.read(filepath.ToSlash(rel), text, r)
		return nil
	})
	if err != nil {
		r.Fail(generated, "tree", "%v", err)
	}
	r.Require(generated, "files", "objects")
	return t
}

func isYAML(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

func (t *Tree) read(rel string, text []byte, r *report.Report) {
	class := Classify(rel)
	if class == Stray {
		r.Fail(rel, "layout", "no part of the tree has a file here")
		return
	}
	if class == Template {
		r.Count("templates", 1)
		for _, err := range readers.Template(text) {
			r.Fail(rel, "readers", "%v", err)
		}
		return
	}
	documents, errs := readers.Form(text)
	if len(errs) == 0 && len(documents) != 1 {
		errs = append(errs, fmt.Errorf("%d documents, where one is due", len(documents)))
	}
	value, found := readers.Strict(text)
	for _, err := range append(errs, found...) {
		r.Fail(rel, "readers", "%v", err)
	}
	if class == Object && len(errs) == 0 && len(found) == 0 {
		t.object(rel, text, value, r)
	}
}

func (t *Tree) object(rel string, text []byte, value any, r *report.Report) {
	m, ok := value.(map[string]any)
	if !ok {
		r.Fail(rel, "object", "not a mapping, so no Kubernetes object")
		return
	}
	object, err := Decode(text)
	if err != nil {
		r.Fail(rel, "object", "%v", err)
		return
	}
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		if m[key] == nil {
			r.Fail(rel, "object", "no %s, so no Kubernetes object", key)
			return
		}
	}
	if object.GetName() == "" {
		r.Fail(rel, "object", "no metadata.name")
		return
	}
	if object.IsList() {
		r.Fail(rel, "object", "a list of objects, where one object is due")
		return
	}
	r.Count("objects", 1)
	t.Objects = append(t.Objects, File{Path: rel, Object: object})
}

// Decode reads one document as the API machinery does, with integers as int64.
func Decode(text []byte) (*unstructured.Unstructured, error) {
	j, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(j); err != nil {
		return nil, err
	}
	return object, nil
}

// Of returns the objects of a group and kind, in any version.
func (t *Tree) Of(group, kind string) []File {
	var found []File
	for _, f := range t.Objects {
		gvk := f.Object.GroupVersionKind()
		if gvk.Group == group && gvk.Kind == kind {
			found = append(found, f)
		}
	}
	return found
}

// Below returns the objects whose files lie in a folder or deeper; the folder is relative to the generated one.
func (t *Tree) Below(folder string) []File {
	var found []File
	for _, f := range t.Objects {
		if strings.HasPrefix(f.Path, strings.TrimSuffix(folder, "/")+"/") {
			found = append(found, f)
		}
	}
	return found
}
