//! Changes of health checks: may Cluster API replace machines that it left alone before?
//!
//! A health check names conditions of machines. Only the machines know whether they meet them, so a check that is new, or
//! that reaches further than before, has an unknown effect. If other changes replace all machines of the part anyway, only a
//! check that machines in good health may meet makes the effect unknown.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};

use super::Rule;
use super::remediation_annotations::{ASKED, NO_LONGER_LEFT_ALONE, are_left_alone, ask_for_replacement};
use super::remediation_limits::looser_limits;
use super::remediation_trigger::{acts_at, always, is_never, is_within, resized};
use crate::healthy::{machine_status, node_status, tells_illness};
use crate::predict::change::Change;
use crate::predict::evidence::{Evidence, On, RuleOutcome};
use crate::predict::field::Field;
use crate::predict::meaning::{Meaning, MeaningKind};
use crate::predict::reason::Reason;
use crate::role::{PoolObject, Role, TopologyPart};
use crate::state::Desired;
use k8s_schema::value::{get, leaves, list, merge_patch, present, remove, text};

const SOURCE: &str = "core/reconcilers/machinehealthcheck/machinehealthcheck_targets.go";
/// The value of Cluster API if a check does not say how long a machine may take to get a node.
const STARTUP: i64 = 600;
/// Nodes are not ready for shorter times during restarts, and before the CNI runs.
const ENOUGH: i64 = 300;

/// Evidence about the health check of a part, given what else was found about it.
pub(in crate::predict) fn evidence(
    part: &TopologyPart,
    found: &Meaning,
    before: &Desired,
    change: &Change,
) -> Option<Evidence> {
    let end = change.running.as_ref()?;
    match found {
        Meaning::Create => return of_created(part, end),
        Meaning::Delete => return None,
        _ => {}
    }
    let Some((role, new)) = of(part, end) else { return of_deleted(part, before, end) };
    let old = of(part, before).map(|(_, check)| check);
    let replaced = list_of(new).into_iter().filter(|one| !old.is_some_and(|old| one.is_in(old)));
    let replaced: Vec<Unhealthy<'_>> = replaced.collect();
    let mut loosened = old.map(|old| loosened(old, new, replaced.is_empty())).unwrap_or_default();
    if let (Some(_), Some(before), Some(after)) = (old, before.own(part), end.own(part)) {
        loosened.extend(looser_limits(before, after));
        loosened.extend(resized(part, new, [before, after]).map(str::to_owned));
    }
    if are_left_alone(part, before) && !are_left_alone(part, end) {
        loosened.push(NO_LONGER_LEFT_ALONE.to_owned());
    }
    let are_asked = ask_for_replacement(part, end) && (old.is_none() || !ask_for_replacement(part, before));
    if replaced.is_empty() && loosened.is_empty() && !are_asked {
        let is_left_alone = are_left_alone(part, end) && !are_left_alone(part, before);
        let acted = old.filter(|old| !is_never(old));
        let is_weaker = acted.is_some_and(|old| is_left_alone || get(old, &["spec"]) != get(new, &["spec"]));
        let remark = || Evidence::remark(part.clone(), Rule::HealthCheck, On::ALL);
        return is_weaker.then(|| remark().because(Reason::from(STILL_REPLACED)));
    }
    let is_idle = is_never(new);
    let replaces_all = matches!(found.kind(), MeaningKind::Rollout | MeaningKind::Upgrade);
    let is_of_ill = replaced.iter().all(|one| one.doubt().is_none());
    let evidence = if is_idle || replaces_all && is_of_ill && !are_asked {
        Evidence::remark(part.clone(), Rule::HealthCheck, On::ALL)
    } else {
        let evidence = Evidence::new(part.clone(), Rule::HealthCheck, RuleOutcome::Unsure);
        Evidence { source: Some(SOURCE), ..evidence }
    };
    let whole = Field::Changed { role, path: Vec::new() };
    let fields = if old.is_none() { vec![whole] } else { Vec::new() };
    let reason = if is_idle {
        Reason::from(IDLE)
    } else if are_asked {
        Reason::ReplacesHealthy { machines: ASKED.to_owned() }
    } else {
        reason(old.is_none(), new, &replaced, &loosened).into()
    };
    Some(Evidence { fields, ..evidence.because(reason) })
}

