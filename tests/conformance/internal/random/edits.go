package random

import "strings"

type all = []any

var versions = all{"v1.35.1", "v1.35.1", "v1.36.0", "v1.36.4", "v1.37.0", "v1.34.2", "v1.35.1-rc.1", "v1.37.0-alpha.1", "v2.0.0", "1.35.1",
	"v1.35", "v1.035.1", "v1.36.0+k3s1", "latest", ""}

var tags = all{"v1.10.1", "v1.11.3", "v1.11.4", "v1.12.0", "1.9.3", "v1.9.5", "v1.14.7", "v1.15.0", "v1.1.2", "v1.11.1_build.2", "v1.11.3-rc.1",
	"v1.11", "latest", "v1.11.3@x", "a b", "v1.011.3", nil}

var names = all{"{{ .random }}", "{{ .cluster.name }}-{{ .random }}", "{{ .cluster.name }}", "{{ .kubeadmControlPlane.name }}-{{ .random }}",
	"{{ .machineSet.name }}-{{ .random }}", "{{ .random }}_X", "{{ .nothing }}-{{ .random }}", "{{ .random }", "{{.random}}-a", "-{{ .random }}",
	"{{ .random }}-" + strings.Repeat("a", 70), strings.Repeat("a.", 100) + "{{ .random }}", strings.Repeat("A", 200) + "{{ .random }}",
	"{{ .random }}-{{ .cluster.name | printf \"%s.\" }}", nil}

var labels = all{object{"team": "a"}, object{"team": ""}, object{"a b": "c"}, object{"example.org/x": "y", "/x": "y"}, object{"team": "-"},
	object{"team": strings.Repeat("x", 64)}, object{"Example.org/x": "y"}, object{strings.Repeat("x", 64): "y"}, object{"a/b/c": ""}, object{}, nil}

var annotations = all{object{"team": "a b c"}, object{"a b": "c"}, object{"Example.org/X": "y"}, object{"example.org/": "y"}, object{}, nil}

var taints = all{all{taint("example.org/gpu")}, all{taint("node.cluster.x-k8s.io/uninitialized")}, all{taint("node.kubernetes.io/out-of-service")},
	all{taint("node.kubernetes.io/not-ready")}, all{taint("node.cloudprovider.kubernetes.io/shutdown"), taint("a b")},
	all{taint("node-role.kubernetes.io/master")}, all{taint("node-role.kubernetes.io/control-plane"), taint("node.cluster.x-k8s.io/outdated-revision")}, nil}

func taint(key string) object {
	return object{"key": key, "effect": "NoSchedule", "propagation": "Always"}
}

var counts = all{0, 1, 2, 3, 4, 5, -1, nil}

var portions = all{0, 1, 2, -1, "0", "1", "+1", "50%", "-10%", "0%", "x%", "%", "x", "", "99999999999999999999", nil}

// templateEdits are of the metadata that a template gives.
var templateEdits = []edit{{"spec.template.metadata.labels", labels}, {"spec.template.metadata.annotations", annotations}}

// prefixed puts where a spec stands before the paths of edits.
func prefixed(at string, edits []edit) []edit {
	moved := make([]edit, 0, len(edits))
	for _, one := range edits {
		moved = append(moved, edit{at + "." + one.path, one.values})
	}
	return moved
}

