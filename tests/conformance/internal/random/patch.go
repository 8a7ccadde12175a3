package random

import (
	"fmt"
	"slices"
	"strings"
)

const (
	infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2"
	controlPlane   = "controlplane.cluster.x-k8s.io/v1beta2"
	bootstrap      = "bootstrap.cluster.x-k8s.io/v1beta2"
)

func (m *maker) patch(n int) object {
	patch := object{"name": fmt.Sprintf("patch%d", n)}
	if m.chance(40) {
		patch["enabledIf"] = pick(m, "true", "{{ true }}", "{{ if "+m.path()+" }}true{{ end }}", "{{ "+m.path()+" }}", "{{ not "+m.path()+" }}",
			"{{ eq "+m.path()+" \"b\" }}", "{{ gt "+m.path()+" 2.0 }}", "yes")
	}
	definitions := []any{}
	for range 1 + m.IntN(2) {
		definitions = append(definitions, m.definition())
	}
	patch["definitions"] = definitions
	return patch
}

func (m *maker) definition() object {
	selector := pick(m,
		object{"apiVersion": infrastructure, "kind": "AcmeClusterTemplate", "matchResources": object{"infrastructureCluster": true}},
		object{"apiVersion": controlPlane, "kind": "KubeadmControlPlaneTemplate", "matchResources": object{"controlPlane": true}},
		object{"apiVersion": infrastructure, "kind": "AcmeMachineTemplate", "matchResources": object{"controlPlane": true}},
		object{"apiVersion": infrastructure, "kind": "AcmeMachineTemplate", "matchResources": object{
			"controlPlane": m.chance(50), "machineDeploymentClass": object{"names": []any{pick(m, "worker", "*", "wor*", "*er")}}}},
		object{"apiVersion": bootstrap, "kind": "KubeadmConfigTemplate", "matchResources": object{
			"machineDeploymentClass": object{"names": []any{"worker"}}}},
		object{"apiVersion": infrastructure, "kind": "AcmeMachinePoolTemplate", "matchResources": object{
			"machinePoolClass": object{"names": []any{pick(m, "pool", "p*")}}}},
	)
	operations := []any{}
	for range 1 + m.IntN(3) {
		operations = append(operations, m.operation(selector["kind"].(string)))
	}
	return object{"selector": selector, "jsonPatches": operations}
}

func (m *maker) operation(kind string) object {
	paths := []string{"/spec/template/spec/added", "/spec/template/spec/region", "/spec/template/spec/list/-", "/spec/template/spec/list/0",
		"/spec/template/spec/map/key", "/spec/template/spec/map/a~1b", "/spec/template/metadata/labels/l", "/spec/template/spec/none/below"}
	if strings.HasPrefix(kind, "Kubeadm") {
		paths = []string{"/spec/template/spec/preKubeadmCommands/-", "/spec/template/spec/files", "/spec/template/spec/verbosity"}
	}
	if kind == "KubeadmControlPlaneTemplate" {
		base := "/spec/template/spec/kubeadmConfigSpec/"
		paths = []string{base + "preKubeadmCommands/-", base + "files", base + "clusterConfiguration/imageRepository", base + "verbosity"}
	}
	op := "add"
	if m.faulty(20) {
		op = pick(m, "replace", "remove")
	} else {
		// What the templates do not have is for cases with faults.
		paths = slices.DeleteFunc(paths, func(path string) bool {
			return m.sound && (strings.Contains(path, "/none/") || strings.Contains(path, "/metadata/") && !strings.Contains(kind, "Cluster"))
		})
	}
	out := object{"op": op, "path": pick(m, paths...)}
	if there := out["path"].(string); m.chance(20) && (strings.HasSuffix(there, "/region") || strings.HasSuffix(there, "/map/key")) {
		out["op"] = "replace"
	}
	if op == "add" && m.chance(5) && !strings.HasPrefix(kind, "Kubeadm") {
		return object{"op": "remove", "path": "/spec/template/spec/size"}
	}
	if op == "remove" {
		return out
	}
	switch m.IntN(4) {
	case 0:
		out["value"] = pick[any](m, 3, "text", true, []any{"x"}, object{"a": 1})
	case 1:
		path := strings.TrimPrefix(m.path(), ".")
		if m.sound {
			// Everything that is told of every cluster.
			path = pick(m, "builtin.cluster.name", "builtin.cluster", "builtin.cluster.topology.version")
		}
		out["valueFrom"] = object{"variable": path}
	default:
		out["valueFrom"] = object{"template": m.template()}
	}
	return out
}

