//! A template on its way through the patches and into the object made from it.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::builtins::Variables;
use crate::class::Template;
use crate::contract::{ALWAYS_PRESERVED, Contract};
use crate::memo::Key;
use crate::patches::json_patch::{self, Path};
use crate::patches::selector::Holder;
use crate::patches::{Patch, PatchBehavior, SPEC};
use crate::refusal::Opaque;
use crate::role::{Pool, PoolKind, PoolObject, Role};
use crate::state::{Desired, Worker};
use k8s_schema::value::{get, set};

const METADATA: [&str; 2] = ["labels", "annotations"];

/// Whether a template becomes an object or a template of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateUse {
    Object,
    Template,
}

/// The object of a desired state that a template becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Infrastructure,
    ControlPlane,
    Machines,
    /// The bootstrap or infrastructure of one machine deployment or machine pool.
    Worker(PoolKind, usize, WorkerTemplate),
}

/// One of the two templates of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerTemplate {
    Bootstrap,
    Infrastructure,
}

impl WorkerTemplate {
    fn of(self, worker: &mut Worker) -> &mut Value {
        match self {
            Self::Bootstrap => Arc::make_mut(&mut worker.bootstrap),
            Self::Infrastructure => Arc::make_mut(&mut worker.infrastructure),
        }
    }
}

impl Slot {
    fn becomes(self) -> TemplateUse {
        match self {
            Self::Infrastructure | Self::ControlPlane | Self::Worker(PoolKind::MachinePool, ..) => {
                TemplateUse::Object
            }
            Self::Machines | Self::Worker(PoolKind::MachineDeployment, ..) => TemplateUse::Template,
        }
    }

    pub(super) fn of(self, desired: &mut Desired) -> Option<&mut Value> {
        match self {
            Self::Infrastructure => Some(Arc::make_mut(&mut desired.infrastructure)),
            Self::ControlPlane => Some(Arc::make_mut(&mut desired.control_plane)),
            Self::Machines => desired.machine_template.as_mut().map(Arc::make_mut),
            Self::Worker(kind, at, one) => {
                desired.workers_mut(kind).get_mut(at).map(|worker| one.of(Arc::make_mut(worker)))
            }
        }
    }

    pub(super) fn role(self, desired: &Desired) -> Role {
        match self {
            Self::Infrastructure => Role::Infrastructure,
            Self::ControlPlane => Role::ControlPlane,
            Self::Machines => Role::ControlPlaneMachines,
            Self::Worker(kind, at, one) => {
                let name = desired.workers(kind).get(at).map_or("", |worker| &worker.name);
                Pool::new(kind, name).role(match one {
                    WorkerTemplate::Bootstrap => PoolObject::Bootstrap,
                    WorkerTemplate::Infrastructure => PoolObject::Infrastructure,
                })
            }
        }
    }
}

/// A template on its way through the patches.
pub(super) struct Item<'a> {
    pub(super) slot: Slot,
    /// The part of the template that patches read and change.
    pub(super) object: Value,
    pub(super) variables: Rc<Variables<'a>>,
    /// What is unknown about it. The caller of [`Item::finish`] sets the role.
    pub(super) opaque: Vec<Opaque>,
    /// The definitions of each patch that select it.
    pub(super) selected: &'a [Vec<usize>],
    source: &'a Template,
    /// The cache key of the result.
    key: Option<Key>,
    /// Whether a patch accessed more than the spec.
    beyond: bool,
}

pub(super) type Operation<'a> = (&'a str, &'a Path, Option<Value>);

impl<'a> Item<'a> {
    /// Prepares a template for the patches. If the result is cached, it is put in place, and there is nothing to patch.
    pub(super) fn new(
        slot: Slot,
        holder: Holder<'a>,
        source: &'a Template,
        variables: &Rc<Variables<'a>>,
        (patches, desired): (&[Patch], &mut Desired),
    ) -> Option<Self> {
        let target = slot.of(desired)?;
        let key = source.patched.key(patches, &source.object, holder, variables);
        if let Some(spec) = key.as_ref().and_then(|key| source.patched.known(key)) {
            replace(target, slot, spec);
            return None;
        }
        let spec = get(&source.object, &SPEC);
        let object = match spec.filter(|_| source.patched.is_spec(patches, &source.object, holder)) {
            Some(spec) => {
                let mut object = json!({});
                set(&mut object, &SPEC, spec.clone());
                object
            }
            None => whole(source, slot, target),
        };
        let (opaque, variables) = (Vec::new(), Rc::clone(variables));
        let selected = source.patched.selected(patches, &source.object, holder);
        Some(Self { slot, object, variables, opaque, selected, source, key, beyond: false })
    }

