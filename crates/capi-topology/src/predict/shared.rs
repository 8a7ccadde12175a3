//! A class that many Clusters share: it is read and validated once for all of them.

use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde_json::Value;

use super::change::Writing;
use super::create::{Written, apply_classes, write_classes};
use crate::admission::class_update;
use crate::class::Catalog;
use crate::gates::Gates;
use crate::import::ClassFiles;
use crate::refusal::Refusal;

/// A class with its templates. Copies share a cache, so use one for all Clusters of the class.
#[derive(Debug, Clone, Default)]
pub struct SharedClass(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    files: ClassFiles,
    catalog: OnceLock<Catalog>,
    /// Cached refusals when the class is created.
    refused: Mutex<Vec<(Gates, Arc<[Refusal]>)>>,
    /// Cached results of writing other classes over this one.
    successors: Mutex<Vec<Successor>>,
}

/// A class that was written over another one.
#[derive(Debug)]
struct Successor {
    /// The class. The weak pointer keeps its memory reserved, so no other class can have its address.
    class: Weak<Shared>,
    writing: Writing,
    gates: Gates,
    written: Arc<Written>,
}

impl From<ClassFiles> for SharedClass {
    fn from(files: ClassFiles) -> Self {
        Self(Arc::new(Shared { files, ..Shared::default() }))
    }
}

impl Deref for SharedClass {
    type Target = ClassFiles;

    fn deref(&self) -> &ClassFiles {
        &self.0.files
    }
}

impl SharedClass {
    /// Identifies this class among all that exist at the same time.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// A catalog that holds only the class and its templates.
    pub(super) fn catalog(&self, gates: Gates) -> Catalog {
        let read = || Catalog::new(self.objects.iter().cloned());
        self.0.catalog.get_or_init(read).clone().with_gates(gates)
    }

    /// Lists what is refused when the class is created.
    pub(super) fn refused(&self, gates: Gates) -> Arc<[Refusal]> {
        let mut known = self.0.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, refused)) = known.iter().find(|(of, _)| *of == gates) {
            return Arc::clone(refused);
        }
        let catalog = Catalog::default().with_gates(gates);
        let refused: Arc<[Refusal]> = apply_classes(&self.objects, &catalog, &[]).into();
        known.push((gates, Arc::clone(&refused)));
        refused
    }

    /// Writes a class over this one; `clusters` are all running Clusters.
    pub(super) fn written(
        &self,
        after: &Self,
        writing: Writing,
        gates: Gates,
        clusters: &[Value],
    ) -> Arc<Written> {
        let catalog = self.catalog(gates);
        let write = |clusters: &[Value]| Arc::new(write_classes(&after.objects, &catalog, writing, clusters));
        // The webhook checks the Clusters of a class. A result that depends on them is not cached.
        let objects = after.objects.iter();
        let mut replaced = objects.filter_map(|one| {
            let is_class = one.get("kind").and_then(Value::as_str) == Some("ClusterClass");
            Some((one, catalog.same_object(one).filter(|_| is_class)?))
        });
        if replaced.any(|(new, old)| new != old || !class_update::validate(new, old, clusters).is_empty()) {
            return write(clusters);
        }
        let mut known = self.0.successors.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |one: &&Successor| {
            std::ptr::eq(one.class.as_ptr(), Arc::as_ptr(&after.0))
                && one.writing == writing
                && one.gates == gates
        };
        if let Some(found) = known.iter().find(is_it) {
            return Arc::clone(&found.written);
        }
        let written = write(&[]);
        let class = Arc::downgrade(&after.0);
        known.push(Successor { class, writing, gates, written: Arc::clone(&written) });
        written
    }
}
