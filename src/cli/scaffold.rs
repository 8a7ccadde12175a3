//! Templates for `init` and `new`: the embedded stacks of this repository, and the texts of small files.

/// A file: its path inside a stack's folder, and its text.
pub(super) type Piece = (&'static str, &'static str);

macro_rules! embedded {
    ($folder:literal, $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../stacks/", $folder, "/", $path)))),*]
    };
}

/// The Docker stack, which runs on a laptop.
pub(super) const DOCKER: &[Piece] = embedded!(
    "docker/scs",
    "addons/cilium/addon.yaml",
    "addons/cilium/values.yaml",
    "addons/metrics-server/addon.yaml",
    "addons/metrics-server/values.yaml",
    "addons/namespace-defaults/addon.yaml",
    "addons/namespace-defaults/manifests/sandbox.yaml",
    "cluster-class/cluster-class.yaml",
    "cluster-class/cluster.yaml",
    "cluster-class/control-plane.yaml",
    "cluster-class/worker.yaml",
    "node-images.yaml",
    "stack.yaml",
);

/// The OpenStack stack.
pub(super) const OPENSTACK: &[Piece] = embedded!(
    "openstack/scs",
    "addons/cilium/addon.yaml",
    "addons/cilium/values.yaml",
    "addons/default-storage-class/addon.yaml",
    "addons/default-storage-class/manifests/storage-classes.yaml",
    "addons/metrics-server/addon.yaml",
    "addons/metrics-server/values.yaml",
    "addons/openstack-cinder-csi/addon.yaml",
    "addons/openstack-cinder-csi/values.yaml",
    "addons/openstack-cloud-controller-manager/addon.yaml",
    "addons/openstack-cloud-controller-manager/values.yaml",
    "cluster-class/cluster-class.yaml",
    "cluster-class/cluster.yaml",
    "cluster-class/control-plane.yaml",
    "cluster-class/worker.yaml",
    "namespace/node-image.yaml",
    "node-images.yaml",
    "stack.yaml",
);

/// The line that tells editors the schema of a definition; `up` is the number of folders up to the fleet's root.
pub(super) fn schema_line(kind: crate::definition::DefinitionKind, up: usize) -> String {
    line_of_schema(kind.schema_file(), up)
}

/// The line that tells editors the schema of a file; `file` is relative to `schemas/`.
pub(super) fn line_of_schema(file: &str, up: usize) -> String {
    format!("# yaml-language-server: $schema={}schemas/{file}\n", "../".repeat(up))
}

/// A copy of an embedded stack under another name.
pub(super) fn renamed(pieces: &[Piece], from: &str, to: &str) -> Vec<(String, String)> {
    let text = |path: &str, text: &str| match path {
        "stack.yaml" | "node-images.yaml" => {
            text.replacen(&format!("\n  name: {from}\n"), &format!("\n  name: {to}\n"), 1)
        }
        _ => text.to_owned(),
    };
    pieces.iter().map(|(path, body)| ((*path).to_owned(), text(path, body))).collect()
}

/// A minimal stack for an unknown provider, with the smallest class that Cluster API accepts.
pub(super) fn bare_stack(provider: &str, name: &str) -> Vec<(String, String)> {
    let kind = {
        let mut letters = provider.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    };
    let fill = |text: &str| text.replace("PROVIDER", provider).replace("KIND", &kind).replace("NAME", name);
    let schema = |kind| schema_line(kind, 3);
    vec![
        ("stack.yaml".to_owned(), schema(crate::definition::DefinitionKind::Stack) + &fill(BARE_STACK)),
        ("cluster-class/cluster-class.yaml".to_owned(), fill(BARE_CLASS)),
        ("cluster-class/templates.yaml".to_owned(), fill(BARE_TEMPLATES)),
    ]
}

const BARE_STACK: &str = "\
apiVersion: stackloom.dev/v1alpha1
kind: Stack
metadata:
  name: NAME
spec:
  provider: PROVIDER
  description: Kubernetes on PROVIDER
  kubernetes:
    - version: 1.35.10
      maturity: preview
";

const BARE_CLASS: &str = "\
# The class of all clusters of this stack. Templates carry the release's name, so that none is ever edited in place.
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata:
  name: ${{ release.name }}
spec:
  infrastructure:
    templateRef:
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
      kind: KINDClusterTemplate
      name: ${{ release.name }}
  controlPlane:
    templateRef:
      apiVersion: controlplane.cluster.x-k8s.io/v1beta2
      kind: KubeadmControlPlaneTemplate
      name: ${{ release.name }}-control-plane
    machineInfrastructure:
      templateRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: KINDMachineTemplate
        name: ${{ release.name }}-control-plane
  workers:
    machineDeployments:
      - class: default-worker
        bootstrap:
          templateRef:
            apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
            kind: KubeadmConfigTemplate
            name: ${{ release.name }}-default-worker
        infrastructure:
          templateRef:
            apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
            kind: KINDMachineTemplate
            name: ${{ release.name }}-default-worker
";

const BARE_TEMPLATES: &str = "\
# The kinds and versions below are what a provider called PROVIDER would have by convention: compare them with its own
# documentation, and fill in what its machines need.
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: KINDClusterTemplate
metadata:
  name: ${{ release.name }}
spec:
  template:
    spec: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: KINDMachineTemplate
metadata:
  name: ${{ release.name }}-control-plane
spec:
  template:
    spec: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: KINDMachineTemplate
metadata:
  name: ${{ release.name }}-default-worker
spec:
  template:
    spec: {}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata:
  name: ${{ release.name }}-control-plane
spec:
  template:
    spec:
      kubeadmConfigSpec:
        initConfiguration:
          nodeRegistration:
            name: '{{ ds.meta_data.local_hostname }}'
        joinConfiguration:
          nodeRegistration:
            name: '{{ ds.meta_data.local_hostname }}'
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata:
  name: ${{ release.name }}-default-worker
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          name: '{{ ds.meta_data.local_hostname }}'
";
