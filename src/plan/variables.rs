//! The complete values of all variables of the class, including defaults.
//!
//! Engines use server-side apply. A default that Cluster API writes into the live Cluster would stay there without an owner,
//! and a later release could neither change nor remove it. So the tree contains all values.

use std::{borrow::Cow, sync::Arc};

use crate::{
    definition::closest,
    model::Cluster,
    note::Notes,
    release::{ClassVariable, Release},
    yaml::{Mapping, Node, Value},
};

/// All variables of the class with their values, in alphabetical order, which Cluster API also uses for defaults.
pub(super) fn plan(
    cluster: &Cluster,
    release: &Release,
    notes: &mut Notes,
) -> Option<Vec<(String, Option<Node>)>> {
    let before = notes.errors();
    let overrides = std::iter::once(&cluster.control_plane.variables)
        .chain(cluster.node_pools.iter().map(|pool| &pool.variables));
    for given in std::iter::once(&cluster.variables).chain(overrides) {
        check_known(given, release, notes);
    }
    let variables = release.class.variables.iter().map(|variable| {
        let value = cluster
            .variables
            .get(&variable.name)
            .cloned()
            .or_else(|| variable.schema.get("default").cloned());
        if value.is_none() && variable.required {
            let place = cluster.origin;
            notes
                .error(
                    "missing-variable",
                    place,
                    format!("the class of `{}` requires the variable `{}`", release.name, variable.name),
                )
                .hint(format!(
                    "add `variables: {{ {}: … }}` to the cluster, or to the folder's `_defaults.yaml`",
                    variable.name
                ));
        }
        (variable.name.clone(), value.map(|value| complete(&value, &variable.schema)))
    });
    let variables = variables.collect();
    (notes.errors() == before).then_some(variables)
}

/// Completes the overrides of the control plane and of pools. No variables are added, but each existing value is completed.
pub(super) fn complete_overrides(cluster: &mut Cluster, release: &Release) {
    let pools = cluster.node_pools.iter_mut().map(|pool| &mut pool.variables);
    for given in std::iter::once(&mut cluster.control_plane.variables).chain(pools) {
        for variable in &release.class.variables {
            if let Some(value) = given.get_mut(&variable.name) {
                *value = complete(value, &variable.schema);
            }
        }
    }
}

/// The values of known variables of clusters that can't be planned: those of the cluster, its control plane and its pools.
/// They are not for output, but are checked so that all errors are reported at once.
pub fn known_values(given: &Cluster, release: &Release) -> Vec<Mapping> {
    let is_known = |name: &str| release.class.variables.iter().any(|variable| variable.name == name);
    let pools = given.node_pools.iter().map(|pool| &pool.variables);
    let all = [&given.variables, &given.control_plane.variables].into_iter().chain(pools);
    all.map(|values| values.iter().filter(|entry| is_known(&entry.key.name)).cloned().collect()).collect()
}

fn check_known(given: &Mapping, release: &Release, notes: &mut Notes) {
    let known = || release.class.variables.iter().map(|variable: &ClassVariable| variable.name.as_str());
    for entry in given.iter() {
        if known().any(|name| name == &*entry.key.name) {
            continue;
        }
        let place = entry.key.origin;
        let message = format!("the class of `{}` has no variable `{}`", release.name, entry.key.name);
        let note = notes.error("unknown-variable", place, message);
        if let Some(one) = release.migrations.iter().find(|one| *one.variable == *entry.key.name) {
            note.hint(format!("it is called `{}` now: `stackloom migrate` renames it", one.target()));
            continue;
        }
        match closest(&entry.key.name, known()) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None => note.hint(format!("it has {}", known().collect::<Vec<_>>().join(", "))),
        };
    }
}

/// Fills in the defaults of a schema like Kubernetes' structural defaulting: in place of absent properties and of nulls,
/// which variables can't have, and then inside all existing values. What is complete stays shared with the definition.
pub fn complete(value: &Node, schema: &Node) -> Node {
    match &value.value {
        Value::Mapping(mapping) => {
            let mut filled = Cow::Borrowed(&**mapping);
            let properties = schema.get("properties").and_then(Node::as_mapping);
            for property in properties.into_iter().flat_map(Mapping::iter) {
                let absent = filled.get(&property.key.name).is_none_or(Node::is_null);
                if let (true, Some(default)) = (absent, property.value.get("default")) {
                    filled.to_mut().set(&property.key.name, default.clone());
                }
            }
            let items: Vec<_> = filled.iter().cloned().collect();
            for entry in items {
                let inner = properties
                    .and_then(|properties| properties.get(&entry.key.name))
                    .or_else(|| schema.get("additionalProperties"));
                if let Some(inner) = inner.filter(|inner| inner.as_mapping().is_some()) {
                    let completed = complete(&or_default(&entry.value, inner), inner);
                    if !is_unchanged(&entry.value, &completed) {
                        filled.to_mut().insert(entry.key.clone(), completed);
                    }
                }
            }
            match filled {
                Cow::Borrowed(_) => value.clone(),
                Cow::Owned(filled) => Node::from(filled).with_origin(value.origin),
            }
        }
        Value::Sequence(items) => {
            let Some(inner) = schema.get("items") else { return value.clone() };
            let filled: Vec<_> = items.iter().map(|item| complete(&or_default(item, inner), inner)).collect();
            if items.iter().zip(&filled).all(|(item, filled)| is_unchanged(item, filled)) {
                return value.clone();
            }
            Node::from(filled).with_origin(value.origin)
        }
        _ => value.clone(),
    }
}

fn is_unchanged(given: &Node, completed: &Node) -> bool {
    given.origin == completed.origin
        && match (&given.value, &completed.value) {
            (Value::Mapping(given), Value::Mapping(completed)) => Arc::ptr_eq(given, completed),
            (Value::Sequence(given), Value::Sequence(completed)) => Arc::ptr_eq(given, completed),
            (given, completed) => given == completed,
        }
}

fn or_default(value: &Node, schema: &Node) -> Node {
    match schema.get("default") {
        Some(default) if value.is_null() => default.clone(),
        _ => value.clone(),
    }
}
