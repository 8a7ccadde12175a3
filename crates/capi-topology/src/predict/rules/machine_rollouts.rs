//! The parts whose machines a change replaces.
//!
//! Source: `controlplane/kubeadm/pkg/filters.go` and `core/reconcilers/machinedeployment/mdutil`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::kubeadm_config::{self, Outdated};
use crate::contract::Contract;
use crate::predict::evidence::{Evidence, On, RuleOutcome};
use crate::predict::meaning::{Meaning, MeaningKind};
use crate::predict::reason::{MachinePoolPart, Note, Reason};
use crate::predict::rules::Rule;
use crate::predict::verdict::Verdict;
use crate::role::{Pool, PoolKind, PoolObject, Role, TopologyPart};
use crate::state::{Desired, Worker};
use k8s_schema::value::{get, group, present, same, text};

/// The basis of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Cluster API's own code decides it.
    Upstream,
    /// No code of Cluster API decides it in advance.
    Derived,
}

/// Whether machines are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// The machines stay.
    No,
    /// The machines are replaced.
    Yes,
    /// It depends on the provider, or on a date that only the cluster knows.
    Unknown,
}

/// The effect on the machines of a control plane, machine deployment or machine pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MachineRollout {
    /// The part that owns the machines.
    pub part: TopologyPart,
    /// The basis of the prediction.
    pub basis: Basis,
    /// Whether machines are replaced.
    pub replaced: Replaced,
    /// The version of machines that are older than the version desired before the change.
    pub from: Option<String>,
    /// The desired number of machines after the change.
    pub replicas: Option<i64>,
    /// The minimum and maximum number of replaced machines, if not all are replaced.
    pub some: Option<(i64, i64)>,
    /// Cluster API's reasons.
    pub reasons: Vec<Reason>,
    /// How many extra machines may exist during the replacement, and how many may be unavailable; none if unknown.
    pub surge: Option<(i64, i64)>,
    /// An additional remark.
    pub note: Option<Note>,
}

/// The instants used to evaluate `rollout.after`: the current time, and the creation of the machines. If they are known,
/// the machines are assumed to report no expiry date of their certificates.
#[derive(Debug, Clone, Copy)]
pub struct Instants<'a> {
    /// Now, as RFC 3339 in UTC.
    pub now: &'a str,
    /// When the machines were made, as RFC 3339 in UTC.
    pub machines: &'a str,
}

impl Instants<'_> {
    /// Neither is known: a new `rollout.after` counts, whatever its date, and an unchanged one does not.
    pub const UNKNOWN: Self = Self { now: "", machines: "" };
}

impl MachineRollout {
    fn new(part: TopologyPart, basis: Basis) -> Self {
        Self {
            part,
            basis,
            replaced: Replaced::No,
            from: None,
            replicas: None,
            some: None,
            reasons: Vec::new(),
            surge: None,
            note: None,
        }
    }
}

/// The kind of control planes whose rollouts Cluster API's own code decides.
const KUBEADM: &str = "KubeadmControlPlane";

/// The rollouts that lead from one state to another.
pub(crate) fn rollouts(before: &Desired, after: &Desired, instants: Instants<'_>) -> Vec<MachineRollout> {
    let mut all = vec![control_plane(before, after, instants)];
    let pools: BTreeSet<Pool> =
        before.all_workers().chain(after.all_workers()).map(|(pool, _)| pool).collect();
    for one in pools {
        let (old, new, kind) = (before.worker(&one), after.worker(&one), one.kind);
        let part = TopologyPart::Pool(one);
        all.push(match (old, new, kind) {
            (Some(old), Some(new), PoolKind::MachineDeployment) => deployment(part, old, new, instants),
            (Some(old), Some(new), PoolKind::MachinePool) => pool(part, old, new),
            (Some(_), None, _) => noted(part, Note::Deleted),
            _ => noted(part, Note::Created),
        });
    }
    all
}

/// The worst that a change of a field can do, for the object of a role and a control plane of a kind: which field it is, is
/// not known.
pub(in crate::predict) fn worst(role: &Role, control_plane: &str) -> MeaningKind {
    match role {
        Role::Cluster | Role::ControlPlaneHealthCheck | Role::Pool(_, PoolObject::HealthCheck) => {
            MeaningKind::InPlace
        }
        Role::ControlPlane | Role::ControlPlaneMachines if control_plane == KUBEADM => MeaningKind::Rollout,
        Role::ControlPlane | Role::ControlPlaneMachines | Role::Infrastructure => {
            MeaningKind::ProviderDependent
        }
        Role::Pool(pool, _) => match pool.kind {
            PoolKind::MachineDeployment => MeaningKind::Rollout,
            PoolKind::MachinePool => MeaningKind::ProviderDependent,
        },
    }
}

