//! Validates the values of a cluster's variables like Cluster API's webhook.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use k8s_schema::unknown_fields;
use serde_json::{Value as Json, json};

use super::{Check, Finder, Rule, Texts, chart_values::Charts, class_lints::Findings};
use crate::{
    compare::gates_of_any,
    definition::closest,
    model::{Allowance, Cluster, Fleet, Label, StackId},
    note::{MOST_ALIKE, Notes},
    plan::{self, ClusterPlan, Plan},
    release::{Release, Unmet, sha256},
    topology::{
        FieldError, Gates,
        variables::{Definition, Scope, default_variables, definitions, validate_variables},
    },
    yaml::{Edge, Mapping, Node, Origin, to_json, trail},
};

pub(super) static RULE: Rule = Rule {
    name: "variable-value",
    docs: "The class's schema, or one of its rules, does not allow the value of a variable: Cluster API's webhook would \
           refuse the Cluster.",
    check: Check::Cluster(check),
};

/// By the name of the release and the management cluster.
type UnmetByRelease = BTreeMap<(String, Label), Arc<Vec<Unmet>>>;

/// The classes of a plan, read once for all clusters.
#[derive(Debug, Default)]
pub struct Classes {
    by_release: BTreeMap<String, Class>,
    /// The lint findings for the classes of head releases.
    pub(super) lints: Findings,
    /// A cache of charts and the findings about their values.
    pub(super) charts: Charts,
    /// The feature gates with which at least one management cluster accepts the classes.
    pub(super) gates: Gates,
    /// Values that classes accept, because many clusters of a fleet have the same: each a digest of the name of the release,
    /// the scope of the variables and their values.
    accepted: Mutex<BTreeSet<String>>,
    /// What management clusters lack for releases: the same for all their clusters.
    unmet: Mutex<UnmetByRelease>,
}

#[derive(Debug)]
struct Class {
    object: Json,
    variables: Vec<Definition>,
}

impl Classes {
    pub fn read(plan: &Plan) -> Self {
        let used: BTreeSet<_> = plan.heads.iter().map(|head| &head.stack).collect();
        let others = plan.spare.iter().filter(|head| used.contains(&head.stack));
        let lints =
            Findings::of(plan.heads.iter().map(AsRef::as_ref), others.map(AsRef::as_ref), &plan.allowed);
        let managements: Vec<_> = plan.management.iter().map(|one| &*one.management).collect();
        let gates = gates_of_any(&managements);
        let mut classes = Self { lints, gates, ..Self::default() };
        for cluster in &plan.clusters {
            classes.add(&cluster.release);
        }
        classes
    }

    /// Reads the class of a release, unless it is already known.
    pub fn add(&mut self, release: &Release) {
        if !self.by_release.contains_key(&release.name)
            && let Some(class) = of_release(release)
        {
            self.by_release.insert(release.name.clone(), class);
        }
    }

    /// Reads the classes of releases that no cluster uses. `others` belong to the same stacks and are reported elsewhere.
    pub fn unused<'a>(
        releases: impl Iterator<Item = &'a Release>,
        others: impl Iterator<Item = &'a Release>,
        allowed: &BTreeMap<StackId, Vec<Allowance>>,
        fleet: &Fleet,
    ) -> Self {
        let managements: Vec<_> = fleet.management_clusters.iter().map(AsRef::as_ref).collect();
        let gates = gates_of_any(&managements);
        Self { lints: Findings::of(releases, others, allowed), gates, ..Self::default() }
    }

    /// The requirements of a cluster's release that its management cluster does not meet.
    pub(super) fn unmet(&self, plan: &ClusterPlan) -> Arc<Vec<Unmet>> {
        let (release, management) = (&plan.release, &plan.cluster.management);
        let mut known = self.unmet.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.entry((release.name.clone(), management.name.clone()));
        found.or_insert_with(|| release.unmet(management).into()).clone()
    }

    /// The `ClusterClass` of a release.
    pub(super) fn object(&self, release: &str) -> Option<&Json> {
        self.by_release.get(release).map(|class| &class.object)
    }
}

fn of_release(release: &Release) -> Option<Class> {
    let is_class = |object: &&Node| object.get("kind").and_then(Node::as_str) == Some("ClusterClass");
    let object = release.objects.iter().find(is_class).map(to_json)?;
    let variables = definitions(&object);
    Some(Class { object, variables })
}

/// Checks the values of a cluster that cannot be planned. Missing variables are reported elsewhere.
pub fn check_values(
    cluster: &Cluster,
    release: &Release,
    classes: &Classes,
    texts: Texts<'_>,
    notes: &mut Notes,
) {
    let finder = &mut Finder::new(texts, classes, notes);
    for values in plan::known_values(cluster, release) {
        let given: Given<'_> = values.iter().map(|entry| (&*entry.key.name, &entry.value)).collect();
        judge(&given, Scope::Override, cluster.origin, release, finder);
    }
}

type Given<'a> = Vec<(&'a str, &'a Node)>;

