//! `stackloom upgrade plan`.

use std::collections::BTreeMap;

use serde_json::json;

use super::{group, group::Shown, plan_document, plan_text, pools_behind, selection::Selection};
use crate::{
    cli::{Done, Exit, Global, Printer, cluster::ClusterName, input_or_world, printer::counted},
    generate::{self, Failure},
    io::{disk::Workspace, git::Repository},
    model::{ClusterId, Rollout},
    note::Notes,
    partial::LeftOut,
    upgrade::{PlanResult, PlannedCluster, PlanningFleet},
};

/// Show the steps that upgrade clusters, and what each step replaces
///
/// A step changes the release of a cluster, or the version of one addon. Each step is one commit, which must
/// be rolled out before the next one. Writes nothing.
///
/// The plan is the shortest sequence in which, after each step, every addon works with the Kubernetes version
/// of the cluster. The matrix and the rules of the cluster's release decide that, and so does the
/// `kubeVersion` of the charts. The management cluster must have what each release needs. Kubernetes goes one
/// minor at a time. Of plans with equally many steps, shows the one that replaces the fewest machines.
///
/// When the Kubernetes minor changes, no addon changes: an addon that works with both minors keeps its
/// version, and any other is upgraded before. If there is no plan, shows the fewest constraints that rule it
/// out, where each is written, and who can lift it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom upgrade plan                                           all clusters, each by its policy\n  stackloom upgrade plan --latest                                  all clusters, to the newest release\n  stackloom upgrade plan prod-eu-1 --to-kubernetes 1.36\n  stackloom upgrade plan --selector env=prod --to-release docker-scs-1-36-v2\n  stackloom upgrade plan --format json | jq '.groups[] | select(.state == \"blocked\")'\n\nExit codes: 0 every cluster has a plan or needs none, 1 a cluster has no plan, a step would be refused, or a definition was skipped because of errors"
)]
pub(super) struct Args {
    #[command(flatten)]
    selection: Selection,
}

/// The clusters with steps that take part in active rollouts, by the name of the rollout.
type InRollouts = BTreeMap<String, InRollout>;

/// The clusters with steps that take part in an active rollout.
#[derive(Default)]
struct InRollout {
    clusters: Vec<ClusterId>,
    /// Why the rollout is paused, if it is.
    paused: Option<String>,
}

impl InRollout {
    fn words(&self, rollout: &str) -> String {
        let (are, their) = if self.clusters.len() == 1 { ("is", "its") } else { ("are", "their") };
        let clusters = counted(self.clusters.len(), "cluster");
        match &self.paused {
            None => format!(
                "{clusters} {are} in the rollout {rollout}: `stackloom rollout next {rollout}` takes {their} steps"
            ),
            Some(why) => format!(
                "{clusters} {are} in the rollout {rollout}, which is paused: {why}; `stackloom rollout resume {rollout}` \
                 lets it go on"
            ),
        }
    }
}

/// The result of planning.
pub(in crate::cli) struct Planning {
    pub(in crate::cli) groups: Vec<Shown>,
    pub(in crate::cli) left: LeftOut,
    pub(in crate::cli) exit: Exit,
}

/// The exit code: 1 if clusters have no step because of errors, or if clusters that were asked for may be missing: errors
/// leave no cluster to plan, or definitions were skipped and clusters were not asked for by name.
pub(super) fn exit(has_errors: bool, groups: &[Shown], left: &LeftOut, is_by_name: bool) -> Exit {
    let may_miss = groups.is_empty() && !left.is_empty() || left.has_definitions() && !is_by_name;
    if has_errors || may_miss { Exit::Input } else { Exit::Done }
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = crate::cli::fleet(global, printer)?;
    let mut notes = Notes::new();
    let (outcome, in_rollouts) = match find(args, &world, &mut notes) {
        Ok(outcome) => outcome,
        Err(failure) => {
            printer.notes(&notes);
            let exit = input_or_world(failure)?;
            printer.document(exit, &notes, serde_json::json!({}));
            return Ok(exit);
        }
    };
    printer.notes(&notes);
    for line in plan_text::lines(&outcome, printer.is_verbose()) {
        printer.result(&line);
    }
    for (rollout, one) in &in_rollouts {
        printer.result(&one.words(rollout));
    }
    let mut document = plan_document::document(&outcome, &args.selection.asked());
    let in_rollout = |(name, one): (&String, &InRollout)| json!({ "rollout": name, "paused": one.paused, "clusters": ClusterName::all(&one.clusters) });
    document["inRollouts"] = in_rollouts.iter().map(in_rollout).collect();
    printer.document(outcome.exit, &notes, document);
    Ok(outcome.exit)
}

fn find(args: &Args, world: &Workspace, notes: &mut Notes) -> Result<(Planning, InRollouts), Failure> {
    let (understood, left) = generate::understand_sound(world, notes)?;
    left.warn(notes);
    let errors = notes.errors();
    let solved = args.selection.solve(&understood, &left, None, notes)?;
    let behind = pools_behind::find(&understood, Repository::find(world)?.as_ref())?;
    let fleet = PlanningFleet::new(&understood, false).with_pools_behind(behind);
    let owners = Rollout::owners(&understood.model.rollouts);
    let (mut planned, mut in_rollouts) = (Vec::new(), InRollouts::new());
    for one in &solved {
        if let PlanResult::Plan { open, plan, .. } = &one.answer {
            for cluster in one.clusters.iter().filter(|_| !plan.steps.is_empty()) {
                if let Some(owner) = owners.get(&*cluster.full_name()) {
                    let one = in_rollouts.entry(owner.name.to_string()).or_default();
                    one.clusters.push(cluster.id());
                    one.paused.clone_from(&owner.paused);
                }
            }
            let clusters = one.clusters.iter().copied();
            planned.extend(clusters.map(|cluster| PlannedCluster { cluster, open, steps: &plan.steps }));
        }
    }
    let rollouts = fleet.rollouts(&planned);
    let groups = group::groups(&solved, &rollouts, &understood.input);
    group::note_faults(&groups, usize::MAX, notes);
    let exit = exit(notes.errors() > errors, &groups, &left, args.selection.is_by_name());
    Ok((Planning { groups, left, exit }, in_rollouts))
}