/// Evidence about a part whose health check is deleted, together with a limit on how many machines are replaced at a time.
fn of_deleted(part: &TopologyPart, before: &Desired, end: &Desired) -> Option<Evidence> {
    of(part, before)?;
    let limits = looser_limits(before.own(part)?, end.own(part)?);
    if limits.is_empty() {
        return None;
    }
    let reason = format!(
        "machines that its MachineHealthCheck has marked as unhealthy may be replaced together, because {}; {UNSEEN}",
        limits.join(", ")
    );
    let evidence = Evidence::new(part.clone(), Rule::HealthCheck, RuleOutcome::Unsure);
    Some(Evidence { source: Some(SOURCE), ..evidence }.because(Reason::from(reason)))
}

/// Evidence about a part that is created with a health check that healthy machines meet. What it does to machines that are not
/// in good health is what it is for.
pub(in crate::predict) fn of_created(part: &TopologyPart, state: &Desired) -> Option<Evidence> {
    let (_, check) = of(part, state).filter(|(_, check)| !is_never(check))?;
    let met = list_of(check).into_iter().filter(|one| one.doubt() == Some(Doubt::Healthy));
    let asked = ask_for_replacement(part, state).then(|| ASKED.to_owned());
    let met: Vec<String> = met.map(|one| one.to_string()).chain(asked).collect();
    if met.is_empty() {
        return None;
    }
    let reason = Reason::ReplacesHealthy { machines: met.join(" or ") };
    Some(Evidence::remark(part.clone(), Rule::HealthCheck, On::ALL).because(reason))
}

const STILL_REPLACED: &str =
    "machines that its MachineHealthCheck has marked as unhealthy are still replaced: the mark stays";
const UNSEEN: &str = "it is unknown offline whether there are any now";
const IDLE: &str = "its MachineHealthCheck replaces no machine, because it acts only if none is unhealthy";

/// The health check of a part.
fn of<'a>(part: &TopologyPart, state: &'a Desired) -> Option<(Role, &'a Value)> {
    match part {
        TopologyPart::ControlPlane => Some((Role::ControlPlaneHealthCheck, state.health_check.as_ref()?)),
        TopologyPart::Pool(pool) => {
            let check = state.worker(pool)?.health_check.as_ref()?;
            Some((pool.clone().role(PoolObject::HealthCheck), check))
        }
        TopologyPart::Cluster | TopologyPart::Infrastructure => None,
    }
}

/// A reason for which a health check calls a machine unhealthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unhealthy<'a> {
    /// It has no node after this time.
    Startup(i64),
    /// Its node, or else the machine itself, has had a condition for this time.
    Condition { of_node: bool, name: &'a str, status: &'a str, seconds: i64 },
}

/// The reasons of a check. Upstream also counts machines whose node is gone, whatever a check says.
fn list_of(check: &Value) -> Vec<Unhealthy<'_>> {
    let checks = get(check, &["spec", "checks"]).unwrap_or(&Value::Null);
    let seconds = |value: &Value, field| present(value, &[field]).and_then(Value::as_i64);
    let startup = seconds(checks, "nodeStartupTimeoutSeconds").unwrap_or(STARTUP);
    // Zero turns it off.
    let mut all = Vec::from_iter((startup > 0).then_some(Unhealthy::Startup(startup)));
    for (of_node, field) in [(true, "unhealthyNodeConditions"), (false, "unhealthyMachineConditions")] {
        all.extend(list(checks, &[field]).iter().map(|one| Unhealthy::Condition {
            of_node,
            name: text(one, &["type"]),
            status: text(one, &["status"]),
            seconds: seconds(one, "timeoutSeconds").unwrap_or(0),
        }));
    }
    all
}

