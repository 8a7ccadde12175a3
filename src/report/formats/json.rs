//! Writes a report as data.

use rayon::prelude::*;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::{
    compare::{Address, FieldChange},
    model::{ClusterId, hex},
    report::{
        OutsideChange, OutsidePlace, OwnObject, Peak, Refusal, RefusedShare, Report,
        change::{Change, Effect, Leaving, Machines, Revert, Subject},
        change_id,
        cluster::{ClusterReport, Sides},
        machines::{Flow, Tally},
        objects::grants,
        risk::Risk,
        summary::summary,
        words,
    },
    topology::{Meaning, TopologyPart, predict::ListChange},
};

/// The number of clusters that are written at a time to be hashed.
const AT_A_TIME: usize = 512;

pub fn document(report: &Report) -> Map<String, Json> {
    let mut out = totals(report);
    let clusters: Vec<Json> = report.clusters.par_iter().map(cluster).collect();
    out.insert("clusters".to_owned(), Json::Array(clusters));
    out.extend(rest(report));
    out
}

/// A digest of the document as JSON. The document of a large change is never held as a whole.
pub fn digest(report: &Report) -> String {
    let [totals, rest] = [totals(report), rest(report)].map(|part| Json::Object(part).to_string());
    let mut hash = Sha256::new();
    hash.update(totals.strip_suffix('}').unwrap_or(&totals));
    hash.update(",\"clusters\":[");
    for (at, clusters) in report.clusters.chunks(AT_A_TIME).enumerate() {
        let texts: Vec<String> = clusters.par_iter().map(|one| cluster(one).to_string()).collect();
        hash.update(if at == 0 { "" } else { "," });
        hash.update(texts.join(","));
    }
    hash.update("],");
    hash.update(rest.strip_prefix('{').unwrap_or(&rest));
    hex(&hash.finalize())
}

/// The entries of the document before its clusters.
fn totals(report: &Report) -> Map<String, Json> {
    let mut out = Map::new();
    out.insert("summary".to_owned(), json!(summary(report)));
    out.insert("total".to_owned(), json!(report.total));
    let counts: Map<String, Json> = Risk::ALL
        .into_iter()
        .map(|risk| {
            let count = report.clusters.iter().filter(|one| one.risk == risk).count();
            (risk.as_str().to_owned(), json!(count))
        })
        .collect();
    out.insert("risks".to_owned(), Json::Object(counts));
    out.insert("machines".to_owned(), machines(report));
    out
}

/// The entries of the document after its clusters.
fn rest(report: &Report) -> Map<String, Json> {
    let mut out = Map::new();
    let group = |group: &crate::report::Group| {
        json!({
            "risk": group.risk.as_str(),
            "clusters": group.clusters.iter().map(name).collect::<Vec<_>>(),
        })
    };
    out.insert("groups".to_owned(), report.groups.iter().map(group).collect());
    out.insert("beside".to_owned(), report.beside.iter().map(beside).collect());
    out.insert("peaks".to_owned(), report.peaks.iter().map(peak).collect());
    if let Some(stale) = &report.stale {
        out.insert("stale".to_owned(), json!(stale));
    }
    if !report.cautions.is_empty() {
        out.insert("cautions".to_owned(), json!(report.cautions));
    }
    if report.errors.count > 0 {
        out.insert(
            "errors".to_owned(),
            json!({ "count": report.errors.count, "shown": report.errors.shown }),
        );
    }
    out
}

/// A cluster's ID, in the form that every command uses.
fn name(id: &ClusterId) -> Json {
    json!({
        "managementCluster": id.management.as_str(),
        "namespace": id.namespace.as_str(),
        "name": id.name.as_str(),
    })
}

fn cluster(one: &ClusterReport) -> Json {
    let (id, refusal) = (&one.cluster, one.refusal());
    json!({
        "cluster": name(id),
        "owners": one.owners,
        "risk": one.risk.as_str(),
        "release": sides(&one.release),
        "kubernetes": sides(&one.kubernetes),
        "changes": one.changes.iter().map(|change| of_change(change, id, refusal)).collect::<Vec<_>>(),
        "steps": one.steps,
        "notes": one.notes,
    })
}

fn sides(sides: &Sides) -> Json {
    json!({ "before": sides.before, "after": sides.after })
}