// path leads to a variable, into one, or to something that Cluster API tells.
func (m *maker) path() string {
	if m.chance(15) {
		return "." + pick(m, "builtin.cluster.name", "builtin.cluster.namespace", "builtin.cluster.topology.version", "builtin.cluster.uid",
			"builtin.cluster.network.serviceDomain", "builtin.controlPlane.version", "builtin.controlPlane.replicas",
			"builtin.machineDeployment.version", "builtin.machineDeployment.topologyName", "builtin.machineDeployment.replicas",
			"builtin.machinePool.class")
	}
	v := pick(m, m.variables...)
	path, s := "."+v.name, v.schema
	for m.chance(60) {
		properties, ok := s["properties"].(object)
		if !ok {
			break
		}
		name := fmt.Sprintf("p%d", m.IntN(len(properties)))
		path, s = path+"."+name, properties[name].(object)
	}
	if m.faulty(4) {
		return path + ".missing"
	}
	return path
}

// template is text with actions, made of what classes really use: one value, or several entries of a map or list.
func (m *maker) template() string {
	if m.chance(50) {
		return m.line()
	}
	var text strings.Builder
	for n := range 1 + m.IntN(4) {
		p := m.path()
		text.WriteString(pick(m,
			fmt.Sprintf("k%d: {{ %s }}\n", n, p), fmt.Sprintf("k%d: {{ %s | quote }}\n", n, p), fmt.Sprintf("k%d: {{ %s | toJson }}\n", n, p),
			fmt.Sprintf("k%d: a-{{ %s }}\n", n, p), fmt.Sprintf("{{ if %s }}k%d: {{ %s }}\n{{ end }}", p, n, m.path()),
			fmt.Sprintf("{{- with %s }}\nk%d: {{ . | toJson }}\n{{- end }}\n", p, n), fmt.Sprintf("k%d: |\n  line {{ %s }}\n", n, p),
			fmt.Sprintf("k%d:\n{{ range %s }}- {{ . | quote }}\n{{ end }}", n, p), fmt.Sprintf("k%d: {{ default \"d\" %s | quote }}\n", n, p),
			fmt.Sprintf("k%d: {{ %s | toString | trunc 3 | quote }}\n", n, p), fmt.Sprintf("k%d: {{ eq (toString %s) \"b\" }}\n", n, p),
		))
	}
	return text.String()
}

func (m *maker) line() string {
	p := m.path()
	lines := []string{
		"{{ " + p + " }}", "key: {{ " + p + " }}\n", "key: {{ " + p + " | quote }}\n", "a-{{ " + p + " }}", "- {{ " + p + " }}\n",
		"{{ if " + p + " }}key: 1{{ else }}other: {{ " + m.path() + " }}{{ end }}\n",
		"{{ with " + p + " }}in: {{ . }}{{ end }}\n", "{{ range " + p + " }}- {{ . }}\n{{ end }}",
		"{{ range $k, $v := " + p + " }}{{ $k }}: {{ $v | quote }}\n{{ end }}", "{{ printf \"%v-%s\" " + p + " \"x\" }}\n",
		"{{ default \"d\" " + p + " }}\n", "{{ " + p + " | toString | upper }}\n", "{{ " + p + " | toJson }}\n", "{{ len " + p + " }}\n",
		"v: {{ int " + p + " }}\n", "v: {{ int64 " + p + " | add 1 }}\n", "{{ eq " + p + " " + m.path() + " }}\n",
		"{{ if and " + p + " (not " + m.path() + ") }}both: true{{ end }}\n", "{{ " + p + " | toString | trunc 3 }}\n",
		"{{ $x := " + p + " }}set: {{ $x }}\n", "{{- /* note */ -}}\ntext: |\n  line {{ " + p + " }}\n", "{{ list 1 2 " + p + " | join \",\" | quote }}\n",
		"{{ dict \"a\" " + p + " | toJson }}\n", "{{ " + p + " | kindOf }}\n", "{{ ternary \"y\" \"n\" (empty " + p + ") }}\n",
		"{{ semverCompare \">=1.30\" .builtin.cluster.topology.version }}\n", "{{ regexReplaceAll \"[0-9]+\" (toString " + p + ") \"n\" }}\n",
	}
	return pick(m, lines...)
}
