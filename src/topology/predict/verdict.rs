//! What a change means for the cluster's infrastructure, its control plane and each pool, in
//! one word, with the fields that cause it and the rule behind it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::change::{Change, Effect, ObjectChange};
use super::field::Field;
use super::provider::{Taken, takes};
use super::rollout::{Basis, ON_DELETE, Replaced, Rollout};
use super::running::is_autoscaled;
use super::stuck;
use super::tries;
use crate::topology::convert::is_own;
use crate::topology::desired::contract::Contract;
use crate::topology::desired::state::{Desired, Worker};
use crate::topology::fault::Opaque;
use crate::topology::role::{Part, Role};
use crate::topology::value::{get, group, leaves, text, version};

/// What a change means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing changes.
    NoChange,
    /// Labels and annotations change; no machine is touched.
    MetadataOnly,
    /// Objects change in place; no machine is replaced.
    InPlace,
    /// The number of machines changes.
    Scale {
        /// Before.
        from: i64,
        /// After.
        to: i64,
    },
    /// Machines are replaced.
    Rollout {
        /// How many at most.
        machines: i64,
        /// How many at least.
        least: i64,
        /// How many more there may be meanwhile, and how many less.
        surge: Option<(i64, i64)>,
        /// What rolls at the same time.
        together_with: Vec<Part>,
        /// Only when they are deleted.
        on_delete: bool,
    },
    /// Machines are replaced by ones of another Kubernetes version.
    Upgrade {
        /// Before.
        from: String,
        /// After.
        to: String,
        /// How many times: once for each version on the way that it gets.
        times: usize,
        /// Only when they are deleted.
        on_delete: bool,
    },
    /// It is created.
    Create,
    /// It is deleted with its machines.
    Delete,
    /// The API server or a webhook refuses the change; nothing happens.
    Rejected,
    /// The change is accepted, and the controller is stuck half-way.
    Wedged,
    /// The provider decides.
    ProviderDependent,
    /// It cannot be known offline.
    Opaque,
}

/// A verdict on one part of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The part; the Cluster for what concerns all of it.
    pub subject: Part,
    /// What the change means for it.
    pub meaning: Meaning,
    /// The fields that cause it.
    pub fields: Vec<Field>,
    /// Reasons in words: Cluster API's own, refusals, or what is not known.
    pub reasons: Vec<String>,
    /// Where the rule is written.
    pub source: &'static str,
}

const ADMISSION: &str = "core/webhooks/admission";
pub(super) const RECONCILE: &str = "core/reconcilers/topology/cluster/reconcile_state.go";
const CONTROL_PLANE: &str = "controlplane/kubeadm/pkg/filters.go";
const DEPLOYMENT: &str = "core/reconcilers/machinedeployment/mdutil/util.go";
const PLAN: &str = "exp/topology/desiredstate/upgrade_plan.go";
const PROVIDER: &str = "the infrastructure provider";

/// The verdicts on a change; `before` is what runs, `unknown` what could not be known of it, and `counted` the parts whose
/// number of machines was given.
pub fn verdicts(
    before: &Desired,
    counted: &BTreeSet<Part>,
    unknown: &[Opaque],
    change: &Change,
) -> Vec<Verdict> {
    if !change.accepted {
        return vec![refused(change, Meaning::Rejected, ADMISSION)];
    }
    let mut all = Vec::new();
    if !change.faults.is_empty() {
        all.push(refused(change, Meaning::Wedged, RECONCILE));
    }
    let parts = change.objects.iter().map(|one| one.role.part());
    let waiting = change.waits.pools.keys().cloned().map(Part::Pool);
    let subjects: BTreeSet<Part> = parts.chain(waiting).filter(|part| *part != Part::Cluster).collect();
    let converted = converted(before, change);
    for subject in subjects {
        let reasons: BTreeSet<&String> = unknown
            .iter()
            .chain(&change.opaque)
            .chain(&converted)
            .filter(|one| one.role == Role::Cluster || one.role.is_of(&subject))
            .map(|one| &one.reason)
            .collect();
        let is_counted = counted.contains(&subject);
        all.push(judge(before, change, &subject, is_counted, reasons.into_iter().cloned().collect()));
    }
    if change.running.as_ref().is_some_and(|state| is_paused(&state.cluster)) {
        for verdict in all.iter_mut().filter(|one| one.meaning != Meaning::NoChange) {
            verdict.reasons.push(PAUSED.to_owned());
        }
    }
    tries::tell(&mut all, change);
    all
}