// kubeadmEdits are of a kubeadm config.
func kubeadmEdits(at string) []edit {
	secret := func(name, key string) object { return object{"secret": object{"name": name, "key": key}} }
	seconds := all{0, 30, 60, nil}
	return prefixed(at, []edit{
		{"format", all{"ignition", "cloud-config", nil}},
		{"ignition", all{object{"containerLinuxConfig": object{"strict": true}}, object{}, nil}},
		{"bootCommands", all{all{"true"}, nil}},
		{"preKubeadmCommands", all{all{"a"}, all{"a", "b"}, nil}},
		{"verbosity", all{0, 5, nil}},
		{"mounts", all{all{all{"/a", "/b"}}, nil}},
		{"ntp", all{object{"enabled": true}, object{"enabled": false}, object{}, nil}},
		{"files", all{
			all{object{"path": "/a", "content": "x"}}, all{object{"path": "/a", "content": "x"}, object{"path": "/a", "content": "y"}},
			all{object{"path": "/a", "content": "x", "contentFrom": secret("a", "b")}}, all{object{"path": "/a", "contentFrom": secret("", "b")}},
			all{object{"path": "/a", "contentFrom": secret("a", "")}}, all{object{"path": "/a", "contentFrom": object{}}},
			all{object{"path": "/a", "content": "x", "encoding": "gzip"}, object{"path": "/b", "encoding": "base64"}, object{"path": "/c", "encoding": "gzip+base64"}}, nil}},
		{"users", all{
			all{object{"name": "a"}}, all{object{"name": "a", "passwd": "x", "passwdFrom": secret("a", "b")}}, all{object{"name": "a", "passwdFrom": secret("", "")}},
			all{object{"name": "a", "inactive": true}, object{"name": "b", "inactive": false}}, nil}},
		{"diskSetup", all{
			object{"partitions": all{object{"device": "/dev/a", "layout": true, "tableType": "mbr"}}, "filesystems": all{object{"device": "/dev/a", "filesystem": "ext4"}}},
			object{"filesystems": all{object{"device": "/dev/a", "filesystem": "ext4", "replaceFS": "x", "partition": "auto"}}},
			object{"partitions": all{object{"device": "/dev/a", "layout": true, "tableType": "gpt", "diskLayout": all{object{"percentage": 60}, object{"percentage": 41}}}}},
			object{"partitions": all{object{"device": "/dev/a", "layout": true, "diskLayout": all{object{"percentage": 60}, object{"percentage": 40}}}}}, nil}},
		{"joinConfiguration.discovery.file.kubeConfig.user", all{
			object{"exec": object{"command": "a"}}, object{"exec": object{"command": "a"}, "authProvider": object{"name": "a"}},
			object{"exec": object{"command": "a", "apiVersion": "client.authentication.k8s.io/v1"}}, object{"exec": object{}, "authProvider": object{"name": "a"}}, nil}},
		{"joinConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds", seconds},
		{"initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds", seconds},
		{"initConfiguration.timeouts.kubeletHealthCheckSeconds", seconds},
		{"initConfiguration.nodeRegistration", all{object{"name": "a"}, object{"taints": all{}}, object{"imagePullPolicy": "IfNotPresent"}, object{"imagePullPolicy": "Always"}, object{}, nil}},
		{"initConfiguration.nodeRegistration.taints", all{all{}, all{object{"key": "a", "effect": "NoSchedule"}}, all{object{"key": "a", "value": "", "effect": "NoSchedule"}}, nil}},
		{"initConfiguration.nodeRegistration.kubeletExtraArgs", all{all{object{"name": "a", "value": ""}}, all{object{"name": "a", "value": "b"}}, nil}},
		{"initConfiguration.localAPIEndpoint", all{object{"bindPort": 6443}, object{}, nil}},
		{"initConfiguration.patches", all{object{"directory": "/a"}, object{"directory": ""}, object{}, nil}},
		{"initConfiguration.skipPhases", all{all{"a"}, nil}},
		{"initConfiguration.bootstrapTokens", all{all{object{"token": "abcdef.0123456789abcdef"}}, nil}},
		{"initConfiguration", all{object{}, nil}},
		{"joinConfiguration.nodeRegistration", all{object{"name": "a"}, object{"imagePullPolicy": "IfNotPresent"}, object{}, nil}},
		{"joinConfiguration.nodeRegistration.taints", all{all{}, nil}},
		{"joinConfiguration.controlPlane", all{object{}, object{"localAPIEndpoint": object{"bindPort": 6443}}, nil}},
		{"joinConfiguration.caCertPath", all{"/a", nil}},
		{"joinConfiguration.patches.directory", all{"/a", nil}},
		{"joinConfiguration", all{object{}, nil}},
	})
}

