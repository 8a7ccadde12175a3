//! Fuzz target for JSON patches and variable paths. The input is a document and operations, each as JSON.

use capi_topology::testing::json_patch::{Operation, apply};
use capi_topology::variables::lookup;

use super::input;

/// Runs one input.
pub(crate) fn run(bytes: &[u8]) {
    let Some([document, operations]) = input::parts(bytes) else { return };
    let Some(mut document) = input::json(document) else { return };
    let Some(operations) = input::json(operations) else { return };
    for operation in operations.as_array().into_iter().flatten() {
        let before = document.clone();
        let read = Operation::read(operation);
        let value = operation.get("value").cloned();
        if apply(&mut document, &read.op, &read.path, value).is_err() {
            assert_eq!(document, before, "an operation that fails has changed something");
        }
        drop(lookup(|name| before.get(name), &read.path.source));
    }
}
