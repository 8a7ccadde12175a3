//! Objects of files are written one by one: where some are refused, others are taken, and a class is there before its Cluster.

use serde_json::Value;

use super::Settings;
use super::forecast::{Forecast, Side, of_change};
use super::templates::is_edited;
use super::verdict::{Meaning, Verdict};
use crate::topology::fault::{Fault, Stage};
use crate::topology::import::{Applied, ClassFiles};
use crate::topology::value::{group, text};

const CLUSTER_STAYS: &str = "the Cluster is refused and stays as it is; its class is written all the same, and this is what that makes of it: \
                             objects are written one by one";
const OTHERS_ARE_TAKEN: &str =
    "objects are written one by one: what else there is among the new files is taken, and not told here";
const CLASS_IS_TAKEN: &str =
    "Flux writes classes before all else: the class is taken, and what comes of that is not told here";
const CLASS_LACKS_TEMPLATES: &str = "Flux writes classes before all else: the class is taken, and templates of the same files, which it \
                                     names, are not, so that Cluster API gets stuck at them";

/// What becomes of a Cluster that runs when each object of the files is written for itself; `left` is the class that the
/// Cluster moves away from, as the files leave it.
///
/// Source: `kubectl apply` and Argo CD go on with the next object; Flux writes classes in a stage of their own, waits until
/// they are reconciled, and writes nothing of a stage in which one object is refused (`fluxcd/pkg/ssa`, `manager_apply.go`,
/// `ApplyAllStaged` and `ApplyAll`).
pub fn of_files(
    before: &Side,
    after: &Side,
    left: Option<&ClassFiles>,
    settings: &Settings,
) -> Result<Forecast, Vec<Fault>> {
    let mut forecast = of_change(before, after, settings)?;
    let class = left.unwrap_or(&after.class).clone();
    let alone = Side { cluster: before.cluster.clone(), written: false, class, ..after.clone() };
    let edited: Vec<&Value> =
        alone.class.objects.iter().filter(|one| is_edited(one, &before.class.objects)).collect();
    if !forecast.verdicts.iter().any(|one| one.meaning == Meaning::Rejected) {
        if after.written && before.cluster != after.cluster && edited.iter().any(|one| is_class(one)) {
            between(&mut forecast, &of_change(before, &alone, settings)?);
        }
        return Ok(forecast);
    }
    if !forecast.faults.iter().all(|fault| fault.stage == Stage::Cluster) {
        let others = edited.len() > 1 || after.written && before.cluster != after.cluster;
        forecast.notes.extend(beside_refused(&forecast.faults, others, is_by_flux(before)));
        return Ok(forecast);
    }
    if edited.is_empty() {
        return Ok(forecast);
    }
    beside_refused_cluster(forecast, before, alone, settings)
}

/// What a class makes of the Cluster as it is, where what the files make of the Cluster is refused.
fn beside_refused_cluster(
    mut forecast: Forecast,
    before: &Side,
    alone: Side,
    settings: &Settings,
) -> Result<Forecast, Vec<Fault>> {
    let by_flux = is_by_flux(before);
    let alone = if by_flux { without_templates(alone, before) } else { alone };
    if !alone.class.objects.iter().any(|one| is_edited(one, &before.class.objects)) {
        return Ok(forecast);
    }
    let mut told = of_change(before, &alone, settings)?;
    if told.faults.iter().any(|fault| fault.stage == Stage::ClassReconcile) && by_flux {
        forecast.notes.push(CLASS_LACKS_TEMPLATES.to_owned());
        return Ok(forecast);
    }
    if told.verdicts.iter().any(|one| one.meaning == Meaning::Rejected) {
        return Ok(forecast);
    }
    told.faults.splice(0..0, forecast.faults);
    told.notes.insert(0, CLUSTER_STAYS.to_owned());
    Ok(told)
}

/// What is said of other objects, where a class or a template is refused.
fn beside_refused(faults: &[Fault], others: bool, by_flux: bool) -> Option<String> {
    let has_class = faults.iter().any(|fault| matches!(fault.stage, Stage::Class | Stage::ClassReconcile));
    match (others, by_flux) {
        (false, _) => None,
        (true, false) => Some(OTHERS_ARE_TAKEN.to_owned()),
        (true, true) => (!has_class).then(|| CLASS_IS_TAKEN.to_owned()),
    }
}

/// Between its class and the Cluster, Cluster API may begin what the class alone asks for: no part is told to rest then, and
/// what is told of others has that beside it.
///
/// Source: `core/reconcilers/topology/cluster/cluster_controller.go`, `SetupWithManager` (it watches classes).
fn between(forecast: &mut Forecast, alone: &Forecast) {
    if !alone.faults.is_empty() {
        return;
    }
    for verdict in &mut forecast.verdicts {
        let first = alone.verdicts.iter().find(|one| one.subject == verdict.subject);
        let Some(first) = first.filter(|first| touches_machines(first) && !is_like(first, verdict)) else {
            continue;
        };
        verdict.reasons.push(format!(
            "its class is written before the Cluster, and means by itself: {}; Cluster API may begin with that in between (with Flux, \
             which waits for the class, it does)",
            first.meaning.words()
        ));
        if matches!(verdict.meaning, Meaning::NoChange | Meaning::MetadataOnly | Meaning::InPlace) {
            verdict.meaning = Meaning::Opaque;
        }
    }
}

fn touches_machines(verdict: &Verdict) -> bool {
    matches!(
        verdict.meaning,
        Meaning::Rollout { .. } | Meaning::Scale { .. } | Meaning::Create | Meaning::Delete
    )
}

/// Whether two verdicts say the same of a part, whatever else rolls meanwhile.
fn is_like(one: &Verdict, other: &Verdict) -> bool {
    match (&one.meaning, &other.meaning) {
        (
            Meaning::Rollout { machines, least, .. },
            Meaning::Rollout { machines: others, least: other, .. },
        ) => (machines, least) == (others, other),
        (one, other) => one == other,
    }
}

fn is_class(object: &Value) -> bool {
    text(object, &["kind"]) == "ClusterClass"
}

fn is_by_flux(before: &Side) -> bool {
    let Applied::Known(claims) = &before.applied else { return false };
    !claims.is_empty() && claims.iter().all(|claim| claim.by.is_flux())
}

/// The class as it is written, with the templates that were there.
fn without_templates(side: Side, before: &Side) -> Side {
    let id = |object: &Value| {
        let of = |path: &[&str]| text(object, path).to_owned();
        (group(&of(&["apiVersion"])).to_owned(), of(&["kind"]), of(&["metadata", "name"]))
    };
    let there = |one: Value| {
        let old = before.class.objects.iter().find(|old| id(old) == id(&one)).cloned();
        if is_class(&one) { Some(one) } else { old }
    };
    let objects = side.class.objects.into_iter().filter_map(there).collect();
    Side { class: ClassFiles { objects, ..side.class }, ..side }
}
