//! The combined result of all patches on one template, cached by the values that they read.

use std::sync::{Arc, OnceLock};

use gotmpl::Reads;
use serde_json::Value;

use super::json_patch::{Operation, Source};
use super::selector::Holder;
use super::{Patch, SPEC};
use crate::builtins::Variables;
use crate::memo::{Key, LARGE, Memo};
use k8s_schema::value::text;

/// Cached patched specs of one template of a class.
#[derive(Debug)]
pub(crate) struct Patched {
    aim: OnceLock<PatchReach>,
    specs: Memo<Arc<Value>>,
}

/// How the patches of a class relate to a template.
#[derive(Debug)]
struct PatchReach {
    /// The definitions of each patch that select it.
    selected: Vec<Vec<usize>>,
    /// Everything that they read; none if they do more than compute a spec from variables.
    reads: Option<Reads>,
}

impl Default for Patched {
    fn default() -> Self {
        Self { aim: OnceLock::new(), specs: Memo::new(LARGE) }
    }
}

impl Patched {
    /// For each patch, the definitions that select the template.
    pub(crate) fn selected(&self, patches: &[Patch], template: &Value, holder: Holder<'_>) -> &[Vec<usize>] {
        &self.aim(patches, template, holder).selected
    }

    fn aim(&self, patches: &[Patch], template: &Value, holder: Holder<'_>) -> &PatchReach {
        self.aim.get_or_init(|| {
            let (api_version, kind) = (text(template, &["apiVersion"]), text(template, &["kind"]));
            let selected = |patch: &Patch| {
                let definitions = patch.definitions.iter().enumerate();
                let matching = definitions.filter(|(_, one)| one.selector.matches(api_version, kind, holder));
                matching.map(|(at, _)| at).collect()
            };
            let selected: Vec<Vec<usize>> = patches.iter().map(selected).collect();
            PatchReach { reads: reads(patches, &selected), selected }
        })
    }

    /// Reports whether the patches only compute a spec from variables, so that they need nothing else of the template.
    pub(crate) fn is_spec(&self, patches: &[Patch], template: &Value, holder: Holder<'_>) -> bool {
        self.aim(patches, template, holder).reads.is_some()
    }

    /// The cache key of the patched spec; none if it would be too long, or the spec is not cached.
    pub(crate) fn key(
        &self,
        patches: &[Patch],
        template: &Value,
        holder: Holder<'_>,
        variables: &Variables<'_>,
    ) -> Option<Key> {
        if self.specs.is_idle() {
            return None;
        }
        let aim = self.aim(patches, template, holder);
        Key::of(aim.reads.as_ref()?, |name| variables.get(name))
    }

    pub(crate) fn known(&self, key: &Key) -> Option<Value> {
        self.specs.known(key).map(|spec| Value::clone(&spec))
    }

    pub(crate) fn keep(&self, key: Key, spec: &Value) {
        self.specs.keep(key, Arc::new(spec.clone()), weight(spec));
    }
}

/// Everything that the patches of a template read.
fn reads(patches: &[Patch], selected: &[Vec<usize>]) -> Option<Reads> {
    let mut all = Reads::default();
    for (patch, selected) in patches.iter().zip(selected) {
        if patch.external {
            return None;
        }
        if let (Some(condition), false) = (&patch.enabled_if, selected.is_empty()) {
            all.add(condition.template.as_ref().ok()?.reads()?);
        }
        for operation in selected.iter().flat_map(|at| patch.operations(*at)) {
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
            // An index leads into a list, and lists are read as a whole.
            let plain = path.split('[').next().unwrap_or_default();
            all.path(plain.split('.'));
        }
        Source::Template(template) => all.add(template.template.as_ref().ok()?.reads()?),
        Source::Wrong(_) => return None,
    }
    Some(())
}

/// Estimates the size of a value in bytes.
fn weight(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| 64 + name.len() + weight(value)).sum(),
        _ => 0,
    }
}
