//! Writes the text of a request: the report, the plan, what to wait for, how to revert.

use std::{collections::BTreeSet, fmt::Write as _};

use sha2::{Digest as _, Sha256};

use super::decide::{Request, RequestState, STEP};
use crate::model::{ForgeKind, hex};

/// A step of a plan, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedStep {
    /// Its change.
    pub title: String,
    /// Why the plan takes it.
    pub reason: String,
    /// The effects on other addons, each with a word for its kind.
    pub addons: Vec<(&'static str, String)>,
    /// The effects on machines, and on how many clusters each.
    pub rollouts: Vec<String>,
    /// The condition for the next step.
    pub until: String,
    /// Whether it moves a cluster to a newer Kubernetes version.
    pub upgrades_kubernetes: bool,
}

/// The plan for clusters that take the same steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOf {
    pub clusters: Vec<String>,
    /// Their release and Kubernetes version; none if unknown.
    pub from: Option<String>,
    /// The steps, or the reasons why there are none.
    pub plan: ProposedPlan,
}

/// The steps, or the reasons why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposedPlan {
    /// The steps. The first is the one being proposed.
    Steps(Vec<ProposedStep>),
    /// The request leaves these clusters out, for these reasons.
    LeftOut(Vec<String>),
}

/// The limits of a forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The forge, which decides how the text refers to requests.
    pub kind: ForgeKind,
    /// The maximum length of a text, in bytes.
    pub body: usize,
}

/// The title and text of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestText {
    /// The title, in one line.
    pub title: String,
    /// The text below it, in Markdown.
    pub body: String,
    /// Identifies the step.
    pub step: String,
}

/// Marks the plan within the text of a request.
const PLAN: &str = "<!-- stackloom-plan -->";
/// Precedes a step that is not taken yet.
const OPEN: &str = "- [ ] ";
/// Precedes the step of this request.
const THIS: &str = "**This request:** ";
/// Precedes the number of a step of a later request.
const LATER: &str = "Step ";
/// Precedes a step of an earlier request.
const DONE: &str = "- [x] ";
/// The maximum number of clusters of a group that are named.
const NAMED: usize = 12;
/// The report is not cut below this number of bytes.
const LEAST_REPORT: usize = 2_000;

/// The rollout that a step belongs to.
#[derive(Clone, Copy, Debug)]
pub struct RolloutOf<'a> {
    pub name: &'a str,
    /// The wave; none if the change only ends the rollout.
    pub wave: Option<&'a str>,
    /// Why the clusters are upgraded, from the rollout's file.
    pub reason: &'a str,
}

/// Writes the title and the text. `report` renders the step's report within a number of bytes. `command` proposes the next
/// step, of `rollout` if it belongs to one.
pub fn text(
    title: &str,
    plans: &[PlanOf],
    earlier: &[Request],
    command: &str,
    rollout: Option<RolloutOf<'_>>,
    limits: Limits,
    report: impl Fn(usize) -> String,
) -> RequestText {
    let step = step(plans);
    let plan = if plans.is_empty() {
        String::new()
    } else {
        format!("### The plan\n\n{PLAN}\n\n{}{PLAN}\n\n", plan(plans, &done(earlier, limits.kind)))
    };
    let plan = rollout.map(intro).unwrap_or_default() + &plan;
    let rollout = rollout.map(|of| of.name);
    let rest = format!("\n{}\n{STEP}{step} -->\n", what_to_do(plans, command, rollout));
    let room = limits.body.saturating_sub(plan.len() + rest.len()).max(LEAST_REPORT);
    let body = format!("{plan}{}{rest}", report(room));
    RequestText { title: title.to_owned(), body, step }
}

/// Says what the request is within its rollout.
fn intro(of: RolloutOf<'_>) -> String {
    let (name, reason) = (prose(of.name), prose(of.reason));
    match of.wave {
        Some(wave) => format!("Rollout {name}, wave {}: {reason}\n\n", prose(wave)),
        None => format!(
            "Rollout {name}: {reason}\n\nAll its clusters have reached the target. This request ends the rollout: it records that it is done, \
             and removes what it wrote into definitions where the defaults of the folder say the same. The clusters then take part in \
             `stackloom upgrade next` and other rollouts again.\n\n"
        ),
    }
}

/// Identifies the first steps of plans.
fn step(plans: &[PlanOf]) -> String {
    let mut hasher = Sha256::new();
    for one in plans {
        if let ProposedPlan::Steps(steps) = &one.plan
            && let Some(first) = steps.first()
        {
            hasher.update(format!("{}\n{}\n\n", first.title, one.clusters.join("\n")));
        }
    }
    hex(&hasher.finalize()[..8])
}

