//! A complete prediction: the objects of a new Cluster, or the outcome when a Cluster and its class change.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::admit;
use super::applied_again::applied_again;
use super::baseline::{Baseline, baseline, missing};
use super::before_after::{After, Before};
use super::change::{self, Change};
use super::create;
use super::evidence::{Evidence, RuleOutcome};
use super::live::{self, Adopted};
use super::meaning::Meaning;
use super::objects;
use super::observed::{self, Observed};
use super::overwrite::{Overwrite, as_applied, outcome, overwrite, rests_on_applier};
use super::reconcile::RECONCILE;
use super::rules::Rule;
use super::rules::changed_parts::{self, Facts};
use super::rules::edited_templates;
use super::rules::health_checks;
use super::rules::infrastructure_webhooks;
use super::rules::machine_rollouts::{self, Instants};
use super::rules::manual_steps;
use super::rules::outdated_machines as outdated;
use super::rules::{foreign_values, paused_parts};
use super::running::is_paused;
use super::side::Side;
use super::upgrading;
use super::verdict::Ledger;
use super::verdict::Verdict;
use super::{Settings, adoption};
use crate::admission::{class_update, cluster_update};
use crate::class::Catalog;
use crate::import::{Applied, Claim};
use crate::refusal::{By, Opaque, Refusal, Stage};
use crate::role::{Role, TopologyPart};
use crate::state::Desired;
use k8s_schema::value::{get, present, text};

/// The result of a prediction.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Forecast {
    /// What the API server, the webhooks or the controller refuse.
    pub faults: Vec<Refusal>,
    /// The objects at the end; none if they cannot be computed.
    pub desired: Option<Desired>,
    /// The objects before a change; none unless they were computed from the earlier Cluster.
    pub former: Option<Desired>,
    /// One verdict for each part of the cluster; empty if nothing is compared.
    pub verdicts: Vec<Verdict>,
    /// The evidence behind the verdicts.
    evidence: Ledger,
    /// The change, if one was computed.
    pub change: Option<Change>,
    /// What cannot be known.
    pub opaque: Vec<Opaque>,
    /// Remarks on the prediction as a whole.
    pub notes: Vec<String>,
    /// Conditions under which Cluster API refuses the change. Only the running objects show whether they hold.
    pub conditions: Vec<String>,
}

const PAUSED: &str = "the Cluster is paused: Cluster API creates and changes nothing until it is unpaused";
const WAS_PAUSED: &str = "the Cluster was paused: changes in the meantime take effect once it is unpaused, too, and are \
                          not seen here";

const TOGETHER: &str = "pending work is reported together with the change; machines that are already being replaced \
                        are not";

/// Predicts the creation of a Cluster.
pub fn of_new(side: &Side, settings: &Settings) -> Forecast {
    let mut forecast = Forecast { notes: paused(None, &side.cluster), ..Forecast::default() };
    let partial = !side.class.missing.is_empty();
    let mut faults = side.class.refused(settings.gates).to_vec();
    // A class is not at fault if its templates are stored elsewhere.
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
    // If the class is refused, only errors of the Cluster itself are added: later ones follow from the class.
    let own = |one: &Refusal| !is_refused || one.stage == Stage::Cluster;
    forecast.faults.extend(created.faults.into_iter().filter(own));
    forecast.opaque = created.opaque;
    if let Some(desired) = created.desired {
        forecast.faults.extend(objects::refused(&desired, settings.gates));
        forecast.desired = Some(desired);
    }
    forecast
}

/// Computes the objects of a Cluster, none if that is impossible, and what cannot be known about them. Validates neither
/// the class nor the objects.
pub fn desired(side: &Side, settings: &Settings) -> (Option<Desired>, Vec<Opaque>) {
    let catalog = side.class.catalog(settings.gates);
    let created = create::create(side.cluster.clone(), &catalog, settings);
    (created.desired, created.opaque)
}

