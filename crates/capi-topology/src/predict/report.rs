//! Predictions as machine-readable data, and in words.
//!
//! ```
//! use capi_topology::{Settings, Side, import::ClassFiles, predict::forecast};
//! use capi_topology::predict::report::{Fields, document, lines};
//! use serde_json::json;
//!
//! let cluster = |replicas: i64| json!({
//!     "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
//!     "metadata": { "name": "dev-1", "namespace": "default" },
//!     "spec": { "topology": {
//!         "classRef": { "name": "small" }, "version": "v1.35.0", "controlPlane": { "replicas": replicas },
//!     } },
//! });
//! let side = |replicas| Side::new(cluster(replicas), ClassFiles::absent("ClusterClass/small".to_owned()));
//! let settings = Settings::new("1.14").expect("a version");
//! let forecast = forecast::of_change(&side(1), &side(3), &settings).expect("the state before is accepted");
//!
//! // Without its class, the result is unknown, and so is every verdict.
//! assert!(lines(&forecast, Fields::All)[0].contains("not known"));
//! assert_eq!(document(&forecast)["verdicts"][0]["verdict"], "opaque");
//! ```

use serde_json::{Map, Value, json};

use super::change::Change;
use super::forecast::Forecast;
use super::meaning::Meaning;
use super::rules::machine_rollouts::Basis;
use super::steps::UpgradeStep;
use super::verdict::Verdict;
use crate::refusal::Refusal;
use crate::role::{Pool, PoolKind, TopologyPart};
use crate::upgrade::tracker::concurrency;

impl Meaning {
    /// The word used in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NoChange => "no-change",
            Self::MetadataOnly => "metadata-only",
            Self::InPlace => "in-place",
            Self::Scale { .. } => "scale",
            Self::Rollout { .. } => "rollout",
            Self::Upgrade { .. } => "upgrade",
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Rejected => "rejected",
            Self::Wedged => "wedged",
            Self::ProviderDependent => "provider-dependent",
            Self::Opaque => "opaque",
        }
    }

    /// Describes the meaning in words.
    pub fn words(&self) -> String {
        match self {
            Self::NoChange => "no change".to_owned(),
            Self::MetadataOnly => "labels and annotations only; no machine is touched".to_owned(),
            Self::InPlace => "changes in place; no machine is replaced".to_owned(),
            Self::Scale { from, to } => format!("scale from {from} to {to}"),
            Self::Rollout { on_delete: true, .. } => {
                "rollout: each machine is replaced when it is deleted, and not before".to_owned()
            }
            Self::Rollout { machines, least, surge, together_with, .. } => {
                rollout((*least, *machines), *surge, together_with)
            }
            Self::Upgrade { from, to, times, unaided, on_delete, .. } => {
                upgrade(from, to, [*times, *unaided], *on_delete)
            }
            Self::Create => "created".to_owned(),
            Self::Delete => "deleted with its machines".to_owned(),
            Self::Rejected => "rejected: nothing happens".to_owned(),
            Self::Wedged => "stuck: the change is accepted, and the controller cannot finish it".to_owned(),
            Self::ProviderDependent => "not known: the infrastructure provider decides".to_owned(),
            Self::Opaque => "not known: it cannot be computed offline".to_owned(),
        }
    }
}

/// Maximum number of fields listed for one part; a rebase may touch hundreds.
const FIELDS: usize = 8;

/// Maximum number of parts listed as rolling at the same time; otherwise, each of hundreds would list all others.
const TOGETHER: usize = 12;

/// The fields that are listed for a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fields<'a> {
    /// Every field.
    All,
    /// Only the first ones. If there are more, this text says how to see them.
    First(&'a str),
}

