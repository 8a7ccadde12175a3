//! Finds values that a chart does not accept, if the lock describes the values of the chart.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use super::{Check, Classes, Finder, Rule, Texts};
use crate::{
    lock::values::{self, Judge, ValueFault},
    model::{Digest, Lock},
    note::{At, Notes, Place, Severity},
    plan::{Plan, described, undescribed},
    release::{ReleaseAddon, sha256},
    render::{ChartValues, Drawn},
    world::{LOCK, release_of},
    yaml::{self, Node, Origin, Value, to_json},
};

pub(super) static RULE: Rule = Rule {
    name: "chart-values",
    docs: "An addon's values have a key that its chart does not know, or a value that the chart's schema rejects. Helm \
           silently ignores an unknown key, and refuses to install the chart if the schema rejects a value.",
    check: Check::Charts(check),
};

/// A cache of findings, because most clusters use the same values.
#[derive(Debug, Default)]
pub(super) struct Charts {
    judges: Mutex<BTreeMap<Digest, Option<Arc<Judge>>>>,
    found: Mutex<BTreeMap<Asked, Arc<Vec<ValueFault>>>>,
}

/// The digest of the chart's description, whether other objects add values, and the digest of the values.
type Asked = (Digest, bool, String);

impl Charts {
    /// The description of the chart's values; none if its file is missing or has another digest.
    pub(super) fn known(&self, digest: &Digest, texts: Texts<'_>) -> Option<Arc<Judge>> {
        let mut judges = self.judges.lock().unwrap_or_else(PoisonError::into_inner);
        judges.entry(digest.clone()).or_insert_with(|| read(digest, texts).map(Arc::new)).clone()
    }

    /// Judges values; none if the description of the chart's values is missing or has another digest.
    fn judge(&self, given: &ChartValues, texts: Texts<'_>) -> Option<Arc<Vec<ValueFault>>> {
        let digest = &given.described.0;
        let judge = self.known(digest, texts)?;
        let values = to_json(&given.values);
        let key = (digest.clone(), given.is_part, sha256(values.to_string().as_bytes()));
        let known = self.found.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        Some(known.unwrap_or_else(|| {
            let found = Arc::new(judge.judge(&values, given.is_part));
            self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found.clone());
            found
        }))
    }
}

fn read(digest: &Digest, texts: Texts<'_>) -> Option<Judge> {
    let source = texts.sources.at(&values::file(digest))?;
    let is_same = values::digest(&source.text).as_ref() == Some(digest);
    Judge::new(&values::read(&source.text).filter(|_| is_same)?).ok()
}

fn check(drawn: &Drawn, finder: &mut Finder<'_>) {
    for given in &drawn.values {
        match finder.classes.charts.judge(given, finder.texts) {
            Some(found) => found.iter().for_each(|finding| tell(given, finding, finder)),
            None => tell_missing(given, finder),
        }
    }
}

fn tell_missing(given: &ChartValues, finder: &mut Finder<'_>) {
    let (digest, origin) = &given.described;
    let file = values::file(digest);
    let what = if finder.texts.sources.at(&file).is_some() { "was changed" } else { "is missing" };
    let place = At::word_or(*origin, || Place::file(LOCK));
    let reported = format!(
        "`{file}`, which lists the values that the chart `{}` {} accepts, {what}",
        given.chart, given.version
    );
    finder
        .notes
        .error(RULE.name, place, reported)
        .hint("restore the file from git, or run `stackloom update`");
}

fn tell(given: &ChartValues, finding: &ValueFault, finder: &mut Finder<'_>) {
    let sources = finder.texts.sources;
    let is_frozen =
        |origin: Origin| sources.get(origin.file).is_some_and(|one| release_of(&one.path).is_some());
    let origin = origin_of(&given.values, &finding.path);
    // A missing value is missing in the stack and in all its clusters, but should be reported only once.
    let listed = given.listed.written().filter(|listed| finding.is_missing && !is_frozen(*listed));
    let place = listed.or(origin.written()).unwrap_or(given.described.1);
    // A release can no longer be changed.
    let is_frozen = is_frozen(place);
    let place = At::word_or(place, || Place::file(LOCK));
    let chart = format!("the chart `{}` {}", given.chart, given.version);
    let path = finding.path.join(".");
    let (severity, reported) = match &finding.wrong {
        None => {
            (Severity::Warning, format!("{chart} does not know the value `{path}`, so it may have no effect"))
        }
        Some(wrong) if path.is_empty() => {
            (Severity::Error, format!("Helm refuses the values of `{}` for {chart}: {wrong}", given.addon))
        }
        Some(wrong) => (Severity::Error, format!("Helm refuses the value `{path}` for {chart}: {wrong}")),
    };
    let note = match severity {
        Severity::Error if !is_frozen => finder.notes.error(RULE.name, place, reported),
        _ => finder.notes.warning(RULE.name, place, reported),
    };
    match &finding.similar {
        Some(similar) => note.hint(format!("did you mean `{similar}`?")),
        None if finding.is_missing => note.hint(format!(
            "set it in `values.yaml` of the addon `{}`, or in the definitions of its clusters",
            given.addon
        )),
        None => {
            note.hint("see the chart's `values.yaml` and `values.schema.json` for the values that it accepts")
        }
    };
    if is_frozen {
        note.hint("the addon is part of a numbered release: fix it in the stack, and cut the next release");
    }
}

