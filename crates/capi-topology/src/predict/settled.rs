//! What passes of the topology controller have left unchanged, so that later passes need not look at it again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::role::{Pool, TopologyPart};
use crate::state::Worker;

/// An object with its machine template.
type ObjectWithTemplate = (Arc<Value>, Option<Arc<Value>>);

/// Results of earlier passes that need not be computed again.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// Pools that a pass left unchanged, with the running and the desired state of each. If both are the same again,
    /// nothing is left to do.
    pub(super) workers: BTreeMap<Pool, (Arc<Worker>, Arc<Worker>)>,
    /// The template that was accepted last: pools of one class mostly share it.
    pub(super) taken: Value,
    /// The infrastructure cluster and the control plane that a pass left unchanged, each with its machine template: as they run,
    /// and as desired.
    pub(super) parts: BTreeMap<TopologyPart, [ObjectWithTemplate; 2]>,
}

impl Settled {
    pub(super) fn is_so(&self, pool: &Pool, current: &Arc<Worker>, next: &Arc<Worker>) -> bool {
        let settled = self.workers.get(pool);
        settled.is_some_and(|(one, other)| Arc::ptr_eq(one, current) && Arc::ptr_eq(other, next))
    }

    /// Reports whether an earlier pass found nothing to do for this state of a part.
    pub(super) fn rests(
        &self,
        part: &TopologyPart,
        running: (&Arc<Value>, &Option<Arc<Value>>),
        desired: (&Arc<Value>, &Option<Arc<Value>>),
    ) -> bool {
        let is_same = |(object, template): &ObjectWithTemplate, now: (&Arc<Value>, &Option<Arc<Value>>)| {
            (object, template) == now
        };
        self.parts.get(part).is_some_and(|[one, other]| is_same(one, running) && is_same(other, desired))
    }

    pub(super) fn is_taken(&self, template: &Value) -> bool {
        ["apiVersion", "kind", "spec"].iter().all(|field| self.taken.get(field) == template.get(field))
    }
}