/// Formats the verdicts, upgrade steps and notes line by line.
pub fn lines(forecast: &Forecast, fields: Fields<'_>) -> Vec<String> {
    let width = forecast.verdicts.iter().map(|one| one.subject.in_words().chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for verdict in &forecast.verdicts {
        lines.push(format!("{:width$}  {}", verdict.subject.in_words(), verdict.meaning.words()));
        if verdict.meaning == Meaning::NoChange && verdict.reasons.is_empty() {
            continue;
        }
        match fields {
            Fields::First(more) if verdict.fields.len() > FIELDS => {
                lines.extend(verdict.fields.iter().take(FIELDS).map(|field| format!("    field   {field}")));
                lines.push(format!("    field   … and {} more ({more})", verdict.fields.len() - FIELDS));
            }
            _ => lines.extend(verdict.fields.iter().map(|field| format!("    field   {field}"))),
        }
        lines.extend(verdict.reasons.iter().map(|reason| format!("    reason  {reason}")));
        if !verdict.source.is_empty() {
            lines.push(format!("    rule    {}", verdict.source));
        }
    }
    if let Some(change) =
        forecast.change.as_ref().filter(|change| change.plan.is_some() && !change.steps.is_empty())
    {
        lines.push(match change.running.as_ref().map_or(1, |state| concurrency(&state.cluster)) {
            1 => "steps of the upgrade, each when the one before is done:".to_owned(),
            _ => {
                "steps of the upgrade, in this order; a pool need not wait for all pools of the step before:"
                    .to_owned()
            }
        });
        lines.extend(
            change
                .steps
                .iter()
                .map(step_in_words)
                .enumerate()
                .map(|(at, step)| format!("    {}. {step}", at + 1)),
        );
    }
    let notes = forecast.notes.iter().chain(&forecast.conditions);
    lines.extend(notes.map(|note| format!("note: {note}")));
    lines
}

fn upgrade(from: &str, to: &str, [times, unaided]: [usize; 2], on_delete: bool) -> String {
    let how = if on_delete {
        "each machine is replaced when it is deleted, and not before"
    } else {
        "all machines are replaced"
    };
    let more = match times {
        0 | 1 => String::new(),
        several => format!(", {several} times: once for each version that it gets"),
    };
    let waits = match unaided {
        _ if on_delete || unaided >= times => "",
        0 => ", but only after what it waits for is done",
        1 => ", but only the first time before what it waits for is done",
        _ => ", but not all of them before what it waits for is done",
    };
    format!("upgrade from {from} to {to}: {how}{more}{waits}")
}

fn rollout(machines: (i64, i64), surge: Option<(i64, i64)>, together: &[TopologyPart]) -> String {
    let mut words = match machines {
        (_, 0) => "rollout: there is no machine to replace yet".to_owned(),
        (0, 1) => "rollout: 1 machine is replaced, or none".to_owned(),
        (1, 1) => "rollout: 1 machine is replaced".to_owned(),
        (0, most) => format!("rollout: up to {most} machines are replaced"),
        (least, most) if least == most => format!("rollout: {most} machines are replaced"),
        (least, most) if least.saturating_add(1) == most => {
            format!("rollout: {least} or {most} machines are replaced")
        }
        (least, most) => format!("rollout: between {least} and {most} machines are replaced"),
    };
    if let Some((more, less)) = surge {
        words = format!("{words}, {more} more and {less} fewer at a time");
    }
    if !together.is_empty() {
        let mut names: Vec<_> = together.iter().take(TOGETHER).map(TopologyPart::in_words).collect();
        if together.len() > TOGETHER {
            names.push(format!("{} more", together.len() - TOGETHER));
        }
        words = format!("{words}, at the same time as {}", names.join(", "));
    }
    words
}

/// Formats a step of an upgrade in one line.
pub fn step_in_words(step: &UpgradeStep) -> String {
    let mut words = format!("control plane {}", step.control_plane);
    for (pool, version) in &step.pools {
        // The kind is shown if a pool of the other kind has the same name.
        let is_alone = |other: &Pool| other.name != pool.name || other.kind == pool.kind;
        let is_told_apart = step.pools.keys().all(is_alone);
        let name =
            if is_told_apart { pool.name.clone() } else { TopologyPart::Pool(pool.clone()).in_words() };
        words.extend([", ", &name, " ", version]);
    }
    words
}

/// Converts a forecast to one document.
pub fn document(forecast: &Forecast) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("faults".to_owned(), forecast.faults.iter().map(fault).collect());
    out.insert("verdicts".to_owned(), forecast.verdicts.iter().map(verdict).collect());
    let opaque =
        forecast.opaque.iter().map(|one| json!({ "object": one.role.to_string(), "reason": one.reason }));
    out.insert("opaque".to_owned(), opaque.collect());
    let notes: Vec<&String> = forecast.notes.iter().chain(&forecast.conditions).collect();
    out.insert("notes".to_owned(), json!(notes));
    if let Some(change) = &forecast.change {
        out.insert("steps".to_owned(), change.steps.iter().map(step).collect());
        out.insert("changes".to_owned(), changes(change));
    }
    if let Some(desired) = &forecast.desired {
        let objects = desired.objects().into_iter().map(|(role, object)| (role.to_string(), object.clone()));
        out.insert("objects".to_owned(), Value::Object(objects.collect()));
    }
    out
}

