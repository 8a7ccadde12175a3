// Package module knows where Cluster API's Go module has its CustomResourceDefinitions.
package module

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Name is that of the module.
const Name = "sigs.k8s.io/cluster-api"

// Definitions gives the folders with the CustomResourceDefinitions of the core and of the kubeadm providers.
func Definitions() ([]string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", Name).Output()
	if err != nil {
		return nil, fmt.Errorf("where is %s? %w", Name, err)
	}
	var folders []string
	for _, part := range []string{"core", "bootstrap/kubeadm", "controlplane/kubeadm"} {
		folders = append(folders, filepath.Join(strings.TrimSpace(string(out)), part, "config", "crd", "bases"))
	}
	return folders, nil
}
