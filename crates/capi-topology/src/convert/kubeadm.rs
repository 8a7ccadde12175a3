//! The kinds of the kubeadm providers.

use serde_json::{Value, json};

use super::fields::{Fields, grouped, seconds};
use k8s_schema::value::{copy, get, present, set, sorted, text};

/// `spec` of a `KubeadmConfigTemplate`.
pub(super) fn config_template(old: &Value) -> Result<Value, String> {
    template(old, config)
}

/// `spec` of a `KubeadmControlPlaneTemplate`.
pub(super) fn control_plane_template(old: &Value) -> Result<Value, String> {
    template(old, |old| {
        let mut new = control_plane(old)?;
        // A strategy without a type always meant the only existing one.
        let kind = ["rollout", "strategy", "type"];
        if present(old, &["rolloutStrategy"]).is_some() && text(&new, &kind).is_empty() {
            set(&mut new, &kind, json!("RollingUpdate"));
        }
        Ok(new)
    })
}

fn template(old: &Value, spec: impl Fn(&Value) -> Result<Value, String>) -> Result<Value, String> {
    let new = Fields::marked(old).moved(&["template", "metadata"], &["template", "metadata"]);
    Ok(new.part(&["template", "spec"], &["template", "spec"], spec)?.done())
}

/// `spec` of a `KubeadmControlPlane`.
pub(super) fn control_plane(old: &Value) -> Result<Value, String> {
    Ok(Fields::marked(old)
        .keep(&["replicas", "version"])
        .part(&["machineTemplate"], &["machineTemplate"], machine_template)?
        .part(&["kubeadmConfigSpec"], &["kubeadmConfigSpec"], config)?
        .moved(&["rolloutBefore", "certificatesExpiryDays"], &["rollout", "before", "certificatesExpiryDays"])
        .moved(&["rolloutAfter"], &["rollout", "after"])
        .moved(&["rolloutStrategy", "type"], &["rollout", "strategy", "type"])
        .moved(
            &["rolloutStrategy", "rollingUpdate", "maxSurge"],
            &["rollout", "strategy", "rollingUpdate", "maxSurge"],
        )
        .moved(&["machineNamingStrategy", "template"], &["machineNaming", "template"])
        .part(&["remediationStrategy"], &["remediation"], remediation)?
        .done())
}

fn machine_template(old: &Value) -> Result<Value, String> {
    Ok(Fields::marked(old)
        .keep(&["metadata"])
        .part(&["infrastructureRef"], &["spec", "infrastructureRef"], |old| Ok(grouped(old)))?
        .moved(&["readinessGates"], &["spec", "readinessGates"])
        .moved(&["taints"], &["spec", "taints"])
        .node_timeouts(&["spec"])?
        .done())
}

fn remediation(old: &Value) -> Result<Value, String> {
    let period = present(old, &["retryPeriod"]).map(seconds).transpose()?;
    Ok(Fields::marked(old)
        .keep(&["maxRetry"])
        .seconds(&["minHealthyPeriod"], &["minHealthyPeriodSeconds"])?
        .put(&["retryPeriodSeconds"], period.filter(|seconds| *seconds != json!(0)))
        .done())
}

/// A file to write on a machine, in the same form in both versions.
#[expect(clippy::unnecessary_wraps, reason = "other steps in the same list can fail")]
pub(super) fn file(either: &Value) -> Result<Value, String> {
    Ok(Fields::of(either)
        .keep(&["path", "owner", "permissions", "encoding", "content", "contentFrom", "contentFormat"])
        .keep_true(&["append"])
        .done())
}

/// `spec` of a `KubeadmConfig`, which other kinds embed.
pub(super) fn config(old: &Value) -> Result<Value, String> {
    let mut new = Fields::marked(old)
        .keep(&["mounts", "bootCommands", "preKubeadmCommands", "postKubeadmCommands"])
        .keep(&["ntp", "format", "verbosity"])
        .part(&["clusterConfiguration"], &["clusterConfiguration"], cluster_configuration)?
        .part(&["initConfiguration"], &["initConfiguration"], init_configuration)?
        .part(&["joinConfiguration"], &["joinConfiguration"], join_configuration)?
        .each(&["files"], &["files"], file)?
        .keep(&["diskSetup", "users"])
        .part(&["ignition", "containerLinuxConfig"], &["ignition", "containerLinuxConfig"], |old| {
            Ok(Fields::marked(old).keep(&["additionalConfig"]).keep_true(&["strict"]).done())
        })?
        .done();
    timeouts(old, &mut new)?;
    Ok(new)
}

