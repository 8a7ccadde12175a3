//! Kubeadm templates as served to a client that requests `v1beta1`: patches of a class see this form.
//!
//! Go prints structs that are not pointers even if they are empty, so `apiServer: {}` exists for a patch to extend. Fields
//! without a place in the stored version are lost.

use serde_json::{Value, json};

use super::fields::{Fields, duration};
use k8s_schema::value::{copy, get, list, present, remove, set, text};

type Converted = Result<Value, String>;

/// `spec` of a `KubeadmConfigTemplate`.
pub(super) fn config_template(stored: &Value) -> Converted {
    let template = get(stored, &["template"]).unwrap_or(&Value::Null);
    Ok(json!({ "template": { "metadata": metadata(template), "spec": config(part(template, "spec"))? } }))
}

/// `spec` of a `KubeadmControlPlaneTemplate`.
pub(super) fn control_plane_template(stored: &Value) -> Converted {
    let template = get(stored, &["template"]).unwrap_or(&Value::Null);
    let spec = part(template, "spec");
    let machine = part(spec, "machineTemplate");
    let mut old = Fields::of(spec)
        .moved(&["rollout", "before", "certificatesExpiryDays"], &["rolloutBefore", "certificatesExpiryDays"])
        .moved(&["rollout", "after"], &["rolloutAfter"])
        .moved(&["rollout", "strategy", "type"], &["rolloutStrategy", "type"])
        .moved(
            &["rollout", "strategy", "rollingUpdate", "maxSurge"],
            &["rolloutStrategy", "rollingUpdate", "maxSurge"],
        )
        .moved(&["machineNaming", "template"], &["machineNamingStrategy", "template"])
        .done();
    let mut machines = Fields::of(machine).moved(&["spec", "taints"], &["taints"]).done();
    set(&mut machines, &["metadata"], metadata(machine));
    for name in ["nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout"] {
        let from = ["spec", "deletion", &format!("{name}Seconds")];
        moved_duration(machine, &from, &mut machines, &[name]);
    }
    set(&mut old, &["machineTemplate"], machines);
    set(&mut old, &["kubeadmConfigSpec"], config(part(spec, "kubeadmConfigSpec"))?);
    if let Some(remediation) = present(spec, &["remediation"]).filter(|one| **one != json!({})) {
        let mut strategy = Fields::of(remediation).keep(&["maxRetry"]).done();
        moved_duration(remediation, &["minHealthyPeriodSeconds"], &mut strategy, &["minHealthyPeriod"]);
        let period = get(remediation, &["retryPeriodSeconds"]).and_then(Value::as_i64).unwrap_or(0);
        set(&mut strategy, &["retryPeriod"], duration(period));
        set(&mut old, &["remediationStrategy"], strategy);
    }
    Ok(json!({ "template": { "metadata": metadata(template), "spec": old } }))
}

fn part<'a>(of: &'a Value, name: &str) -> &'a Value {
    of.get(name).unwrap_or(&Value::Null)
}

fn metadata(of: &Value) -> Value {
    Fields::of(part(of, "metadata")).keep(&["labels", "annotations"]).done()
}

fn moved_duration(from: &Value, source: &[&str], to: &mut Value, destination: &[&str]) {
    if let Some(seconds) = get(from, source).and_then(Value::as_i64) {
        set(to, destination, duration(seconds));
    }
}

fn config(stored: &Value) -> Converted {
    let mut old = Fields::of(stored)
        .keep(&["mounts", "bootCommands", "preKubeadmCommands", "postKubeadmCommands", "ntp", "format"])
        .keep(&["verbosity", "users", "ignition"])
        .each(&["files"], &["files"], super::kubeadm::file)?
        .part(&["diskSetup"], &["diskSetup"], disks)?
        .part(&["clusterConfiguration"], &["clusterConfiguration"], cluster_configuration)?
        .part(&["initConfiguration"], &["initConfiguration"], init_configuration)?
        .part(&["joinConfiguration"], &["joinConfiguration"], join_configuration)?
        .done();
    timeouts(stored, &mut old);
    Ok(old)
}

/// Moves timeouts to their former places, and removes configurations that are then empty.
fn timeouts(stored: &Value, old: &mut Value) {
    let of = |path: &[&str]| get(stored, path).and_then(Value::as_i64);
    if let Some(seconds) = of(&["initConfiguration", "timeouts", "controlPlaneComponentHealthCheckSeconds"]) {
        if present(old, &["clusterConfiguration"]).is_none() {
            set(old, &["clusterConfiguration"], empty_cluster_configuration());
        }
        set(old, &["clusterConfiguration", "apiServer", "timeoutForControlPlane"], duration(seconds));
    }
    if *part(old, "initConfiguration") == empty_init_configuration() {
        remove(old, &["initConfiguration"]);
    }
    if let Some(seconds) = of(&["joinConfiguration", "timeouts", "tlsBootstrapSeconds"]) {
        set(old, &["joinConfiguration", "discovery", "timeout"], duration(seconds));
    }
    if *part(old, "joinConfiguration") == empty_join_configuration() {
        remove(old, &["joinConfiguration"]);
    }
}