fn noted(part: TopologyPart, note: Note) -> MachineRollout {
    MachineRollout { note: Some(note), ..MachineRollout::new(part, Basis::Derived) }
}

fn version_reason(old: &str, new: &str) -> Option<Reason> {
    (old != new).then(|| Reason::Version { from: old.to_owned(), to: new.to_owned() })
}

fn not_up_to_date(kind: &str) -> Reason {
    Reason::NotUpToDate { kind: kind.strip_suffix("Template").unwrap_or(kind).to_owned() }
}

/// Group, kind and name of a control plane's machine template, wherever the contract stores the reference.
fn machine_reference(control_plane: &Value) -> (&str, &str, &str) {
    let path = Contract::in_use(control_plane).infrastructure_ref();
    let reference = get(control_plane, path).unwrap_or(&Value::Null);
    let group_of = match text(reference, &["apiVersion"]) {
        "" => text(reference, &["apiGroup"]),
        api_version => group(api_version),
    };
    (group_of, text(reference, &["kind"]), text(reference, &["name"]))
}

/// Reports whether `rollout.after` lies between the creation of the machines and now.
fn is_due(old: &Value, new: &Value, instants: Instants<'_>) -> bool {
    let [before, after] = [old, new].map(|object| text(object, &["spec", "rollout", "after"]));
    if instants.now.is_empty() {
        return !after.is_empty() && before != after;
    }
    !after.is_empty() && after < instants.now && instants.machines < after
}

/// Upstream's reason, or one with the date if the current time is unknown.
fn due_reason(kind: &'static str, new: &Value, instants: Instants<'_>) -> Reason {
    match instants.now {
        "" => Reason::RolloutAfter { kind, at: text(new, &["spec", "rollout", "after"]).to_owned() },
        _ => Reason::RolloutAfterExpired { kind },
    }
}

/// The reason why machines may be replaced for expiring certificates. Only the machines themselves know the expiry dates. A
/// window that does not grow matches no additional machines.
///
/// Source: `util/collections/machine_filters.go`, `ShouldRolloutBefore`.
fn expiring(old: &Value, new: &Value, instants: Instants<'_>) -> Option<Reason> {
    if !instants.now.is_empty() {
        return None;
    }
    let [before, after] = [old, new].map(|object| {
        get(object, &["spec", "rollout", "before", "certificatesExpiryDays"]).and_then(Value::as_i64)
    });
    let days = after.filter(|days| *days > before.unwrap_or(0))?;
    Some(Reason::CertificatesExpire { days })
}

fn control_plane(before: &Desired, after: &Desired, instants: Instants<'_>) -> MachineRollout {
    let (old, new) = (&before.control_plane, &after.control_plane);
    let is_kubeadm = text(new, &["kind"]) == KUBEADM;
    let basis = if is_kubeadm { Basis::Upstream } else { Basis::Derived };
    let mut rollout = MachineRollout::new(TopologyPart::ControlPlane, basis);
    rollout.replicas = get(new, Contract::REPLICAS).and_then(Value::as_i64);
    if is_due(old, new, instants) {
        rollout.reasons.push(due_reason("KubeadmControlPlane", new, instants));
    }
    let versions = [old, new].map(|object| text(object, Contract::VERSION));
    rollout.reasons.extend(version_reason(versions[0], versions[1]));
    let mut outdated = Outdated { init: false, joined: false };
    if is_kubeadm {
        outdated = kubeadm_config::outdated(old, new);
        // A single machine never joined, unless it replaced another. When several are scaled down to one, the machines that
        // joined are removed first.
        let one = |object| get(object, Contract::REPLICAS).and_then(Value::as_i64) == Some(1);
        outdated.joined &= instants.now.is_empty() || !one(old) && !one(new);
        if outdated.init || outdated.joined {
            rollout.reasons.push(not_up_to_date("KubeadmConfig"));
        }
    }
    let [from, to] = [old, new].map(|object| machine_reference(object));
    if from != to {
        rollout.reasons.push(not_up_to_date(from.1));
    }
    if !is_kubeadm {
        let spec = |object: &Value| get(object, &["spec"]).cloned().unwrap_or_default();
        if !rollout.reasons.is_empty() || !same(&spec(old), &spec(new)) {
            rollout.replaced = Replaced::Unknown;
        }
        return rollout;
    }
    if !rollout.reasons.is_empty() {
        rollout.replaced = Replaced::Yes;
    }
    if let Some(reason) = expiring(old, new, instants) {
        rollout.reasons.push(reason);
        if rollout.replaced == Replaced::No {
            rollout.replaced = Replaced::Unknown;
        }
    }
    if rollout.replaced != Replaced::No {
        rollout.surge = control_plane_surge(new);
    }
    if rollout.reasons.len() == 1 {
        let [was, now] =
            [old, new].map(|object| get(object, Contract::REPLICAS).and_then(Value::as_i64).unwrap_or(1));
        if outdated.init != outdated.joined {
            by_origin(&mut rollout, was.min(now), outdated, instants);
        } else if is_due(old, new, instants) {
            by_instant(&mut rollout, was.min(now), instants);
        }
    }
    rollout
}

