package random

import (
	"fmt"
	"strings"
)

func ref(api, kind, name string) object {
	return object{"templateRef": object{"apiVersion": api, "kind": kind, "name": name}}
}

func template(api, kind, name string, spec object) object {
	return object{"apiVersion": api, "kind": kind, "metadata": object{"name": name}, "spec": object{"template": object{"spec": spec}}}
}

func (m *maker) objects() []object {
	worker := object{"class": "worker", "bootstrap": ref(bootstrap, "KubeadmConfigTemplate", "worker"),
		"infrastructure": ref(infrastructure, "AcmeMachineTemplate", "worker")}
	if m.chance(40) {
		worker["metadata"] = m.metadata("class")
	}
	if m.chance(30) {
		worker["minReadySeconds"] = m.IntN(10)
	}
	if m.chance(30) {
		worker["healthCheck"] = object{"checks": object{"nodeStartupTimeoutSeconds": 300 + m.IntN(500)}}
	}
	if m.chance(20) {
		worker["naming"] = object{"template": pick(m, "{{ .machineDeployment.topologyName }}-of-{{ .cluster.name }}-{{ .random }}", "fixed-{{ .random }}")}
	}
	pool := object{"class": "pool", "bootstrap": ref(bootstrap, "KubeadmConfigTemplate", "worker"),
		"infrastructure": ref(infrastructure, "AcmeMachinePoolTemplate", "pool")}
	cp := ref(controlPlane, "KubeadmControlPlaneTemplate", "control-plane")
	cp["machineInfrastructure"] = ref(infrastructure, "AcmeMachineTemplate", "control-plane")
	if m.chance(40) {
		cp["metadata"] = m.metadata("class")
	}
	if m.chance(20) {
		cp["deletion"] = object{"nodeDrainTimeoutSeconds": m.IntN(100)}
	}
	variables, patches := []any{}, []any{}
	for _, v := range m.variables {
		variables = append(variables, object{"name": v.name, "required": v.required, "schema": object{"openAPIV3Schema": v.schema}})
	}
	for n := range 1 + m.IntN(5) {
		patches = append(patches, m.patch(n))
	}
	class := object{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": object{"name": "class"}, "spec": object{
		"infrastructure": ref(infrastructure, "AcmeClusterTemplate", "cluster"), "controlPlane": cp,
		"workers":   object{"machineDeployments": []any{worker}, "machinePools": []any{pool}},
		"variables": variables, "patches": patches,
	}}
	acme := func() object {
		return object{"region": "north", "size": m.IntN(9), "list": []any{"x", "y"}, "map": object{"key": "v", "a/b": 1}}
	}
	config := func() object { return object{"preKubeadmCommands": []any{"true"}} }
	machine := template(infrastructure, "AcmeMachineTemplate", "worker", acme())
	if m.chance(40) {
		machine["metadata"].(object)["labels"] = object{"of": "template"}
		machine["spec"].(object)["template"].(object)["metadata"] = object{"labels": object{"in": "side"}}
	}
	kcp := object{"kubeadmConfigSpec": config()}
	kcp["kubeadmConfigSpec"].(object)["clusterConfiguration"] = object{"imageRepository": "registry.example"}
	return []object{class, template(infrastructure, "AcmeClusterTemplate", "cluster", acme()),
		template(controlPlane, "KubeadmControlPlaneTemplate", "control-plane", kcp),
		template(infrastructure, "AcmeMachineTemplate", "control-plane", acme()), machine,
		template(infrastructure, "AcmeMachinePoolTemplate", "pool", acme()), template(bootstrap, "KubeadmConfigTemplate", "worker", config())}
}

func (m *maker) metadata(value string) object {
	return object{"labels": object{"label": value, "own-" + value: "1"}, "annotations": object{"note": value}}
}

func (m *maker) values(overrides bool) []any {
	out := []any{}
	for _, v := range m.variables {
		if m.chance(55) || v.required && !overrides && !m.faulty(5) {
			out = append(out, object{"name": v.name, "value": m.value(v.schema, 2)})
		}
	}
	if m.faulty(4) {
		out = append(out, object{"name": "nobody", "value": 1})
	}
	return out
}

func (m *maker) cluster() object {
	topology := object{"classRef": object{"name": "class"}, "version": pick(m, "v1.35.1", "v1.35.1", "1.35.1", "v1.36.0-rc.1")}
	if all := m.values(false); len(all) > 0 {
		topology["variables"] = all
	}
	cp := object{"replicas": pick(m, 1, 3)}
	m.part(cp)
	topology["controlPlane"] = cp
	workers := object{}
	for _, kind := range []string{"machineDeployments", "machinePools"} {
		class, short := "worker", "md"
		if kind == "machinePools" {
			class, short = "pool", "mp"
		}
		list := []any{}
		for _, name := range m.poolNames(short) {
			worker := object{"class": class, "name": name}
			if m.chance(70) {
				worker["replicas"] = m.IntN(4)
			}
			if m.chance(20) && kind == "machineDeployments" {
				worker["failureDomain"] = "zone"
			}
			m.part(worker)
			list = append(list, worker)
		}
		if len(list) > 0 {
			workers[kind] = list
		}
	}
	if len(workers) > 0 {
		topology["workers"] = workers
	}
	name := pick(m, "one", "one", "one", "c-"+strings.Repeat("long-", 10)+"name")
	cluster := object{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": object{"name": name, "namespace": "default"},
		"spec": object{"topology": topology}}
	if m.chance(40) {
		cluster["metadata"].(object)["labels"] = object{"env": "prod"}
	}
	if m.chance(40) {
		cluster["spec"].(object)["clusterNetwork"] = object{"serviceDomain": "cluster.local", "pods": object{"cidrBlocks": []any{"192.168.0.0/16"}}}
	}
	return cluster
}

// lookAlikes are names of pools that hold dots, or read like another pool, like an object of one, or like another part.
var lookAlikes = []string{
	"gpu", "gpu.a", "gpu-a", "gpu.bootstrap", "gpu.a.bootstrap", "gpu.infrastructure", "a.infrastructure", "x", "x.health-check",
	"md.gpu", "mp.gpu.bootstrap", "md-0.bootstrap", "control-plane", "infrastructure-cluster", "cluster",
}

// poolNames are up to two plain names, or up to four of the others, which more than one pool is needed to confuse.
func (m *maker) poolNames(short string) []string {
	if m.chance(50) {
		var names []string
		for n := range m.IntN(3) {
			names = append(names, fmt.Sprintf("%s-%d", short, n))
		}
		return names
	}
	var names []string
	for _, n := range m.Perm(len(lookAlikes))[:m.IntN(5)] {
		names = append(names, lookAlikes[n])
	}
	return names
}

// part gives the control plane or a pool what each of them may have.
func (m *maker) part(part object) {
	if m.chance(30) {
		part["metadata"] = m.metadata("topology")
	}
	if m.chance(30) {
		if all := m.values(true); len(all) > 0 {
			part["variables"] = object{"overrides": all}
		}
	}
}
