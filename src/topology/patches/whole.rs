//! What all patches together make of one template, kept by all that they look at.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::Patch;
use super::item::SPEC;
use super::json_patch::{Operation, Source};
use super::selector::Holder;
use crate::topology::builtins::Variables;
use crate::topology::gotemplate::Reads;
use crate::topology::memo::{Key, Memo};
use crate::topology::value::text;

/// Patched specs of one template of a class.
#[derive(Debug, Default)]
pub struct Patched {
    reads: OnceLock<Option<Reads>>,
    specs: Memo<Arc<Value>>,
}

impl Patched {
    /// What decides the patched spec; none where patches do more than to compute a spec from variables.
    pub(super) fn key(
        &self,
        patches: &[Patch],
        template: &Value,
        holder: Holder<'_>,
        variables: &Variables<'_>,
    ) -> Option<Key> {
        let reads = self.reads.get_or_init(|| reads(patches, template, holder));
        reads.as_ref()?.key(|name| variables.get(name))
    }

    /// The spec that was made before.
    pub(super) fn known(&self, key: &Key) -> Option<Value> {
        self.specs.known(key).map(|spec| Value::clone(&spec))
    }

    /// Keeps a spec, as long as there is room.
    pub(super) fn keep(&self, key: Key, spec: &Value) {
        if self.specs.has_room() {
            self.specs.keep(key, Arc::new(spec.clone()), weight(spec));
        }
    }
}

/// All that the patches of a template look at.
fn reads(patches: &[Patch], template: &Value, holder: Holder<'_>) -> Option<Reads> {
    let (api_version, kind) = (text(template, &["apiVersion"]), text(template, &["kind"]));
    let mut all = Reads::default();
    for patch in patches {
        if patch.external {
            return None;
        }
        let matching = |selector: &super::selector::Selector| selector.matches(api_version, kind, holder);
        let mut definitions = patch.definitions.iter().filter(|one| matching(&one.selector)).peekable();
        if let (Some(condition), true) = (&patch.enabled_if, definitions.peek().is_some()) {
            all.add(condition.template.as_ref().ok()?.reads()?);
        }
        for operation in definitions.flat_map(|definition| &definition.operations) {
            add(operation, &mut all)?;
        }
    }
    Some(all.finished())
}

fn add(operation: &Operation, all: &mut Reads) -> Option<()> {
    if !operation.path.is_within(&SPEC) {
        return None;
    }
    match &operation.value {
        Source::Literal(_) => {}
        Source::Variable(path) => {
            // An index leads into a list, which is taken as a whole.
            let plain = path.split('[').next().unwrap_or_default();
            all.path(plain.split('.'));
        }
        Source::Template(template) => all.add(template.template.as_ref().ok()?.reads()?),
        Source::Wrong(_) => return None,
    }
    Some(())
}

/// About how many bytes a value takes.
fn weight(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| 64 + name.len() + weight(value)).sum(),
        _ => 0,
    }
}
