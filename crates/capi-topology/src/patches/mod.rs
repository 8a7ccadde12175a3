//! The patch engine: a class' patches, applied to copies of its templates.
//!
//! Source: `core/reconcilers/topology/cluster/patches/engine.go` and `…/inline`.

pub(crate) mod engine;
mod item;
pub(crate) mod json_patch;
pub(crate) mod selector;
pub(crate) mod values;
pub(crate) mod whole;

use gotmpl::{Error, Template};
use serde_json::Value;

use self::json_patch::Operation;
use self::selector::Selector;
use super::memo::{Memo, SMALL};
use k8s_schema::value::{get, list, present, text};

/// What patches are for, and all that most of them change.
const SPEC: [&str; 3] = ["spec", "template", "spec"];

/// What decides how patches behave beside the class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version {
    /// Whether patches may set labels and annotations (Cluster API 1.14 and later).
    pub metadata_patches: bool,
}

/// A patch of a class, with its templates parsed.
#[derive(Debug)]
pub(crate) struct Patch {
    /// The patch's name.
    pub name: String,
    /// Decides whether the patch runs; none: always.
    pub enabled_if: Option<Parsed>,
    /// What it does, in order.
    pub definitions: Vec<PatchDefinition>,
    /// Whether a runtime extension makes it, which cannot run offline.
    pub external: bool,
}

/// What a patch does to the templates of one selector.
#[derive(Debug)]
pub(crate) struct PatchDefinition {
    /// Which templates.
    pub selector: Selector,
    /// What is done, as one JSON patch.
    pub operations: Vec<Operation>,
}

/// A template as written, parsed once.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// The source.
    pub source: String,
    /// The template, or why it does not parse.
    pub template: Result<Template, Error>,
    /// Whether it looks into names that end in random characters.
    pub looks_into_names: bool,
    /// What it gave before.
    pub results: Memo<Value>,
}

impl Parsed {
    /// Parses a template.
    pub(crate) fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            template: Template::parse(source),
            looks_into_names: looks_into_names(source),
            results: Memo::new(SMALL),
        }
    }
}

/// Whether a template computes something from a name that upstream draws at random: then the
/// result cannot be known, where a name that is only printed stays a symbol.
fn looks_into_names(source: &str) -> bool {
    const NAMES: [&str; 5] = [
        "controlPlane.name",
        "machineDeployment.name",
        "machinePool.name",
        "infrastructureRef.name",
        "configRef.name",
    ];
    const FUNCTIONS: [&str; 16] = [
        "trunc", "substr", "len", "sum", "b64enc", "b32enc", "eq", "ne", "contains", "Prefix", "Suffix",
        "regex", "slice", "split", "abbrev", "cat",
    ];
    NAMES.iter().any(|name| source.contains(name))
        && FUNCTIONS.iter().any(|function| source.contains(function))
}

impl Patch {
    /// What one of its definitions does, in order.
    pub(crate) fn operations(&self, definition: usize) -> &[Operation] {
        self.definitions.get(definition).map_or(&[], |one| &one.operations)
    }

    /// Reads a patch of a class.
    pub(crate) fn read(patch: &Value) -> Self {
        let enabled_if = text(patch, &["enabledIf"]);
        Self {
            name: text(patch, &["name"]).to_owned(),
            enabled_if: (!enabled_if.is_empty()).then(|| Parsed::new(enabled_if)),
            definitions: list(patch, &["definitions"])
                .iter()
                .map(|definition| PatchDefinition {
                    selector: Selector::read(get(definition, &["selector"]).unwrap_or(&Value::Null)),
                    operations: list(definition, &["jsonPatches"]).iter().map(Operation::read).collect(),
                })
                .collect(),
            external: present(patch, &["external"]).is_some(),
        }
    }
}
