//! A class in the form that lints need: its variables and templates, with their places.

use gotmpl::Template;
use serde_json::Value as Json;

use crate::{
    topology::variables::{Definition, definitions},
    yaml::{Node, Origin, to_json},
};

/// A class.
#[derive(Debug)]
pub(super) struct View<'a> {
    /// The `ClusterClass`.
    pub(super) class: &'a Node,
    /// Its variables: name, schema as written, and whether every cluster must set it.
    pub(super) variables: Vec<Variable>,
    /// The same variables, as parsed by the webhook.
    pub(super) definitions: Vec<Definition>,
    /// The operations of its patches.
    pub(super) operations: Vec<Operation<'a>>,
    /// The objects of its release, including the templates that it refers to.
    pub(super) templates: &'a [Node],
}

/// A variable of a class.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) schema: Json,
    pub(super) required: bool,
}

/// The value of an operation.
#[derive(Debug)]
pub(super) enum Value<'a> {
    /// A template, with its parsed form; none if it cannot be parsed.
    Template(&'a str, Option<Template>),
    /// The path of a variable.
    Variable(&'a str),
    /// A literal value.
    Given(&'a Node),
    /// No value, for example in a removal.
    None,
}

/// One operation of a patch.
#[derive(Debug)]
pub(super) struct Operation<'a> {
    pub(super) patch: &'a str,
    pub(super) path: &'a str,
    pub(super) kind: &'a str,
    /// Whether it changes templates of the control plane or workers, rather than only the infrastructure cluster.
    pub(super) of_machines: bool,
    pub(super) value: Value<'a>,
    pub(super) origin: Origin,
    /// The condition of its patch.
    pub(super) condition: Option<Condition<'a>>,
}

/// The condition of a patch.
#[derive(Debug)]
pub(super) struct Condition<'a> {
    pub(super) source: &'a str,
    pub(super) template: Option<Template>,
    pub(super) origin: Origin,
}

impl<'a> View<'a> {
    /// The class among the objects of a release.
    pub(super) fn of(objects: &'a [Node]) -> Option<Self> {
        let is_class = |object: &&Node| object.get("kind").and_then(Node::as_str) == Some("ClusterClass");
        let class = objects.iter().find(is_class)?;
        let variable = |node: &Node| {
            Some(Variable {
                name: node.get("name")?.as_str()?.to_owned(),
                schema: to_json(node.at(&["schema", "openAPIV3Schema"])?),
                required: node.get("required").and_then(Node::as_bool).unwrap_or(false),
            })
        };
        let mut operations = Vec::new();
        for patch in items(class, &["spec", "patches"]) {
            for definition in items(patch, &["definitions"]) {
                let operation = |node: &'a Node| operation(patch, definition, node);
                operations.extend(items(definition, &["jsonPatches"]).iter().map(operation));
            }
        }
        Some(Self {
            class,
            variables: items(class, &["spec", "variables"]).iter().filter_map(variable).collect(),
            definitions: definitions(&to_json(class)),
            operations,
            templates: objects,
        })
    }
}

/// The items of a list; none if there is no list.
pub(in crate::check) fn items<'a>(node: &'a Node, path: &[&str]) -> &'a [Node] {
    node.at(path).and_then(Node::as_sequence).unwrap_or_default()
}

fn text<'a>(node: &'a Node, path: &[&str]) -> &'a str {
    node.at(path).and_then(Node::as_str).unwrap_or_default()
}

fn operation<'a>(patch: &'a Node, definition: &'a Node, node: &'a Node) -> Operation<'a> {
    let template = node.at(&["valueFrom", "template"]);
    let variable = node.at(&["valueFrom", "variable"]);
    let value = match (template.and_then(Node::as_str), variable.and_then(Node::as_str)) {
        (Some(source), _) => Value::Template(source, Template::parse(source).ok()),
        (_, Some(path)) => Value::Variable(path),
        _ => node.get("value").map_or(Value::None, Value::Given),
    };
    let resources = definition.at(&["selector", "matchResources"]);
    let has = |name: &str| resources.and_then(|node| node.get(name)).is_some();
    let condition = patch.get("enabledIf").and_then(|node| {
        let source = node.as_str()?;
        Some(Condition { source, template: Template::parse(source).ok(), origin: node.origin })
    });
    Operation {
        patch: text(patch, &["name"]),
        path: text(node, &["path"]),
        kind: text(definition, &["selector", "kind"]),
        of_machines: ["controlPlane", "machineDeploymentClass", "machinePoolClass"].into_iter().any(has),
        value,
        origin: template.or(variable).map_or(node.origin, |node| node.origin),
        condition,
    }
}
