//! Predicts whether Helm accepts the values of a chart.
//!
//! Helm merges the values over the chart's defaults, passes each subchart its part together with the globals, and validates
//! each part against the schema of its chart. The reference is `pkg/chart/common/util` of Helm 4, and of Helm 3 since 3.18;
//! the schema draft is that of `$schema`, or 2020-12.
//!
//! Helm fetches schemas that are referenced by address. This is not done here; such a chart has no description.

use std::collections::BTreeSet;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value as Json};

use super::{Described, Subchart};
use crate::{definition::closest, model::VersionRange};

/// A problem with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The path of the value: keys and indexes.
    pub path: Vec<String>,
    /// The problem; none for a key that the chart doesn't know.
    pub wrong: Option<String>,
    /// Whether the problem is a missing value.
    pub is_missing: bool,
    /// A key with a similar name.
    pub similar: Option<String>,
}

/// The compiled description of a chart, for checking values.
#[derive(Debug)]
pub struct Judge {
    kube_version: Option<VersionRange>,
    values: Map<String, Json>,
    keys: BTreeSet<String>,
    schema: Option<Validator>,
    subcharts: Vec<(Subchart, Self)>,
}

impl Judge {
    /// Compiles the schemas of a chart. The error names a schema that can't be used.
    pub fn new(chart: &Described) -> Result<Self, String> {
        let compile = |schema: &Json| {
            let built = jsonschema::options().offline().build(schema);
            built.map_err(|error| {
                format!("its `values.schema.json` cannot be used offline: {}", error.masked())
            })
        };
        let subchart = |one: &Subchart| {
            let judge = Self::new(&one.chart).map_err(|why| format!("its subchart `{}`: {why}", one.key))?;
            Ok::<_, String>((one.clone(), judge))
        };
        Ok(Self {
            // A version range that can't be parsed imposes no limit.
            kube_version: chart.kube_version.as_deref().and_then(|text| VersionRange::parse(text).ok()),
            values: chart.values.clone(),
            keys: chart.keys.clone(),
            schema: chart.schema.as_ref().map(compile).transpose()?,
            subcharts: chart.subcharts.iter().map(subchart).collect::<Result<_, _>>()?,
        })
    }

    /// The Kubernetes versions that the chart accepts; none if it accepts any. Helm refuses to install it on others.
    pub fn kube_version(&self) -> Option<&VersionRange> {
        self.kube_version.as_ref()
    }

    /// Checks values. `is_part` means that a Secret or ConfigMap adds more values, which may contain the missing ones.
    pub fn judge(&self, given: &Json, is_part: bool) -> Vec<Finding> {
        let Json::Object(given) = given else { return Vec::new() };
        let mut found = Vec::new();
        if self.schema.is_none() {
            self.unknown_keys(given, &mut found);
        }
        let whole = self.coalesced(given);
        let root = Json::Object(whole.clone());
        self.validate(&whole, &root, &mut Vec::new(), is_part, &mut found);
        found
    }

    /// Reports keys that are not in the defaults, the templates or the subcharts. A chart without any known keys may accept
    /// all keys.
    fn unknown_keys(&self, given: &Map<String, Json>, found: &mut Vec<Finding>) {
        if self.values.is_empty() && self.keys.is_empty() {
            return;
        }
        let conditions = self.subcharts.iter().filter_map(|(one, _)| one.condition.as_deref());
        let first =
            conditions.flat_map(|paths| paths.split(',')).filter_map(|path| path.trim().split('.').next());
        let mut known: BTreeSet<&str> = first.chain(["global", "tags"]).collect();
        known.extend(self.values.keys().chain(&self.keys).map(String::as_str));
        known.extend(self.subcharts.iter().map(|(one, _)| one.key.as_str()));
        for key in given.keys().filter(|key| !known.contains(key.as_str())) {
            let similar = closest(key, known.iter().copied()).map(str::to_owned);
            found.push(Finding { path: vec![key.clone()], wrong: None, is_missing: false, similar });
        }
    }

