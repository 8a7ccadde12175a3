//! What a change alone means for each part: the infrastructure cluster, the control plane and each pool.

use std::collections::BTreeSet;

use serde_json::Value;

use super::health_checks;
use super::infrastructure_webhooks::{Acceptance, takes};
use super::machine_rollouts::{Basis, MachineRollout, Replaced, is_on_delete, surge};
use super::manual_steps;
use super::refused_pool;
use crate::contract::Contract;
use crate::convert::is_own;
use crate::predict::change::{Change, Effect, ObjectChange};
use crate::predict::evidence::{Evidence, On, RuleOutcome};
use crate::predict::field::Field;
use crate::predict::meaning::{Meaning, MeaningKind};
use crate::predict::reason::{Note, Reason};
use crate::predict::reconcile::RECONCILE;
use crate::predict::rules::Rule;
use crate::predict::running::{is_autoscaled, is_paused};
use crate::predict::verdict::Ledger;
use crate::refusal::{Opaque, Refusal};
use crate::role::{Role, TopologyPart};
use crate::state::{Desired, Worker};
use k8s_schema::value::{get, group, leaves, text, version};

pub(in crate::predict) const ADMISSION: &str = "core/webhooks/admission";
const CONTROL_PLANE: &str = "controlplane/kubeadm/pkg/filters.go";
const DEPLOYMENT: &str = "core/reconcilers/machinedeployment/mdutil/util.go";
const PLAN: &str = "exp/topology/desiredstate/upgrade_plan.go";
const PHASES: &str = "core/reconcilers/cluster/cluster_controller_phases.go";
/// The address of the API server in an infrastructure cluster. Cluster API copies it to the Cluster once, and ignores later
/// changes (`reconcileInfrastructure`).
const ENDPOINT: [&str; 2] = ["spec", "controlPlaneEndpoint"];
const KEEPS_ADDRESS: &str = "the Cluster and its machines keep the former address of the API server; whether it still leads there once the \
     infrastructure has another one is not known";
const PROVIDER: &str = "the infrastructure provider";

/// The input of the rules.
#[derive(Debug, Clone, Copy)]
pub(in crate::predict) struct Facts<'a> {
    /// The running objects before the change.
    pub before: &'a Desired,
    /// Parts whose number of machines was given.
    pub counted: &'a BTreeSet<TopologyPart>,
    /// What is unknown about the running objects.
    pub unknown: &'a [Opaque],
    /// The predicted change.
    pub change: &'a Change,
}

/// Collects the evidence of a change.
pub(in crate::predict) fn evidence(facts: Facts<'_>) -> Ledger {
    let Facts { before, change, .. } = facts;
    if !change.accepted {
        return Ledger::from_iter([refused(&change.faults, Meaning::Rejected, ADMISSION)]);
    }
    let mut ledger = Ledger::default();
    if !change.faults.is_empty() {
        ledger.add(refused(&change.faults, Meaning::Wedged, RECONCILE));
    }
    let parts = change.objects.iter().map(|one| one.role.part());
    let waiting = change.waits.pools.keys().cloned().map(TopologyPart::Pool);
    let parts: BTreeSet<TopologyPart> =
        parts.chain(waiting).filter(|part| *part != TopologyPart::Cluster).collect();
    let converted = converted(before, change);
    for part in &parts {
        let unknown = facts.unknown.iter().chain(&change.opaque).chain(&converted);
        let unknown = unknown.filter(|one| one.role == Role::Cluster || one.role.is_of(part));
        ledger.extend(of_part(facts, part, &unknown.collect::<Vec<_>>()));
    }
    let is_paused = change.running.as_ref().is_some_and(|state| is_paused(&state.cluster));
    let all = parts.iter().chain((!change.faults.is_empty()).then_some(&TopologyPart::Cluster));
    for part in all.filter(|_| is_paused) {
        let on = On::AllBut(&[MeaningKind::NoChange]);
        ledger.add(Evidence::remark(part.clone(), Rule::PausedCluster, on).because(PAUSED));
    }
    ledger.extend(refused_pool::evidence(&parts, change));
    ledger
}

/// Reason added to every change of a paused Cluster.
const PAUSED: &str = "the Cluster is paused: nothing happens until it is unpaused";

