//! A whole answer: what is made of a Cluster, or what becomes of it when it and its class change.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::before::{Baseline, baseline, missing};
use super::behind;
use super::change::{self, After, Before, Change};
use super::create;
use super::evidence::{Evidence, Ledger, Outcome, Rule};
use super::foreign_values;
use super::live::{self, Adopted};
use super::meaning::{self, Facts};
use super::objects;
use super::observed::{self, Observed};
use super::overwrite::{Overwrite, as_applied, outcome, overwrite, rests_on_applier};
use super::provider;
use super::reconcile::RECONCILE;
use super::rollout::{self, Instants};
use super::running::is_paused;
use super::side::Side;
use super::templates;
use super::upgrading;
use super::verdict::{Meaning, Verdict};
use super::{Settings, adoption};
use crate::admission::{class_update, cluster_update};
use crate::class::Catalog;
use crate::desired::state::Desired;
use crate::import::{Applied, Claim};
use crate::refusal::{By, Opaque, Refusal, Stage};
use crate::role::{Part, Role};
use k8s_schema::value::{get, present, text};

/// What is predicted.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Forecast {
    /// What was refused; nothing happens then.
    pub faults: Vec<Refusal>,
    /// The objects in the end; none where they cannot be computed.
    pub desired: Option<Desired>,
    /// One for each part of the cluster; none where nothing is compared.
    pub verdicts: Vec<Verdict>,
    /// What the verdicts are made of.
    evidence: Ledger,
    /// The change, where one was computed.
    pub change: Option<Change>,
    /// What cannot be known.
    pub opaque: Vec<Opaque>,
    /// What else is to know of the whole.
    pub notes: Vec<String>,
}

const PAUSED: &str =
    "the Cluster is paused: Cluster API makes and changes nothing of it until it is unpaused";
const WAS_PAUSED: &str = "the Cluster was paused: what was changed meanwhile happens once it is unpaused, too, and is \
                          not seen here";

const TOGETHER: &str = "what is still to be done for it is reported together with the change, machines that are being replaced \
                        already are not";

/// What is made of a Cluster that does not exist yet.
pub fn of_new(side: &Side, settings: &Settings) -> Forecast {
    let mut forecast = Forecast { notes: paused(None, &side.cluster), ..Forecast::default() };
    let partial = !side.class.missing.is_empty();
    let mut faults = side.class.refused(settings.gates).to_vec();
    // A class whose templates are elsewhere is not at fault for that.
    faults.retain(|one| !(partial && one.stage == Stage::ClassReconcile));
    if faults.is_empty() {
        faults = adoption::refused(&side.class.objects, &[]);
    }
    let is_refused = !faults.is_empty();
    forecast.faults.extend(faults);
    let catalog = side.class.catalog(settings.gates);
    if partial {
        let admitted = create::admit(side.cluster.clone(), &catalog);
        forecast.faults.extend(admitted.faults);
        forecast.opaque = admitted.opaque;
        forecast.opaque.extend(missing(side, "which was not given"));
        return forecast;
    }
    let created = create::create(side.cluster.clone(), &catalog, settings);
    // What a refused class would make is at fault for nothing else.
    let own = |one: &Refusal| !is_refused || one.stage == Stage::Cluster;
    forecast.faults.extend(created.faults.into_iter().filter(own));
    forecast.opaque = created.opaque;
    if let Some(desired) = created.desired {
        forecast.faults.extend(objects::refused(&desired, settings.gates));
        forecast.desired = Some(desired);
    }
    forecast
}

/// The objects that Cluster API makes for a Cluster, none where they cannot be computed, and what cannot be known of them.
/// Nothing else is judged: neither the class nor whether the API server takes the objects.
pub fn desired(side: &Side, settings: &Settings) -> (Option<Desired>, Vec<Opaque>) {
    let catalog = side.class.catalog(settings.gates);
    let created = create::create(side.cluster.clone(), &catalog, settings);
    (created.desired, created.opaque)
}