/// The steps taken by earlier requests, if the newest of them left steps to take. What a person ticked does not count.
fn done(earlier: &[Request], kind: ForgeKind) -> Vec<String> {
    let Some(last) = earlier.iter().find(|one| one.state == RequestState::Merged) else { return Vec::new() };
    let plan = last.body.split(PLAN).nth(1).unwrap_or_default();
    let step = |line: &'_ str| {
        let line = line.trim_end();
        ["- [ ] ", "- [x] ", "- [X] "].iter().find_map(|mark| line.strip_prefix(mark)).map(str::to_owned)
    };
    let (mut before, mut this, mut has_later) = (Vec::new(), BTreeSet::new(), false);
    for step in plan.lines().filter_map(step) {
        if let Some(title) = step.strip_prefix(THIS) {
            this.insert(format!("{DONE}{title} ({})", kind.reference(last.number)));
        } else if step.starts_with(LATER) {
            has_later = true;
        } else {
            before.push(format!("{DONE}{step}"));
        }
    }
    before.extend(this);
    if has_later { before } else { Vec::new() }
}

fn plan(plans: &[PlanOf], done: &[String]) -> String {
    let mut text = String::new();
    if !done.is_empty() {
        writeln!(text, "Done:\n\n{}\n", done.join("\n")).expect("memory takes everything");
    }
    let mut line =
        |text_of: std::fmt::Arguments<'_>| text.write_fmt(text_of).expect("memory takes everything");
    for one in plans {
        let from = one.from.as_ref().map(|from| format!(", on {}", prose(from))).unwrap_or_default();
        let clusters = named(&one.clusters);
        match &one.plan {
            ProposedPlan::Steps(steps) => {
                line(format_args!("**{clusters}**{from}\n\n"));
                for (at, step) in steps.iter().enumerate() {
                    let mark = if at == 0 { THIS.to_owned() } else { format!("{LATER}{}: ", at + 1) };
                    line(format_args!("{OPEN}{mark}{}\n", prose(&step.title)));
                    line(format_args!("  - Why: {}\n", prose(&step.reason)));
                    for (word, addons) in &step.addons {
                        line(format_args!("  - {}: {}\n", capital(word), prose(addons)));
                    }
                    for rollout in &step.rollouts {
                        line(format_args!("  - Rollout: {}\n", prose(rollout)));
                    }
                    if let Some(before) = at.checked_sub(1) {
                        line(format_args!("  - Only once {}\n", prose(&steps[before].until)));
                    }
                }
                line(format_args!("\n"));
            }
            ProposedPlan::LeftOut(reasons) => {
                line(format_args!("**Not in this request: {clusters}**{from}\n\n"));
                for reason in reasons {
                    line(format_args!("- {}\n", prose(reason)));
                }
                line(format_args!("\n"));
            }
        }
    }
    text
}

fn named(clusters: &[String]) -> String {
    let mut names: Vec<String> = clusters.iter().take(NAMED).cloned().collect();
    if clusters.len() > NAMED {
        names.push(format!("and {} more", clusters.len() - NAMED));
    }
    names.join(", ")
}

/// What to do instead of a revert that Cluster API refuses: its webhook rejects a lower version in the topology.
const NO_WAY_BACK: &str = "### How to go back\n\n\
    This step upgrades Kubernetes, which cannot be downgraded: Cluster API refuses a revert, and nothing in the clusters goes back. If \
    something is wrong, mend it with another step, for example to a release that corrects it. Before you merge anything that takes back a \
    part of this step, run `stackloom diff` on its branch.\n";

