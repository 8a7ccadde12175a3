//! The clusters to upgrade and their target: the options that the commands of `upgrade` share.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::{
    cli::{
        cluster as names,
        printer::shell_word,
        today::{Now, Today},
    },
    definition::closest,
    generate::{Failure, Understood},
    model::{Cluster, ClusterId, Date, Hold, Minor, ReleaseRef, Rollout, Selector, is_called},
    note::{Notes, Place},
    partial::LeftOut,
    pull_request,
    release::Releases,
    upgrade::{Asked, PlanResult, PlanningFleet, Solved, UpgradeTarget},
};

/// Clusters and a target.
#[derive(Debug, clap::Args)]
pub(super) struct Selection {
    /// Only these clusters: <name>, <namespace>/<name>, or <management cluster>/<namespace>/<name>
    #[arg(value_name = "CLUSTER")]
    clusters: Vec<String>,
    /// Only clusters with these labels, as kubectl writes them: `env=prod,region in (eu,us),!legacy`
    #[arg(long, value_name = "SELECTOR", value_parser = selector)]
    selector: Option<(String, Selector)>,
    /// Upgrade to this release; addons follow it, with one step for each addon that a new Kubernetes minor
    /// kept back
    #[arg(long, value_name = "RELEASE", group = "target")]
    to_release: Option<String>,
    /// Upgrade to this Kubernetes minor, such as 1.36; addons change only if they must
    #[arg(long, alias = "kubernetes", alias = "to", value_name = "MINOR", group = "target", value_parser = minor)]
    to_kubernetes: Option<Minor>,
    /// Upgrade to the newest release of the newest Kubernetes minor that is neither `preview` nor `expired`
    #[arg(long, group = "target")]
    latest: bool,
    /// Also plan through Kubernetes minors that are `expired`
    #[arg(long)]
    pub(super) through_expired: bool,
    /// Also move clusters that `upgrades.hold`, `upgrades.windows` or a rollout keeps where they are
    #[arg(long)]
    despite_hold: bool,
    #[command(flatten)]
    today: Today,
}

fn selector(text: &str) -> Result<(String, Selector), String> {
    Ok((text.to_owned(), Selector::parse(text)?))
}

fn minor(text: &str) -> Result<Minor, String> {
    Minor::parse(text).ok_or_else(|| "write a Kubernetes minor, such as `1.36`".to_owned())
}

impl Selection {
    fn means(&self, cluster: &Cluster) -> bool {
        let label = |key: &str| cluster.labels.get(key).and_then(|value| value.as_str());
        let name = cluster.full_name();
        let is_named = self.clusters.is_empty() || self.clusters.iter().any(|one| is_called(&name, one));
        is_named && self.selector.as_ref().is_none_or(|(_, selector)| selector.matches(label))
    }

    /// The request; None if its target does not exist.
    fn asked_for(
        &self,
        releases: &Releases,
        (today, now): (Date, Option<DateTime<Utc>>),
        notes: &mut Notes,
    ) -> Option<Asked> {
        let asked = |target| Asked { target, today, now, despite_hold: self.despite_hold, is_rollout: false };
        let Some(name) = &self.to_release else {
            let latest = self.latest.then_some(UpgradeTarget::Latest);
            return Some(asked(self.to_kubernetes.map(UpgradeTarget::Minor).or(latest)));
        };
        if let Some(found) = releases.find(name) {
            return Some(asked(Some(UpgradeTarget::Release(found))));
        }
        if releases.note_refused(name, None, notes) {
            return None;
        }
        let note = notes.error("unknown-release", None, format!("there is no release `{name}`"));
        match closest(name, releases.names().into_iter()) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None => note.hint("run `stackloom releases` for a list"),
        };
        None
    }

    /// Plans the chosen clusters for the requested target. With a time, clusters outside of their maintenance windows are
    /// held.
    pub(super) fn solve<'a>(
        &self,
        fleet: &'a Understood,
        left: &LeftOut,
        now: Option<Now>,
        notes: &mut Notes,
    ) -> Result<Vec<Solved<'a>>, Failure> {
        self.note_unknown(fleet, left, notes);
        let today = self.today.day_at(now)?;
        let now = now.map(Now::moment).transpose()?;
        let asked = self.asked_for(&fleet.releases, (today, now), notes);
        let Some(asked) = notes.halt(asked)? else { return Err(Failure::from(notes.halted())) };
        let (mut moving, mut held) =
            (BTreeMap::<UpgradeTarget, Vec<&Cluster>>::new(), BTreeMap::<String, Vec<_>>::new());
        for cluster in self.chosen(asked.target.as_ref(), fleet) {
            match asked.of(cluster) {
                Ok(target) => moving.entry(target).or_default().push(cluster),
                Err(why) => held.entry(why).or_default().push(cluster),
            }
        }
        let owners = Rollout::owners(&fleet.model.rollouts);
        let fleet = PlanningFleet::new(fleet, self.through_expired);
        let solve = |(target, clusters): (&UpgradeTarget, &Vec<&'a Cluster>)| fleet.solve(target, clusters);
        let mut solved: Vec<Solved<'a>> = moving.iter().flat_map(solve).collect();
        asked.keep_apart(&mut solved, &owners);
        let is_held =
            |one: &&Solved<'_>| !self.clusters.is_empty() && matches!(one.answer, PlanResult::Held(_));
        for cluster in solved.iter().filter(is_held).flat_map(|one| &one.clusters) {
            if let Some(hold) = asked.hold(cluster) {
                note_held(cluster, hold, notes);
            }
        }
        solved.extend(
            held.into_iter().map(|(why, clusters)| Solved { clusters, answer: PlanResult::Held(why) }),
        );
        Ok(solved)
    }

    /// The chosen clusters. With a release as the target and no names, only those of the release's stack.
    fn chosen<'a>(&self, target: Option<&UpgradeTarget>, fleet: &'a Understood) -> Vec<&'a Cluster> {
        let stack = |release: &ReleaseRef| match release {
            ReleaseRef::Head(stack, _) => Some(stack.clone()),
            ReleaseRef::Named(name) => fleet.releases.by_name(name.as_str()).map(|one| one.stack.clone()),
        };
        let of_target = match target {
            Some(UpgradeTarget::Release(release)) if self.clusters.is_empty() => stack(release),
            _ => None,
        };
        let is_meant = |cluster: &&Cluster| {
            let is_of_stack = of_target.is_none() || stack(&cluster.release) == of_target;
            self.means(cluster) && is_of_stack
        };
        fleet.model.clusters.iter().filter(is_meant).collect()
    }
}