    /// The merged values, as templates see them.
    fn coalesced(&self, given: &Map<String, Json>) -> Map<String, Json> {
        let mut values = self.values.clone();
        lay_over(&mut values, given);
        for (one, judge) in &self.subcharts {
            let own = values.get(&one.key).cloned().unwrap_or_else(|| Json::Object(Map::new()));
            // Helm reports any other type, and so does `validate`.
            let Json::Object(mut own) = own else { continue };
            if let Some(Json::Object(global)) = values.get("global") {
                let below = own.entry("global").or_insert_with(|| Json::Object(Map::new()));
                if let Json::Object(below) = below {
                    lay_over(below, global);
                }
            }
            values.insert(one.key.clone(), Json::Object(judge.coalesced(&own)));
        }
        values
    }

    fn validate(
        &self,
        values: &Map<String, Json>,
        root: &Json,
        at: &mut Vec<String>,
        is_part: bool,
        found: &mut Vec<Finding>,
    ) {
        if let Some(schema) = &self.schema {
            let values = Json::Object(values.clone());
            let errors =
                schema.iter_errors(&values).filter(|error| !(is_part && may_be_elsewhere(error.kind())));
            for error in errors {
                self.note(&error, at, found);
            }
        }
        for (one, judge) in &self.subcharts {
            if !is_on(one, root, values) {
                continue;
            }
            at.push(one.key.clone());
            match values.get(&one.key) {
                Some(Json::Object(own)) => judge.validate(own, root, at, is_part, found),
                None | Some(Json::Null) => {}
                Some(_) => {
                    let wrong = Some("the values of a subchart are a map".to_owned());
                    found.push(Finding { path: at.clone(), wrong, is_missing: false, similar: None });
                }
            }
            at.pop();
        }
    }

    fn note(&self, error: &ValidationError<'_>, at: &[String], found: &mut Vec<Finding>) {
        let mut path = at.to_vec();
        let inside = error.instance_path().as_str().split('/').skip(1);
        path.extend(inside.map(|part| part.replace("~1", "/").replace("~0", "~")));
        let (ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected }) = error.kind()
        else {
            // The value may be a secret.
            let wrong = Some(error.masked().to_string());
            let is_missing = matches!(error.kind(), ValidationErrorKind::Required { .. });
            found.push(Finding { path, wrong, is_missing, similar: None });
            return;
        };
        let mut defaults = Some(&self.values);
        for part in &path[at.len()..] {
            defaults = defaults.and_then(|values| values.get(part)?.as_object());
        }
        for key in unexpected {
            let known = defaults.into_iter().flat_map(Map::keys).filter(|known| !unexpected.contains(known));
            let similar = closest(key, known.map(String::as_str)).map(str::to_owned);
            let path = path.iter().cloned().chain([key.clone()]).collect();
            found.push(Finding {
                path,
                wrong: Some("the schema does not have this key".to_owned()),
                is_missing: false,
                similar,
            });
        }
    }
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

/// Reports whether a Secret or ConfigMap could supply what is missing.
fn may_be_elsewhere(kind: &ValidationErrorKind) -> bool {
    matches!(
        kind,
        ValidationErrorKind::Required { .. }
            | ValidationErrorKind::MinProperties { .. }
            | ValidationErrorKind::AnyOf { .. }
            | ValidationErrorKind::OneOfNotValid { .. }
            | ValidationErrorKind::OneOfMultipleValid { .. }
            | ValidationErrorKind::Not { .. }
    )
}

