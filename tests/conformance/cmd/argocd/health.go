package main

import (
	"os"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"sigs.k8s.io/yaml"
)

const healthKey = "resource.customizations.health."

// healthScripts reads the scripts in a ConfigMap `argocd-cm` as Argo CD does.
func healthScripts(file string) (lua.ResourceHealthOverrides, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var configMap struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(text, &configMap); err != nil {
		return nil, err
	}
	scripts := lua.ResourceHealthOverrides{}
	for key, script := range configMap.Data {
		if kind, ok := strings.CutPrefix(key, healthKey); ok {
			scripts[strings.Replace(kind, "_", "/", 1)] = argo.ResourceOverride{HealthLua: script}
		}
	}
	return scripts, nil
}
