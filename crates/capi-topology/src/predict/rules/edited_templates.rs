//! Templates that are edited in place. Cluster API does not regenerate their copies until it reconciles the Cluster again,
//! so the running templates may be older than their class.
//!
//! Source: `core/reconcilers/topology/cluster/cluster_controller.go` (it watches Clusters, classes, machine deployments and
//! machine pools, but no templates) and `structuredmerge/dryrun.go` there (fields of other managers are not compared).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::kubeadm_config::comparable_spec;
use crate::contract::{Contract, DEPLOYMENT_NAME};
use crate::convert::is_own;
use crate::predict::change::{Change, Effect};
use crate::predict::evidence::{Evidence, On};
use crate::predict::live::{self, Adopted};
use crate::predict::meaning::{Meaning, MeaningKind};
use crate::predict::observed::{self, Observed};
use crate::predict::reconcile::applied;
use crate::predict::rules::Rule;
use crate::predict::verdict::Verdict;
use crate::refusal::Opaque;
use crate::role::{Pool, PoolKind, PoolObject, Role, TopologyPart};
use crate::state::Desired;
use k8s_schema::value::{get, name_of, present, same, set, text};

/// A running template that differs from what its class generates now.
pub(in crate::predict) struct Edited {
    role: Role,
    reason: String,
    /// Whether the next reconcile certainly replaces it; otherwise it may.
    sure: bool,
}

/// Replaces computed templates with the running ones that differ from them. Skips parts that are completely known anyway.
pub(in crate::predict) fn adopt(
    running: &mut Desired,
    adopted: &mut Adopted,
    observed: &Observed,
) -> Vec<Edited> {
    let Adopted { known, others } = adopted;
    let mut edited = Vec::new();
    if let (Some(model), false) = (&mut running.machine_template, known.contains(&TopologyPart::ControlPlane))
    {
        let kind = text(&running.control_plane, &["kind"]);
        let own = observed.objects.iter().find(|one| text(one, &["kind"]) == kind);
        let path = [Contract::in_use(&running.control_plane).infrastructure_ref(), &["name"]].concat();
        let name = own.map(|own| text(own, &path)).unwrap_or_default();
        edited.extend(compared(Role::ControlPlaneMachines, model, ("", name), observed, others));
    }
    for worker in running.deployments.iter_mut().map(Arc::make_mut) {
        let pool = Pool::new(PoolKind::MachineDeployment, &worker.name);
        if known.contains(&TopologyPart::Pool(pool.clone())) {
            continue;
        }
        let own = observed::deployment(observed, &worker.name);
        let name = |path: &[&str]| {
            let path = [&["spec", "template", "spec"], path, &["name"]].concat();
            own.map(|own| text(own, &path)).unwrap_or_default()
        };
        let [bootstrap, infrastructure] = [name(&["bootstrap", "configRef"]), name(&["infrastructureRef"])];
        for (object, model, name) in [
            (PoolObject::Bootstrap, &mut worker.bootstrap, bootstrap),
            (PoolObject::Infrastructure, &mut worker.infrastructure, infrastructure),
        ] {
            let role = pool.clone().role(object);
            edited.extend(compared(role, model, (&worker.name, name), observed, others));
        }
    }
    edited
}

fn compared(
    role: Role,
    model: &mut Arc<Value>,
    (pool, name): (&str, &str),
    observed: &Observed,
    others: &mut BTreeMap<Role, Value>,
) -> Option<Edited> {
    // The newest comes first: if the referenced name is unknown, the newest one is in use.
    let there = observed.templates.iter().find(|one| {
        ["apiVersion", "kind"].iter().all(|field| text(one, &[field]) == text(model, &[field]))
            && text(one, &["metadata", "labels", DEPLOYMENT_NAME]) == pool
            && (name.is_empty() || text(one, &["metadata", "name"]) == name)
    })?;
    let which = format!(
        "{} {}, which Cluster API made for it,",
        text(there, &["kind"]),
        text(there, &["metadata", "name"])
    );
    let edited = |spec: Value, model: &mut Arc<Value>| {
        set(Arc::make_mut(model), &["spec"], spec);
        let reason = format!(
            "{which} differs from what the class and its templates make now: they have changed since, and the next reconcile of the Cluster, \
             whatever triggers it, applies that"
        );
        Some(Edited { role: role.clone(), reason, sure: true })
    };
    if let Some(made) = live::named(model, text(there, &["metadata", "name"]), observed) {
        let spec = with_symbols(get(&made.whole, &["spec"])?, get(model, &["spec"])?);
        let mut whole = Value::clone(model);
        set(&mut whole, &["spec"], spec.clone());
        let next = applied(&whole, &whole, model, Some(&made.others));
        if same(&comparable_spec(&whole), &comparable_spec(&next)) {
            return None;
        }
        others.insert(role.clone(), made.others.clone());
        return edited(spec, model);
    }
    let [wanted, found] = [&**model, there].map(|one| without_empty(&comparable_spec(one)));
    let kept = without_empty(&part_of(&wanted, &found));
    if !same(&kept, &wanted) {
        let spec = if is_own(model) { get(there, &["spec"])?.clone() } else { kept };
        return edited(spec, model);
    }
    if same(&with_symbols(&found, &wanted), &wanted) {
        return None;
    }
    let who =
        if is_own(model) { "someone else added them" } else { "the provider or someone else added them" };
    let reason = format!(
        "{which} has fields that the class and its templates do not set: if they were removed there since, the next reconcile of \
         the Cluster replaces machines; if {who}, they stay; its managed fields would show which"
    );
    Some(Edited { role, reason, sure: false })
}