fn empty_cluster_configuration() -> Value {
    json!({ "apiServer": {}, "controllerManager": {}, "dns": {}, "etcd": {}, "networking": {}, "scheduler": {} })
}

fn empty_init_configuration() -> Value {
    json!({ "nodeRegistration": {}, "localAPIEndpoint": {} })
}

fn empty_join_configuration() -> Value {
    json!({ "nodeRegistration": {}, "discovery": {} })
}

/// Converts a list of arguments to a map. An argument may have an empty value.
fn arguments(from: &Value, name: &str, to: &mut Value) {
    let all = list(from, &[name]).iter();
    let all: serde_json::Map<_, _> =
        all.map(|one| (text(one, &["name"]).to_owned(), json!(text(one, &["value"])))).collect();
    if !all.is_empty() {
        set(to, &[name], Value::Object(all));
    }
}

#[expect(clippy::unnecessary_wraps, reason = "other steps in the same list can fail")]
fn cluster_configuration(stored: &Value) -> Converted {
    let mut old = empty_cluster_configuration();
    for name in [
        "controlPlaneEndpoint",
        "certificatesDir",
        "imageRepository",
        "featureGates",
        "certificateValidityPeriodDays",
        "caCertificateValidityPeriodDays",
        "encryptionAlgorithm",
        "dns",
    ] {
        copy(stored, &[name], &mut old, &[name]);
    }
    for name in ["apiServer", "controllerManager", "scheduler"] {
        let component = part(stored, name);
        let mut made = Fields::of(component).keep(&["certSANs", "extraEnvs", "extraVolumes"]).done();
        arguments(component, "extraArgs", &mut made);
        set(&mut old, &[name], made);
    }
    copy(stored, &["etcd", "external"], &mut old, &["etcd", "external"]);
    if let Some(local) = present(stored, &["etcd", "local"]) {
        let mut made = Fields::of(local)
            .keep(&["imageRepository", "imageTag", "dataDir", "extraEnvs", "serverCertSANs", "peerCertSANs"])
            .done();
        arguments(local, "extraArgs", &mut made);
        set(&mut old, &["etcd", "local"], made);
    }
    Ok(old)
}

#[expect(clippy::unnecessary_wraps, reason = "other steps in the same list can fail")]
fn init_configuration(stored: &Value) -> Converted {
    let mut old = empty_init_configuration();
    set(&mut old, &["nodeRegistration"], node_registration(stored));
    for name in ["localAPIEndpoint", "skipPhases", "patches"] {
        copy(stored, &[name], &mut old, &[name]);
    }
    let tokens = list(stored, &["bootstrapTokens"]).iter().map(|token| {
        let mut made =
            Fields::of(token).keep(&["token", "description", "expires", "usages", "groups"]).done();
        moved_duration(token, &["ttlSeconds"], &mut made, &["ttl"]);
        made
    });
    let tokens: Vec<Value> = tokens.collect();
    if !tokens.is_empty() {
        set(&mut old, &["bootstrapTokens"], Value::Array(tokens));
    }
    Ok(old)
}

#[expect(clippy::unnecessary_wraps, reason = "other steps in the same list can fail")]
fn join_configuration(stored: &Value) -> Converted {
    let mut old = empty_join_configuration();
    set(&mut old, &["nodeRegistration"], node_registration(stored));
    for name in ["caCertPath", "skipPhases", "patches", "discovery"] {
        copy(stored, &[name], &mut old, &[name]);
    }
    if let Some(control_plane) = present(stored, &["controlPlane"]) {
        let mut made = json!({ "localAPIEndpoint": {} });
        copy(control_plane, &["localAPIEndpoint"], &mut made, &["localAPIEndpoint"]);
        set(&mut old, &["controlPlane"], made);
    }
    Ok(old)
}

fn node_registration(of: &Value) -> Value {
    let stored = part(of, "nodeRegistration");
    let mut old = Fields::of(stored)
        .keep(&["name", "criSocket", "ignorePreflightErrors", "imagePullPolicy", "imagePullSerial"])
        .done();
    arguments(stored, "kubeletExtraArgs", &mut old);
    copy(stored, &["taints"], &mut old, &["taints"]);
    old
}

/// Converts disk settings; `layout` is always present.
fn disks(stored: &Value) -> Converted {
    Ok(Fields::of(stored)
        .keep(&["filesystems"])
        .each(&["partitions"], &["partitions"], |partition| {
            let mut old =
                Fields::of(partition).keep(&["device", "overwrite", "tableType", "diskLayout"]).done();
            let layout = get(partition, &["layout"]).and_then(Value::as_bool).unwrap_or(false);
            set(&mut old, &["layout"], json!(layout));
            Ok(old)
        })?
        .done())
}