/// What becomes of a Cluster that runs, that no class manages, and that gets one.
pub fn of_unmanaged(before: &Value, after: &Side, settings: &Settings) -> Forecast {
    let created = of_new(after, settings);
    let is_admission = |one: &Refusal| matches!(one.stage, Stage::Template | Stage::Class | Stage::Cluster);
    let mut faults: Vec<Refusal> = created.faults.into_iter().filter(is_admission).collect();
    let by_webhook = |one: &Refusal| one.stage == Stage::Cluster && one.by == By::WebhookValidate;
    // An apply leaves the annotation where someone else set it.
    let errors = cluster_update::adopted(&after.cluster).and(cluster_update::adopted(before));
    if faults.iter().all(by_webhook) {
        let name = format!("Cluster/{}", text(&after.cluster, &["metadata", "name"]));
        faults.extend(Refusal::of(Stage::Cluster, By::WebhookValidate, &name, errors.into_iter().collect()));
    }
    if !faults.is_empty() {
        return rejected(faults, created.notes);
    }
    let mut opaque = created.opaque;
    let reason = "no class manages the Cluster yet: the annotation lets it have one, and how what runs differs from what the class \
                  makes is not known here";
    opaque.push(Opaque::of_all(reason.to_owned()));
    Forecast {
        opaque: opaque.clone(),
        notes: created.notes,
        ..Forecast::of([whole(Meaning::Opaque, &opaque)])
    }
}

/// Refused where what is written takes the Cluster from its class: what is stored then has no topology.
fn released(before: &Side, after: &Side) -> Option<Forecast> {
    if !after.written || get(&after.cluster, &["spec", "topology"]).is_some() {
        return None;
    }
    let Overwrite { written, others, writing, note, .. } = overwrite(before, after);
    let cluster = as_applied(&after.cluster, &before.cluster);
    let error =
        cluster_update::released(&change::stored(&before.cluster, (&written, &others), &cluster, writing))?;
    let name = format!("Cluster/{}", text(&cluster, &["metadata", "name"]));
    let faults = Refusal::of(Stage::Cluster, By::WebhookValidate, &name, vec![error]);
    Some(rejected(faults, note.into_iter().collect()))
}

fn rejected(faults: Vec<Refusal>, notes: Vec<String>) -> Forecast {
    let evidence = meaning::refused(&faults, Meaning::Rejected, meaning::ADMISSION);
    Forecast { faults, notes, ..Forecast::of([evidence]) }
}

/// Class and Cluster are written, and Cluster API never gets to the Cluster.
fn unreconciled(faults: Vec<Refusal>, notes: Vec<String>) -> Forecast {
    let evidence = meaning::refused(&faults, Meaning::Wedged, adoption::SOURCE);
    Forecast { faults, notes, ..Forecast::of([evidence]) }
}

/// What becomes of a Cluster that runs.
///
/// Faults of the state before are an error: nothing runs then that could be compared with.
pub fn of_change(before: &Side, after: &Side, settings: &Settings) -> Result<Forecast, Vec<Refusal>> {
    if let Some(forecast) = outright(before, after, settings) {
        return forecast;
    }
    let forecast = of_written(before, after, settings)?;
    let unowned = adoption::refused(&after.class.objects, &before.class.objects);
    let is_accepted = forecast.change.as_ref().is_some_and(|change| change.accepted);
    Ok(if is_accepted && !unowned.is_empty() { unreconciled(unowned, forecast.notes) } else { forecast })
}