impl Unhealthy<'_> {
    /// Whether a check calls at least the same machines unhealthy.
    fn is_in(self, check: &Value) -> bool {
        list_of(check).into_iter().any(|one| match (one, self) {
            (Unhealthy::Startup(one), Self::Startup(own)) => one <= own,
            (
                Unhealthy::Condition { of_node, name, status, seconds },
                Self::Condition { of_node: own_node, name: own_name, status: own_status, seconds: own },
            ) => of_node == own_node && name == own_name && status == own_status && seconds <= own,
            _ => false,
        })
    }

    /// Why machines in good health may meet it; none if only machines that are not in good health do.
    fn doubt(self) -> Option<Doubt> {
        let (of_node, name, status, seconds) = match self {
            Self::Startup(seconds) => return (seconds < ENOUGH).then_some(Doubt::Soon),
            Self::Condition { of_node, name, status, seconds } => (of_node, name, status, seconds),
        };
        let healthy = if of_node { node_status(name) } else { machine_status(name) };
        if healthy == Some(status) {
            return Some(Doubt::Healthy);
        }
        if !tells_illness(of_node, name) {
            return Some(Doubt::Unknown);
        }
        (seconds < ENOUGH).then_some(Doubt::Soon)
    }
}

/// Why machines in good health may meet a health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    /// Healthy machines report what it looks for.
    Healthy,
    /// It is unknown whether they do.
    Unknown,
    /// Machines that start need more time.
    Soon,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Healthy => "healthy machines report that, so it keeps replacing all of them",
            Self::Unknown => "it is unknown whether healthy machines report that",
            Self::Soon => "machines that start or restart take longer, so it may keep replacing them",
        })
    }
}

impl fmt::Display for Unhealthy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Startup(seconds) => write!(f, "without a node after {seconds} s"),
            Self::Condition { of_node, name, status, seconds } => {
                let owner = if *of_node { "whose node reports" } else { "that report" };
                write!(f, "{owner} {name}={status} for {seconds} s")
            }
        }
    }
}

/// Why a check may act where it did not before, if that is not because it calls more machines unhealthy.
fn loosened(old: &Value, new: &Value, calls_no_others: bool) -> Vec<String> {
    let mut found = Vec::new();
    let fewer = calls_no_others && list_of(old).into_iter().any(|one| !one.is_in(new));
    if !always(new) && (fewer || !is_within(new, old)) || always(new) && !always(old) {
        // If fewer machines count as unhealthy, a limit that kept the check from acting may not be exceeded any more.
        let why = if fewer {
            "fewer machines count against its limit"
        } else {
            "spec.remediation.triggerIf changes"
        };
        found.push(why.to_owned());
    }
    let rest = |check: &Value| {
        let mut spec = get(check, &["spec"]).cloned().unwrap_or_default();
        remove(&mut spec, &["checks"]);
        remove(&mut spec, &["remediation", "triggerIf"]);
        if get(&spec, &["remediation"]).is_some_and(|left| *left == json!({})) {
            remove(&mut spec, &["remediation"]);
        }
        spec
    };
    let mut paths = Vec::new();
    leaves(&merge_patch(&rest(old), &rest(new)), &mut vec!["spec".to_owned()], &mut paths);
    found.extend(paths.into_iter().map(|path| format!("{} changes", path.join("."))));
    found
}

