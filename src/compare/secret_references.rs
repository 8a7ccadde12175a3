//! Finds the Secrets that objects refer to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::{ClusterOutcome, Comparing, Objects, Pair, Section, in_namespace, objects, state::ClusterFiles};
use crate::{
    model::Label,
    note::Fault,
    render,
    yaml::{Node, to_json},
};

/// Secrets by namespace and name, each with the objects that refer to it.
pub type Needs = BTreeMap<(String, String), BTreeSet<String>>;

/// Adds the Secrets that an object refers to. They are in the object's own namespace.
pub fn refer(object: &Json, namespace: &str, needs: &mut Needs) {
    let text = |path: &str| object.pointer(path).and_then(Json::as_str).unwrap_or_default();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    // The suffix of a generated name is unknown until Cluster API creates the object.
    let who = if name.contains('#') { kind.to_owned() } else { format!("{kind} {name}") };
    let own = text("/metadata/namespace");
    let namespace = if own.is_empty() { namespace } else { own };
    let mut found = BTreeSet::new();
    for (key, value) in object.as_object().into_iter().flatten().filter(|(key, _)| *key != "metadata") {
        // Objects that a chart renders from its values are in the workload cluster.
        let is_of_chart = |key: &str| render::holds_addon_values(kind, key);
        match value {
            Json::Object(fields) if fields.keys().any(|key| is_of_chart(key)) => {
                let own = fields.iter().filter(|(key, _)| !is_of_chart(key));
                own.for_each(|(key, value)| collect(key, value, &mut found));
            }
            _ => collect(key, value, &mut found),
        }
    }
    for name in found {
        needs.entry((namespace.to_owned(), name)).or_default().insert(who.clone());
    }
}

/// Looks for references: `{kind: Secret, name}` or `{type: Secret, name}`, and keys whose name implies a Secret.
fn collect(key: &str, value: &Json, found: &mut BTreeSet<String>) {
    match value {
        Json::Object(fields) => {
            let is_secret = ["kind", "type"].iter().any(|key| fields.get(*key) == Some(&json!("Secret")));
            let is_reference = key == "secret" || key.ends_with("ecretRef") || key.ends_with("ecretKeyRef");
            // A reference to another kind names that kind.
            let other = fields.get("kind").is_some_and(|kind| kind != "Secret");
            if is_secret || is_reference && !other {
                found.extend(fields.get("name").and_then(Json::as_str).map(str::to_owned));
            }
            fields.iter().for_each(|(key, value)| collect(key, value, found));
        }
        Json::Array(items) => items.iter().for_each(|item| collect(key, item, found)),
        Json::String(name) if key == "secretName" && !name.is_empty() => drop(found.insert(name.clone())),
        _ => {}
    }
}

/// Whether Cluster API itself creates a Secret with this name for a cluster.
pub fn is_made_by_cluster_api(cluster: &Label, secret: &str) -> bool {
    let what = secret.strip_prefix(cluster.as_str()).and_then(|rest| rest.strip_prefix('-'));
    what.is_some_and(|what| ["kubeconfig", "ca", "etcd", "proxy", "sa"].contains(&what))
}

/// The Secrets that a cluster's objects in the management cluster refer to.
fn referred(objects: &Objects, namespace: &Label) -> Needs {
    let mut needs = Needs::new();
    for ((section, _), (_, object)) in objects {
        let is_read = !matches!(section, Section::Manifests(_) | Section::Values(_));
        if is_read && may_refer(object) {
            refer(&to_json(object), namespace.as_str(), &mut needs);
        }
    }
    needs
}

/// Whether an object has a word that all references have. Most objects have none, and are not converted.
fn may_refer(object: &Node) -> bool {
    const WORD: &str = "ecret";
    if let Some(fields) = object.as_mapping() {
        fields.iter().any(|entry| entry.key.name.contains(WORD) || may_refer(&entry.value))
    } else if let Some(items) = object.as_sequence() {
        items.iter().any(may_refer)
    } else {
        object.as_str().is_some_and(|text| text.contains(WORD))
    }
}

impl Comparing<'_> {
    /// The Secrets that the cluster did not refer to before.
    pub(super) fn new_secrets(&self, pair: &Pair<'_>, outcome: &ClusterOutcome) -> Result<Needs, Fault> {
        let Pair { from, cluster, before, after } = pair;
        let mut new = referred(after, &cluster.namespace);
        if let ClusterOutcome::Judged(answer) = outcome {
            for (secret, who) in &answer.secrets {
                new.entry(secret.clone()).or_default().extend(who.iter().cloned());
            }
        }
        let old = referred(before, &cluster.namespace);
        new.retain(|secret, _| {
            !old.contains_key(secret) && !is_made_by_cluster_api(&cluster.name, &secret.1)
        });
        if new.is_empty() {
            return Ok(new);
        }
        // An unchanged object may refer to it, too. Files that cannot be read are reported elsewhere.
        if let ClusterFiles::Known(files) = self.before.files(from)?
            && let Ok(all) = objects(from, files, self.before, &self.read)?
        {
            let old = referred(&in_namespace(all, cluster), &cluster.namespace);
            new.retain(|secret, _| !old.contains_key(secret));
        }
        Ok(new)
    }
}