/// Said of every change of a paused Cluster.
const PAUSED: &str = "the Cluster is paused: nothing happens until it is unpaused";

/// Whether controllers leave a Cluster alone.
///
/// Source: `util/annotations/helpers.go`, `IsPaused`.
pub fn is_paused(cluster: &Value) -> bool {
    get(cluster, &["spec", "paused"]) == Some(&Value::Bool(true))
        || get(cluster, &["metadata", "annotations", "cluster.x-k8s.io/paused"]).is_some()
}

/// Objects of providers that are written in another API version than before: the API server converts what is there before
/// the two are compared, and how it does so is the provider's.
fn converted(before: &Desired, change: &Change) -> Vec<Opaque> {
    let Some(running) = &change.running else { return Vec::new() };
    let after = running.objects();
    let mut found = Vec::new();
    for (role, old) in before.objects() {
        let Some(new) = after.get(&role) else { continue };
        let [from, to] = [old, new].map(|object| text(object, &["apiVersion"]));
        let kind = text(old, &["kind"]);
        if kind == text(new, &["kind"]) && group(from) == group(to) && from != to && !is_own(old) {
            let (from, to) = (version(from), version(to));
            let reason =
                format!("{kind} was {from} and is {to}: only the API server converts one to the other");
            found.push(Opaque { role, reason });
        }
    }
    found
}

/// Upstream reports some refusals twice; here each is told once.
fn refused(change: &Change, meaning: Meaning, source: &'static str) -> Verdict {
    let mut verdict =
        Verdict { subject: Part::Cluster, meaning, fields: Vec::new(), reasons: Vec::new(), source };
    for fault in &change.faults {
        let (field, reason) = (Field::Refused(fault.error.field.clone()), fault.to_string());
        if !fault.error.field.is_empty() && !verdict.fields.contains(&field) {
            verdict.fields.push(field);
        }
        if !verdict.reasons.contains(&reason) {
            verdict.reasons.push(reason);
        }
    }
    verdict
}

fn judge(
    before: &Desired,
    change: &Change,
    subject: &Part,
    is_counted: bool,
    opaque: Vec<String>,
) -> Verdict {
    let objects: Vec<&ObjectChange> = change.objects.iter().filter(|one| one.role.is_of(subject)).collect();
    let own_role = subject.own();
    let own = objects.iter().find(|one| one.role == own_role);
    let rollout = change.rollouts.iter().find(|one| one.part == *subject);
    let (fields, effect) = fields(&objects);
    let mut verdict = Verdict {
        subject: subject.clone(),
        meaning: Meaning::NoChange,
        fields,
        reasons: rollout.map(|one| one.reasons.clone()).unwrap_or_default(),
        source: RECONCILE,
    };
    match own.map(|one| one.effect) {
        // It is told to come or go, and why that is not sure.
        Some(effect @ (Effect::Created | Effect::Deleted)) => {
            verdict.meaning = if effect == Effect::Created { Meaning::Create } else { Meaning::Delete };
            verdict.reasons.extend(opaque);
        }
        _ if !opaque.is_empty() => {
            verdict.meaning = Meaning::Opaque;
            verdict.reasons = opaque;
        }
        _ => match rollout.map(|one| one.replaced) {
            Some(Replaced::Yes) => machines(&mut verdict, before, change, rollout),
            Some(Replaced::Unknown) if rollout.is_some_and(|one| one.basis == Basis::Upstream) => {
                verdict.meaning = Meaning::Opaque;
                verdict.source = if *subject == Part::ControlPlane { CONTROL_PLANE } else { DEPLOYMENT };
            }
            Some(Replaced::Unknown) => {
                verdict.meaning = Meaning::ProviderDependent;
                verdict.source = PROVIDER;
            }
            _ => in_place(&mut verdict, change, &objects, effect),
        },
    }
    if !is_counted {
        uncounted(&mut verdict, before, change);
    }
    if matches!(verdict.meaning, Meaning::Create | Meaning::Upgrade { .. } | Meaning::ProviderDependent) {
        verdict.reasons.extend(stuck::by_hand(before, change, &verdict.subject));
    }
    waiting(&mut verdict, change);
    parts(&mut verdict, &objects);
    verdict
}

