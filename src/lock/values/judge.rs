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

use super::{Described, Subchart, defaults::is_on};
use crate::{definition::closest, model::VersionRange};

/// A problem with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueFault {
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
    pub(super) values: Map<String, Json>,
    keys: BTreeSet<String>,
    schema: Option<Validator>,
    pub(super) subcharts: Vec<(Subchart, Self)>,
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
            kube_version: chart.kube_version.as_deref().map(VersionRange::of_chart),
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
    pub fn judge(&self, given: &Json, is_part: bool) -> Vec<ValueFault> {
        let Json::Object(given) = given else { return Vec::new() };
        let mut found = Vec::new();
        let defaults = self.defaults(given);
        if self.schema.is_none() {
            self.unknown_keys(given, &defaults.values, &mut found);
        }
        let whole = defaults.coalesced(given);
        let root = Json::Object(whole.clone());
        self.validate(&whole, &root, &mut Vec::new(), is_part, &mut found);
        found
    }

    /// Reports keys that are not in the defaults, the templates or the subcharts. A chart without any known keys may accept
    /// all keys.
    fn unknown_keys(
        &self,
        given: &Map<String, Json>,
        defaults: &Map<String, Json>,
        found: &mut Vec<ValueFault>,
    ) {
        if defaults.is_empty() && self.keys.is_empty() {
            return;
        }
        let conditions = self.subcharts.iter().filter_map(|(one, _)| one.condition.as_deref());
        let first =
            conditions.flat_map(|paths| paths.split(',')).filter_map(|path| path.trim().split('.').next());
        let mut known: BTreeSet<&str> = first.chain(["global", "tags"]).collect();
        known.extend(defaults.keys().chain(&self.keys).map(String::as_str));
        known.extend(self.subcharts.iter().map(|(one, _)| one.key.as_str()));
        for key in given.keys().filter(|key| !known.contains(key.as_str())) {
            let similar = closest(key, known.iter().copied()).map(str::to_owned);
            found.push(ValueFault { path: vec![key.clone()], wrong: None, is_missing: false, similar });
        }
    }

    fn validate(
        &self,
        values: &Map<String, Json>,
        root: &Json,
        at: &mut Vec<String>,
        is_part: bool,
        found: &mut Vec<ValueFault>,
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
                    found.push(ValueFault { path: at.clone(), wrong, is_missing: false, similar: None });
                }
            }
            at.pop();
        }
    }

    fn note(&self, error: &ValidationError<'_>, at: &[String], found: &mut Vec<ValueFault>) {
        let mut path = at.to_vec();
        let inside = error.instance_path().as_str().split('/').skip(1);
        path.extend(inside.map(|part| part.replace("~1", "/").replace("~0", "~")));
        let (ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected }) = error.kind()
        else {
            // The value may be a secret.
            let wrong = Some(error.masked().to_string());
            let is_missing = matches!(error.kind(), ValidationErrorKind::Required { .. });
            found.push(ValueFault { path, wrong, is_missing, similar: None });
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
            found.push(ValueFault {
                path,
                wrong: Some("the schema does not have this key".to_owned()),
                is_missing: false,
                similar,
            });
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::Import, *};

    fn described(values: &Json, schema: Option<Json>, subcharts: Vec<Subchart>) -> Described {
        let values = values.as_object().cloned().unwrap_or_default();
        let keys = BTreeSet::from(["nameOverride".to_owned()]);
        Described { kube_version: None, values, keys, schema, subcharts }
    }

    fn findings(chart: &Described, given: &Json, is_part: bool) -> Vec<String> {
        let judge = Judge::new(chart).unwrap();
        let line = |finding: &ValueFault| {
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
            imports: Vec::new(),
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
            imports: Vec::new(),
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

    fn importing(child: &str, parent: &str, chart: Described) -> Subchart {
        let imports = vec![Import { child: child.to_owned(), parent: parent.to_owned() }];
        let condition = Some("db.enabled".to_owned());
        Subchart { key: "db".to_owned(), condition, tags: Vec::new(), imports, chart }
    }

    #[test]
    fn what_a_chart_imports_from_a_subchart_counts_as_its_defaults() {
        let sub = described(&json!({ "exports": { "data": { "size": 1, "mode": "b" } } }), None, Vec::new());
        let importing = importing("exports.data", ".", sub);
        let plain = described(&json!({ "mode": "a" }), None, vec![importing.clone()]);
        let fine: Vec<String> = Vec::new();
        assert_eq!(findings(&plain, &json!({ "size": 2 }), false), fine);
        let off = json!({ "size": 2, "db": { "enabled": false } });
        assert_eq!(findings(&plain, &off, false), ["size: unknown ()"]);
        // The chart's own default has priority over what it imports.
        let schema = json!({ "required": ["size"], "properties": { "mode": { "const": "a" } } });
        let strict = described(&json!({ "mode": "a" }), Some(schema), vec![importing]);
        assert_eq!(findings(&strict, &json!({}), false), fine);
        assert_eq!(
            findings(&strict, &json!({ "db": { "enabled": false } }), false),
            [": \"size\" is a required property ()"]
        );
    }

    #[test]
    fn imports_go_from_the_innermost_chart_outwards_into_any_path() {
        let innermost = described(&json!({ "port": { "number": 80 } }), None, Vec::new());
        let middle = described(&json!({}), None, vec![importing("port", "net.port", innermost)]);
        let schema = json!({ "properties": { "outer": { "required": ["port"],
            "properties": { "port": { "properties": { "number": { "const": 80 } } } } } }, "required": ["outer"] });
        let chart = described(&json!({}), Some(schema), vec![importing("net", "outer", middle)]);
        assert!(findings(&chart, &json!({}), false).is_empty());
        // Helm imports defaults, not what somebody sets for the subchart, and skips what is not a map.
        assert!(findings(&chart, &json!({ "db": { "net": { "port": 1 } } }), false).is_empty());
        let scalar = described(&json!({ "net": 1 }), None, Vec::new());
        let chart = described(&json!({ "own": 1 }), None, vec![importing("net", "outer", scalar)]);
        assert_eq!(findings(&chart, &json!({ "outer": {} }), false), ["outer: unknown ()"]);
    }

    #[test]
    fn a_schema_that_leads_elsewhere_cannot_be_used() {
        let schema = json!({ "$ref": "https://example.org/schema.json" });
        let why = Judge::new(&described(&json!({}), Some(schema), Vec::new())).unwrap_err();
        assert!(why.contains("cannot be used offline"), "{why}");
    }
}
