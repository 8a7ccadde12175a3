//! Formats plans for people, in lines of 80 columns.

use super::{
    group::{Reason, RolloutShown, Shown, State, StepShown},
    plan::Planning,
};
use crate::{
    cli::printer::counted,
    model::ClusterId,
    report::Machines,
    upgrade::{DescribedChange, StepDescription},
};

/// The maximum width of a line; longer words exceed it.
const WIDTH: usize = 80;

/// The number of clusters of a group that are named by default.
const NAMED: usize = 6;

/// Formats the groups, with all steps, and a summary.
pub(super) fn lines(outcome: &Planning, all: bool) -> Vec<String> {
    shown(outcome, usize::MAX, all)
}

/// Formats the groups, with only the next step of each plan.
pub(super) fn next(outcome: &Planning, all: bool) -> Vec<String> {
    shown(outcome, 1, all)
}

/// Formats the groups, with up to `steps` steps of each plan.
fn shown(outcome: &Planning, steps: usize, all: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for group in &outcome.groups {
        let is_long =
            matches!(group.state, State::Blocked(_) | State::Failed(_) | State::Held(_) | State::Plan(_));
        if is_long || all {
            lines.extend(of_group(group, steps, all));
            lines.push(String::new());
        }
    }
    lines.extend(wrapped("", "  ", &summary(outcome)));
    lines
}

pub(super) fn summary(Planning { groups, left, .. }: &Planning) -> String {
    let count = |is_meant: &dyn Fn(&State) -> bool| -> usize {
        groups.iter().filter(|group| is_meant(&group.state)).map(|group| group.clusters.len()).sum()
    };
    let total = count(&|_| true);
    if total == 0 {
        let skipped = "no cluster is left to plan: definitions or stacks with errors were skipped";
        return if left.is_empty() { "no cluster matches" } else { skipped }.to_owned();
    }
    let kinds = [
        (count(&|state| matches!(state, State::Plan(_))), "to upgrade"),
        (count(&|state| matches!(state, State::Blocked(_) | State::Failed(_))), "without a plan"),
        (count(&|state| *state == State::Done), "already there"),
        (count(&|state| *state == State::Ahead), "at a later Kubernetes minor"),
        (count(&|state| matches!(state, State::Held(_))), "held"),
        (count(&|state| *state == State::Leaving), "being removed"),
    ];
    let states =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}"));
    format!("{}: {}", counted(total, "cluster"), states.collect::<Vec<_>>().join(", "))
}

fn of_group(group: &Shown, shown: usize, all: bool) -> Vec<String> {
    let clusters = counted(group.clusters.len(), "cluster");
    let from = group.from.as_ref().map(|(name, version)| format!(" on {name} (Kubernetes {version})"));
    let from = from.unwrap_or_default();
    let what = match &group.state {
        State::Blocked(_) => "no plan".to_owned(),
        State::Failed(_) => "not planned".to_owned(),
        State::Plan(steps) if steps.len() > shown => {
            format!("step {shown} of {}", steps.len())
        }
        State::Plan(steps) => counted(steps.len(), "step"),
        State::Held(_) => "held".to_owned(),
        State::Done => "nothing to do".to_owned(),
        State::Ahead => "a later Kubernetes minor already".to_owned(),
        State::Leaving => "being removed".to_owned(),
    };
    let mut lines = wrapped("", "  ", &format!("{clusters}{from}: {what}"));
    lines.extend(wrapped("  ", "  ", &named(&group.clusters, all)));
    if group.suspended > 0 {
        let suspended =
            format!("{} suspended: nothing happens there until `suspend` is removed", group.suspended);
        lines.extend(wrapped("  ", "  ", &suspended));
    }
    lines.push(String::new());
    match &group.state {
        State::Plan(steps) => {
            for (at, step) in steps.iter().enumerate().take(shown) {
                let before = at.checked_sub(1).map(|before| &steps[before]);
                let active = group.clusters.len() - group.suspended;
                lines.extend(of_step(at + 1, step, before, active, all));
            }
        }
        State::Blocked(reasons) => lines.extend(blocked(reasons)),
        State::Failed(why) | State::Held(why) => lines.extend(wrapped("  ", "  ", why)),
        State::Done | State::Ahead | State::Leaving => drop(lines.pop()),
    }
    lines
}

fn named(clusters: &[ClusterId], all: bool) -> String {
    let shown = if all || clusters.len() <= NAMED + 1 { clusters.len() } else { NAMED };
    let mut names: Vec<String> = clusters.iter().take(shown).map(ToString::to_string).collect();
    if clusters.len() > shown {
        names.push(format!("and {} more (--verbose lists all)", clusters.len() - shown));
    }
    names.join(", ")
}

fn of_step(
    number: usize,
    step: &StepShown,
    before: Option<&StepShown>,
    count: usize,
    all: bool,
) -> Vec<String> {
    let mut lines = wrapped(&format!("{number:>3}. "), "     ", &title(&step.description.change));
    let mut row = |word: &str, text: String| {
        lines.extend(wrapped(&format!("     {word:<9}"), &" ".repeat(14), &text));
    };
    row("why", step.reason.clone());
    for (word, text) in addons(&step.description) {
        row(word, text);
    }
    for one in &step.rollouts {
        row("rollout", rollout(one, count, all));
    }
    if step.rollouts.is_empty() {
        row("rollout", "none while `suspend` is set".to_owned());
    }
    if let Some(before) = before {
        row("after", format!("step {}: {}", number - 1, waits(before)));
    }
    lines
}

