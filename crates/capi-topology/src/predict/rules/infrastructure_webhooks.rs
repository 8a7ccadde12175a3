//! The fields that the webhooks of infrastructure providers allow to change in place.
//!
//! Each kind has one file under `data/mutable/`; to add a kind, add a file. `build.rs` lists them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::predict::change::{Change, Effect, ObjectChange};
use crate::predict::evidence::{Evidence, On, RuleOutcome};
use crate::predict::meaning::{Meaning, MeaningKind};
use crate::predict::reconcile::RECONCILE;
use crate::predict::rules::Rule;
use crate::predict::verdict::Verdict;
use crate::role::{Role, TopologyPart};
use k8s_schema::value::{group, list, path_matches, text};

const FILES: &[&str] = include!(concat!(env!("OUT_DIR"), "/mutable.rs"));

/// Whether a provider accepts a change in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::predict) enum Acceptance {
    /// Its webhook allows the field to change.
    Yes,
    /// Its webhook refuses the change.
    No,
    /// It depends on more than the field, or the webhook is unknown.
    Unknown,
}

struct Rules {
    source: String,
    refused: Vec<String>,
    mutable: Vec<String>,
    perhaps: Vec<String>,
}

/// Rules by group and kind.
static KINDS: LazyLock<BTreeMap<(String, String), Rules>> = LazyLock::new(|| {
    let words = |file: &Value, name: &str| {
        let words = list(file, &[name]).iter().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    };
    let read = |text_of_file: &&str| {
        let file: Value = serde_json::from_str(text_of_file).expect("the file is part of the program");
        let rules = Rules {
            source: text(&file, &["source"]).to_owned(),
            refused: words(&file, "refused"),
            mutable: words(&file, "mutable"),
            perhaps: words(&file, "perhaps"),
        };
        ((text(&file, &["group"]).to_owned(), text(&file, &["kind"]).to_owned()), rules)
    };
    FILES.iter().map(read).collect()
});

/// Reports whether a field below `spec` may change, with the source of the rule.
pub(in crate::predict) fn takes(
    api_version: &str,
    kind: &str,
    path: &[String],
) -> (Acceptance, Option<&'static str>) {
    let rules = KINDS.get(&(group(api_version).to_owned(), kind.to_owned()));
    let Some(rules) = rules else { return (Acceptance::Unknown, None) };
    let any = |patterns: &[String]| patterns.iter().any(|one| path_matches(one, path));
    let taken = if any(&rules.refused) {
        Acceptance::No
    } else if any(&rules.perhaps) {
        Acceptance::Unknown
    } else if any(&rules.mutable) {
        Acceptance::Yes
    } else {
        Acceptance::No
    };
    (taken, Some(&rules.source))
}

/// The effect on all other parts if the provider refuses the infrastructure: Cluster API stops there. If it only may
/// refuse, a remark says so.
///
/// Source: `core/reconcilers/topology/cluster/reconcile_state.go`, `reconcileState`.
pub(in crate::predict) fn evidence(verdicts: &[Verdict]) -> Vec<Evidence> {
    let evidence = |part: &TopologyPart| {
        if refuses(verdicts) {
            let stops = Evidence::new(part.clone(), Rule::Infrastructure, RuleOutcome::NotReached);
            Evidence { source: Some(RECONCILE), ..stops.because(STOPS) }
        } else {
            let on = On::AllBut(&[MeaningKind::NoChange, MeaningKind::Opaque]);
            Evidence::remark(part.clone(), Rule::Infrastructure, on).because(PERHAPS_STOPS)
        }
    };
    let may_refuse = meaning(verdicts) == Some(&Meaning::ProviderDependent);
    let others = verdicts.iter().filter(|one| {
        let changes = !matches!(one.meaning, Meaning::Opaque | Meaning::NoChange);
        changes && one.subject != TopologyPart::Infrastructure && (may_refuse || refuses(verdicts))
    });
    others.map(|one| evidence(&one.subject)).collect()
}

/// Removes from a change what Cluster API never gets to because the provider refuses the infrastructure.
pub(in crate::predict) fn stop(change: &mut Change, verdicts: &[Verdict]) {
    if !refuses(verdicts) {
        return;
    }
    change.steps.clear();
    change.plan = None;
    let comes_later = |one: &&mut ObjectChange| !matches!(one.role, Role::Infrastructure | Role::Cluster);
    for object in change.objects.iter_mut().filter(comes_later) {
        object.effect = Effect::Same;
        object.patch = None;
    }
}

fn refuses(verdicts: &[Verdict]) -> bool {
    meaning(verdicts) == Some(&Meaning::Wedged)
}

/// The meaning for the infrastructure.
fn meaning(verdicts: &[Verdict]) -> Option<&Meaning> {
    verdicts.iter().find(|one| one.subject == TopologyPart::Infrastructure).map(|one| &one.meaning)
}

const STOPS: &str = "Cluster API writes the infrastructure first, and stops there: none of this happens";
const PERHAPS_STOPS: &str =
    "only if the provider accepts the change of the infrastructure: otherwise Cluster API stops there first";

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(kind: &str, path: &str) -> Acceptance {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        takes("infrastructure.cluster.x-k8s.io/v1beta1", kind, &path).0
    }

    #[test]
    fn every_file_of_the_folder_is_read_and_names_its_source() {
        assert_eq!(KINDS.len(), FILES.len());
        for (kind, rules) in KINDS.iter() {
            assert!(rules.source.contains(" v"), "the source of {kind:?} has no version");
            assert!(!rules.mutable.is_empty(), "{kind:?}");
        }
    }

    #[test]
    fn refusals_of_a_webhook_come_before_accepted_changes() {
        assert_eq!(taken("AWSCluster", "region"), Acceptance::No);
        assert_eq!(taken("AWSCluster", "sshKeyName"), Acceptance::Yes);
        assert_eq!(taken("AWSCluster", "controlPlaneLoadBalancer.scheme"), Acceptance::Unknown);
        assert_eq!(taken("HetznerCluster", "hcloudNetwork.cidrBlock"), Acceptance::No);
        assert_eq!(taken("HetznerCluster", "sshKeys.hcloud"), Acceptance::Yes);
        assert_eq!(taken("OpenStackCluster", "identityRef.region"), Acceptance::No);
        assert_eq!(taken("OpenStackCluster", "identityRef.name"), Acceptance::Yes);
        assert_eq!(taken("OpenStackCluster", "networkMTU"), Acceptance::No);
        assert_eq!(taken("DockerCluster", "failureDomains"), Acceptance::Unknown);
        assert_eq!(taken("VSphereCluster", "server"), Acceptance::Yes);
        assert_eq!(taken("AcmeCluster", "anything"), Acceptance::Unknown);
    }

    #[test]
    fn another_group_of_the_same_kind_is_another_kind() {
        let (taken, source) = takes("vmware.infrastructure.cluster.x-k8s.io/v1beta1", "VSphereCluster", &[]);
        assert_eq!((taken, source), (Acceptance::Unknown, None));
    }
}