fn check(plan: &ClusterPlan, _drawn: &Node, finder: &mut Finder<'_>) {
    let cluster = &plan.cluster;
    let own = plan.variables.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_ref()?)));
    judge(&own.collect(), Scope::Cluster, cluster.origin, &plan.release, finder);
    let pools = cluster.node_pools.iter().map(|pool| &pool.variables);
    for given in std::iter::once(&cluster.control_plane.variables).chain(pools) {
        let given: Given<'_> = given.iter().map(|entry| (&*entry.key.name, &entry.value)).collect();
        if !given.is_empty() {
            judge(&given, Scope::Override, cluster.origin, &plan.release, finder);
        }
    }
}

fn judge(given: &Given<'_>, scope: Scope, origin: Origin, release: &Release, finder: &mut Finder<'_>) {
    let Some(Class { variables: definitions, .. }) = finder.classes.by_release.get(&release.name) else {
        return;
    };
    let values: Vec<Json> =
        given.iter().map(|(name, value)| json!({ "name": name, "value": to_json(value) })).collect();
    let asked = serde_json::to_vec(&(&release.name, scope == Scope::Override, &values));
    let asked = sha256(&asked.expect("values are JSON"));
    let accepted = || finder.classes.accepted.lock().unwrap_or_else(PoisonError::into_inner);
    if accepted().contains(&asked) {
        return;
    }
    // A rule that cannot be evaluated offline is not an error.
    let errors = match default_variables(&values, definitions, scope, "") {
        Ok(values) => validate_variables(&values, &[], definitions, scope, "").errors,
        Err(errors) => errors,
    };
    if errors.is_empty() {
        accepted().insert(asked);
        return;
    }
    // Cluster API looks for unknown keys only if the other keys of a value are valid.
    let mut unknown = BTreeMap::new();
    for error in &errors {
        let path = error.field.replace(".[", "[");
        let (name, _) = split(&path);
        if let Some((name, value)) = given.iter().find(|(one, _)| *one == name) {
            unknown.entry(*name).or_insert_with(|| report_unknown(name, value, release, finder));
        }
    }
    for error in errors {
        report(&error, given, &unknown, origin, release, finder);
    }
}

/// Reports an error of a value, unless its unknown keys were already reported.
fn report(
    error: &FieldError,
    given: &Given<'_>,
    unknown: &BTreeMap<&str, bool>,
    origin: Origin,
    release: &Release,
    finder: &mut Finder<'_>,
) {
    // Kubernetes writes list items as `value.[1]`.
    let path = error.field.replace(".[", "[");
    let (name, field) = split(&path);
    let value = given.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
    if field.is_empty() && unknown.get(name) == Some(&true) {
        return;
    }
    let trail = value.map(|value| trail(value, field)).unwrap_or_default();
    let place = finder.origin_on(&trail).written().unwrap_or(origin);
    let schema = release.class.variables.iter().find(|variable| variable.name == name);
    let wanted = schema.and_then(|variable| wants(schema_at(&variable.schema, &trail)));
    let message = format!("the class does not accept the variable `{name}{field}`: {}", error.detail);
    let note = finder.notes.error("variable-value", place, message);
    if let Some(wanted) = wanted {
        note.hint(format!("the class of `{}` expects {wanted}", release.name));
    }
}

/// Reports each key of a value that its schema does not define, at its own place. Returns whether there were any.
fn report_unknown(name: &str, value: &Node, release: &Release, finder: &mut Finder<'_>) -> bool {
    let class = finder.classes.by_release.get(&release.name);
    let definition = class.and_then(|class| class.variables.iter().find(|one| one.name == name));
    let Some(definition) = definition else { return false };
    let unknown = unknown_fields(&to_json(value), &definition.schema, "");
    let schema = release.class.variables.iter().find(|variable| variable.name == name);
    for (at, path) in unknown.iter().enumerate() {
        let field = path.trim_start_matches('.').replace(".[", "[");
        let trail = trail(value, &field);
        let Some(((step, node), above)) = trail.split_last() else { continue };
        let key = if let Edge::Key(key) = step { *key } else { "" };
        let parent = above.last().and_then(|(_, parent)| parent.as_mapping());
        let origin =
            parent.and_then(|parent| parent.entry(key)).map_or(node.origin, |entry| entry.key.origin);
        let place = origin.written().unwrap_or_else(|| finder.origin_on(above));
        let message = format!("the variable `{name}` has no key `{}`", field.replace(".[", "["));
        let note = finder.notes.error("variable-value", place, message);
        // The rest is only counted, so skip the expensive search for similar names.
        let Some(schema) = schema.filter(|_| at < MOST_ALIKE) else { continue };
        let properties = schema_at(&schema.schema, above).get("properties").and_then(Node::as_mapping);
        let known: Vec<_> =
            properties.into_iter().flat_map(Mapping::iter).map(|entry| &*entry.key.name).collect();
        match closest(key, known.iter().copied()) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None if known.is_empty() => note.hint("the class accepts no keys here: remove it"),
            None => note.hint(format!("the class of `{}` accepts {} here", release.name, known.join(", "))),
        };
    }
    !unknown.is_empty()
}