/// The effects of a step on addons other than its own, each with a word for its kind.
pub(super) fn addons(step: &StepDescription) -> Vec<(&'static str, String)> {
    let StepDescription { change: _, keeps, follows, arrives, leaves, pins, untested } = step;
    let mut found: Vec<(&'static str, Vec<String>)> = Vec::new();
    let kept = |(name, version, own): &(String, _, _)| {
        let is_new = pins.iter().any(|(pinned, _)| pinned == name);
        let pinned = if is_new { "" } else { ", pinned as before" };
        format!("{name} {version}{pinned} (the release has {own})")
    };
    found.push(("keeps", keeps.iter().map(kept).collect()));
    let follower = |(name, old, new): &(String, _, _)| format!("{name} {old} to {new}");
    found.push(("with it", follows.iter().map(follower).collect()));
    found.push(("new", arrives.iter().map(|(name, version)| format!("{name} {version}")).collect()));
    found.push(("gone", leaves.clone()));
    let mut found: Vec<_> = found.into_iter().map(|(word, names)| (word, names.join(", "))).collect();
    let unpinned: Vec<_> =
        pins.iter().filter(|(_, pin)| pin.is_none()).map(|(name, _)| name.as_str()).collect();
    if !unpinned.is_empty() {
        let names = unpinned.join(", ");
        found.push(("unpins", format!("{names}: the version of the release from here on")));
    }
    found.extend(untested.iter().map(|doubt| ("untested", doubt.clone())));
    found.retain(|(_, text)| !text.is_empty());
    found
}

/// Describes a step in one line.
pub(super) fn title(change: &DescribedChange) -> String {
    match change {
        DescribedChange::Release { after, kubernetes_before, kubernetes_after, .. } => {
            let versions = if kubernetes_before == kubernetes_after {
                format!("Kubernetes {kubernetes_after} as before")
            } else {
                format!("Kubernetes {kubernetes_before} to {kubernetes_after}")
            };
            format!("release {after} ({versions})")
        }
        DescribedChange::Addon { addon, before, after } if before.is_same(after) => {
            format!("addon {addon} {after} from its own release again")
        }
        DescribedChange::Addon { addon, before, after } => format!("addon {addon} {before} to {after}"),
    }
}

/// The condition for the next step.
pub(super) fn waits(step: &StepShown) -> String {
    match &step.description.change {
        DescribedChange::Addon { addon, after, .. } => format!("{addon} {after} is ready"),
        DescribedChange::Release { .. } if !step.is_forecast => {
            "the release is rolled out, and all addons are ready".to_owned()
        }
        DescribedChange::Release { kubernetes_before, kubernetes_after, .. }
            if step.machines() == Machines::default() && kubernetes_before == kubernetes_after =>
        {
            "the release is applied, and all addons are ready".to_owned()
        }
        DescribedChange::Release { .. } if step.leaves_pools() => {
            "all machines but those of pools that are held back are replaced, and all addons are ready"
                .to_owned()
        }
        DescribedChange::Release { .. } if step.needs_someone() => {
            "all machines are replaced, also those that wait for someone to act, and all addons are ready"
                .to_owned()
        }
        DescribedChange::Release { .. } => "all machines are replaced, and all addons are ready".to_owned(),
    }
}

pub(super) fn rollout(one: &RolloutShown, count: usize, all: bool) -> String {
    let machines = machines(one.machines);
    let text = match (&one.refused, machines) {
        (Some(why), _) => format!("REFUSED: {why}"),
        (None, Some(machines)) => format!("{machines}: {}", one.means),
        (None, None) => one.means.clone(),
    };
    if one.clusters.len() == count {
        return text;
    }
    format!("{text}; {}: {}", counted(one.clusters.len(), "cluster"), named(&one.clusters, all))
}

/// The number of replaced machines; None if none is replaced.
fn machines(machines: Machines) -> Option<String> {
    let Machines { least, most, more } = machines;
    if most == 0 && !more {
        return None;
    }
    let number = match (least, more) {
        (0, true) => return Some("the machines of parts without a fixed size".to_owned()),
        (_, true) => format!("at least {}", counted_machines(least)),
        _ if least == most => counted_machines(most),
        _ => format!("{least} to {}", counted_machines(most)),
    };
    Some(if more { format!("{number}, since some parts have no fixed size") } else { number })
}

fn counted_machines(count: i64) -> String {
    format!("{count} {}", if count == 1 { "machine" } else { "machines" })
}

fn blocked(reasons: &[Reason]) -> Vec<String> {
    let mut lines = wrapped(
        "  ",
        "  ",
        match reasons.len() {
            1 => "What rules it out:",
            _ => "What rules it out, together; no fewer constraints would:",
        },
    );
    for reason in reasons {
        lines.extend(wrapped("  - ", "    ", &reason.text));
        if let Some((file, line, column)) = &reason.file {
            lines.push(format!("      {file}:{line}:{column}"));
        }
        let enough = if reason.is_enough == Some(false) { " (other constraints would remain)" } else { "" };
        lines.extend(wrapped("      lift: ", "            ", &format!("{}{enough}", reason.lift)));
    }
    lines
}

/// Wraps words into lines; a word longer than a line gets a line of its own.
fn wrapped(first: &str, later: &str, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in words(text) {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::replace(&mut line, later.to_owned()));
            is_empty = true;
        }
        line.push_str(if is_empty { "" } else { " " });
        line.push_str(&word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

/// Splits a text into words. A command in backticks counts as one word, so that it can be copied.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_inside = false;
    for word in text.split_whitespace() {
        match words.last_mut().filter(|_| is_inside) {
            Some(last) => last.extend([" ", word]),
            None => words.push(word.to_owned()),
        }
        is_inside ^= word.matches('`').count() % 2 == 1;
    }
    words
}
