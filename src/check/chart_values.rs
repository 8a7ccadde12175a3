//! Values that a chart does not take, as far as the lock knows what it takes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Check, Finder, Rule};
use crate::{
    lock::values::{self, Finding, Judge},
    model::Digest,
    note::{Place, Severity},
    release::sha256,
    render::{ChartValues, Drawn},
    world::{Input, LOCK, release_of},
    yaml::{Node, Origin, Value, to_json},
};

pub(super) static RULE: Rule = Rule {
    name: "chart-values",
    docs: "An addon's values have a key that its chart does not know, or a value that the chart's schema does not take. Helm \
           ignores the one without a word, and refuses to install the chart for the other.",
    check: Check::Charts(check),
};

/// What was found in the values of charts: most clusters have the same ones.
#[derive(Debug, Default)]
pub(super) struct Charts {
    judges: Mutex<BTreeMap<Digest, Option<Arc<Judge>>>>,
    found: Mutex<BTreeMap<Asked, Arc<Vec<Finding>>>>,
}

/// The file that says what the chart takes, whether other objects add values, and the digest of the values.
type Asked = (Digest, bool, String);

impl Charts {
    /// What is wrong with values; none if the file that says what the chart takes is missing, or is another.
    fn judge(&self, given: &ChartValues, input: &Input) -> Option<Arc<Vec<Finding>>> {
        let digest = &given.described.0;
        let judge = {
            let mut judges = self.judges.lock().unwrap_or_else(PoisonError::into_inner);
            judges.entry(digest.clone()).or_insert_with(|| read(digest, input).map(Arc::new)).clone()?
        };
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

fn read(digest: &Digest, input: &Input) -> Option<Judge> {
    let source = input.sources.at(&values::file(digest))?;
    let is_same = values::digest(&source.text).as_ref() == Some(digest);
    Judge::new(&values::read(&source.text).filter(|_| is_same)?).ok()
}

fn check(drawn: &Drawn, finder: &mut Finder<'_>) {
    for given in &drawn.values {
        match finder.classes.charts.judge(given, finder.input) {
            Some(found) => found.iter().for_each(|finding| tell(given, finding, finder)),
            None => tell_missing(given, finder),
        }
    }
}

fn tell_missing(given: &ChartValues, finder: &mut Finder<'_>) {
    let (digest, origin) = &given.described;
    let file = values::file(digest);
    let what = if finder.input.sources.at(&file).is_some() { "was changed" } else { "is missing" };
    let place = finder.input.sources.place(*origin).unwrap_or_else(|| Place::file(LOCK));
    let told = format!(
        "`{file}`, which says which values the chart `{}` {} takes, {what}",
        given.chart, given.version
    );
    finder.notes.error(RULE.name, place, told).hint("restore the file from git, or run `stackloom update`");
}

fn tell(given: &ChartValues, finding: &Finding, finder: &mut Finder<'_>) {
    let origin = origin_of(&given.values, &finding.path);
    let place = finder.input.sources.place(origin);
    let place =
        place.or_else(|| finder.input.sources.place(given.described.1)).unwrap_or_else(|| Place::file(LOCK));
    // A release does not change any more.
    let is_frozen = release_of(&place.file).is_some();
    let chart = format!("the chart `{}` {}", given.chart, given.version);
    let path = finding.path.join(".");
    let (severity, told) = match &finding.wrong {
        None => {
            (Severity::Warning, format!("{chart} does not know the value `{path}`, so it may have no effect"))
        }
        Some(wrong) if path.is_empty() => {
            (Severity::Error, format!("Helm refuses the values of `{}` for {chart}: {wrong}", given.addon))
        }
        Some(wrong) => (Severity::Error, format!("Helm refuses the value `{path}` for {chart}: {wrong}")),
    };
    let note = match severity {
        Severity::Error if !is_frozen => finder.notes.error(RULE.name, place, told),
        _ => finder.notes.warning(RULE.name, place, told),
    };
    match &finding.similar {
        Some(similar) => note.hint(format!("did you mean `{similar}`?")),
        None => note.hint("the chart's `values.yaml` and `values.schema.json` say what it takes"),
    };
    if is_frozen {
        note.hint("it is in a numbered release: fix it in the stack, and cut the next release");
    }
}

/// Where a value stands, or the deepest map around it that does.
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