impl Selection {
    /// Reports names that no cluster has, or several.
    fn note_unknown(&self, fleet: &Understood, left: &LeftOut, notes: &mut Notes) {
        for name in &self.clusters {
            let all = fleet.model.clusters.iter();
            let called = all.clone().filter(|cluster| is_called(&cluster.full_name(), name));
            let called: Vec<String> = called.map(Cluster::full_name).collect();
            if called.len() > 1 {
                notes
                    .error("several-clusters", None, format!("there are several clusters `{name}`"))
                    .hint(format!("name one, or use --selector: {}", called.join(", ")));
            }
            if all.clone().any(|cluster| is_called(&cluster.full_name(), name)) || left.blame(name, notes) {
                continue;
            }
            names::note_unknown(name, all.map(|cluster| cluster.name.as_str()), notes);
        }
    }

    /// The request, for documents.
    pub(super) fn asked(&self) -> serde_json::Value {
        serde_json::json!({
            "release": self.to_release,
            "kubernetes": self.to_kubernetes.map(|minor| minor.to_string()),
            "latest": self.latest,
            "throughExpired": self.through_expired,
        })
    }
    /// Whether the clusters are named in the arguments.
    pub(super) fn is_by_name(&self) -> bool {
        !self.clusters.is_empty()
    }

    /// The clusters named in the arguments.
    pub(super) fn named(&self, fleet: &Understood) -> BTreeSet<ClusterId> {
        let is_named = |cluster: &&Cluster| !self.clusters.is_empty() && self.means(cluster);
        fleet.model.clusters.iter().filter(is_named).map(Cluster::id).collect()
    }

    /// The branch of a proposal for these clusters and this target.
    pub(super) fn branch(&self, named: &BTreeSet<ClusterId>) -> String {
        let names: Vec<String> = named.iter().map(ToString::to_string).collect();
        let target = match (&self.to_release, self.to_kubernetes) {
            (Some(release), _) => format!("to-{release}"),
            (None, Some(minor)) => format!("to-{minor}"),
            (None, None) if self.latest => "latest".to_owned(),
            (None, None) => "by-policy".to_owned(),
        };
        let target = if self.through_expired { target + "-through-expired" } else { target };
        pull_request::branch_name(&names, self.selector.as_ref().map(|(text, _)| text.as_str()), &target)
    }

    /// The command that repeats the request.
    pub(super) fn command(&self) -> String {
        let mut words = vec!["stackloom upgrade next --pr".to_owned()];
        words.extend(self.clusters.iter().map(|name| shell_word(name)));
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("{name} {}", shell_word(&value))));
        };
        option("--selector", self.selector.as_ref().map(|(text, _)| text.clone()));
        option("--to-release", self.to_release.clone());
        option("--to-kubernetes", self.to_kubernetes.map(|minor| minor.to_string()));
        for (is_set, option) in [
            (self.latest, "--latest"),
            (self.through_expired, "--through-expired"),
            (self.despite_hold, "--despite-hold"),
        ] {
            words.extend(is_set.then(|| option.to_owned()));
        }
        words.join(" ")
    }
}

/// Reports that a cluster named in the arguments is held.
fn note_held(cluster: &Cluster, hold: &Hold, notes: &mut Notes) {
    let until = hold.until.map(|date| format!(" until {date}")).unwrap_or_default();
    notes
        .error(
            "held",
            Place::file(&*cluster.file),
            format!("{} is held{until}: {}", cluster.id(), hold.reason),
        )
        .hint("remove `upgrades.hold`, or add --despite-hold");
}