/// What Cluster API makes of what is written, where it gets to it.
fn of_written(before: &Side, after: &Side, settings: &Settings) -> Result<Forecast, Vec<Refusal>> {
    let mut unknown = missing(after, "which was not given");
    let catalog = before.class.catalog(settings.gates);
    let (desired, mut opaque, given) = match baseline(before, &catalog, settings) {
        Baseline::Refusal(faults) if unknown.is_empty() => return Err(faults),
        Baseline::Computed(desired, opaque) if unknown.is_empty() => (desired, opaque, None),
        Baseline::Given(desired, why) if unknown.is_empty() => (desired, Vec::new(), Some(why)),
        Baseline::Unknown(reasons) => {
            unknown.extend(reasons);
            return Ok(of_unknown(before, after, unknown, settings));
        }
        _ => return Ok(of_unknown(before, after, unknown, settings)),
    };
    let mut running = change::run(&desired);
    let mut known = observed::versions(&mut running, &before.observed);
    let mut adopted = live::adopt(&mut running, &before.observed);
    let edited = templates::adopt(&mut running, &mut adopted, &before.observed);
    let Adopted { known: content, others: set_by_others } = adopted;
    known.extend(content.iter().cloned());
    let mut counted = observed::counts(&mut running, &before.observed);
    counted.extend(content.iter().cloned());
    let foreign = foreign_values::found(&running, &before.observed);
    let held = observed::held(&before.cluster, &known);
    let Overwrite { written, others, writing, doubts, note } = overwrite(before, after);
    opaque.extend(doubts);
    opaque.extend(templates::doubts(&edited));
    let cluster = as_applied(&after.cluster, &before.cluster);
    let unseen = (!all_known(&running, &content)).then_some(&before.cluster);
    let mut notes = paused(unseen, &cluster);
    notes.extend(given.into_iter().chain(note));
    notes.extend(observed::lagging(&held, &before.cluster, &cluster));
    let (late, unsettled) = unsettled(&running, &before.observed, &content, &known);
    notes.extend(late);
    opaque.extend(unsettled);
    let question =
        After { classes: &after.class.objects, cluster: after.written.then_some(&cluster), writing };
    let (all, upgrading) = (Arc::clone(&before.observed.all), upgrading::parts(&running, &before.observed));
    let state = Before { catalog, written, others, all, running, set_by_others, upgrading, settles: true };
    let clusters = state.clusters();
    let written = before.class.written(&after.class, writing, settings.gates, clusters);
    let mut change = change::of_written(&state, question, &written, settings, Instants::UNKNOWN);
    behind::released(&mut change.rollouts, &state.running, change.running.as_ref(), &before.observed);
    let facts = Facts { before: &state.running, counted: &counted, unknown: &opaque, change: &change };
    let mut evidence = meaning::evidence(facts);
    if change.accepted {
        notes.extend(unseen_clusters(&state.catalog, after));
        let found = evidence.verdicts();
        let end = change.running.as_ref().unwrap_or(&state.running);
        evidence.extend(rests_on_applier(&found, before, after));
        evidence.extend(observed::evidence(&found, &held, &cluster));
        evidence.extend(templates::evidence(&edited));
        evidence.extend(foreign_values::evidence(&found, &foreign));
        evidence.extend(foreign_values::of_paused(&found, end));
        provider::stop(&mut change, &across(&mut evidence, settings));
    }
    let forecast = Forecast::of(evidence);
    let verdicts = &forecast.verdicts;
    notes.extend(templates::notes(&before.class.objects, &after.class.objects, &change, verdicts));
    Ok(Forecast {
        faults: change.faults.clone(),
        desired: change.desired.clone(),
        opaque: opaque.into_iter().chain(change.opaque.iter().cloned()).collect(),
        notes,
        change: Some(change),
        ..forecast
    })
}

/// Adds what becomes of one part because of another; gives the verdicts on which that rests.
fn across(evidence: &mut Ledger, settings: &Settings) -> Vec<Verdict> {
    let verdicts = evidence.verdicts();
    evidence.extend(rollout::not_together(&verdicts));
    evidence.extend(provider::evidence(&verdicts));
    if settings.gates.in_place {
        evidence.extend(rollout::in_place_updates(&verdicts));
    }
    verdicts
}

impl Forecast {
    /// What evidence comes to.
    fn of(all: impl IntoIterator<Item = Evidence>) -> Self {
        let mut forecast = Self::default();
        forecast.weigh(all);
        forecast
    }

    /// Adds evidence, and makes the verdicts anew.
    pub(super) fn weigh(&mut self, all: impl IntoIterator<Item = Evidence>) {
        self.evidence.extend(all);
        self.verdicts = self.evidence.verdicts();
    }
}

/// What is reported without following the controller from what runs.
fn outright(before: &Side, after: &Side, settings: &Settings) -> Option<Result<Forecast, Vec<Refusal>>> {
    if present(&before.cluster, &["metadata", "deletionTimestamp"]).is_some() {
        return Some(Ok(of_deleted()));
    }
    by_applier(before, after, settings).or_else(|| released(before, after).map(Ok))
}

/// What becomes of a live Cluster that is being deleted, whatever is written.
///
/// Source: `core/reconcilers/topology/cluster/cluster_controller.go`, `Reconcile`.
fn of_deleted() -> Forecast {
    let reason =
        "the live Cluster is being deleted: all its machines go, and nothing of what is written changes that";
    Forecast::of([whole(Meaning::Delete, &[]).because(reason)])
}

/// Where it is not known what runs: only the class and the Cluster are judged.
fn of_unknown(before: &Side, after: &Side, unknown: Vec<Opaque>, settings: &Settings) -> Forecast {
    let is_whole = before.class.missing.is_empty() && after.class.missing.is_empty();
    let cluster = match &before.applied {
        Applied::Known(claims) if is_whole && after.written => {
            claims.first().map(|claim| outcome(claim, before, after))
        }
        _ => None,
    };
    let side = Side { cluster: cluster.unwrap_or_else(|| after.cluster.clone()), ..after.clone() };
    let mut forecast = of_new(&side, settings);
    if forecast.faults.is_empty() {
        forecast.weigh([whole(Meaning::Opaque, &unknown)]);
    }
    forecast.opaque = unknown;
    forecast
}