/// Reports whether a subchart is on. The first condition with a boolean value decides, or else its tags: one enabled tag is
/// enough.
fn is_on(one: &Subchart, root: &Json, values: &Map<String, Json>) -> bool {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn described(values: &Json, schema: Option<Json>, subcharts: Vec<Subchart>) -> Described {
        let values = values.as_object().cloned().unwrap_or_default();
        let keys = BTreeSet::from(["nameOverride".to_owned()]);
        Described { kube_version: None, values, keys, schema, subcharts }
    }

    fn findings(chart: &Described, given: &Json, is_part: bool) -> Vec<String> {
        let judge = Judge::new(chart).unwrap();
        let line = |finding: &Finding| {
            let what = finding.wrong.as_deref().unwrap_or("unknown");
            format!("{}: {what} ({})", finding.path.join("."), finding.similar.as_deref().unwrap_or_default())
        };
        judge.judge(given, is_part).iter().map(line).collect()
    }

    #[test]
    fn without_a_schema_keys_are_those_of_defaults_templates_and_subcharts() {
        let sub = described(&json!({ "size": 1 }), None, Vec::new());
        let sub = Subchart {
            key: "db".to_owned(),
            condition: Some("db.enabled,extras.db".to_owned()),
            tags: Vec::new(),
            chart: sub,
        };
        let chart = described(&json!({ "hubble": { "enabled": false } }), None, vec![sub]);
        let given = json!({ "hubbel": 1, "nameOverride": "x", "global": {}, "db": {}, "extras": {}, "tags": {}, "hubble": { "any": 1 } });
        assert_eq!(findings(&chart, &given, false), ["hubbel: unknown (hubble)"]);
        let silent = Described { keys: BTreeSet::new(), ..described(&json!({}), None, Vec::new()) };
        assert!(findings(&silent, &given, false).is_empty());
    }

    #[test]
    fn values_are_laid_over_defaults_before_the_schema_is_asked() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "required": ["mode", "token"],
            "additionalProperties": false,
            "properties": {
                "mode": { "enum": ["a", "b"] },
                "token": { "type": "string" },
                "hubble": { "properties": { "enabled": { "type": "boolean" } } },
            },
        });
        let chart =
            described(&json!({ "mode": "a", "hubble": { "enabled": true } }), Some(schema), Vec::new());
        let fine: Vec<String> = Vec::new();
        assert_eq!(findings(&chart, &json!({ "token": "x" }), false), fine);
        assert_eq!(findings(&chart, &json!({}), false), [": \"token\" is a required property ()"]);
        assert_eq!(findings(&chart, &json!({}), true), fine);
        let wrong = json!({ "token": 12345, "mode": null, "hubbel": {}, "hubble": { "enabled": "yes" } });
        let lines = findings(&chart, &wrong, true);
        assert!(
            lines.contains(&"hubbel: the schema does not have this key (hubble)".to_owned()),
            "{lines:?}"
        );
        assert!(lines.iter().any(|line| line.starts_with("hubble.enabled: ")), "{lines:?}");
        assert!(lines.iter().all(|line| !line.contains("12345")), "a value is shown: {lines:?}");
    }

    #[test]
    fn a_subchart_is_judged_by_its_own_schema_while_it_is_on() {
        let schema =
            json!({ "properties": { "size": { "type": "integer" }, "global": { "required": ["zone"] } } });
        let sub = described(&json!({ "size": 1 }), Some(schema), Vec::new());
        let sub = Subchart {
            key: "db".to_owned(),
            condition: Some("db.enabled".to_owned()),
            tags: vec!["data".to_owned()],
            chart: sub,
        };
        let chart = described(&json!({ "global": { "zone": "a" } }), None, vec![sub]);
        assert!(findings(&chart, &json!({ "db": { "size": 2 } }), false).is_empty());
        assert_eq!(findings(&chart, &json!({ "db": { "size": "x" } }), false).len(), 1);
        assert!(findings(&chart, &json!({ "db": { "size": "x", "enabled": false } }), false).is_empty());
        assert!(
            findings(&chart, &json!({ "db": { "size": "x" }, "tags": { "data": false } }), false).is_empty()
        );
        assert_eq!(
            findings(&chart, &json!({ "db": 1 }), false),
            ["db: the values of a subchart are a map ()"]
        );
    }

    #[test]
    fn a_schema_that_leads_elsewhere_cannot_be_used() {
        let schema = json!({ "$ref": "https://example.org/schema.json" });
        let why = Judge::new(&described(&json!({}), Some(schema), Vec::new())).unwrap_err();
        assert!(why.contains("cannot be used offline"), "{why}");
    }
}