/// Predicts the change of a running Cluster that has no class yet and gets one.
pub fn of_unmanaged(before: &Value, after: &Side, settings: &Settings) -> Forecast {
    let created = of_new(after, settings);
    let is_admission = |one: &Refusal| matches!(one.stage, Stage::Template | Stage::Class | Stage::Cluster);
    let mut faults: Vec<Refusal> = created.faults.into_iter().filter(is_admission).collect();
    let by_webhook = |one: &Refusal| one.stage == Stage::Cluster && one.by == By::WebhookValidate;
    // An apply keeps the annotation if someone else set it.
    let errors = cluster_update::adopted(&after.cluster).and(cluster_update::adopted(before));
    if faults.iter().all(by_webhook) {
        let name = format!("Cluster/{}", text(&after.cluster, &["metadata", "name"]));
        faults.extend(Refusal::of(Stage::Cluster, By::WebhookValidate, &name, errors.into_iter().collect()));
    }
    if !faults.is_empty() {
        return rejected(faults, created.notes);
    }
    let mut opaque = created.opaque;
    let reason = "no class manages the Cluster yet: the annotation lets a class adopt it, and how the running objects differ from those of the \
                  class is not known here";
    opaque.push(Opaque::of_all(reason.to_owned()));
    Forecast {
        opaque: opaque.clone(),
        notes: created.notes,
        ..Forecast::of([whole(Meaning::Opaque, &opaque)])
    }
}

/// Handles a manifest that detaches the Cluster from its class: it is refused if the stored Cluster then has no topology.
fn released(before: &Side, after: &Side) -> Option<Forecast> {
    if !after.written || get(&after.cluster, &["spec", "topology"]).is_some() {
        return None;
    }
    let Overwrite { written, others, writing, note, .. } = overwrite(before, after);
    let cluster = as_applied(&after.cluster, &before.cluster);
    let error =
        cluster_update::released(&admit::stored(&before.cluster, (&written, &others), &cluster, writing))?;
    let name = format!("Cluster/{}", text(&cluster, &["metadata", "name"]));
    let faults = Refusal::of(Stage::Cluster, By::WebhookValidate, &name, vec![error]);
    Some(rejected(faults, note.into_iter().collect()))
}

fn rejected(faults: Vec<Refusal>, notes: Vec<String>) -> Forecast {
    let evidence = changed_parts::refused(&faults, Meaning::Rejected, changed_parts::ADMISSION);
    Forecast { faults, notes, ..Forecast::of([evidence]) }
}

/// The class and the Cluster are written, but Cluster API never gets to the Cluster.
fn unreconciled(faults: Vec<Refusal>, notes: Vec<String>) -> Forecast {
    let evidence = changed_parts::refused(&faults, Meaning::Wedged, adoption::SOURCE);
    Forecast { faults, notes, ..Forecast::of([evidence]) }
}

/// Predicts the change of a running Cluster.
///
/// Errors in the earlier state are returned as `Err`: then nothing runs to compare with.
pub fn of_change(before: &Side, after: &Side, settings: &Settings) -> Result<Forecast, Vec<Refusal>> {
    if let Some(forecast) = outright(before, after, settings) {
        return forecast;
    }
    let forecast = of_written(before, after, settings)?;
    let unowned = adoption::refused(&after.class.objects, &before.class.objects);
    let is_accepted = forecast.change.as_ref().is_some_and(|change| change.accepted);
    Ok(if is_accepted && !unowned.is_empty() { unreconciled(unowned, forecast.notes) } else { forecast })
}