/// Said of a part that gets another number of machines beside another version.
fn scaled(change: &Change, subject: &Part) -> Option<String> {
    let now = get(change.running.as_ref()?.own(subject)?, &["spec", "replicas"])?.as_i64()?;
    let was = change.replicas_before.get(subject).copied()?;
    (was != now).then(|| format!("it scales from {was} to {now}, too"))
}

/// Of a pool whose number of machines nobody sets it is not known unless it was given: the one here is what it began with,
/// and an autoscaler or a person may have set another one since, which belongs to no field manager.
///
/// Source: `core/webhooks/admission/machinedeployment.go`, `calculateMachineDeploymentReplicas`.
fn uncounted(verdict: &mut Verdict, before: &Desired, change: &Change) {
    let find = |state: &Desired| state.worker(verdict.subject.as_pool()?).cloned();
    let (Some(old), Some(new)) = (find(before), change.running.as_ref().and_then(find)) else { return };
    let is_set = |worker: &Worker| get(&worker.applied, &["spec", "replicas"]).is_some();
    if is_set(&old) {
        return;
    }
    let mut reason = if is_autoscaled(&old.object) {
        "the number of machines before is the autoscaler's, and not known here".to_owned()
    } else {
        "nobody set the number of machines before: where the pool was scaled, it is not known here".to_owned()
    };
    match verdict.meaning {
        Meaning::NoChange | Meaning::MetadataOnly | Meaning::InPlace if is_set(&new) => {
            verdict.meaning = Meaning::Opaque;
            if let Some(count) = get(&new.object, &["spec", "replicas"]) {
                reason = format!("{reason}: now it is set to {count}");
            }
        }
        Meaning::Scale { .. } | Meaning::Rollout { .. } => {}
        Meaning::Upgrade { .. } if scaled(change, &verdict.subject).is_some() => {}
        _ => return,
    }
    verdict.reasons.push(reason);
}

/// Objects that come or go beside one that stays.
fn parts(verdict: &mut Verdict, objects: &[&ObjectChange]) {
    if matches!(verdict.meaning, Meaning::Create | Meaning::Delete | Meaning::Opaque) {
        return;
    }
    for one in objects {
        let health = one.kind == "MachineHealthCheck";
        let reason = match one.effect {
            Effect::Created if health => {
                "its MachineHealthCheck is created: from then on it replaces machines that it finds unhealthy"
                    .to_owned()
            }
            Effect::Deleted if health => {
                "its MachineHealthCheck is deleted: unhealthy machines are not replaced any more".to_owned()
            }
            Effect::Created => format!("its {} is created", one.kind),
            Effect::Deleted => format!("its {} is deleted", one.kind),
            _ => continue,
        };
        verdict.fields.push(Field::Changed { role: one.role.clone(), path: Vec::new() });
        verdict.reasons.push(reason);
    }
}