/// Whether all that the topology asks for is known as it runs.
fn all_known(running: &Desired, content: &BTreeSet<Part>) -> bool {
    content.contains(&Part::Infrastructure) && observed::all_known(running, content)
}

/// What a live Cluster that Cluster API is not done with makes unknown: nothing where all that runs was given, which is noted.
fn unsettled(
    running: &Desired,
    observed: &Observed,
    content: &BTreeSet<Part>,
    known: &BTreeSet<Part>,
) -> (Option<String>, Option<Opaque>) {
    let Some(late) = observed::unsettled(observed) else { return (None, None) };
    let has_all = |parts: &BTreeSet<Part>| observed::all_known(running, parts);
    let doubt = |role| Opaque { role, reason: late.reason.clone() };
    if !(has_all(content) || late.upgrading && has_all(known)) {
        return (None, Some(doubt(Role::Cluster)));
    }
    let is_read = late.upgrading || content.contains(&Part::Infrastructure);
    (Some(format!("{}; {TOGETHER}", late.reason)), (!is_read).then(|| doubt(Role::Infrastructure)))
}

fn paused(before: Option<&Value>, after: &Value) -> Vec<String> {
    match (before.is_some_and(is_paused), is_paused(after)) {
        (_, true) => vec![PAUSED.to_owned()],
        (true, false) => vec![WAS_PAUSED.to_owned()],
        (false, false) => Vec::new(),
    }
}

/// The verdicts on a cluster that comes or goes as a whole.
pub fn of_all_parts(desired: &Desired, meaning: &Meaning) -> Vec<Verdict> {
    let pools = desired.all_workers().map(|(pool, _)| Part::Pool(pool));
    let parts: BTreeSet<Part> = pools.chain([Part::ControlPlane, Part::Infrastructure]).collect();
    let evidence = |part| Evidence { part, ..whole(meaning.clone(), &[]) };
    parts.into_iter().map(evidence).collect::<Ledger>().verdicts()
}

fn whole(meaning: Meaning, unknown: &[Opaque]) -> Evidence {
    Evidence {
        reasons: unknown.iter().map(|one| one.reason.clone()).collect(),
        source: Some(RECONCILE),
        ..Evidence::new(Part::Cluster, Rule::Change, Outcome::Means(meaning))
    }
}

/// Said where a class changes in what Clusters of it rely on: the webhook asks all of them, and only those given are seen.
fn unseen_clusters(before: &Catalog, after: &Side) -> Option<String> {
    let class = after.class.objects.first()?;
    let old = before.same_object(class)?;
    class_update::asks_clusters(class, old).then(|| {
        format!(
            "the webhook judges the new edition of {} by all Clusters of the class: what those use that are not among the files \
             is not seen",
            text(class, &["metadata", "name"])
        )
    })
}

/// Where several applied the whole Cluster before, and what it becomes depends on which of them does: what all of it means
/// where it comes to the same, else that it is not known.
fn by_applier(before: &Side, after: &Side, settings: &Settings) -> Option<Result<Forecast, Vec<Refusal>>> {
    if !after.written {
        return None;
    }
    let (Applied::Known(claims), Applied::File) = (&before.applied, &after.applied) else { return None };
    let first = outcome(claims.first()?, before, after);
    if claims.iter().all(|one| outcome(one, before, after) == first) {
        return None;
    }
    let by = |claim: &Claim| {
        let side = Side { applied: Applied::Known(vec![claim.clone()]), ..before.clone() };
        of_change(&side, after, settings)
    };
    let all: Result<Vec<Forecast>, _> = claims.iter().map(by).collect();
    let mut all = match all {
        Ok(all) => all,
        Err(faults) => return Some(Err(faults)),
    };
    let answer = |one: &Forecast| (one.verdicts.clone(), one.faults.clone());
    if all.iter().all(|one| answer(one) == answer(&all[0])) {
        return Some(Ok(all.swap_remove(0)));
    }
    let names: Vec<String> =
        claims.iter().map(|one| format!("{} ({})", one.by.name(), one.by.manner())).collect();
    let reason = format!(
        "{} each applied the Cluster: what of it stays depends on which of them applies the new one",
        names.join(" and ")
    );
    let opaque = vec![Opaque::of_all(reason)];
    let evidence = whole(Meaning::Opaque, &opaque);
    Some(Ok(Forecast { opaque, ..Forecast::of([evidence]) }))
}