/// Provider objects that are written in another API version than before. The API server converts the existing object before
/// it compares the two, and the provider defines the conversion.
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
            found.push(Opaque::new(role, reason));
        }
    }
    found
}

/// Creates evidence that the whole change is refused, or that the controller stops. Upstream reports some refusals twice;
/// here each appears once.
pub(in crate::predict) fn refused(faults: &[Refusal], meaning: Meaning, source: &'static str) -> Evidence {
    let mut evidence = Evidence::new(TopologyPart::Cluster, Rule::Refusal, RuleOutcome::Means(meaning));
    evidence.source = Some(source);
    for fault in faults {
        let (field, reason) = (Field::Refused(fault.error.field.clone()), Reason::from(fault.to_string()));
        if !fault.error.field.is_empty() && !evidence.fields.contains(&field) {
            evidence.fields.push(field);
        }
        if !evidence.reasons.contains(&reason) {
            evidence.reasons.push(reason);
        }
    }
    evidence
}

fn of_part(facts: Facts<'_>, part: &TopologyPart, unknown: &[&Opaque]) -> Vec<Evidence> {
    let Facts { before, change, .. } = facts;
    let objects: Vec<&ObjectChange> = change.objects.iter().filter(|one| one.role.is_of(part)).collect();
    let finding = found(before, change, part, &objects);
    let comes_or_goes = matches!(finding.meaning, Meaning::Create | Meaning::Delete);
    let is_known = unknown.is_empty();
    let mut all = Vec::new();
    if !is_known {
        // A part that is created or deleted keeps that meaning; the unknown facts become remarks.
        let evidence = if comes_or_goes {
            Evidence::remark(part.clone(), Rule::Unknown, On::ALL)
        } else {
            Evidence::unknown(part.clone(), Rule::Unknown, RECONCILE)
        };
        let reasons: BTreeSet<&String> = unknown.iter().map(|one| &one.reason).collect();
        let reasons = reasons.into_iter().map(Reason::from).collect();
        let by_extension = unknown.iter().any(|one| one.by_extension);
        all.push(Evidence { reasons, by_extension, ..evidence });
    }
    if (is_known || comes_or_goes) && !facts.counted.contains(part) {
        all.extend(uncounted(&finding, before, change));
        all.extend(uncounted_surge(&finding, before, change));
    }
    all.extend(by_hand(&finding, before, change));
    all.extend(waiting(part, change));
    all.extend(beside(part, &objects));
    all.extend(health_checks::evidence(part, &finding.meaning, before, change));
    all.push(finding.into());
    all
}

/// What a change means for a part, judged by its objects and machines alone.
struct Finding {
    part: TopologyPart,
    meaning: Meaning,
    fields: Vec<Field>,
    reasons: Vec<Reason>,
    source: &'static str,
}

impl From<Finding> for Evidence {
    fn from(finding: Finding) -> Self {
        let Finding { part, meaning, fields, reasons, source } = finding;
        let evidence = Self::new(part, Rule::Change, RuleOutcome::Means(meaning));
        Self { fields, reasons, source: Some(source), ..evidence }
    }
}

fn found(before: &Desired, change: &Change, part: &TopologyPart, objects: &[&ObjectChange]) -> Finding {
    let own_role = part.own();
    let own = objects.iter().find(|one| one.role == own_role);
    let rollout = change.rollouts.iter().find(|one| one.part == *part);
    let (fields, effect) = fields(objects);
    let mut finding = Finding {
        part: part.clone(),
        meaning: Meaning::NoChange,
        fields,
        reasons: rollout.map(|one| one.reasons.clone()).unwrap_or_default(),
        source: RECONCILE,
    };
    match (own.map(|one| one.effect), rollout.map(|one| one.replaced)) {
        (Some(Effect::Created), _) => finding.meaning = Meaning::Create,
        (Some(Effect::Deleted), _) => finding.meaning = Meaning::Delete,
        (_, Some(Replaced::Yes)) => machines(&mut finding, before, change, rollout),
        (_, Some(Replaced::Unknown)) if rollout.is_some_and(|one| one.basis == Basis::Upstream) => {
            finding.meaning = Meaning::Opaque;
            finding.source = if *part == TopologyPart::ControlPlane { CONTROL_PLANE } else { DEPLOYMENT };
        }
        (_, Some(Replaced::Unknown)) => {
            finding.meaning = Meaning::ProviderDependent;
            finding.source = PROVIDER;
        }
        _ => in_place(&mut finding, change, objects, effect),
    }
    finding
}