fn what_to_do(plans: &[PlanOf], command: &str, rollout: Option<&str>) -> String {
    let stay = stay(rollout);
    let steps = || {
        plans
            .iter()
            .filter_map(|one| if let ProposedPlan::Steps(steps) = &one.plan { Some(steps) } else { None })
    };
    if steps().next().is_none() {
        return format!(
            "### How to go back\n\nRevert the merge with `git revert COMMIT`; a merge commit needs `--mainline 1`.\n\n{stay}\n"
        );
    }
    let is_last = steps().all(|steps| steps.len() <= 1);
    let until: BTreeSet<&str> =
        steps().filter_map(|steps| steps.first()).map(|step| step.until.as_str()).collect();
    let until = until.into_iter().map(prose).collect::<Vec<_>>().join("; ");
    let mut text = String::from("### Before you merge\n\n");
    text.push_str(
        "- Read the report above: it lists the machines that are replaced and the addons that change.\n\
         - Check that the clusters have finished their last change. `kubectl get clusters --all-namespaces` then shows them as available, and \
         all their machines as up to date.\n\n### After the merge\n\n",
    );
    if is_last && rollout.is_some() {
        writeln!(
            text,
            "This is the last step of these clusters. It is done when {until}. Then run `{command}` for what comes next in the rollout, or \
             leave that to the schedule.\n"
        )
        .expect("memory takes everything");
    } else if is_last {
        writeln!(text, "This is the last step. It is done when {until}.\n").expect("memory takes everything");
    } else {
        writeln!(
            text,
            "The step is done when {until}. Then run `{command}` for the next one, or leave that to the schedule. Do not merge the next \
             request before this step is done.\n"
        )
        .expect("memory takes everything");
    }
    if steps().filter_map(|steps| steps.first()).any(|step| step.upgrades_kubernetes) {
        text.push_str(NO_WAY_BACK);
        return text;
    }
    writeln!(
        text,
        "### How to go back\n\n\
         Revert the merge with `git revert COMMIT`; a merge commit needs `--mainline 1`. The report says for each change whether a revert \
         undoes it. Before you merge the revert, run `stackloom diff` on its branch.\n\n{stay}"
    )
    .expect("memory takes everything");
    text
}

/// How to keep the next run from proposing a reverted step again.
fn stay(rollout: Option<&str>) -> String {
    let how = match rollout {
        Some(name) => format!("run `stackloom rollout pause {name} --reason REASON`, and merge that edit"),
        None => "set `upgrades.hold` in the definitions of the clusters".to_owned(),
    };
    format!(
        "After the revert, the next run proposes the step again. To stay, {how}, before you merge the revert."
    )
}

/// Renders text, with code in backticks, as Markdown without mentions or links.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            out.extend(["`", &part.replace(['\n', '\r'], " "), "`"]);
            continue;
        }
        for c in part.chars() {
            match c {
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '&' => out.push_str("&amp;"),
                '@' => out.push_str("&#64;"),
                '#' => out.push_str("&#35;"),
                '\n' | '\r' => out.push(' '),
                '\\' | '*' | '_' | '[' | ']' | '|' | '~' => out.extend(['\\', c]),
                c => out.push(c),
            }
        }
    }
    out
}

/// The branch for a selection of clusters and a target. Runs with the same options use the same branch.
pub fn branch_name(clusters: &[String], selector: Option<&str>, target: &str) -> String {
    let named = match (clusters, selector) {
        ([], None) => "all".to_owned(),
        ([one], None) => word(one),
        _ => {
            let all: BTreeSet<&String> = clusters.iter().collect();
            let digest = Sha256::digest(format!("{all:?}{selector:?}"));
            let first = selector.or(clusters.first().map(String::as_str)).unwrap_or_default();
            format!("{}-{}", word(first), hex(&digest[..4]))
        }
    };
    format!("stackloom/upgrade/{named}-{}", word(target))
}

/// Converts text to a valid part of a branch name: <https://git-scm.com/docs/git-check-ref-format>.
fn word(text: &str) -> String {
    let keeps = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/');
    let kept: String = text.chars().map(|c| if keeps(c) { c.to_ascii_lowercase() } else { '-' }).collect();
    let part = |part: &str| part.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let parts = kept.split('/').map(part).filter(|part| !part.is_empty());
    let word: String = parts.collect::<Vec<_>>().join("/").chars().take(80).collect();
    word.replace("..", ".").trim_matches(['-', '.', '/']).to_owned()
}

/// A text that begins with a capital letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_after_the_selection() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(branch_name(&[], None, "latest"), "stackloom/upgrade/all-latest");
        assert_eq!(branch_name(&names(&["blue/one"]), None, "to-1.36"), "stackloom/upgrade/blue/one-to-1.36");
        let two = branch_name(&names(&["blue/one", "blue/two"]), None, "latest");
        assert_eq!(
            two,
            branch_name(&names(&["blue/two", "blue/one"]), None, "latest").replace("blue/two", "blue/one")
        );
        let selected = branch_name(&[], Some("env=prod,region in (eu, us)"), "latest");
        assert!(selected.starts_with("stackloom/upgrade/env-prod-region-in-eu-us-"), "{selected}");
        assert_ne!(selected, branch_name(&[], Some("env=prod,region in (eu,us),a"), "latest"));
    }

    #[test]
    fn prose_calls_nobody() {
        assert_eq!(prose("`a_b` has <1.36 @team #1 a_b"), "`a_b` has &lt;1.36 &#64;team &#35;1 a\\_b");
    }
}