/// What is held back, and what never ends.
fn waiting(verdict: &mut Verdict, change: &Change) {
    if matches!(verdict.meaning, Meaning::Opaque | Meaning::Delete) {
        return;
    }
    if let Some(reason) = verdict.subject.as_pool().and_then(|pool| change.waits.pools.get(pool)) {
        verdict.reasons.push(reason.clone());
        verdict.source = stuck::SOURCE;
    }
    if let (Some(reason), Part::ControlPlane) = (&change.waits.control_plane, &verdict.subject) {
        verdict.meaning = Meaning::Wedged;
        verdict.reasons = vec![reason.clone()];
        verdict.source = stuck::SOURCE;
    }
}

/// The fields that change, and the strongest effect.
fn fields(objects: &[&ObjectChange]) -> (Vec<Field>, Effect) {
    let mut fields = Vec::new();
    let mut effect = Effect::Same;
    for one in objects {
        let strong = !matches!(one.effect, Effect::Same | Effect::Metadata);
        if one.effect != Effect::Same && (strong || effect == Effect::Same) {
            effect = one.effect;
        }
        let mut paths = Vec::new();
        if let Some(patch) = &one.patch {
            leaves(patch, &mut Vec::new(), &mut paths);
        }
        paths.sort();
        fields.extend(paths.into_iter().map(|path| Field::Changed { role: one.role.clone(), path }));
    }
    (fields, effect)
}

fn machines(verdict: &mut Verdict, before: &Desired, change: &Change, rollout: Option<&Rollout>) {
    let version = |state: &Desired| {
        let object = state.own(&verdict.subject).unwrap_or(&Value::Null);
        match &verdict.subject {
            Part::ControlPlane => text(object, Contract::VERSION).to_owned(),
            _ => text(object, &["spec", "template", "spec", "version"]).to_owned(),
        }
    };
    let from = rollout.and_then(|one| one.from.clone()).unwrap_or_else(|| version(before));
    let to = change.running.as_ref().map(version).unwrap_or_default();
    if from != to {
        let note = rollout.and_then(|one| one.note);
        let times = stuck::versions(before, change, &verdict.subject).max(1);
        verdict.meaning = Meaning::Upgrade { from, to, times, on_delete: note == Some(ON_DELETE) };
        verdict.source = PLAN;
        verdict.reasons.extend(scaled(change, &verdict.subject));
        verdict.reasons.extend(note.map(str::to_owned));
        return;
    }
    let on_delete = rollout.is_some_and(|one| one.note == Some(ON_DELETE));
    let is_other = |one: &&Rollout| {
        one.replaced == Replaced::Yes && one.part != verdict.subject && one.note != Some(ON_DELETE)
    };
    let others = change.rollouts.iter().filter(|_| !on_delete).filter(is_other);
    verdict.source = if verdict.subject == Part::ControlPlane { CONTROL_PLANE } else { DEPLOYMENT };
    let now = rollout.and_then(|one| one.replicas).unwrap_or(1);
    let was = change.replicas_before.get(&verdict.subject).copied().unwrap_or(now);
    // What is scaled down goes, and what is scaled up is new: neither takes the place of another.
    let all = now.min(was);
    let (least, machines) = rollout.and_then(|one| one.some).unwrap_or((all, all));
    verdict.meaning = Meaning::Rollout {
        machines,
        least,
        surge: rollout.and_then(|one| one.surge),
        together_with: others.map(|one| one.part.clone()).collect(),
        on_delete,
    };
    if was != now {
        verdict.reasons.push(format!("it scales from {was} to {now}, too"));
    }
    if let Some(note) = rollout.and_then(|one| one.note) {
        verdict.reasons.push(note.to_owned());
    }
}