/// The reason for a part that scales in addition to its version change.
fn scaled(change: &Change, subject: &TopologyPart) -> Option<Reason> {
    let now = get(change.running.as_ref()?.own(subject)?, &["spec", "replicas"])?.as_i64()?;
    let was = change.replicas_before.get(subject).copied()?;
    (was != now).then_some(Reason::Scales { from: was, to: now, is_added: true })
}

/// If nothing sets a pool's number of machines, it is unknown unless it was given. The number here is the initial one; an
/// autoscaler or a person may have changed it since, and no field manager owns that value.
///
/// Source: `core/webhooks/admission/machinedeployment.go`, `calculateMachineDeploymentReplicas`.
fn uncounted(finding: &Finding, before: &Desired, change: &Change) -> Option<Evidence> {
    let pool = finding.part.as_pool()?;
    let (old, new) = (before.worker(pool)?, change.running.as_ref()?.worker(pool)?);
    let is_set = |worker: &Worker| get(&worker.applied, &["spec", "replicas"]).is_some();
    if is_set(old) {
        return None;
    }
    let is_autoscaled = is_autoscaled(&old.object);
    let reason = |set_to| Reason::Uncounted { is_autoscaled, set_to };
    let part = finding.part.clone();
    let on = On::Only(&[MeaningKind::Scale, MeaningKind::Rollout, MeaningKind::Upgrade]);
    let remark = |part| Evidence::remark(part, Rule::Count, on).because(reason(None));
    match finding.meaning {
        // The number before is a guess, so a scale from it may as well lose machines.
        Meaning::NoChange | Meaning::MetadataOnly | Meaning::InPlace | Meaning::Scale { .. }
            if is_set(new) =>
        {
            let set_to = get(&new.object, &["spec", "replicas"]).and_then(Value::as_i64);
            Some(Evidence::unknown(part, Rule::Count, RECONCILE).because(reason(set_to)))
        }
        Meaning::Scale { .. } | Meaning::Rollout { .. } => Some(remark(part)),
        Meaning::Upgrade { .. } if scaled(change, &part).is_some() => Some(remark(part)),
        _ => None,
    }
}

/// If nothing sets a pool's number of machines, a surge that depends on it is unknown, too: a percentage, or more unavailable
/// machines than there may be.
fn uncounted_surge(finding: &Finding, before: &Desired, change: &Change) -> Option<Evidence> {
    let pool = finding.part.as_pool()?;
    let (old, new) = (before.worker(pool)?, change.running.as_ref()?.worker(pool)?);
    let is_set = |worker: &Worker| get(&worker.applied, &["spec", "replicas"]).is_some();
    if is_set(old) || is_set(new) || is_on_delete(&new.object) {
        return None;
    }
    let fewest = get(&new.object, &["spec", "replicas"]).and_then(Value::as_i64)?;
    if surge(&new.object, fewest) == surge(&new.object, i64::from(i32::MAX)) {
        return None;
    }
    let numbers = ["maxSurge", "maxUnavailable"].map(|field| {
        let value = get(&new.object, &["spec", "rollout", "strategy", "rollingUpdate", field]);
        let value = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        format!("{field} {}", value.unwrap_or_default())
    });
    let reason = format!(
        "the number of extra and missing machines at a time depends on their total: {}",
        numbers.join(", ")
    );
    Some(Evidence::new(finding.part.clone(), Rule::Count, RuleOutcome::SurgeUnknown).because(reason))
}

/// The manual steps before a part reaches its version or its desired state.
fn by_hand(finding: &Finding, before: &Desired, change: &Change) -> Option<Evidence> {
    const ON: &[MeaningKind] = &[MeaningKind::Create, MeaningKind::Upgrade, MeaningKind::ProviderDependent];
    if !ON.contains(&finding.meaning.kind()) {
        return None;
    }
    let reasons = manual_steps::by_hand(before, change, &finding.part);
    let reasons: Vec<Reason> = reasons.into_iter().map(Reason::from).collect();
    let remark = Evidence::remark(finding.part.clone(), Rule::ByHand, On::Only(ON));
    (!reasons.is_empty()).then_some(Evidence { reasons, ..remark })
}

