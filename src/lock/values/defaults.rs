//! The defaults of a chart with its subcharts, and what Helm makes of them and the given values.
//!
//! The reference for imported defaults is `pkg/chart/v2/util/dependencies.go` of Helm 4.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::{Import, Judge, Subchart};

/// The defaults of a chart and its subcharts.
#[derive(Debug)]
pub(super) struct Defaults<'a> {
    pub(super) values: Cow<'a, Map<String, Json>>,
    subcharts: Vec<(&'a Subchart, Self)>,
}

impl Judge {
    /// The defaults, with those that the chart imports from its subcharts. Helm imports from a subchart that is on, which the
    /// given values decide; it takes the subchart's defaults, not what is given for the subchart.
    pub(super) fn defaults(&self, given: &Map<String, Json>) -> Defaults<'_> {
        let plain = self.plain();
        if !self.has_imports() {
            return plain;
        }
        let whole = plain.coalesced(given);
        self.imported(&whole, &Json::Object(whole.clone()))
    }

    fn has_imports(&self) -> bool {
        self.subcharts.iter().any(|(one, judge)| !one.imports.is_empty() || judge.has_imports())
    }

    fn plain(&self) -> Defaults<'_> {
        let subcharts = self.subcharts.iter().map(|(one, judge)| (one, judge.plain())).collect();
        Defaults { values: Cow::Borrowed(&self.values), subcharts }
    }

    /// The defaults with imports. `values` are this chart's part of the whole values, and `root` is the whole.
    fn imported(&self, values: &Map<String, Json>, root: &Json) -> Defaults<'_> {
        let empty = Map::new();
        let on = self.subcharts.iter().filter(|(one, _)| is_on(one, root, values));
        let below = |one: &Subchart| values.get(&one.key).and_then(Json::as_object).unwrap_or(&empty);
        let subcharts = on.map(|(one, judge)| (one, judge.imported(below(one), root))).collect();
        let mut defaults = Defaults { values: Cow::Borrowed(&self.values), subcharts };
        if self.subcharts.iter().any(|(one, _)| !one.imports.is_empty()) {
            let whole = defaults.coalesced(&empty);
            let mut own = whole.clone();
            let imports =
                defaults.subcharts.iter().flat_map(|(one, _)| one.imports.iter().map(move |i| (one, i)));
            for found in imports.filter_map(|(one, import)| taken(&whole, one, import)) {
                lay_under(&mut own, found);
            }
            defaults.values = Cow::Owned(own);
        }
        defaults
    }
}

impl Defaults<'_> {
    /// The given values merged over the defaults, as templates see them.
    pub(super) fn coalesced(&self, given: &Map<String, Json>) -> Map<String, Json> {
        let mut values = self.values.clone().into_owned();
        lay_over(&mut values, given);
        for (one, defaults) in &self.subcharts {
            let own = values.get(&one.key).cloned().unwrap_or_else(|| Json::Object(Map::new()));
            // Helm reports any other type, and so does the check of the values.
            let Json::Object(mut own) = own else { continue };
            if let Some(Json::Object(global)) = values.get("global") {
                let below = own.entry("global").or_insert_with(|| Json::Object(Map::new()));
                if let Json::Object(below) = below {
                    lay_over(below, global);
                }
            }
            values.insert(one.key.clone(), Json::Object(defaults.coalesced(&own)));
        }
        values
    }
}

/// What an import takes, at the place where the parent puts it; none if the subchart has no map there.
fn taken(values: &Map<String, Json>, one: &Subchart, import: &Import) -> Option<Map<String, Json>> {
    let mut found = values.get(&one.key)?;
    for part in import.child.split('.') {
        found = found.get(part)?;
    }
    let mut found = found.as_object()?.clone();
    if import.parent != "." {
        for part in import.parent.rsplit('.') {
            found = Map::from_iter([(part.to_owned(), Json::Object(found))]);
        }
    }
    Some(found)
}

/// Merges values over others with the rules of Helm: maps are merged, and null removes a default.
fn lay_over(values: &mut Map<String, Json>, over: &Map<String, Json>) {
    for (key, value) in over {
        match (values.get_mut(key), value) {
            (_, Json::Null) => drop(values.remove(key)),
            (Some(Json::Object(below)), Json::Object(over)) => lay_over(below, over),
            _ => drop(values.insert(key.clone(), value.clone())),
        }
    }
}

/// Adds what is not there.
fn lay_under(values: &mut Map<String, Json>, under: Map<String, Json>) {
    for (key, value) in under {
        match (values.get_mut(&key), value) {
            (None, value) => drop(values.insert(key, value)),
            (Some(Json::Object(over)), Json::Object(under)) => lay_under(over, under),
            _ => {}
        }
    }
}

/// Reports whether a subchart is on. The first condition with a boolean value decides, or else its tags: one enabled tag is
/// enough.
pub(super) fn is_on(one: &Subchart, root: &Json, values: &Map<String, Json>) -> bool {
    let paths = one.condition.as_deref().unwrap_or_default().split(',').map(str::trim);
    let condition = paths.filter(|path| !path.is_empty()).find_map(|path| {
        let mut parts = path.split('.');
        let mut value = values.get(parts.next()?)?;
        for part in parts {
            value = value.get(part)?;
        }
        value.as_bool()
    });
    let tags: Vec<bool> = one.tags.iter().filter_map(|tag| root["tags"][tag].as_bool()).collect();
    condition.unwrap_or_else(|| tags.is_empty() || tags.contains(&true))
}