fn of_change(change: &Change, cluster: &ClusterId, refusal: Option<Refusal>) -> Json {
    let happens = !refusal.is_some_and(|one| one.by_guards || one.stops(change));
    let mut out = json!({
        "id": change.id(cluster),
        "part": change_id::subject(&change.subject),
        "effect": effect(&change.effect),
        "risk": change.risk.as_str(),
        "revert": if happens { change.revert } else { Revert::Nothing }.as_str(),
        "fields": change.fields.iter().map(field).collect::<Vec<_>>(),
        "causes": change.causes.iter().map(|cause| &cause.field).collect::<Vec<_>>(),
        "reasons": words::reasons(change),
    });
    count(change, &mut out);
    if !change.entries.is_empty() {
        let entries = |list: &ListChange| json!({ "added": list.added, "changed": list.changed, "removed": list.removed });
        let all = change.entries.iter().map(|(cause, list)| (cause.clone(), entries(list)));
        out["causeEntries"] = Json::Object(all.collect());
    }
    let is_stopped = |refusal: Refusal| refusal.by_guards || refusal.stops(change);
    if change.effect != Effect::Refused && refusal.is_some_and(is_stopped) {
        out["refused"] = json!(true);
    }
    if let Effect::Verdict(Meaning::Rollout { .. } | Meaning::Upgrade { .. }) = &change.effect {
        out["surge"] = json!(change.surge);
        out["unavailable"] = json!(change.unavailable);
    }
    if change.grants {
        out["grantsRights"] = json!(true);
    }
    if let Some(reason) = &change.accepted {
        out["accepted"] = json!({ "reason": reason });
    }
    if change.paused {
        out["paused"] = json!(true);
    }
    if change.announced {
        out["announced"] = json!(true);
    }
    if change.is_unannounced() {
        out["unannounced"] = json!(true);
    }
    match &change.effect {
        Effect::Addon { before, after, needed } => {
            out["before"] = json!(before);
            out["after"] = json!(after);
            out["nodesNeedIt"] = json!(needed);
        }
        Effect::AddonLeft { version } => out["before"] = json!(version),
        Effect::Moved { from, .. } => out["before"] = name(from),
        Effect::Verdict(Meaning::Upgrade { from, to, times, .. }) => {
            out["before"] = json!(from);
            out["after"] = json!(to);
            out["times"] = json!(times);
        }
        Effect::Verdict(Meaning::Scale { from, to }) => {
            out["before"] = json!((!change.machines.more).then_some(from));
            out["after"] = json!(to);
        }
        Effect::Verdict(Meaning::Rollout { together_with, .. }) => {
            out["togetherWith"] = json!(together_with.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
        _ => {}
    }
    out
}

/// Adds the numbers of machines of a change.
fn count(change: &Change, out: &mut Json) {
    for (key, machines) in
        [("machines", change.machines), ("machinesBuilt", change.built), ("machinesRemoved", change.shed)]
    {
        if machines != Machines::default() {
            out[key] = range(machines);
        }
    }
    if !change.parts.is_empty() {
        let part = |(part, count): &(TopologyPart, Machines)| (part.to_string(), range(*count));
        out["machinesByPart"] = Json::Object(change.parts.iter().map(part).collect());
    }
}

fn range(machines: Machines) -> Json {
    let Machines { least, most, more } = machines;
    json!({ "least": least, "most": (!more).then_some(most) })
}

/// What happens to the machines of all clusters.
fn machines(report: &Report) -> Json {
    let all = Flow::of_clusters(report.clusters.iter());
    let kinds = |tally: Tally| {
        let mut out = json!({ "controlPlanes": range(tally.control_planes), "pools": range(tally.pools) });
        if tally.others != Machines::default() {
            out["others"] = range(tally.others);
        }
        out
    };
    json!({
        "replaced": kinds(all.replaced.and(all.waiting)),
        "replacedOnDelete": kinds(all.waiting),
        "removed": kinds(all.removed.and(all.deleted)),
        "added": kinds(all.added),
        "unknown": kinds(all.unknown),
    })
}

fn effect(effect: &Effect) -> &'static str {
    match effect {
        Effect::Created => "created",
        Effect::Returned { .. } => "returned",
        Effect::Gone(Leaving::Announced) => "deleted",
        Effect::Gone(Leaving::Finished) => "removal-finished",
        Effect::Gone(Leaving::Abandoned) | Effect::AddonLeft { .. } => "abandoned",
        Effect::Gone(Leaving::Unannounced) => "deleted-unannounced",
        Effect::Gone(Leaving::Unproven) => "gone",
        Effect::Moved { .. } => "moved",
        Effect::Detached => "detached",
        Effect::Attached => "attached",
        Effect::Paused => "paused",
        Effect::Resumed => "resumed",
        Effect::Verdict(meaning) => meaning.as_str(),
        Effect::Refused => "refused",
        Effect::Unknown => "unknown",
        Effect::Ignored => "ignored",
        Effect::Addon { before: None, .. } => "addon-added",
        Effect::Addon { after: None, .. } => "addon-removed",
        Effect::Addon { .. } => "addon-changed",
        Effect::Needed => "needed",
        Effect::Added => "added",
        Effect::Removed => "removed",
        Effect::Changed => "changed",
    }
}

fn field(field: &FieldChange) -> Json {
    let mut out = Map::new();
    out.insert("path".to_owned(), json!(field.path.to_string()));
    // A missing field has no key here; `null` is a value.
    for (key, value) in [("before", &field.before), ("after", &field.after)] {
        if let Some(value) = value {
            out.insert(key.to_owned(), value.clone());
        }
    }
    Json::Object(out)
}

fn beside(change: &OutsideChange) -> Json {
    let (kind, name) = match &change.place {
        OutsidePlace::Release(name) => ("release", name.clone()),
        OutsidePlace::Namespace { management, namespace } => {
            ("namespace", format!("{management}/{namespace}"))
        }
        OutsidePlace::Engine(name) => ("engine", name.clone()),
        OutsidePlace::Own(folder) => ("own", folder.clone()),
        OutsidePlace::NodeImage(name) => ("node-image", name.clone()),
        OutsidePlace::Tree => ("tree", String::new()),
    };
    let object = |one: &OwnObject| {
        let Address { group, kind, namespace, name } = &one.address;
        let mut out = json!({ "group": group, "kind": kind, "namespace": namespace, "name": name, "effect": one.change });
        if grants(&one.address) {
            out["grantsRights"] = json!(true);
        }
        if one.stays {
            out["stays"] = json!(true);
        }
        out
    };
    let mut out = json!({
        "id": change.id,
        "kind": kind,
        "name": name,
        "risk": change.risk.as_str(),
        "effect": change.kind,
        "files": change.files,
    });
    match change.refused {
        RefusedShare::None => {}
        RefusedShare::Some => out["refusedPartly"] = json!(true),
        RefusedShare::All => out["refused"] = json!(true),
    }
    if matches!(change.place, OutsidePlace::Own(_)) {
        out["objects"] = change.objects.iter().map(object).collect();
        out["movedFrom"] = json!(change.moved);
    }
    if let Some(reason) = &change.accepted {
        out["accepted"] = json!({ "reason": reason });
    }
    out
}

fn peak(peak: &Peak) -> Json {
    let unknown = |(cluster, part): &(ClusterId, Subject)| json!({ "cluster": name(cluster), "part": change_id::subject(part) });
    json!({
        "managementCluster": peak.management.as_str(),
        "namespace": peak.namespace.as_str(),
        "machines": peak.machines,
        "unknownParts": peak.unknown.len(),
        "unknown": peak.unknown.iter().map(unknown).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_document() {
        let label = |text: &str| crate::model::Label::new(text).unwrap();
        let one = |name: String| ClusterReport {
            cluster: ClusterId { management: label("m"), namespace: label("n"), name: label(&name) },
            has_namesake: false,
            owners: vec!["a \"team\"".to_owned()],
            release: Sides::default(),
            kubernetes: Sides::default(),
            risk: Risk::InPlace,
            changes: Vec::new(),
            steps: Vec::new(),
            pools_at_once: 0,
            notes: Vec::new(),
        };
        for count in [0, 1, AT_A_TIME, 2 * AT_A_TIME + 1] {
            let clusters = (0..count).map(|number| one(format!("c-{number}"))).collect();
            let report = Report { clusters, ..Report::default() };
            let text = Json::Object(document(&report)).to_string();
            assert_eq!(digest(&report), hex(&Sha256::digest(text.as_bytes())), "{count} clusters");
        }
    }
}