/// Parts that are held back, and waits that never end.
fn waiting(part: &TopologyPart, change: &Change) -> Option<Evidence> {
    let source = Some(manual_steps::SOURCE);
    if let Some(reason) = part.as_pool().and_then(|pool| change.waits.pools.get(pool)) {
        let on = On::AllBut(&[MeaningKind::Opaque, MeaningKind::Delete]);
        return Some(Evidence {
            source,
            ..Evidence::remark(part.clone(), Rule::Waiting, on).because(reason)
        });
    }
    let reason = change.waits.control_plane.as_ref().filter(|_| *part == TopologyPart::ControlPlane)?;
    let stuck = Evidence::new(part.clone(), Rule::Waiting, RuleOutcome::Means(Meaning::Wedged));
    Some(Evidence { source, ..stuck.because(reason) })
}

/// Objects that are created or deleted within a part that stays.
fn beside(part: &TopologyPart, objects: &[&ObjectChange]) -> Option<Evidence> {
    let on = On::AllBut(&[MeaningKind::Create, MeaningKind::Delete, MeaningKind::Opaque]);
    let mut evidence = Evidence::remark(part.clone(), Rule::Objects, on);
    for one in objects {
        let health = one.kind == "MachineHealthCheck";
        let reason = match one.effect {
            // The rule about health checks describes it.
            Effect::Created if health => continue,
            Effect::Deleted if health => {
                "its MachineHealthCheck is deleted: unhealthy machines are no longer replaced, except those that it has marked already".to_owned()
            }
            Effect::Created => format!("its {} is created", one.kind),
            Effect::Deleted => format!("its {} is deleted", one.kind),
            _ => continue,
        };
        evidence.fields.push(Field::Changed { role: one.role.clone(), path: Vec::new() });
        evidence.reasons.push(reason.into());
    }
    (!evidence.reasons.is_empty()).then_some(evidence)
}

/// The changed fields, and the strongest effect.
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

fn machines(finding: &mut Finding, before: &Desired, change: &Change, rollout: Option<&MachineRollout>) {
    let version = |state: &Desired| {
        let object = state.own(&finding.part).unwrap_or(&Value::Null);
        match &finding.part {
            TopologyPart::ControlPlane => text(object, Contract::VERSION).to_owned(),
            _ => text(object, &["spec", "template", "spec", "version"]).to_owned(),
        }
    };
    let from = rollout.and_then(|one| one.from.clone()).unwrap_or_else(|| version(before));
    let to = change.running.as_ref().map(version).unwrap_or_default();
    if from != to {
        let note = rollout.and_then(|one| one.note);
        let times = manual_steps::versions(before, change, &finding.part).max(1);
        let own = change.running.as_ref().and_then(|end| end.own(&finding.part));
        let is_empty = own.is_some_and(|own| !manual_steps::has_machines(&finding.part, own));
        // Without machines, there is nothing to delete.
        let has_nothing = is_empty && note == Some(Note::OnDelete);
        let note = note.filter(|_| !has_nothing);
        let surge = rollout.and_then(|one| one.surge).filter(|_| !has_nothing);
        let on_delete = note == Some(Note::OnDelete);
        let unaided =
            if on_delete { 0 } else { times - manual_steps::aided(before, change, &finding.part).min(times) };
        finding.meaning = Meaning::Upgrade { from, to, times, unaided, surge, on_delete };
        finding.source = PLAN;
        finding.reasons.extend(scaled(change, &finding.part));
        finding.reasons.extend(note.map(Reason::from));
        return;
    }
    let on_delete = rollout.is_some_and(|one| one.note == Some(Note::OnDelete));
    let is_paused =
        |part: &TopologyPart| change.running.as_ref().and_then(|end| end.own(part)).is_some_and(is_paused);
    let is_other = |one: &&MachineRollout| {
        let rolls = one.replaced == Replaced::Yes && one.note != Some(Note::OnDelete);
        rolls && one.part != finding.part && !is_paused(&one.part)
    };
    let others = change.rollouts.iter().filter(|_| !on_delete).filter(is_other);
    finding.source = if finding.part == TopologyPart::ControlPlane { CONTROL_PLANE } else { DEPLOYMENT };
    let now = rollout.and_then(|one| one.replicas).unwrap_or(1);
    let was = change.replicas_before.get(&finding.part).copied().unwrap_or(now);
    // Scaling down removes machines and scaling up adds new ones; neither replaces a machine.
    let all = now.min(was);
    let (least, machines) = rollout.and_then(|one| one.some).unwrap_or((all, all));
    finding.meaning = Meaning::Rollout {
        machines,
        least,
        surge: rollout.and_then(|one| one.surge),
        together_with: others.map(|one| one.part.clone()).collect(),
        on_delete,
    };
    if was != now {
        finding.reasons.push(Reason::Scales { from: was, to: now, is_added: true });
    }
    if let Some(note) = rollout.and_then(|one| one.note) {
        finding.reasons.push(note.into());
    }
}