    /// Applies one JSON patch, and keeps the changes that patches may make.
    pub(super) fn patch(
        &mut self,
        document: Vec<Operation<'_>>,
        version: PatchBehavior,
    ) -> Result<(), String> {
        if document.is_empty() {
            return Ok(());
        }
        self.beyond |= !document.iter().all(|(_, path, _)| path.is_within(&SPEC));
        // If only the spec can be reached, every change is allowed.
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

    /// Transfers the patched template to the object or template made from it, and returns what is unknown about it.
    pub(super) fn finish(mut self, target: &mut Value, version: PatchBehavior) -> Vec<Opaque> {
        let always = if self.beyond { preserved(target, ALWAYS_PRESERVED) } else { Vec::new() };
        let patched = at(&mut self.object, &SPEC).map(std::mem::take);
        // If the patches removed the spec, the original one is used.
        let spec = patched.or_else(|| get(&self.source.object, &SPEC).cloned());
        if let Some(spec) = spec {
            if let (Some(key), true) = (self.key.take(), self.opaque.is_empty() && !self.beyond) {
                self.source.patched.keep(key, &spec);
            }
            replace(target, self.slot, spec);
        }
        // The metadata came from the target, so without a patch there is nothing to transfer.
        if self.beyond && version.metadata_patches {
            self.metadata(target);
        }
        put(target, always);
        self.opaque
    }

    fn metadata(&self, target: &mut Value) {
        let inner = [&SPEC[..2], &["metadata", "labels"]].concat();
        let inner = [inner, [&SPEC[..2], &["metadata", "annotations"]].concat()];
        let own: [&[&str]; 2] = [&["metadata", "labels"], &["metadata", "annotations"]];
        match self.slot.becomes() {
            TemplateUse::Template => {
                copy_fields(&self.object, target, own.iter().map(|path| (*path, *path)));
                copy_fields(
                    &self.object,
                    target,
                    inner.iter().map(|path| (path.as_slice(), path.as_slice())),
                );
            }
            TemplateUse::Object => {
                let moves = inner.iter().map(Vec::as_slice).zip(own);
                copy_fields(&self.object, target, moves);
            }
        }
    }
}

/// The template with the metadata of the object made from it.
fn whole(source: &Template, slot: Slot, target: &Value) -> Value {
    let mut object = source.object.clone();
    for field in METADATA {
        let Some(value) = get(target, &["metadata", field]) else { continue };
        let template = ["spec", "template", "metadata", field];
        let path = if slot.becomes() == TemplateUse::Object { &template[..] } else { &template[2..] };
        set(&mut object, path, value.clone());
    }
    object
}

/// Puts a patched spec into the object, except for fields that no patch may change.
fn replace(target: &mut Value, slot: Slot, spec: Value) {
    // The controller has set fields of the control plane.
    let own = if slot == Slot::ControlPlane { preserved(target, Contract::PRESERVED) } else { Vec::new() };
    set(target, slot.becomes().spec(), spec);
    put(target, own);
}

type Preserved = Vec<(&'static [&'static str], Value)>;

fn preserved(target: &Value, paths: &'static [&'static [&'static str]]) -> Preserved {
    paths.iter().filter_map(|path| Some((*path, get(target, path)?.clone()))).collect()
}

fn put(target: &mut Value, preserved: Preserved) {
    for (path, value) in preserved {
        set(target, path, value);
    }
}

impl TemplateUse {
    /// The path of the patched spec.
    fn spec(self) -> &'static [&'static str] {
        match self {
            Self::Object => &["spec"],
            Self::Template => &SPEC,
        }
    }
}

fn at<'v>(object: &'v mut Value, path: &[&str]) -> Option<&'v mut Value> {
    path.iter().try_fold(object, |value, key| value.get_mut(*key))
}

/// Copies existing values, including null, from one object to another.
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