/// Splits `[name].value.rest` into the name and the rest.
fn split(field: &str) -> (&str, &str) {
    let inner = field.strip_prefix('[').and_then(|inner| inner.split_once(']'));
    let (name, rest) = inner.unwrap_or((field, ""));
    (name, rest.strip_prefix(".value").unwrap_or(rest))
}

/// The schema of the last node on a trail.
fn schema_at<'a>(schema: &'a Node, trail: &[(Edge<'_>, &Node)]) -> &'a Node {
    trail.iter().fold(schema, |schema, (step, _)| {
        let inner = match step {
            Edge::Root => None,
            Edge::Key(key) => schema.at(&["properties", key]).or_else(|| schema.get("additionalProperties")),
            Edge::Item => schema.get("items"),
        };
        inner.unwrap_or(schema)
    })
}

/// Describes in words what a schema accepts.
fn wants(schema: &Node) -> Option<String> {
    let mut words = Vec::new();
    match schema.get("type").and_then(Node::as_str) {
        Some("string") => words.push("a string".to_owned()),
        Some("integer") => words.push("a whole number".to_owned()),
        Some("number") => words.push("a number".to_owned()),
        Some("boolean") => words.push("true or false".to_owned()),
        Some("array") => words.push("a list".to_owned()),
        Some("object") => words.push("a map".to_owned()),
        _ => {}
    }
    let listed = |name: &str| {
        let items = schema.get(name).and_then(Node::as_sequence)?;
        Some(items.iter().map(|item| to_json(item).to_string()).collect::<Vec<_>>().join(", "))
    };
    words.extend(listed("enum").map(|values| format!("one of {values}")));
    words.extend(listed("required").map(|names| format!("with {names}")));
    let texts = [
        ("format", "in the format", ""),
        ("pattern", "matching", ""),
        ("minimum", "at least", ""),
        ("maximum", "at most", ""),
        ("minLength", "at least", " character"),
        ("maxLength", "at most", " character"),
        ("minItems", "at least", " item"),
        ("maxItems", "at most", " item"),
    ];
    words.extend(texts.iter().filter_map(|(key, text, unit)| {
        let limit = to_json(schema.get(key)?).to_string();
        let many = if unit.is_empty() || limit == "1" { "" } else { "s" };
        Some(format!("{text} {limit}{unit}{many}"))
    }));
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    const QUOTA: &str = "    - name: quota
      required: true
      schema:
        openAPIV3Schema:
          type: object
          required: [cpu]
          properties:
            cpu: { type: integer, minimum: 1 }
            memory: { type: integer, default: 4 }
          x-kubernetes-validations:
            - rule: self.memory >= self.cpu
              message: a core needs memory
  patches:
";

    #[test]
    fn limits_are_numbers_of_something() {
        let schema = serde_json::json!({ "type": "string", "minLength": 1, "maxLength": 63 });
        let schema = crate::yaml::from_json(&schema, crate::yaml::Origin::NOWHERE);
        assert_eq!(
            super::wants(&schema).as_deref(),
            Some("a string, at least 1 character, at most 63 characters")
        );
    }

    fn of_values(variables: &str) -> Vec<String> {
        found(&[("  patches:\n", QUOTA)], variables)
    }

    #[test]
    fn values_that_fit_are_left_alone() {
        assert_eq!(of_values("    quota: { cpu: 2 }\n"), Vec::<String>::new());
    }

    #[test]
    fn a_wrong_type_is_reported_at_the_value_with_what_is_wanted() {
        let found = of_values("    quota: { cpu: 2 }\n    certSANs: [one, 2]\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(
                "variable-value one.yaml:10:21 the class does not accept the variable `certSANs[1]`"
            ),
            "{found:?}"
        );
        assert!(found[0].ends_with("expects a string"), "{found:?}");
    }

    #[test]
    fn what_is_missing_is_reported_at_the_map_that_lacks_it() {
        let found = of_values("    quota: { memory: 2 }\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("variable-value one.yaml:9:12 "), "{found:?}");
        assert!(found[0].ends_with("expects a map, with \"cpu\""), "{found:?}");
    }

    #[test]
    fn rules_see_the_defaults_inside_a_value() {
        let found = of_values("    quota: { cpu: 5 }\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("a core needs memory"), "{found:?}");
    }

    #[test]
    fn unknown_fields_are_reported() {
        let found = of_values("    quota: { cpu: 1, cores: 2 }\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("variable-value one.yaml:9:22 "), "{found:?}");
        assert!(found[0].contains("`cores`"), "{found:?}");
    }

    #[test]
    fn what_a_single_pool_says_is_judged_too() {
        let found = of_values(
            "    quota: { cpu: 2 }\n  nodePools:\n    - name: md-0\n      class: default-worker\n      replicas: 1\n      variables: { motd: \"\" }\n",
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`motd`"), "{found:?}");
    }
}
