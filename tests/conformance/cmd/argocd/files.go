package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// manifests reads the objects in a folder and below, as Argo CD does for a source of type directory. Folders that do not exist are
// an error, as with Argo CD.
func manifests(folder string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(text, &object.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, object)
		return nil
	})
	return objects, err
}

// into decodes an object strictly into a type.
func into(object *unstructured.Unstructured, is any) error {
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(text, is)
}