// controlPlaneEdits are of what a control plane and its template have alike.
func controlPlaneEdits(at string) []edit {
	days := all{1, 7, 30, 365, 1095, 3650, 3651, nil}
	return append(kubeadmEdits(at+".kubeadmConfigSpec"), prefixed(at, []edit{
		{"kubeadmConfigSpec.clusterConfiguration.dns.imageTag", tags},
		{"kubeadmConfigSpec.clusterConfiguration.dns.imageTag", tags},
		{"kubeadmConfigSpec.clusterConfiguration.dns.imageTag", tags},
		{"kubeadmConfigSpec.clusterConfiguration.dns", all{object{"imageRepository": "a"}, object{}, nil}},
		{"kubeadmConfigSpec.clusterConfiguration.etcd", all{
			object{"local": object{"imageTag": "3.5.1"}}, object{"local": object{"imageTag": "3/5"}}, object{"local": object{"dataDir": "/a"}}, object{"local": object{}}, object{},
			object{"external": object{"endpoints": all{"https://a"}}}, object{"external": object{"endpoints": all{"https://a"}}, "local": object{"dataDir": "/a"}},
			object{"external": object{}}, object{"external": object{"endpoints": all{"https://b"}, "caFile": "/a"}}, nil}},
		{"kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays", days},
		{"kubeadmConfigSpec.clusterConfiguration.caCertificateValidityPeriodDays", days},
		{"rollout.before.certificatesExpiryDays", all{7, 30, 365, 400, nil}},
		{"rollout.after", all{"2026-01-01T00:00:00Z", nil}},
		{"rollout.strategy", all{object{"type": "RollingUpdate"}, object{"type": "RollingUpdate", "rollingUpdate": object{"maxSurge": 1}}, object{}, nil}},
		{"rollout.strategy", all{object{"type": "RollingUpdate", "rollingUpdate": object{"maxSurge": "1"}}, object{"type": "RollingUpdate", "rollingUpdate": object{"maxSurge": 0}}}},
		{"rollout.strategy.rollingUpdate.maxSurge", portions},
		{"kubeadmConfigSpec.clusterConfiguration", all{object{}, nil}},
		{"kubeadmConfigSpec.clusterConfiguration.certificatesDir", all{"/a", nil}},
		{"kubeadmConfigSpec.clusterConfiguration.controlPlaneEndpoint", all{"a:6443", "b:6443", nil}},
		{"kubeadmConfigSpec.clusterConfiguration.imageRepository", all{"a", nil}},
		{"kubeadmConfigSpec.clusterConfiguration.encryptionAlgorithm", all{"RSA-2048", nil}},
		{"kubeadmConfigSpec.clusterConfiguration.featureGates", all{object{"A": false}, object{"A": true, "B": true}, object{}, nil}},
		{"kubeadmConfigSpec.clusterConfiguration.apiServer", all{object{"certSANs": all{"a"}}, object{"extraArgs": all{object{"name": "a", "value": ""}}}, object{}, nil}},
		{"kubeadmConfigSpec.clusterConfiguration.scheduler", all{object{"extraArgs": all{object{"name": "a", "value": "b"}}}, nil}},
		{"kubeadmConfigSpec", all{object{}, nil}},
		{"machineNaming.template", names},
		{"machineNaming.template", names},
		{"machineNaming", all{object{}, nil}},
		{"machineTemplate.metadata.labels", labels},
		{"machineTemplate.metadata.annotations", annotations},
		{"machineTemplate.spec.taints", taints},
		{"machineTemplate.spec.deletion", all{object{"nodeDrainTimeoutSeconds": 0}, object{"nodeDrainTimeoutSeconds": 5}, object{}, nil}},
		{"remediation", all{object{"maxRetry": 1}, object{"maxRetry": 0}, object{}, nil}},
	})...)
}

