//! The kinds of objects that a template can produce, whatever its context.

use std::collections::BTreeMap;

use super::{
    Template,
    tree::{Entry, Item, Key, NodeKind, Tree, lines},
};
use crate::yaml::{Node, Origin};

/// The `apiVersion` and `kind` of objects. `None` stands for any, because the template computes it.
pub type ObjectKind = (Option<String>, Option<String>);

impl Template {
    /// Lists the kinds of the objects that it can produce, each with the place of one. All branches count.
    pub fn kinds(&self) -> BTreeMap<ObjectKind, Origin> {
        let mut kinds = BTreeMap::new();
        for document in &self.documents {
            of_document(document, &mut kinds);
        }
        kinds
    }
}

fn of_document(document: &Tree, kinds: &mut BTreeMap<ObjectKind, Origin>) {
    match &document.kind {
        NodeKind::Sequence(items) => lines(items, &mut |line| {
            if let Ok(item) = line {
                of_document(item, kinds);
            }
        }),
        NodeKind::Mapping(items) => {
            let (versions, names) = (values(items, "apiVersion"), values(items, "kind"));
            for (name, origin) in names {
                for version in versions.keys() {
                    kinds.entry((version.clone(), name.clone())).or_insert(origin);
                }
            }
        }
        NodeKind::Typed(_) | NodeKind::Text(_) => {
            kinds.entry((None, None)).or_insert(document.origin);
        }
        NodeKind::Scalar(_) => {}
    }
}

/// The values that a key can have.
fn values(items: &[Item<Entry>], key: &str) -> BTreeMap<Option<String>, Origin> {
    let mut values = BTreeMap::new();
    lines(items, &mut |line| {
        let Ok(entry) = line else { return };
        let value = match &entry.key {
            Key::Name(name) if **name == *key => {
                entry.value.constant.as_ref().and_then(Node::as_str).map(str::to_owned)
            }
            Key::Name(_) => return,
            Key::Text(_) => None,
        };
        values.entry(value).or_insert(entry.value.origin);
    });
    values
}