/// Checks what the parts of a tree do not show: the values of addons that no cluster uses, and charts without a description
/// of their values.
pub fn check_rest(plan: &Plan, lock: &Lock, classes: &Classes, texts: Texts<'_>, notes: &mut Notes) {
    let mut used = BTreeSet::new();
    let mut unknown = BTreeMap::new();
    for one in &plan.clusters {
        for addon in &one.addons {
            used.insert((one.release.name.as_str(), addon.frozen.addon.name.as_str()));
            let Some(version) = &addon.version else { continue };
            if let Some(origin) = undescribed(&addon.frozen, version, lock) {
                unknown.insert(origin, (&addon.frozen.addon, version));
            }
        }
    }
    for (origin, (addon, version)) in unknown {
        let chart = addon.chart.as_ref().map_or("", |chart| &chart.name);
        notes
            .warning(RULE.name, origin, format!("cannot check the values of the chart `{chart}` {version}: the lock does not list the values that it accepts"))
            .hint("run `stackloom update` to add them to the lock, or to see why it cannot");
    }
    let finder = &mut Finder::new(texts, classes, notes);
    for release in plan.heads.iter().chain(&plan.spare) {
        let spare = |addon: &&Arc<ReleaseAddon>| !used.contains(&(&*release.name, addon.addon.name.as_str()));
        for addon in release.addons.iter().filter(spare) {
            let Some(given) = written_values(addon, lock) else { continue };
            let Some(found) = classes.charts.judge(&given, texts) else {
                tell_missing(&given, finder);
                continue;
            };
            let is_known = |finding: &&ValueFault| !is_made(&given.values, &finding.path);
            found.iter().filter(is_known).for_each(|finding| tell(&given, finding, finder));
        }
    }
}

/// The values that a stack sets for an addon, as written; none if each cluster's values are built by statements. A cluster
/// that turns the addon on may add others.
fn written_values(addon: &ReleaseAddon, lock: &Lock) -> Option<ChartValues> {
    let version = addon.version.as_ref()?;
    let source = addon.values.as_ref()?.template.source();
    let values = yaml::read(source, &mut Notes::new()).filter(|_| !source.text.contains("#%"))?;
    let row = addon.addon.row(version);
    Some(ChartValues {
        addon: addon.addon.name.to_string(),
        chart: addon.addon.chart.as_ref()?.name.clone(),
        version: version.to_string(),
        described: described(addon, version, lock)?,
        listed: row.map_or(Origin::NOWHERE, |row| row.version_origin),
        values,
        is_part: true,
    })
}

/// Whether a value is or contains an expression.
fn is_made(values: &Node, path: &[String]) -> bool {
    fn holds(node: &Node) -> bool {
        match &node.value {
            Value::String(text) => text.contains("${{"),
            Value::Sequence(items) => items.iter().any(holds),
            Value::Mapping(mapping) => mapping.iter().any(|entry| holds(&entry.value)),
            _ => false,
        }
    }
    let mut at = values;
    for part in path {
        let items = || at.as_sequence()?.get(part.parse::<usize>().ok()?);
        match at.get(part).or_else(items) {
            Some(inner) => at = inner,
            None => return false,
        }
    }
    holds(at)
}

/// The origin of a value, or of the deepest map around it that exists.
fn origin_of(values: &Node, path: &[String]) -> Origin {
    let (mut at, mut origin) = (values, values.origin);
    for part in path {
        let below = match &at.value {
            Value::Mapping(mapping) => mapping
                .iter()
                .find(|entry| *entry.key.name == **part)
                .map(|entry| (entry.key.origin, &entry.value)),
            Value::Sequence(items) => {
                part.parse::<usize>().ok().and_then(|at| items.get(at)).map(|item| (item.origin, item))
            }
            _ => None,
        };
        let Some((found, node)) = below else { break };
        (origin, at) = (found, node);
    }
    origin
}
