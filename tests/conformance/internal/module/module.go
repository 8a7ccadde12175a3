// Package module knows where Cluster API's Go module has its CustomResourceDefinitions.
package module

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Name is that of the module.
const Name = "sigs.k8s.io/cluster-api"

// Dir gives the folder of a module that go.mod names.
func Dir(name string) (string, error) {
	// Not `go list`: it has no folder for a module that nothing has downloaded yet.
	out, err := exec.Command("go", "mod", "download", "-json", name).Output()
	if err != nil {
		return "", fmt.Errorf("where is %s? %w", name, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("where is %s? %w", name, err)
	}
	return found.Dir, nil
}

// Definitions gives the folders with the CustomResourceDefinitions of the core and of the kubeadm providers.
func Definitions() ([]string, error) {
	dir, err := Dir(Name)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, part := range []string{"core", "bootstrap/kubeadm", "controlplane/kubeadm"} {
		folders = append(folders, filepath.Join(dir, part, "config", "crd", "bases"))
	}
	return folders, nil
}
