//! A template on its way through the patches, and back into the object that is made from it.

use std::rc::Rc;

use serde_json::Value;

use super::engine::Version;
use super::json_patch::{self, Path};
use super::selector::Holder;
use crate::topology::builtins::Variables;
use crate::topology::class::Template;
use crate::topology::desired::contract::{ALWAYS_PRESERVED, Contract};
use crate::topology::value::{get, set};

/// What patches are for, and all that most of them change.
const SPEC: [&str; 3] = ["spec", "template", "spec"];
const METADATA: [&str; 2] = ["labels", "annotations"];

/// Whether a template comes to an object or to a template of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Becomes {
    Object,
    Template,
}

/// A template on its way through the patches.
pub(super) struct Item<'a> {
    pub(super) role: String,
    pub(super) holder: Holder<'a>,
    /// The template; its spec is the one of the object that is made from it, lent until [`Item::finish`].
    pub(super) object: Value,
    pub(super) variables: Rc<Variables<'a>>,
    pub(super) opaque: Vec<String>,
    source: &'a Template,
    becomes: Becomes,
    lent: bool,
    /// Whether a patch reached for more than the spec.
    beyond: bool,
}

/// An operation with its value.
pub(super) type Operation<'a> = (&'a str, &'a Path, Option<Value>);

impl<'a> Item<'a> {
    pub(super) fn new(
        role: String,
        (holder, becomes): (Holder<'a>, Becomes),
        source: &'a Template,
        target: &mut Value,
        variables: Rc<Variables<'a>>,
    ) -> Self {
        let mut object = without(&source.object, &SPEC);
        for field in METADATA {
            let Some(value) = get(target, &["metadata", field]) else { continue };
            let template = ["spec", "template", "metadata", field];
            let path = if becomes == Becomes::Object { &template[..] } else { &template[2..] };
            set(&mut object, path, value.clone());
        }
        let mut lent = false;
        if let Some(slot) = at(&mut object, &SPEC) {
            // The controller has written into the control plane, and patches do not see that.
            let lender = if role == CONTROL_PLANE { None } else { at(target, becomes.spec()) };
            lent = lender.is_some();
            *slot = match lender {
                Some(spec) => std::mem::take(spec),
                None => get(&source.object, &SPEC).cloned().unwrap_or_default(),
            };
        }
        Self { role, holder, object, variables, opaque: Vec::new(), source, becomes, lent, beyond: false }
    }

    /// Applies one document and takes over what patches may change.
    pub(super) fn patch(&mut self, document: Vec<Operation<'_>>, version: Version) -> Result<(), String> {
        if document.is_empty() {
            return Ok(());
        }
        self.beyond |= !document.iter().all(|(_, path, _)| path.is_within(&SPEC));
        // Where only the spec can be reached there is nothing that could not be taken over.
        if document.iter().all(|(_, path, _)| path.is_within(&SPEC[..1])) {
            return document
                .into_iter()
                .try_for_each(|(op, path, value)| json_patch::apply(&mut self.object, op, path, value));
        }
        let mut patched = self.object.clone();
        for (op, path, value) in document {
            json_patch::apply(&mut patched, op, path, value)?;
        }
        let all: [&[&str]; 3] = [&["spec"], &["metadata", "labels"], &["metadata", "annotations"]];
        let taken = if version.metadata_patches { &all[..] } else { &all[..1] };
        copy_fields(&patched, &mut self.object, taken.iter().map(|path| (*path, *path)));
        Ok(())
    }

    /// Takes the patched template over into the object or template that is made from it.
    pub(super) fn finish(mut self, target: &mut Value, version: Version) -> Vec<String> {
        let preserved = self.preserved(target);
        let patched = at(&mut self.object, &SPEC).map(std::mem::take);
        match patched {
            Some(spec) => {
                set(target, self.becomes.spec(), spec);
            }
            None if self.lent => {
                let spec = get(&self.source.object, &SPEC).cloned().unwrap_or_default();
                set(target, self.becomes.spec(), spec);
            }
            None => {}
        }
        // The metadata came from the target, so without a patch there is nothing to take over.
        if self.beyond && version.metadata_patches {
            self.metadata(target);
        }
        for (path, value) in preserved {
            set(target, path, value);
        }
        self.opaque
    }

    fn metadata(&self, target: &mut Value) {
        let inner = [&SPEC[..2], &["metadata", "labels"]].concat();
        let inner = [inner, [&SPEC[..2], &["metadata", "annotations"]].concat()];
        let own: [&[&str]; 2] = [&["metadata", "labels"], &["metadata", "annotations"]];
        match self.becomes {
            Becomes::Template => {
                copy_fields(&self.object, target, own.iter().map(|path| (*path, *path)));
                copy_fields(
                    &self.object,
                    target,
                    inner.iter().map(|path| (path.as_slice(), path.as_slice())),
                );
            }
            Becomes::Object => {
                let moves = inner.iter().map(Vec::as_slice).zip(own);
                copy_fields(&self.object, target, moves);
            }
        }
    }

    /// What no patch changes, with its place.
    fn preserved(&self, target: &Value) -> Vec<(&'static [&'static str], Value)> {
        let own = if self.role == CONTROL_PLANE { Contract::PRESERVED } else { &[] };
        let always = if self.beyond { ALWAYS_PRESERVED } else { &[] };
        let paths = own.iter().chain(always);
        paths.filter_map(|path| Some((*path, get(target, path)?.clone()))).collect()
    }
}

impl Becomes {
    /// Where the patched spec goes.
    fn spec(self) -> &'static [&'static str] {
        match self {
            Self::Object => &["spec"],
            Self::Template => &SPEC,
        }
    }
}

/// The role of the one object whose spec the controller writes into.
const CONTROL_PLANE: &str = "control-plane";

fn at<'v>(object: &'v mut Value, path: &[&str]) -> Option<&'v mut Value> {
    path.iter().try_fold(object, |value, key| value.get_mut(*key))
}

/// A copy with null in one place.
fn without(value: &Value, path: &[&str]) -> Value {
    let (Value::Object(fields), Some((first, rest))) = (value, path.split_first()) else {
        return if path.is_empty() { Value::Null } else { value.clone() };
    };
    let copy = |(key, value): (&String, &Value)| {
        (key.clone(), if key == first { without(value, rest) } else { value.clone() })
    };
    Value::Object(fields.iter().map(copy).collect())
}

/// Copies what is there, null included, from one object to another.
fn copy_fields<'p>(
    from: &Value,
    to: &mut Value,
    paths: impl Iterator<Item = (&'p [&'p str], &'p [&'p str])>,
) {
    for (source, destination) in paths {
        if let Some(value) = get(from, source) {
            set(to, destination, value.clone());
        }
    }
}
