//! Parts that an annotation pauses, whoever set it.
//!
//! Source: `util/paused/paused.go`, `EnsurePausedCondition` (the controllers return before anything else, so a paused object
//! that is being deleted keeps its finalizer and its machines).

use crate::predict::evidence::{Evidence, On, RuleOutcome};
use crate::predict::meaning::MeaningKind;
use crate::predict::rules::Rule;
use crate::predict::running::is_paused;
use crate::predict::verdict::Verdict;
use crate::role::{PoolKind, TopologyPart};
use crate::state::Desired;
use k8s_schema::value::text;

/// The evidence of all parts that are paused: after the change, or before it if they are deleted.
pub(in crate::predict) fn evidence(found: &[Verdict], before: &Desired, after: &Desired) -> Vec<Evidence> {
    let of = |verdict: &Verdict| match verdict.meaning.kind() {
        MeaningKind::Delete => deleted(&verdict.subject, before),
        MeaningKind::Create => created(&verdict.subject, after),
        _ => kept(&verdict.subject, after),
    };
    found.iter().filter_map(of).collect()
}

/// The kind of the main object of a part, if it is paused.
fn paused<'a>(part: &TopologyPart, state: &'a Desired) -> Option<&'a str> {
    state.own(part).filter(|own| is_paused(own)).map(|own| text(own, &["kind"]))
}

fn deleted(part: &TopologyPart, before: &Desired) -> Option<Evidence> {
    let kind = paused(part, before)?;
    let on = On::Only(&[MeaningKind::Delete]);
    let reason = format!(
        "its {kind} is paused: Cluster API deletes neither it nor its machines until someone removes the annotation from the {kind}"
    );
    Some(Evidence::remark(part.clone(), Rule::PausedPart, on).because(reason))
}

/// The remark on a part that is created as paused. What a provider does with a machine pool that has no owner yet is not known.
pub(in crate::predict) fn created(part: &TopologyPart, after: &Desired) -> Option<Evidence> {
    let kind = paused(part, after).filter(|_| !part.is_of(PoolKind::MachinePool))?;
    let on = On::Only(&[MeaningKind::Create]);
    let reason = format!("its {kind} is paused: no machine is created until it is unpaused");
    Some(Evidence::remark(part.clone(), Rule::PausedPart, on).because(reason))
}

/// A part that stays keeps its machines as they are.
///
/// The provider manages the instances of a machine pool. Its controller checks its own object, which is not paused with the
/// pool.
///
/// Source: `test/infrastructure/docker/internal/controllers/dockermachinepool_controller.go`, `Reconcile`.
fn kept(part: &TopologyPart, after: &Desired) -> Option<Evidence> {
    let kind = paused(part, after)?;
    if part.is_of(PoolKind::MachinePool) {
        let on = On::Only(&[MeaningKind::InPlace, MeaningKind::Scale, MeaningKind::ProviderDependent]);
        let reason = "its MachinePool is paused, but the provider's object is not: the provider decides whether its instances stay \
                      as they are";
        return Some(Evidence::remark(part.clone(), Rule::PausedPart, on).because(reason));
    }
    let reason = format!("its {kind} is paused: its machines stay as they are until it is unpaused");
    Some(Evidence::new(part.clone(), Rule::PausedPart, RuleOutcome::Held).because(reason))
}