var controlPlaneOwnEdits = []edit{
	{"spec.replicas", counts}, {"spec.replicas", counts}, {"spec.replicas", counts},
	{"spec.version", versions}, {"spec.version", versions}, {"spec.version", versions},
	{"metadata.annotations", all{object{"controlplane.cluster.x-k8s.io/skip-coredns": ""}, object{"a": "b"}, nil}},
	{"spec.machineTemplate.spec.infrastructureRef.apiGroup", all{"", "other.example.org", nil}},
	{"spec.machineTemplate.spec.infrastructureRef.kind", all{"", "OtherTemplate", nil}},
	{"spec.machineTemplate.spec.infrastructureRef.name", all{"", "other", nil}},
}

func controlPlaneObject() object {
	return object{"apiVersion": controlPlane, "kind": "KubeadmControlPlane", "metadata": object{"name": "one", "namespace": "default"},
		"spec": object{"replicas": 3, "version": "v1.35.1", "kubeadmConfigSpec": object{"clusterConfiguration": object{"dns": object{"imageTag": "v1.11.3"}}},
			"machineTemplate": object{"spec": object{"infrastructureRef": object{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeMachineTemplate", "name": "one"}}}}}
}

func controlPlaneTemplateObject() object {
	return template(controlPlane, "KubeadmControlPlaneTemplate", "one", object{"kubeadmConfigSpec": object{"format": "cloud-config"}})
}

// machineEdits are of what machine deployments and machine pools have alike.
var machineEdits = append([]edit{
	{"spec.replicas", counts},
	{"spec.clusterName", all{"one", "two"}},
	{"spec.template.spec.clusterName", all{"one", "two"}},
	{"spec.template.spec.version", versions},
	{"spec.template.spec.bootstrap", all{object{"dataSecretName": ""}, object{"dataSecretName": "a"}, object{}, object{"configRef": object{}}}},
	{"spec.template.spec.taints", taints},
	{"metadata.annotations", all{
		object{"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "3"},
		object{"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "one", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "3"},
		object{"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "99999999999"},
		object{"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "one"},
		object{"machineset.cluster.x-k8s.io/skip-preflight-checks": "All"}, object{"machineset.cluster.x-k8s.io/skip-preflight-checks": "All, KubeadmVersionSkew"},
		object{"machineset.cluster.x-k8s.io/skip-preflight-checks": "all"}, object{"machineset.cluster.x-k8s.io/skip-preflight-checks": "All,"}, nil}},
}, templateEdits...)

var machineDeploymentEdits = append([]edit{
	{"metadata.name", all{"one", strings.Repeat("a", 63), strings.Repeat("a", 64), "a.b"}},
	{"spec.rollout.strategy.rollingUpdate.maxSurge", portions}, {"spec.rollout.strategy.rollingUpdate.maxUnavailable", portions},
	{"spec.rollout.strategy.type", all{"OnDelete", "RollingUpdate", nil}},
	{"spec.rollout.strategy", all{object{"type": "RollingUpdate", "rollingUpdate": object{"maxSurge": 0, "maxUnavailable": 0}}, nil}},
	{"spec.remediation.maxInFlight", portions},
	{"spec.machineNaming.template", names}, {"spec.machineNaming.template", names},
	{"spec.selector.matchLabels.team", all{"a", nil}}, {"spec.template.metadata.labels.team", all{"a", "b", nil}},
}, machineEdits...)

var machinePoolEdits = append([]edit{{"spec.failureDomains", all{all{"a"}, nil}}}, machineEdits...)

func machineObject(kind string) object {
	return object{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": object{"name": "one", "namespace": "default"},
		"spec": object{"clusterName": "one", "replicas": 3, "template": object{"spec": object{"clusterName": "one", "version": "v1.35.1",
			"bootstrap":         object{"configRef": object{"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "one"}},
			"infrastructureRef": object{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeMachineTemplate", "name": "one"}}}}}
}

func machineDeploymentObject() object {
	o := machineObject("MachineDeployment")
	put(o, []string{"spec", "selector"}, object{"matchLabels": object{"cluster.x-k8s.io/deployment-name": "one"}})
	put(o, []string{"spec", "template", "metadata", "labels"}, object{"cluster.x-k8s.io/deployment-name": "one"})
	return o
}

func machinePoolObject() object { return machineObject("MachinePool") }
