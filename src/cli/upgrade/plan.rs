//! `stackloom upgrade plan`.

use super::{document, group, group::Shown, text};
use crate::{
    cli::{Done, Exit, Global, Printer, cluster as names, input_or_world},
    definition::closest,
    generate::{self, Failure, Understood},
    io::disk::Workspace,
    model::{Cluster, Minor, ReleaseRef, Selector, is_called},
    note::Notes,
    partial::LeftOut,
    release::Releases,
    upgrade::{Answer, Fleet, Planned, Target},
};

/// Show the steps that upgrade clusters, and what each step replaces
///
/// A step changes the release of a cluster, or the version of one addon; each is one commit, which has to be rolled out
/// before the next. The plan is the shortest sequence of steps after each of which every addon works with the Kubernetes
/// version of the cluster, by the matrix and the rules of its release. Kubernetes goes one minor at a time. Of plans with
/// equally many steps, the one that replaces the fewest machines is shown.
///
/// With another Kubernetes minor, no addon changes: one that works with both is kept at its version, and one that does not is
/// upgraded before. If there is no plan, the output shows the fewest constraints that rule it out, where each is written, and
/// who can lift it. Nothing is written.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom upgrade plan                                           all clusters, to their newest release\n  stackloom upgrade plan prod-eu-1 --to-kubernetes 1.36\n  stackloom upgrade plan --selector env=prod --to-release docker-scs-1-36-v2\n  stackloom upgrade plan --format json | jq '.groups[] | select(.state == \"blocked\")'\n\nExit codes: 0 every cluster has a plan or needs none, 1 a cluster has no plan, or a step would be refused"
)]
pub(super) struct Args {
    /// Only these clusters: <name>, <namespace>/<name>, or <management cluster>/<namespace>/<name>
    #[arg(value_name = "CLUSTER")]
    clusters: Vec<String>,
    /// Only clusters with these labels, as kubectl writes them: `env=prod,region in (eu,us),!legacy`
    #[arg(long, value_name = "SELECTOR", value_parser = Selector::parse)]
    selector: Option<Selector>,
    /// To this release; addons follow it, one step for each that another minor kept at its version
    #[arg(long, value_name = "RELEASE", group = "target")]
    to_release: Option<String>,
    /// To this Kubernetes minor, such as 1.36; addons change only where they must
    #[arg(long, value_name = "MINOR", group = "target", value_parser = minor)]
    to_kubernetes: Option<Minor>,
    /// To the newest release of the newest Kubernetes minor that is neither `preview` nor `expired` (the default)
    #[arg(long, group = "target")]
    latest: bool,
    /// Plan over Kubernetes minors that are `expired`, too
    #[arg(long)]
    through_expired: bool,
}

fn minor(text: &str) -> Result<Minor, String> {
    Minor::parse(text).ok_or_else(|| "write a Kubernetes minor, such as `1.36`".to_owned())
}

impl Args {
    fn means(&self, cluster: &Cluster) -> bool {
        let label = |key: &str| cluster.labels.get(key).and_then(|value| value.as_str());
        let name = cluster.full_name();
        let is_named = self.clusters.is_empty() || self.clusters.iter().any(|one| is_called(&name, one));
        is_named && self.selector.as_ref().is_none_or(|selector| selector.matches(label))
    }

    fn target(&self, releases: &Releases, notes: &mut Notes) -> Option<Target> {
        let Some(name) = &self.to_release else {
            return Some(self.to_kubernetes.map_or(Target::Latest, Target::Minor));
        };
        if let Some(found) = releases.find(name) {
            return Some(Target::Release(found));
        }
        let note = notes.error("unknown-release", None, format!("there is no release `{name}`"));
        match closest(name, releases.names().into_iter()) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None => note.hint("run `stackloom releases` for a list"),
        };
        None
    }

    /// The clusters that are meant. To a release, and without names, only those of its stack.
    fn chosen<'a>(&self, target: &Target, fleet: &'a Understood) -> Vec<&'a Cluster> {
        let stack = |release: &ReleaseRef| match release {
            ReleaseRef::Head(stack, _) => Some(stack.clone()),
            ReleaseRef::Named(name) => fleet.releases.by_name(name.as_str()).map(|one| one.stack.clone()),
        };
        let of_target = match target {
            Target::Release(release) if self.clusters.is_empty() => stack(release),
            _ => None,
        };
        let is_meant = |cluster: &&Cluster| {
            let is_of_stack = of_target.is_none() || stack(&cluster.release) == of_target;
            self.means(cluster) && is_of_stack
        };
        fleet.model.clusters.iter().filter(is_meant).collect()
    }
}

/// What was planned.
pub(super) struct Outcome {
    pub(super) groups: Vec<Shown>,
    pub(super) left: LeftOut,
    pub(super) exit: Exit,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = crate::cli::fleet(global, printer)?;
    let mut notes = Notes::new();
    let outcome = match find(args, &world, &mut notes) {
        Ok(outcome) => outcome,
        Err(failure) => {
            printer.notes(&notes);
            let exit = input_or_world(failure)?;
            printer.document(exit, &notes, serde_json::json!({}));
            return Ok(exit);
        }
    };
    printer.notes(&notes);
    for line in text::lines(&outcome.groups, printer.is_verbose()) {
        printer.result(&line);
    }
    let document = document::document(&outcome, &args.asked());
    printer.document(outcome.exit, &notes, document);
    Ok(outcome.exit)
}

impl Args {
    /// What was asked for, as documents have it.
    fn asked(&self) -> serde_json::Value {
        serde_json::json!({
            "release": self.to_release,
            "kubernetes": self.to_kubernetes.map(|minor| minor.to_string()),
            "latest": self.to_release.is_none() && self.to_kubernetes.is_none(),
            "throughExpired": self.through_expired,
        })
    }
}

fn find(args: &Args, world: &Workspace, notes: &mut Notes) -> Result<Outcome, Failure> {
    let (understood, left) = generate::understand_sound(world, notes)?;
    for name in &args.clusters {
        let all = understood.model.clusters.iter();
        if all.clone().any(|cluster| is_called(&cluster.full_name(), name)) || left.blame(name, notes) {
            continue;
        }
        names::note_unknown(name, all.map(|cluster| cluster.name.as_str()), notes);
    }
    left.warn(notes);
    let target = args.target(&understood.releases, notes);
    let Some(target) = notes.halt(target)? else { return Err(Failure::from(notes.halted())) };
    let Understood { input, model, releases, .. } = &understood;
    let fleet = Fleet { model, releases, input, target: &target, through_expired: args.through_expired };
    let solved = fleet.solve(&args.chosen(&target, &understood));
    let mut planned = Vec::new();
    for one in &solved {
        if let Answer::Plan { open, plan, .. } = &one.answer {
            let clusters = one.clusters.iter().copied();
            planned.extend(clusters.map(|cluster| Planned { cluster, open, steps: &plan.steps }));
        }
    }
    let rollouts = fleet.rollouts(&planned)?;
    let groups = group::groups(&solved, &rollouts, input);
    let exit = if group::note_faults(&groups, notes) { Exit::Input } else { Exit::Done };
    Ok(Outcome { groups, left, exit })
}
