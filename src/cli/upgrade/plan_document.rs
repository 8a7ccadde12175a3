//! Plans as documents for programs; docs/output.md describes them.

use serde_json::{Value as Json, json};

use super::{
    group::{Reason, RolloutShown, Shown, State, StepShown},
    plan::Planning,
    plan_text::waits,
};
use crate::{
    cli::cluster::ClusterName,
    model::AddonVersion,
    report::Machines,
    upgrade::{DescribedChange, StepDescription},
};

pub(super) fn document(outcome: &Planning, asked: &Json) -> Json {
    json!({
        "target": asked,
        "groups": outcome.groups.iter().map(group).collect::<Vec<_>>(),
        "leftOut": outcome.left.document(),
    })
}

fn group(group: &Shown) -> Json {
    let (steps, constraints, reason) = match &group.state {
        State::Plan(steps) => (of_steps(steps), json!([]), Json::Null),
        State::Blocked(reasons) => (json!([]), reasons.iter().map(constraint).collect(), Json::Null),
        State::Failed(why) | State::Held(why) => (json!([]), json!([]), json!(why)),
        State::Done | State::Ahead | State::Leaving => (json!([]), json!([]), Json::Null),
    };
    json!({
        "clusters": ClusterName::all(&group.clusters),
        "suspended": group.suspended,
        "state": group.state.as_str(),
        "release": group.from.as_ref().map(|(name, _)| name),
        "kubernetes": group.from.as_ref().map(|(_, version)| version),
        "steps": steps,
        "constraints": constraints,
        "reason": reason,
    })
}

fn of_steps(steps: &[StepShown]) -> Json {
    let one = |(at, own): (usize, &StepShown)| {
        let mut document = step(own);
        document["number"] = json!(at + 1);
        document["waitsFor"] = match at.checked_sub(1) {
            Some(before) => json!({ "step": at, "until": waits(&steps[before]) }),
            None => Json::Null,
        };
        document
    };
    steps.iter().enumerate().map(one).collect()
}

fn step(step: &StepShown) -> Json {
    let StepDescription { change, keeps, follows, arrives, leaves, pins, untested } = &step.description;
    let change = match change {
        DescribedChange::Release { before, after, kubernetes_before, kubernetes_after } => json!({
            "kind": "release",
            "before": before,
            "after": after,
            "kubernetes": { "before": kubernetes_before, "after": kubernetes_after },
        }),
        DescribedChange::Addon { addon, before, after } => json!({
            "kind": "addon",
            "addon": addon,
            "before": before.to_string(),
            "after": after.to_string(),
        }),
    };
    let pair = |first: &'static str, second: &'static str| {
        move |(name, one, other): &(String, AddonVersion, AddonVersion)| json!({ "addon": name, first: one.to_string(), second: other.to_string() })
    };
    let arrives = arrives.iter().map(|(name, one)| json!({ "addon": name, "version": one.to_string() }));
    let pins = pins
        .iter()
        .map(|(name, pin)| json!({ "addon": name, "version": pin.as_ref().map(ToString::to_string) }));
    json!({
        "change": change,
        "reason": step.reason,
        "keeps": keeps.iter().map(pair("version", "released")).collect::<Vec<_>>(),
        "follows": follows.iter().map(pair("before", "after")).collect::<Vec<_>>(),
        "arrives": arrives.collect::<Vec<_>>(),
        "leaves": leaves,
        "pins": pins.collect::<Vec<_>>(),
        "untested": untested,
        "machines": step.is_forecast.then(|| machines(step.machines())),
        "rollouts": step.is_forecast.then(|| step.rollouts.iter().map(rollout).collect::<Vec<_>>()),
    })
}

fn rollout(one: &RolloutShown) -> Json {
    json!({
        "clusters": ClusterName::all(&one.clusters),
        "means": one.means,
        "machines": machines(one.machines),
        "refused": one.refused,
        "unknown": one.is_unknown,
        "leavesPools": one.leaves_pools,
        "needsSomeone": one.needs_someone,
    })
}

/// The form is the same as in the report of `diff`.
fn machines(machines: Machines) -> Json {
    let Machines { least, most, more } = machines;
    json!({ "least": least, "most": (!more).then_some(most) })
}

fn constraint(reason: &Reason) -> Json {
    let place = reason.file.as_ref();
    json!({
        "kind": reason.kind,
        "text": reason.text,
        "place": place.map(|(file, line, column)| json!({ "file": file, "line": line, "column": column })),
        "lift": reason.lift,
        "isEnough": reason.is_enough,
    })
}