/// A refusal as the API reports it.
fn fault(fault: &Refusal) -> Value {
    json!({
        "stage": fault.stage.as_str(),
        "by": fault.by.as_str(),
        "object": fault.object,
        "field": fault.error.field,
        "type": fault.error.kind.as_str(),
        "detail": fault.error.detail,
    })
}

fn verdict(verdict: &Verdict) -> Value {
    let mut out = json!({
        "subject": verdict.subject.to_string(),
        "verdict": verdict.meaning.as_str(),
        "fields": texts(&verdict.fields),
        "reasons": verdict.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "source": verdict.source,
    });
    match &verdict.meaning {
        Meaning::Scale { from, to } => {
            out["from"] = json!(from);
            out["to"] = json!(to);
        }
        Meaning::Upgrade { from, to, times, unaided, surge, on_delete } => {
            at_a_time(&mut out, *surge);
            if *on_delete {
                out["onDelete"] = json!(true);
            }
            if *times > 1 {
                out["times"] = json!(times);
            }
            if !*on_delete && unaided < times {
                out["timesUnaided"] = json!(unaided);
            }
            out["from"] = json!(from);
            out["to"] = json!(to);
        }
        Meaning::Rollout { machines, least, surge, together_with, on_delete } => {
            if *on_delete {
                out["onDelete"] = json!(true);
            }
            out["machines"] = json!(machines);
            if least != machines {
                out["machinesAtLeast"] = json!(least);
            }
            out["togetherWith"] = texts(together_with);
            at_a_time(&mut out, *surge);
        }
        _ => {}
    }
    out
}

fn at_a_time(out: &mut Value, surge: Option<(i64, i64)>) {
    if let Some((surge, unavailable)) = surge {
        out["maxSurge"] = json!(surge);
        out["maxUnavailable"] = json!(unavailable);
    }
}

fn texts<T: ToString>(all: impl IntoIterator<Item = T>) -> Value {
    all.into_iter().map(|one| one.to_string()).collect()
}

fn step(step: &UpgradeStep) -> Value {
    let versions = |kind| {
        step.pools_of(kind).map(|(name, version)| (name.clone(), json!(version))).collect::<Map<_, _>>()
    };
    json!({
        "controlPlane": step.control_plane,
        "machineDeployments": versions(PoolKind::MachineDeployment),
        "machinePools": versions(PoolKind::MachinePool),
        "rotated": texts(&step.rotated),
    })
}

fn changes(change: &Change) -> Value {
    let object = |one: &super::change::ObjectChange| {
        let mut out = json!({
            "object": one.role.to_string(),
            "kind": one.kind,
            "change": one.effect.as_str(),
            "basis": match one.basis { Basis::Upstream => "upstream", Basis::Derived => "derived" },
        });
        if let Some(patch) = &one.patch {
            out["patch"] = patch.clone();
        }
        out
    };
    change.objects.iter().map(object).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn pools_of_both_kinds_with_one_name_are_distinguished() {
        let version = "v1.36.0".to_owned();
        let kinds = [
            (PoolKind::MachineDeployment, "a"),
            (PoolKind::MachineDeployment, "b"),
            (PoolKind::MachinePool, "b"),
        ];
        let pools = kinds.map(|(kind, name)| (Pool::new(kind, name), version.clone())).into();
        let step = UpgradeStep { control_plane: version, pools, rotated: BTreeSet::new() };
        let words = "control plane v1.36.0, a v1.36.0, pool b v1.36.0, machine pool b v1.36.0";
        assert_eq!(step_in_words(&step), words);
    }

    #[test]
    fn of_hundreds_of_pools_each_names_a_few() {
        let pool = |number: i32| TopologyPart::pool(PoolKind::MachineDeployment, &format!("p{number}"));
        let pools: Vec<TopologyPart> = (0..400).map(pool).collect();
        let words = rollout((2, 2), None, &pools);
        assert!(words.ends_with("pool p10, pool p11, 388 more"), "{words}");
        assert!(rollout((2, 2), None, &pools[..12]).ends_with("pool p10, pool p11"));
    }
}
