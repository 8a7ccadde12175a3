//! The patch engine, which applies a class's patches to copies of its templates.
//!
//! Source: `core/reconcilers/topology/cluster/patches/engine.go` and `…/inline`.

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

/// The path that patches are meant for; most of them change nothing else.
pub(crate) const SPEC: [&str; 3] = ["spec", "template", "spec"];

/// The behavior of patches that depends on the Cluster API version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PatchBehavior {
    /// Whether patches may set labels and annotations (Cluster API 1.14 and later).
    pub metadata_patches: bool,
}

/// A patch of a class, with its templates parsed.
#[derive(Debug)]
pub(crate) struct Patch {
    /// Its name in the class, for messages.
    pub name: String,
    /// The condition under which the patch runs; without one, it always runs.
    pub enabled_if: Option<Parsed>,
    /// Its definitions, in order.
    pub definitions: Vec<PatchDefinition>,
    /// Whether a runtime extension generates it; extensions cannot run offline.
    pub external: bool,
}

/// The operations of a patch on the templates of one selector.
#[derive(Debug)]
pub(crate) struct PatchDefinition {
    /// The templates it applies to.
    pub selector: Selector,
    /// The operations, as one JSON patch.
    pub operations: Vec<Operation>,
}

/// A template as written, parsed once.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// The source.
    pub source: String,
    /// The template, or its parse error.
    pub template: Result<Template, Error>,
    /// Whether it computes something from names that end in random characters.
    pub looks_into_names: bool,
    /// Its cached results.
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

/// Reports whether a template computes something from a name with random characters. The result then cannot be known,
/// whereas a name that is only printed stays a symbol.
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
    /// The operations of one of its definitions, in order.
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