fn in_place(finding: &mut Finding, change: &Change, objects: &[&ObjectChange], effect: Effect) {
    finding.meaning = match effect {
        Effect::Same => Meaning::NoChange,
        Effect::Metadata => Meaning::MetadataOnly,
        _ => Meaning::InPlace,
    };
    let own_role = finding.part.own();
    let has = |finding: &Finding, path: &[&str]| finding.fields.iter().any(|field| field.is(&own_role, path));
    if finding.meaning == Meaning::InPlace && has(finding, &["spec", "replicas"]) {
        let count = |value: Option<&Value>| value.and_then(Value::as_i64).unwrap_or(1);
        let own = objects.iter().find(|one| one.role == own_role);
        let to = own.and_then(|one| get(one.patch.as_ref()?, &["spec", "replicas"]));
        let before = change.replicas_before.get(&finding.part).copied();
        finding.meaning = Meaning::Scale { from: before.unwrap_or(1), to: count(to) };
        if finding.fields.len() > 1 {
            let detail = "the other fields change in place; no machine is replaced for them";
            finding.reasons.push(detail.into());
        }
    }
    if finding.part == TopologyPart::Infrastructure && finding.meaning == Meaning::InPlace {
        infrastructure(finding, change);
    }
    let changed = matches!(finding.meaning, Meaning::InPlace | Meaning::Scale { .. });
    if changed && has(finding, &["spec", "failureDomains"]) {
        // This is a machine pool: a machine deployment has a single failure domain, and a change of it replaces machines.
        finding.reasons = match finding.meaning {
            Meaning::Scale { from, to } => vec![Reason::Scales { from, to, is_added: false }],
            _ => Vec::new(),
        };
        finding.meaning = Meaning::ProviderDependent;
        finding.source = PROVIDER;
        finding.reasons.push("the provider decides whether machines move to other failure domains".into());
    }
}

/// Judges a change of the infrastructure cluster, which the provider may refuse.
fn infrastructure(finding: &mut Finding, change: &Change) {
    let Some(object) = change.running.as_ref().map(|state| &state.infrastructure) else {
        return;
    };
    let (api_version, kind) = (text(object, &["apiVersion"]), text(object, &["kind"]));
    let mut worst = Acceptance::Yes;
    for field in &finding.fields {
        let Field::Changed { path, .. } = field else { continue };
        let Some(path) = path.strip_prefix(&["spec".to_owned()][..]) else { continue };
        let (taken, source) = takes(api_version, kind, path);
        if let Some(source) = source {
            finding.source = source;
        }
        match taken {
            Acceptance::No => {
                worst = Acceptance::No;
                finding.reasons.push(Reason::Immutable { path: path.to_vec() });
            }
            Acceptance::Unknown if worst == Acceptance::Yes => worst = Acceptance::Unknown,
            _ => {}
        }
    }
    let is_endpoint = |field: &Field| matches!(field, Field::Changed { path, .. } if path.starts_with(&ENDPOINT.map(str::to_owned)));
    match worst {
        Acceptance::Yes if finding.fields.iter().any(is_endpoint) => {
            finding.meaning = Meaning::Opaque;
            finding.source = PHASES;
            finding.reasons.push(KEEPS_ADDRESS.into());
        }
        Acceptance::Yes => {}
        Acceptance::No => finding.meaning = Meaning::Wedged,
        Acceptance::Unknown => {
            finding.meaning = Meaning::ProviderDependent;
            finding.reasons.push(format!("it is unknown whether {kind} accepts the change").into());
        }
    }
}
