//! Finds the sizes and labels of pools that a change leaves as they are. They decide only how many machines are replaced, so
//! Clusters that differ in nothing else share an answer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::answers::Answer;
use crate::model::{AUTOSCALER_MAX, AUTOSCALER_MIN, is_label_value};
use crate::topology::{
    Pool, PoolKind,
    predict::machine_counts::{MachineCounts, Strategies},
};

/// The sizes and labels of machine deployments that are the same in two states of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnchangedPools {
    /// The numbers of machines, without pools that have none: no other pool waits for those.
    counts: MachineCounts,
    /// The pools whose autoscaler has the same range in both.
    autoscaled: BTreeSet<Pool>,
    /// The labels of each pool that have the same value in both.
    labels: BTreeMap<Pool, BTreeSet<String>>,
}

impl UnchangedPools {
    /// Finds what two states of a Cluster share.
    pub(super) fn of(before: &Json, after: &Json) -> Self {
        let mut found = Self::default();
        let [before, after] = [before, after].map(deployments);
        for old in before {
            let named = |list: &[Json]| list.iter().filter(|one| one["name"] == old["name"]).count();
            let Some(new) = after.iter().find(|one| one["name"] == old["name"]) else { continue };
            let Some(name) = old["name"].as_str().filter(|_| named(before) == 1 && named(after) == 1) else {
                continue;
            };
            let pool = Pool::new(PoolKind::MachineDeployment, name);
            if let Some(count) = count(old).filter(|_| old["replicas"] == new["replicas"]) {
                found.counts.insert(pool.clone(), count);
            }
            if range(old).is_some_and(|(min, max)| min <= max) && range(old) == range(new) {
                found.autoscaled.insert(pool.clone());
            }
            let labels = labels(old).filter(|(label, value)| new["metadata"]["labels"][label] == **value);
            found.labels.insert(pool, labels.map(|(label, _)| label.clone()).collect());
        }
        found
    }

    /// The numbers of machines that are the same.
    pub(super) fn counts(&self) -> &MachineCounts {
        &self.counts
    }

    /// Removes the sizes and the values of the labels from a Cluster. Returns what it removed, in the order of the pools.
    pub(super) fn remove_from(&self, cluster: &mut Json) -> Vec<Json> {
        let mut removed = Vec::new();
        let mut remove = |value: &mut Json| removed.push(std::mem::replace(value, Json::from("any")));
        let list = cluster.pointer_mut("/spec/topology/workers/machineDeployments");
        for one in list.and_then(Json::as_array_mut).into_iter().flatten() {
            let Some(name) = one["name"].as_str() else { continue };
            let pool = Pool::new(PoolKind::MachineDeployment, name);
            if self.counts.contains_key(&pool) {
                remove(&mut one["replicas"]);
            }
            if self.autoscaled.contains(&pool) {
                remove(&mut one["metadata"]["annotations"][AUTOSCALER_MAX]);
            }
            for label in self.labels.get(&pool).into_iter().flatten() {
                remove(&mut one["metadata"]["labels"][label]);
            }
        }
        removed
    }

    /// An answer for these pools, from one for others; none if it does not follow from that.
    pub(super) fn apply(&self, answer: &Answer, strategies: &Strategies, others: &Self) -> Option<Answer> {
        let verdicts = answer.verdicts.iter();
        let verdicts = verdicts.map(|one| one.recounted(strategies, &others.counts, &self.counts));
        Some(Answer { verdicts: verdicts.collect::<Option<_>>()?, ..answer.clone() })
    }

    /// Whether an answer is also valid for other sizes and labels: nothing is refused, its text contains none of these numbers,
    /// and its verdicts can be recounted.
    pub(super) fn can_differ(&self, answer: &Answer, strategies: &Strategies) -> bool {
        let Answer { verdicts, faults, opaque, notes, conditions, .. } = answer;
        let reasons = verdicts.iter().flat_map(|one| &one.reasons).map(ToString::to_string);
        let others = notes.iter().chain(conditions).cloned().chain([format!("{opaque:?}")]);
        let mut texts = reasons.chain(others);
        let is_said = |text: String| self.counts.values().any(|count| has_number(&text, *count));
        faults.is_empty() && !texts.any(is_said) && self.apply(answer, strategies, self).is_some()
    }
}

fn deployments(cluster: &Json) -> &[Json] {
    cluster["spec"]["topology"]["workers"]["machineDeployments"].as_array().map_or(&[], Vec::as_slice)
}

/// The number of machines of a pool, if it is one that Cluster API accepts, and not zero.
fn count(pool: &Json) -> Option<i64> {
    pool["replicas"].as_i64().filter(|count| (1..=i64::from(i32::MAX)).contains(count))
}

/// The labels of a pool that have a valid value and no meaning for Kubernetes or Cluster API.
fn labels(pool: &Json) -> impl Iterator<Item = (&String, &Json)> {
    let all = pool["metadata"]["labels"].as_object().into_iter().flatten();
    all.filter(|(label, value)| {
        !label.contains("k8s.io/")
            && !label.contains("kubernetes.io/")
            && value.as_str().is_some_and(is_label_value)
    })
}

fn range(pool: &Json) -> Option<(i32, i32)> {
    let end = |name: &str| pool["metadata"]["annotations"][name].as_str()?.parse().ok();
    Some((end(AUTOSCALER_MIN)?, end(AUTOSCALER_MAX)?))
}

/// Whether a text contains a number on its own, not as part of a word or a version.
fn has_number(text: &str, number: i64) -> bool {
    let number = number.to_string();
    text.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '.' | '-'))
        .any(|word| word.trim_end_matches('.') == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words_and_versions_do_not_count() {
        assert!(has_number("it scales from 3 to 5, too", 5));
        assert!(has_number("only 3.", 3));
        assert!(has_number("replicas: Number(3)", 3));
        assert!(!has_number("on v1.35.3, pool md-3 of v1beta3", 3));
        assert!(!has_number("33 machines", 3));
    }
}