fn in_place(verdict: &mut Verdict, change: &Change, objects: &[&ObjectChange], effect: Effect) {
    verdict.meaning = match effect {
        Effect::Same => Meaning::NoChange,
        Effect::Metadata => Meaning::MetadataOnly,
        _ => Meaning::InPlace,
    };
    let own_role = verdict.subject.own();
    let has = |verdict: &Verdict, path: &[&str]| verdict.fields.iter().any(|field| field.is(&own_role, path));
    if verdict.meaning == Meaning::InPlace && has(verdict, &["spec", "replicas"]) {
        let count = |value: Option<&Value>| value.and_then(Value::as_i64).unwrap_or(1);
        let own = objects.iter().find(|one| one.role == own_role);
        let to = own.and_then(|one| get(one.patch.as_ref()?, &["spec", "replicas"]));
        let before = change.replicas_before.get(&verdict.subject).copied();
        verdict.meaning = Meaning::Scale { from: before.unwrap_or(1), to: count(to) };
        if verdict.fields.len() > 1 {
            let detail = "the other fields change in place; no machine is replaced for them";
            verdict.reasons.push(detail.to_owned());
        }
    }
    if verdict.subject == Part::Infrastructure && verdict.meaning == Meaning::InPlace {
        infrastructure(verdict, change);
    }
    let changed = matches!(verdict.meaning, Meaning::InPlace | Meaning::Scale { .. });
    if changed && has(verdict, &["spec", "failureDomains"]) {
        // Of a machine pool, that is: machine deployments have one, and replace their machines for it.
        verdict.reasons = match verdict.meaning {
            Meaning::Scale { from, to } => vec![format!("it scales from {from} to {to}")],
            _ => Vec::new(),
        };
        verdict.meaning = Meaning::ProviderDependent;
        verdict.source = PROVIDER;
        verdict.reasons.push("whether machines move to other failure domains is the provider's".to_owned());
    }
}

/// A provider may refuse a change of the infrastructure cluster.
fn infrastructure(verdict: &mut Verdict, change: &Change) {
    let Some(object) = change.running.as_ref().map(|state| &state.infrastructure) else {
        return;
    };
    let (api_version, kind) = (text(object, &["apiVersion"]), text(object, &["kind"]));
    let mut worst = Taken::Yes;
    for field in &verdict.fields {
        let Field::Changed { path, .. } = field else { continue };
        let Some(path) = path.strip_prefix(&["spec".to_owned()][..]) else { continue };
        let (taken, source) = takes(api_version, kind, path);
        if let Some(source) = source {
            verdict.source = source;
        }
        match taken {
            Taken::No => {
                worst = Taken::No;
                verdict.reasons.push(format!("spec.{} is immutable", path.join(".")));
            }
            Taken::Unknown if worst == Taken::Yes => worst = Taken::Unknown,
            _ => {}
        }
    }
    match worst {
        Taken::Yes => {}
        Taken::No => verdict.meaning = Meaning::Wedged,
        Taken::Unknown => {
            verdict.meaning = Meaning::ProviderDependent;
            verdict.reasons.push(format!("whether {kind} takes the change is not known"));
        }
    }
}

/// Leaves out of what rolls at the same time what was found paused since, and what it is not known of: that is told as such.
pub(super) fn settle_together(verdicts: &mut [Verdict], after: &Desired) {
    let rolls = |part: &Part| !after.own(part).is_some_and(is_paused);
    let unknown: BTreeSet<Part> =
        verdicts.iter().filter(|one| one.meaning == Meaning::Opaque).map(|one| one.subject.clone()).collect();
    for verdict in verdicts {
        let Meaning::Rollout { together_with, .. } = &mut verdict.meaning else { continue };
        together_with.retain(|part| rolls(part) && rolls(&verdict.subject));
        let perhaps = together_with.extract_if(.., |part| unknown.contains(part));
        let perhaps: Vec<String> = perhaps.map(|part| part.in_words()).collect();
        if !perhaps.is_empty() {
            verdict.reasons.push(format!(
                "whether machines of {} are replaced at the same time is not known",
                perhaps.join(", ")
            ));
        }
    }
}