/// Limits a rollout to machines created before `rollout.after`; it starts once that date has passed.
///
/// Source: `util/collections/machine_filters.go`, `ShouldRolloutAfter`, and `core/reconcilers/machinedeployment/mdutil/util.go`,
/// `MachineTemplateUpToDate` and `FindNewMachineSet`.
fn by_instant(rollout: &mut MachineRollout, there: i64, instants: Instants<'_>) {
    if instants.now.is_empty() {
        rollout.some = Some((0, there));
        rollout.note = Some(Note::Older);
    }
}

/// Limits a rollout to the machines that joined, or to the one that kubeadm init created. Whether the latter still runs is
/// unknown: any earlier rollout or repair replaces it with one that joined.
fn by_origin(rollout: &mut MachineRollout, there: i64, outdated: Outdated, instants: Instants<'_>) {
    let is_fresh = !instants.now.is_empty();
    // A running object may state any number.
    let others = there.saturating_sub(1);
    let (some, note) = match (outdated.joined, is_fresh) {
        (true, true) => ((others, others), Note::TheJoined),
        (true, false) => ((others, there), Note::Joined),
        (false, true) => ((1, 1), Note::Init),
        (false, false) => ((0, 1), Note::Init),
    };
    rollout.some = Some((some.0.max(0), some.1));
    rollout.note = Some(note);
}