/// Converts the former timeouts of the API server and of discovery.
fn timeouts(old: &Value, new: &mut Value) -> Result<(), String> {
    let of = |path: &[&str]| present(old, path).map(seconds).transpose();
    if let Some(value) = of(&["clusterConfiguration", "apiServer", "timeoutForControlPlane"])? {
        for configuration in ["initConfiguration", "joinConfiguration"] {
            let path = [configuration, "timeouts", "controlPlaneComponentHealthCheckSeconds"];
            set(new, &path, value.clone());
        }
    }
    if let Some(value) = of(&["joinConfiguration", "discovery", "timeout"])? {
        set(new, &["joinConfiguration", "timeouts", "tlsBootstrapSeconds"], value);
    }
    Ok(())
}

/// Converts a map of arguments to a list, sorted by name.
#[expect(clippy::unnecessary_wraps, reason = "other steps in the same list can fail")]
fn arguments(old: &Value) -> Result<Value, String> {
    let fields = old.as_object().map(sorted).unwrap_or_default();
    Ok(fields.into_iter().map(|(name, value)| json!({ "name": name, "value": value })).collect())
}

/// Drops `networking`, `kubernetesVersion` and `clusterName`, which Cluster API now sets itself.
fn cluster_configuration(old: &Value) -> Result<Value, String> {
    let new = Fields::marked(old)
        .keep(&["controlPlaneEndpoint", "certificatesDir", "imageRepository", "featureGates"])
        .keep(&["certificateValidityPeriodDays", "caCertificateValidityPeriodDays", "encryptionAlgorithm"])
        .keep(&["dns"])
        .part(&["etcd", "local"], &["etcd", "local"], |old| {
            Ok(Fields::marked(old)
                .keep(&["imageRepository", "imageTag", "dataDir", "serverCertSANs", "peerCertSANs"])
                .part(&["extraArgs"], &["extraArgs"], arguments)?
                .keep(&["extraEnvs"])
                .done())
        })?
        .moved(&["etcd", "external"], &["etcd", "external"]);
    let new = new.part(&["apiServer"], &["apiServer"], component)?;
    let new = new.part(&["controllerManager"], &["controllerManager"], component)?;
    Ok(new.part(&["scheduler"], &["scheduler"], component)?.done())
}

fn component(old: &Value) -> Result<Value, String> {
    Ok(Fields::marked(old)
        .keep(&["certSANs", "extraEnvs"])
        .part(&["extraArgs"], &["extraArgs"], arguments)?
        .each(&["extraVolumes"], &["extraVolumes"], |old| {
            let new = Fields::marked(old).keep(&["name", "hostPath", "mountPath", "pathType"]);
            Ok(new.keep_true(&["readOnly"]).done())
        })?
        .done())
}

fn init_configuration(old: &Value) -> Result<Value, String> {
    Ok(Fields::marked(old)
        .keep(&["localAPIEndpoint", "skipPhases", "patches"])
        .part(&["nodeRegistration"], &["nodeRegistration"], node_registration)?
        .each(&["bootstrapTokens"], &["bootstrapTokens"], |old| {
            let new = Fields::marked(old).keep(&["token", "description", "expires", "usages", "groups"]);
            Ok(new.seconds(&["ttl"], &["ttlSeconds"])?.done())
        })?
        .done())
}

fn join_configuration(old: &Value) -> Result<Value, String> {
    let mut new = Fields::marked(old)
        .keep(&["caCertPath", "skipPhases", "patches"])
        .part(&["nodeRegistration"], &["nodeRegistration"], node_registration)?
        .part(&["discovery"], &["discovery"], discovery)?
        .done();
    // Its presence, even if it is empty, makes the machine join as a control plane.
    copy(old, &["controlPlane"], &mut new, &["controlPlane"]);
    Ok(new)
}

fn discovery(old: &Value) -> Result<Value, String> {
    Ok(Fields::marked(old)
        .keep(&["tlsBootstrapToken", "file"])
        .part(&["bootstrapToken"], &["bootstrapToken"], |old| {
            let new = Fields::marked(old).keep(&["token", "apiServerEndpoint", "caCertHashes"]);
            Ok(new.keep_true(&["unsafeSkipCAVerification"]).done())
        })?
        .done())
}

/// Keeps an empty list of taints: unlike a missing one, it removes the default taints.
fn node_registration(old: &Value) -> Result<Value, String> {
    let mut new = Fields::marked(old)
        .keep(&["name", "criSocket", "ignorePreflightErrors", "imagePullPolicy", "imagePullSerial"])
        .part(&["kubeletExtraArgs"], &["kubeletExtraArgs"], arguments)?
        .done();
    if let Some(taints) = get(old, &["taints"]).filter(|taints| taints.is_array()) {
        set(&mut new, &["taints"], taints.clone());
    }
    Ok(new)
}
