//! A whole answer: what is made of a Cluster, or what becomes of it when it and its class change.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Settings;
use super::behind;
use super::change::{self, After, Before, Change, Writing};
use super::create;
use super::hands;
use super::live;
use super::objects;
use super::observed::{self, Observed};
use super::rollout::Instants;
use super::templates;
use super::verdict::{Meaning, Verdict, is_paused, verdicts};
use crate::topology::class::Catalog;
use crate::topology::desired::state::Desired;
use crate::topology::fault::{Fault, Opaque, Stage};
use crate::topology::import::{Applied, ClassFiles};
use crate::topology::value::{get, merge_patch, remove, set, text};

/// A Cluster with its class, before or after a change.
#[derive(Debug, Clone)]
pub struct Side {
    /// The Cluster.
    pub cluster: Value,
    /// Its class, and the templates that the class names.
    pub class: ClassFiles,
    /// What is known of who wrote the Cluster.
    pub applied: Applied,
    /// What is known of what runs.
    pub observed: Observed,
}

/// What is predicted.
#[derive(Debug, Clone, Default)]
pub struct Forecast {
    /// What was refused; nothing happens then.
    pub faults: Vec<Fault>,
    /// The objects in the end; none where they cannot be computed.
    pub desired: Option<Desired>,
    /// One for each part of the cluster; none where nothing is compared.
    pub verdicts: Vec<Verdict>,
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

const TOGETHER: &str = "what is still to be done for it is told together with the change, machines that are being replaced \
                        already are not";

/// What is made of a Cluster that does not exist yet.
pub fn of_new(side: &Side, settings: &Settings) -> Forecast {
    let mut forecast = Forecast { notes: paused(None, &side.cluster), ..Forecast::default() };
    let partial = !side.class.missing.is_empty();
    let faults =
        create::apply_classes(&side.class.objects, &Catalog::default().with_gates(settings.gates), &[]);
    // A class whose templates are elsewhere is not at fault for that.
    forecast.faults.extend(faults.into_iter().filter(|one| !(partial && one.stage == Stage::ClassReconcile)));
    let catalog = Catalog::new(side.class.objects.iter().cloned()).with_gates(settings.gates);
    if partial {
        let admitted = create::admit(&side.cluster, &catalog);
        forecast.faults.extend(admitted.faults);
        forecast.opaque = admitted.opaque;
        forecast.opaque.extend(missing(side, "which was not given"));
        return forecast;
    }
    let created = create::create(&side.cluster, &catalog, settings);
    forecast.faults.extend(created.faults);
    forecast.opaque = created.opaque;
    if let Some(desired) = created.desired {
        forecast.faults.extend(objects::refused(&desired, settings.gates));
        forecast.desired = Some(desired);
    }
    forecast
}

/// What becomes of a Cluster that runs.
///
/// Faults of the state before are an error: nothing runs then that could be compared with.
pub fn of_change(before: &Side, after: &Side, settings: &Settings) -> Result<Forecast, Vec<Fault>> {
    let mut unknown = missing(after, "which was not given");
    unknown.extend(missing(before, "which was not given for the state before"));
    if !unknown.is_empty() {
        let mut forecast = of_new(after, settings);
        if forecast.faults.is_empty() {
            forecast.verdicts = vec![whole(Meaning::Opaque, &unknown)];
        }
        forecast.opaque = unknown;
        return Ok(forecast);
    }
    let catalog = Catalog::new(before.class.objects.iter().cloned()).with_gates(settings.gates);
    let created = create::create(&before.cluster, &catalog, settings);
    let Some(desired) = created.desired.filter(|_| created.faults.is_empty()) else {
        return Err(created.faults);
    };
    let mut running = change::run(&desired);
    let mut known = observed::versions(&mut running, &before.observed);
    let content = live::adopt(&mut running, &before.observed);
    let edited = templates::adopt(&mut running, &content, &before.observed);
    known.extend(content.iter().cloned());
    let foreign = hands::found(&running, &before.observed);
    let held = observed::held(&before.cluster, &known);
    let (written, writing, doubt) = manners(before, after);
    let mut opaque = created.opaque;
    opaque.extend(doubt);
    opaque.extend(templates::doubts(&edited));
    let cluster = as_applied(&after.cluster, &before.cluster);
    let mut notes = paused(Some(&before.cluster), &cluster);
    notes.extend(observed::lagging(&held, &before.cluster, &cluster));
    if let Some(late) = observed::unsettled(&before.observed) {
        let has_all = |roles: &BTreeSet<String>| observed::all_known(&running, roles);
        if has_all(&content) || late.upgrading && has_all(&known) {
            notes.push(format!("{}; {TOGETHER}", late.reason));
            if !late.upgrading && !content.contains("infrastructure-cluster") {
                opaque.push(Opaque { role: "infrastructure-cluster".to_owned(), reason: late.reason });
            }
        } else {
            opaque.push(Opaque { role: "cluster".to_owned(), reason: late.reason });
        }
    }
    let question = After { classes: &after.class.objects, cluster: Some(&cluster), writing };
    let state = Before { catalog, written, running, settles: true };
    let mut change = change::change(&state, question, settings, Instants::UNKNOWN);
    behind::released(&mut change.rollouts, &state.running, change.running.as_ref(), &before.observed);
    let mut verdicts = verdicts(&state.running, &content, &opaque, &change);
    if change.accepted {
        observed::judge_held(&mut verdicts, &held, &cluster);
        templates::tell(&mut verdicts, &edited);
        hands::judge(&mut verdicts, &foreign);
    }
    notes.extend(templates::notes(&before.class.objects, &after.class.objects, &change, &verdicts));
    Ok(Forecast {
        verdicts,
        faults: change.faults.clone(),
        desired: change.desired.clone(),
        opaque: opaque.into_iter().chain(change.opaque.iter().cloned()).collect(),
        notes,
        change: Some(change),
    })
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
    let parts = desired.objects().into_keys().filter(|role| {
        let depth = role.split('.').count();
        role != "cluster" && depth == if role.starts_with("md.") || role.starts_with("mp.") { 2 } else { 1 }
    });
    parts.map(|subject| Verdict { subject, ..whole(meaning.clone(), &[]) }).collect()
}

fn whole(meaning: Meaning, unknown: &[Opaque]) -> Verdict {
    Verdict {
        subject: "cluster".to_owned(),
        meaning,
        fields: Vec::new(),
        reasons: unknown.iter().map(|one| one.reason.clone()).collect(),
        source: super::verdict::RECONCILE,
    }
}

fn missing(side: &Side, how: &str) -> Vec<Opaque> {
    let who = match side.class.objects.first() {
        Some(class) => format!("the class {}", text(class, &["metadata", "name"])),
        None => "the Cluster".to_owned(),
    };
    let reason = |name: &String| format!("{who} names {name}, {how}");
    let unknown = |reason| Opaque { role: "cluster".to_owned(), reason };
    side.class.missing.iter().map(reason).map(unknown).collect()
}

/// What was applied before, how the new Cluster is written, and what is not known of that.
fn manners(before: &Side, after: &Side) -> (Value, Writing, Option<Opaque>) {
    match (&before.applied, &after.applied) {
        (Applied::File, _) => (before.cluster.clone(), Writing::Apply, None),
        // Who edits an export writes it as a whole.
        (_, Applied::Known(_) | Applied::Unknown) => (before.cluster.clone(), Writing::Replace, None),
        (Applied::Known(written), Applied::File) => (written.clone(), Writing::Apply, None),
        (Applied::Unknown, Applied::File) => {
            let extra = get(
                &merge_patch(
                    get(&after.cluster, &["spec", "topology"]).unwrap_or(&Value::Null),
                    get(&before.cluster, &["spec", "topology"]).unwrap_or(&Value::Null),
                ),
                &["variables"],
            )
            .is_some();
            let reason = "values of the live Cluster that the new one does not have may stay or go: who set them is not \
                          known (export it with `kubectl get cluster NAME -o yaml --show-managed-fields`)";
            let doubt = extra.then(|| Opaque { role: "cluster".to_owned(), reason: reason.to_owned() });
            // References are the controller's, whoever wrote the rest.
            let mut written = before.cluster.clone();
            for reference in ["controlPlaneRef", "infrastructureRef", "controlPlaneEndpoint"] {
                remove(&mut written, &["spec", reference]);
            }
            (written, Writing::Apply, doubt)
        }
    }
}

/// A file in git may leave the namespace to who applies it.
fn as_applied(cluster: &Value, live: &Value) -> Value {
    let mut cluster = cluster.clone();
    let namespace = text(live, &["metadata", "namespace"]);
    if text(&cluster, &["metadata", "namespace"]).is_empty() && !namespace.is_empty() {
        set(&mut cluster, &["metadata", "namespace"], Value::String(namespace.to_owned()));
    }
    cluster
}