fn reason(is_new: bool, check: &Value, replaced: &[Unhealthy<'_>], loosened: &[String]) -> String {
    let kind = text(check, &["spec", "remediation", "templateRef", "kind"]);
    let acts = match kind {
        "" => "from then on it deletes and replaces machines".to_owned(),
        kind => format!("from then on it has a {} repair machines", kind.trim_end_matches("Template")),
    };
    let limit = match acts_at(check) {
        None => String::new(),
        Some((0, most, percent)) => {
            format!(", while at most {most}{} of them are unhealthy", if percent { "%" } else { "" })
        }
        Some((least, most, _)) => format!(", while {least} to {most} of them are unhealthy"),
    };
    if replaced.is_empty() {
        let why = loosened.join(", ");
        return format!(
            "unhealthy machines that were left alone before may be replaced, because {why}; {UNSEEN}"
        );
    }
    let what = if is_new { "is created" } else { "calls more machines unhealthy" };
    let all: Vec<String> = replaced.iter().map(Unhealthy::to_string).collect();
    let doubts: BTreeSet<Doubt> = replaced.iter().filter_map(|one| one.doubt()).collect();
    let doubts: Vec<String> = doubts.iter().map(ToString::to_string).collect();
    let end = if doubts.is_empty() { UNSEEN.to_owned() } else { doubts.join("; ") };
    format!("its MachineHealthCheck {what}: {acts} {}{limit}; {end}", all.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The evidence about a control plane whose health check changes.
    fn of_check(old: &Value, new: &Value, found: &Meaning) -> Option<Evidence> {
        let state = |spec: &Value| {
            let health_check = (!spec.is_null()).then(|| json!({ "spec": spec }));
            Desired { health_check, ..Desired::default() }
        };
        let change = Change { running: Some(state(new)), ..Change::default() };
        evidence(&TopologyPart::ControlPlane, found, &state(old), &change)
    }

    fn is_unknown(old: &Value, new: &Value) -> bool {
        let found = of_check(old, new, &Meaning::InPlace);
        found.is_some_and(|one| one.outcome == RuleOutcome::Unsure)
    }

    fn check(name: &str, status: &str, seconds: i64) -> Value {
        let one = json!({ "type": name, "status": status, "timeoutSeconds": seconds });
        json!({ "checks": { "unhealthyNodeConditions": [one], "nodeStartupTimeoutSeconds": 600 } })
    }

    fn limited(mut check: Value, limit: &Value) -> Value {
        check["remediation"] = json!({ "triggerIf": { "unhealthyLessThanOrEqualTo": limit } });
        check
    }

    #[test]
    fn a_check_that_reaches_further_has_an_unknown_effect() {
        let ready = check("Ready", "False", 300);
        let in_range = json!({ "triggerIf": { "unhealthyInRange": "[1-3]" } });
        let startup = |seconds| json!({ "checks": { "nodeStartupTimeoutSeconds": seconds } });
        for (old, new) in [
            (&Value::Null, &ready),
            (&ready, &check("Ready", "True", 1)),
            (&ready, &check("Ready", "False", 299)),
            (&ready, &check("Ready", "Unknown", 300)),
            (&startup(600), &startup(599)),
            (&startup(0), &startup(600)),
            (&limited(ready.clone(), &json!("40%")), &ready),
            (&limited(ready.clone(), &json!("40%")), &limited(ready.clone(), &json!("41%"))),
            (&limited(ready.clone(), &json!("40%")), &limited(ready.clone(), &json!(1))),
            (
                &limited(ready.clone(), &json!(0)),
                &json!({ "checks": ready["checks"], "remediation": in_range }),
            ),
            (&limited(ready.clone(), &json!("40%")), &limited(check("Ready", "False", 600), &json!("40%"))),
            (
                &ready,
                &json!({ "checks": ready["checks"], "remediation": { "templateRef": { "kind": "A" } } }),
            ),
        ] {
            assert!(is_unknown(old, new), "from {old} to {new}");
        }
    }

    #[test]
    fn a_check_that_reaches_less_far_changes_in_place() {
        let ready = check("Ready", "False", 300);
        for (old, new) in [
            (&ready, &ready),
            (&ready, &Value::Null),
            (&ready, &check("Ready", "False", 600)),
            (&ready, &limited(ready.clone(), &json!("40%"))),
            (&ready, &json!({ "checks": { "nodeStartupTimeoutSeconds": 0 } })),
            (&limited(ready.clone(), &json!("40%")), &limited(ready.clone(), &json!("20%"))),
            (&limited(ready.clone(), &json!("40%")), &limited(ready.clone(), &json!("0%"))),
            (&limited(ready.clone(), &json!("100%")), &ready),
        ] {
            let found = of_check(old, new, &Meaning::InPlace);
            let is_remark = |one: &Evidence| matches!(one.outcome, RuleOutcome::Remark(_));
            assert!(found.as_ref().is_none_or(is_remark), "from {old} to {new}");
            let is_weaker = old != new && !new.is_null();
            assert_eq!(
                found.map(|one| one.reasons),
                is_weaker.then(|| vec![Reason::from(STILL_REPLACED)]),
                "{new}"
            );
        }
    }

    #[test]
    fn a_check_that_is_deleted_with_its_limits_has_an_unknown_effect() {
        let own = |remediation: Value| json!({ "spec": { "remediation": remediation } });
        let state = |own: Value, check: Option<Value>| Desired {
            control_plane: own.into(),
            health_check: check,
            ..Desired::default()
        };
        let check = json!({ "spec": check("Ready", "False", 300) });
        for (old, new, expected) in [
            (json!({ "retryPeriodSeconds": 60 }), json!({}), true),
            (json!({ "retryPeriodSeconds": 60 }), json!({ "retryPeriodSeconds": 60 }), false),
            (json!({}), json!({}), false),
        ] {
            let (before, end) = (state(own(old), Some(check.clone())), state(own(new.clone()), None));
            let change = Change { running: Some(end), ..Change::default() };
            let found = evidence(&TopologyPart::ControlPlane, &Meaning::InPlace, &before, &change);
            assert_eq!(found.is_some_and(|one| one.outcome == RuleOutcome::Unsure), expected, "{new}");
        }
    }

    #[test]
    fn a_check_that_never_acts_is_said_to_be_idle() {
        let idle = limited(check("Ready", "True", 1), &json!(0));
        let found = of_check(&Value::Null, &idle, &Meaning::InPlace).unwrap();
        assert!(matches!(found.outcome, RuleOutcome::Remark(_)) && found.reasons == [Reason::from(IDLE)]);
    }

    #[test]
    fn where_all_machines_are_replaced_only_a_check_that_healthy_machines_meet_is_unknown() {
        let rollout = Meaning::Rollout {
            machines: 3,
            least: 3,
            surge: None,
            together_with: Vec::new(),
            on_delete: false,
        };
        for (name, status, seconds, expected) in [
            ("Ready", "False", 300, false),
            ("DiskPressure", "True", 300, false),
            ("Ready", "False", 60, true),
            ("Ready", "True", 3600, true),
            ("DiskPressure", "False", 300, true),
            ("KernelDeadlock", "True", 300, true),
        ] {
            let found = of_check(&Value::Null, &check(name, status, seconds), &rollout).unwrap();
            assert_eq!(found.outcome == RuleOutcome::Unsure, expected, "{name}={status} {seconds}");
        }
    }

    #[test]
    fn a_new_part_with_a_check_that_healthy_machines_meet_says_so() {
        let of_machines = |name: &str, status: &str| {
            let one = json!({ "type": name, "status": status, "timeoutSeconds": 600 });
            json!({ "checks": { "unhealthyMachineConditions": [one] } })
        };
        for (check, expected) in [
            (check("Ready", "True", 3600), true),
            (check("MemoryPressure", "False", 3600), true),
            (of_machines("NodeHealthy", "True"), true),
            (of_machines("Deleting", "False"), true),
            (of_machines("NodeHealthy", "False"), false),
            (check("Ready", "False", 300), false),
            (check("Ready", "Unknown", 1), false),
            (check("KernelDeadlock", "True", 300), false),
            (limited(check("Ready", "True", 1), &json!(0)), false),
        ] {
            let found = of_check(&Value::Null, &check, &Meaning::Create);
            let says = |one: &Evidence| matches!(one.reasons[..], [Reason::ReplacesHealthy { .. }]);
            assert_eq!(found.is_some_and(|one| says(&one)), expected, "{check}");
        }
    }
}