/// Predicts how Cluster API handles the written objects, provided that it gets to the Cluster.
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
    let is_computed = given.is_none();
    let mut running = change::run(&desired);
    let mut known = observed::versions(&mut running, &before.observed);
    let mut adopted = live::adopt(&mut running, &before.observed);
    let edited = edited_templates::adopt(&mut running, &mut adopted, &before.observed);
    let Adopted { known: content, others: set_by_others } = adopted;
    known.extend(content.iter().cloned());
    let mut counted = observed::counts(&mut running, &before.observed);
    counted.extend(content.iter().cloned());
    let foreign = foreign_values::found(&running, &before.observed);
    let held = observed::held(&before.cluster, &known);
    let settled = observed::settled(&running, &known, &before.observed);
    let Overwrite { written, others, writing, doubts, note } = overwrite(before, after);
    opaque.extend(doubts.into_iter().chain(edited_templates::doubts(&edited)));
    let cluster = as_applied(&after.cluster, &before.cluster);
    let unseen = (!all_known(&running, &content)).then_some(&before.cluster);
    let mut notes = paused(unseen, &cluster);
    notes.extend(given.into_iter().chain(note).chain(observed::lagging(&held, &before.cluster, &cluster)));
    let (late, unsettled) = unsettled(&running, &before.observed, &content, &known);
    notes.extend(late);
    opaque.extend(unsettled);
    let question =
        After { classes: &after.class.objects, cluster: after.written.then_some(&cluster), writing };
    let (all, upgrading) = (Arc::clone(&before.observed.all), upgrading::parts(&running, &before.observed));
    let state = Before { catalog, written, others, all, running, set_by_others, upgrading, settles: true };
    let written = before.class.written(&after.class, writing, settings.gates, state.clusters());
    let mut change = change::of_written(&state, question, &written, settings, Instants::UNKNOWN);
    opaque.extend(applied_again(&state, question, &change, &written.catalog, settings));
    outdated::released(&mut change.rollouts, &state.running, change.running.as_ref(), &before.observed);
    change.behind = manual_steps::left_behind(&state.running, &change);
    let facts = Facts { before: &state.running, counted: &counted, unknown: &opaque, change: &change };
    let mut evidence = changed_parts::evidence(facts);
    if change.accepted {
        notes.extend(unseen_clusters(&state.catalog, after));
        let found = evidence.verdicts();
        let end = change.running.as_ref().unwrap_or(&state.running);
        evidence.extend(rests_on_applier(&found, before, after));
        evidence.extend(observed::evidence(&found, &held, &cluster));
        evidence.extend(manual_steps::of_waiting(&state.running, &change, &found, &settled));
        evidence.extend(edited_templates::evidence(&edited));
        evidence.extend(foreign_values::evidence(&found, &foreign));
        evidence.extend(paused_parts::evidence(&found, &state.running, end));
        infrastructure_webhooks::stop(&mut change, &across(&mut evidence, settings));
    }
    let conditions = manual_steps::conditions(&state.running, &settled, &cluster);
    let forecast = Forecast::of(evidence);
    let verdicts = &forecast.verdicts;
    notes.extend(edited_templates::notes(&before.class.objects, &after.class.objects, &change, verdicts));
    Ok(Forecast {
        faults: change.faults.clone(),
        desired: change.desired.clone(),
        former: is_computed.then_some(desired),
        opaque: opaque.into_iter().chain(change.opaque.iter().cloned()).collect(),
        notes,
        conditions,
        change: Some(change),
        ..forecast
    })
}

/// Adds evidence about the effects of one part on another, and returns the verdicts it is based on.
fn across(evidence: &mut Ledger, settings: &Settings) -> Vec<Verdict> {
    let verdicts = evidence.verdicts();
    evidence.extend(machine_rollouts::not_together(&verdicts));
    evidence.extend(infrastructure_webhooks::evidence(&verdicts));
    if settings.gates.in_place {
        evidence.extend(machine_rollouts::in_place_updates(&verdicts));
    }
    verdicts
}

impl Forecast {
    fn of(all: impl IntoIterator<Item = Evidence>) -> Self {
        let mut forecast = Self::default();
        forecast.weigh(all);
        forecast
    }

    /// Adds evidence, and computes the verdicts again.
    pub(super) fn weigh(&mut self, all: impl IntoIterator<Item = Evidence>) {
        self.evidence.extend(all);
        self.verdicts = self.evidence.verdicts();
    }
}

/// Handles cases that are decided without simulating the controller from the running objects.
fn outright(before: &Side, after: &Side, settings: &Settings) -> Option<Result<Forecast, Vec<Refusal>>> {
    if present(&before.cluster, &["metadata", "deletionTimestamp"]).is_some() {
        return Some(Ok(of_deleted()));
    }
    by_applier(before, after, settings).or_else(|| released(before, after).map(Ok))
}

/// The forecast for a live Cluster that is being deleted, whatever is written.
///
/// Source: `core/reconcilers/topology/cluster/cluster_controller.go`, `Reconcile`.
fn of_deleted() -> Forecast {
    let reason = "the live Cluster is being deleted: all its machines are deleted, whatever is written";
    Forecast::of([whole(Meaning::Delete, &[]).because(reason)])
}