fn deployment(part: TopologyPart, old: &Worker, new: &Worker, instants: Instants<'_>) -> MachineRollout {
    let mut rollout = MachineRollout::new(part, Basis::Upstream);
    let (old, new) = (&old.object, &new.object);
    let of = |object, field: &[&str]| {
        let mut path = vec!["spec", "template", "spec"];
        path.extend(field);
        get(object, &path).cloned().unwrap_or_default()
    };
    rollout.replicas = get(new, &["spec", "replicas"]).and_then(Value::as_i64);
    if is_due(old, new, instants) {
        rollout.reasons.push(due_reason("MachineDeployment", new, instants));
    }
    let words = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let versions = [old, new].map(|object| words(of(object, &["version"])));
    rollout.reasons.extend(version_reason(&versions[0], &versions[1]));
    for field in [&["bootstrap", "configRef"][..], &["infrastructureRef"]] {
        let before = of(old, field);
        if !same(&before, &of(new, field)) {
            rollout.reasons.push(not_up_to_date(text(&before, &["kind"])));
        }
    }
    let domains = [old, new].map(|object| words(of(object, &["failureDomain"])));
    if domains[0] != domains[1] {
        let [from, to] = domains;
        rollout.reasons.push(Reason::FailureDomain { from, to });
    }
    if !rollout.reasons.is_empty() {
        rollout.replaced = Replaced::Yes;
        if rollout.reasons.len() == 1 && is_due(old, new, instants) {
            let was = get(old, &["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(1);
            let now = rollout.replicas.unwrap_or(1);
            by_instant(&mut rollout, was.min(now), instants);
        }
        if is_on_delete(new) {
            rollout.note = Some(Note::OnDelete);
            rollout.surge = Some(NO_SURGE);
        } else {
            rollout.surge = surge(new, rollout.replicas.unwrap_or(1));
        }
    }
    rollout
}

/// With `OnDelete`, a new machine is created only once the old one is gone.
///
/// Source: `core/reconcilers/machinedeployment/mdutil/util.go`, `NewMSNewReplicas`; the machines that it counts include those
/// being deleted.
const NO_SURGE: (i64, i64) = (0, 0);

/// Resolves the surge of a control plane, whose webhook allows 0 or 1 and sets 1 by default. Without surge, a machine is
/// deleted before its successor is created.
///
/// Source: `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/update.go`, `rollingUpdate`.
fn control_plane_surge(control_plane: &Value) -> Option<(i64, i64)> {
    let surge = present(control_plane, &["spec", "rollout", "strategy", "rollingUpdate", "maxSurge"])?;
    match surge.as_i64().or_else(|| surge.as_str()?.parse().ok())? {
        0 => Some((0, 1)),
        1 => Some((1, 0)),
        _ => None,
    }
}

/// Reports whether the machines of a deployment are replaced only once someone deletes them.
pub(in crate::predict) fn is_on_delete(deployment: &Value) -> bool {
    text(deployment, &["spec", "rollout", "strategy", "type"]) == "OnDelete"
}

/// Resolves surge (rounded up) and unavailable (rounded down). If both are zero, one machine may be unavailable.
/// Unavailable never exceeds the replicas.
///
/// Source: `core/reconcilers/machinedeployment/mdutil/util.go`, `ResolveFenceposts` and `MaxUnavailable`.
pub(in crate::predict) fn surge(deployment: &Value, replicas: i64) -> Option<(i64, i64)> {
    let update = get(deployment, &["spec", "rollout", "strategy", "rollingUpdate"])?;
    let resolve = |field: &str, up: bool| {
        let value = present(update, &[field])?;
        match value.as_str() {
            None => value.as_i64(),
            Some(text) => {
                let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
                let hundredths = percent.checked_mul(replicas)?;
                let rounded = if up { hundredths.checked_add(99)? } else { hundredths };
                Some(rounded.div_euclid(100))
            }
        }
    };
    let surge = resolve("maxSurge", true)?;
    let unavailable = resolve("maxUnavailable", false)?;
    let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
    Some((surge, unavailable.min(replicas)))
}

fn pool(part: TopologyPart, old: &Worker, new: &Worker) -> MachineRollout {
    let mut rollout = MachineRollout::new(part, Basis::Derived);
    let template =
        |worker: &Worker| get(&worker.object, &["spec", "template", "spec"]).cloned().unwrap_or_default();
    let spec = |object: &Value| get(object, &["spec"]).cloned().unwrap_or_default();
    let changes = [
        (MachinePoolPart::MachineTemplate, !same(&template(old), &template(new))),
        (MachinePoolPart::Bootstrap, !same(&spec(&old.bootstrap), &spec(&new.bootstrap))),
        (MachinePoolPart::Infrastructure, !same(&spec(&old.infrastructure), &spec(&new.infrastructure))),
    ];
    let changed = changes.into_iter().filter(|(_, changed)| *changed);
    rollout.reasons.extend(changed.map(|(part, _)| Reason::MachinePoolChanged(part)));
    if !rollout.reasons.is_empty() {
        rollout.replaced = Replaced::Unknown;
        rollout.note = Some(Note::Provider);
    }
    rollout
}
/// With the gate `InPlaceUpdates`, Cluster API asks an extension before it replaces machines.
///
/// Source: `canUpdateMachine` of `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/inplace_canupdatemachine.go`, and
/// `core/reconcilers/machinedeployment/machinedeployment_rollout_rollingupdate.go`.
pub(in crate::predict) fn in_place_updates(verdicts: &[Verdict]) -> Vec<Evidence> {
    const REPLACED: &[MeaningKind] = &[MeaningKind::Rollout, MeaningKind::Upgrade];
    let reason = "the gate InPlaceUpdates is on: an update extension may change machines in place instead; whether one does is not known \
                  offline";
    let replaced = verdicts.iter().filter(|one| REPLACED.contains(&one.meaning.kind()));
    let remark = |part| Evidence::remark(part, Rule::InPlaceUpdates, On::Only(REPLACED)).because(reason);
    replaced.map(|one| remark(one.subject.clone())).collect()
}

/// Marks parts whose rollout is unknown among those that roll together.
pub(in crate::predict) fn not_together(verdicts: &[Verdict]) -> Vec<Evidence> {
    let unknown: BTreeSet<&TopologyPart> =
        verdicts.iter().filter(|one| one.meaning == Meaning::Opaque).map(|one| &one.subject).collect();
    let mut all = Vec::new();
    for verdict in verdicts {
        let Meaning::Rollout { together_with, .. } = &verdict.meaning else { continue };
        let perhaps: Vec<TopologyPart> =
            together_with.iter().filter(|part| unknown.contains(part)).cloned().collect();
        if !perhaps.is_empty() {
            let names: Vec<String> = perhaps.iter().map(TopologyPart::in_words).collect();
            let reason = format!(
                "it is unknown whether machines of {} are replaced at the same time",
                names.join(", ")
            );
            let outcome = RuleOutcome::NotTogether(perhaps);
            all.push(Evidence::new(verdict.subject.clone(), Rule::Together, outcome).because(reason));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_control_plane_has_one_machine_more_or_one_less() {
        let with = |surge: Value| json!({ "spec": { "rollout": { "strategy": { "rollingUpdate": { "maxSurge": surge } } } } });
        let expected = [
            (json!(1), Some((1, 0))),
            (json!("1"), Some((1, 0))),
            (json!(0), Some((0, 1))),
            (json!("0"), Some((0, 1))),
            (json!(2), None),
            (json!("50%"), None),
            (Value::Null, None),
        ];
        for (surge, numbers) in expected {
            assert_eq!(control_plane_surge(&with(surge.clone())), numbers, "{surge}");
        }
    }
}
