package apitypes

import (
	"strings"
	"testing"

	"stackloom.dev/conformance/internal/tree"
)

// One object of each project whose types are at hand, with a field that only its own type knows.
var objects = []string{
	"{apiVersion: v1, kind: Namespace, metadata: {name: a}, spec: {finalizers: [kubernetes]}}",
	"{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: a}, spec: {topology: {classRef: {name: c}}}}",
	"{apiVersion: cluster.x-k8s.io/v1beta2, kind: ClusterClass, metadata: {name: a}, spec: {infrastructure: {templateRef: {kind: K}}}}",
	"{apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, metadata: {name: a}, spec: {template: {spec: {format: ignition}}}}",
	"{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, metadata: {name: a}, spec: {template: {spec: {kubeadmConfigSpec: {}}}}}",
	"{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackClusterTemplate, metadata: {name: a}, spec: {template: {spec: {networkMTU: 1450}}}}",
	"{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachineTemplate, metadata: {name: a}, spec: {template: {spec: {flavor: f, image: {filter: {name: i}}}}}}",
	"{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerMachineTemplate, metadata: {name: a}, spec: {template: {spec: {customImage: i}}}}",
	"{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, metadata: {name: a}, spec: {template: {spec: {backend: {docker: {}}}}}}",
	"{apiVersion: openstack.k-orc.cloud/v1alpha1, kind: Image, metadata: {name: a}, spec: {resource: {content: {diskFormat: qcow2}}}}",
	"{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: a}, spec: {deletionPolicy: Orphan}}",
	"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: a}, spec: {storageNamespace: s}}",
	"{apiVersion: source.toolkit.fluxcd.io/v1, kind: OCIRepository, metadata: {name: a}, spec: {layerSelector: {operation: copy}}}",
	"{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: a}, spec: {ref: {branch: main}}}",
}

func TestStrictDecoding(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	d := NewDecoder(scheme)
	for _, text := range objects {
		good, err := tree.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(good.GetKind(), func(t *testing.T) {
			if !d.Known(good) {
				t.Fatal("no type")
			}
			if _, err := d.Decode(good); err != nil {
				t.Error(err)
			}
			bad := good.DeepCopy()
			bad.Object["spec"].(map[string]any)["unheardOf"] = "x"
			if _, err := d.Decode(bad); err == nil || !strings.Contains(err.Error(), `unknown field "spec.unheardOf"`) {
				t.Errorf("an unknown field passes: %v", err)
			}
		})
	}
	foreign, err := tree.Decode([]byte("{apiVersion: example.org/v1, kind: Widget, metadata: {name: a}}"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Known(foreign) {
		t.Error("a foreign kind counts as known")
	}
}