/// The forecast if the running objects are unknown: only the class and the Cluster are validated.
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

/// Reports whether the running objects of the whole topology are known.
fn all_known(running: &Desired, content: &BTreeSet<TopologyPart>) -> bool {
    content.contains(&TopologyPart::Infrastructure) && observed::all_known(running, content)
}

/// Handles a live Cluster that Cluster API has not finished reconciling. The result is a note if the running objects were
/// given, otherwise an uncertainty about the whole Cluster. In the first case, the infrastructure may still be uncertain.
fn unsettled(
    running: &Desired,
    observed: &Observed,
    content: &BTreeSet<TopologyPart>,
    known: &BTreeSet<TopologyPart>,
) -> (Option<String>, Option<Opaque>) {
    let Some(late) = observed::unsettled(observed) else { return (None, None) };
    let has_all = |parts: &BTreeSet<TopologyPart>| observed::all_known(running, parts);
    let doubt = |role| Opaque::new(role, late.reason.clone());
    if !(has_all(content) || late.upgrading && has_all(known)) {
        return (None, Some(doubt(Role::Cluster)));
    }
    let is_read = late.upgrading || content.contains(&TopologyPart::Infrastructure);
    (Some(format!("{}; {TOGETHER}", late.reason)), (!is_read).then(|| doubt(Role::Infrastructure)))
}

fn paused(before: Option<&Value>, after: &Value) -> Vec<String> {
    match (before.is_some_and(is_paused), is_paused(after)) {
        (_, true) => vec![PAUSED.to_owned()],
        (true, false) => vec![WAS_PAUSED.to_owned()],
        (false, false) => Vec::new(),
    }
}

/// The verdicts on a cluster that is created or deleted as a whole.
pub fn of_all_parts(desired: &Desired, meaning: &Meaning) -> Vec<Verdict> {
    let pools = desired.all_workers().map(|(pool, _)| TopologyPart::Pool(pool));
    let parts: BTreeSet<TopologyPart> =
        pools.chain([TopologyPart::ControlPlane, TopologyPart::Infrastructure]).collect();
    let is_new = *meaning == Meaning::Create;
    let checks = parts.iter().filter_map(|part| health_checks::of_created(part, desired)).filter(|_| is_new);
    let checks: Vec<Evidence> = checks.collect();
    let paused = parts.iter().filter_map(|part| paused_parts::created(part, desired)).filter(|_| is_new);
    let paused: Vec<Evidence> = paused.collect();
    let evidence = |part| Evidence { part, ..whole(meaning.clone(), &[]) };
    parts.into_iter().map(evidence).chain(checks).chain(paused).collect::<Ledger>().verdicts()
}

fn whole(meaning: Meaning, unknown: &[Opaque]) -> Evidence {
    Evidence {
        reasons: unknown.iter().map(|one| (&one.reason).into()).collect(),
        by_extension: unknown.iter().any(|one| one.by_extension),
        source: Some(RECONCILE),
        ..Evidence::new(TopologyPart::Cluster, Rule::Change, RuleOutcome::Means(meaning))
    }
}

/// The note on a class change that the webhook checks against all Clusters of the class: only the given ones are seen.
fn unseen_clusters(before: &Catalog, after: &Side) -> Option<String> {
    let class = after.class.objects.first()?;
    let old = before.same_object(class)?;
    class_update::asks_clusters(class, old).then(|| {
        format!(
            "the webhook checks the new version of {} against all Clusters of the class: those that are not among the files \
             are not seen",
            text(class, &["metadata", "name"])
        )
    })
}

/// Handles a Cluster that several managers applied as a whole, if the result depends on which of them applies it next. If
/// their results agree, that is the forecast; otherwise, the outcome is unknown.
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
        "{} each applied the Cluster: which fields stay depends on which of them applies the new one",
        names.join(" and ")
    );
    let opaque = vec![Opaque::of_all(reason)];
    let evidence = whole(Meaning::Opaque, &opaque);
    Some(Ok(Forecast { opaque, ..Forecast::of([evidence]) }))
}