/// The running value, with the wanted value's symbols for random characters.
fn with_symbols(there: &Value, wanted: &Value) -> Value {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => {
            let all = there.iter().map(|(key, value)| {
                let value =
                    wanted.get(key).map_or_else(|| value.clone(), |wanted| with_symbols(value, wanted));
                (key.clone(), value)
            });
            Value::Object(all.collect())
        }
        (Value::Array(there), Value::Array(wanted)) if wanted.len() == there.len() => {
            there.iter().zip(wanted).map(|(there, wanted)| with_symbols(there, wanted)).collect()
        }
        (Value::String(_), Value::String(name)) if is_symbolic(name) => wanted.clone(),
        _ => there.clone(),
    }
}

fn is_symbolic(name: &str) -> bool {
    name.contains("#1") || name.contains("#2")
}

/// What is unknown because of running templates, except for parts that the next reconcile rolls anyway.
pub(in crate::predict) fn doubts(edited: &[Edited]) -> impl Iterator<Item = Opaque> {
    let rolls =
        move |one: &&Edited| edited.iter().any(|other| other.sure && other.role.part() == one.role.part());
    let unsure = edited.iter().filter(|one| !one.sure).filter(move |one| !rolls(one));
    unsure.map(|one| Opaque::new(one.role.clone(), one.reason.clone()))
}

/// Remarks on templates that are outdated because of earlier edits.
pub(in crate::predict) fn evidence(edited: &[Edited]) -> Vec<Evidence> {
    let on = On::AllBut(&[MeaningKind::Opaque, MeaningKind::Create, MeaningKind::Delete]);
    let mut parts: BTreeMap<TopologyPart, Evidence> = BTreeMap::new();
    for one in edited.iter().filter(|one| one.sure) {
        let part = one.role.part();
        let new = || Evidence::remark(part.clone(), Rule::EditedTemplates, on);
        parts.entry(part.clone()).or_insert_with(new).reasons.push((&one.reason).into());
    }
    parts.into_values().collect()
}

/// Notes on templates that the change edits in place.
pub(in crate::predict) fn notes(
    before: &[Value],
    after: &[Value],
    change: &Change,
    verdicts: &[Verdict],
) -> Vec<String> {
    let mut notes = Vec::new();
    if !change.accepted {
        return notes;
    }
    let edited: Vec<&Value> = after.iter().filter(|one| is_edited(one, before)).collect();
    let is_template = |one: &&&Value| text(one, &["kind"]).ends_with("Template");
    for one in edited.iter().filter(is_template) {
        let (kind, name) = (text(one, &["kind"]), text(one, &["metadata", "name"]));
        if kind.ends_with("MachineTemplate") && !is_own(one) {
            notes.push(format!(
                "{kind} {name} is edited in place: the webhooks of nearly all providers refuse that, and then nothing happens (give the \
                 template another name)"
            ));
        }
    }
    let is_same =
        |one: &crate::predict::change::ObjectChange| one.role != Role::Cluster || one.effect == Effect::Same;
    let only_templates = !edited.is_empty() && edited.iter().all(|one| is_template(&one));
    let acts = verdicts.iter().any(|one| one.meaning != Meaning::NoChange);
    if only_templates && acts && change.objects.iter().all(is_same) {
        notes.push(
            "only templates change, and Cluster API does not watch them: all of this happens at the next reconcile of the Cluster, \
             whatever triggers it"
                .to_owned(),
        );
    }
    notes
}

/// Reports whether an existing class or template changes. For a live object, defaults of fields that the file omits do not
/// count.
pub(in crate::predict) fn is_edited(object: &Value, before: &[Value]) -> bool {
    let Some(old) = before.iter().find(|one| name_of(one) == name_of(object)) else { return false };
    let [was, is] = [old, object].map(|one| get(one, &["spec"]).unwrap_or(&Value::Null));
    if was == is {
        return false;
    }
    let [was, is] = [was, is].map(without_empty);
    match present(old, &["metadata", "uid"]) {
        Some(_) => !same(&without_empty(&part_of(&is, &was)), &is),
        None => !same(&was, &is),
    }
}

/// The part of the existing value that is also wanted. A name with symbols for random characters matches any name.
fn part_of(wanted: &Value, there: &Value) -> Value {
    match (wanted, there) {
        (Value::Object(wanted), Value::Object(there)) => {
            let kept = wanted.iter().filter_map(|(key, value)| Some((key, part_of(value, there.get(key)?))));
            Value::Object(kept.map(|(key, value)| (key.clone(), value)).collect())
        }
        (Value::Array(wanted), Value::Array(there)) if wanted.len() == there.len() => {
            wanted.iter().zip(there).map(|(wanted, there)| part_of(wanted, there)).collect()
        }
        (Value::String(name), Value::String(_)) if is_symbolic(name) => wanted.clone(),
        _ => there.clone(),
    }
}

/// Removes nulls and empty maps and lists, because the API server does not keep all of them.
fn without_empty(value: &Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(key, value)| (key.clone(), without_empty(value)));
            Value::Object(kept.filter(|(_, value)| !is_empty(value)).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(without_empty).collect(),
        _ => value.clone(),
    }
}
