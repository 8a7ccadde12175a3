//! Templates that give nothing.

use super::{
    Found, Lint,
    class::View,
    probe::{Fill, data},
};

pub(super) static LINT: Lint = Lint {
    name: "renders-empty",
    docs: "A template that renders to nothing gives `null`: the patch sets the field to null, and what stood there is gone \
           or the API server refuses the object.",
    find,
};

fn find(view: &View<'_>, found: &mut Vec<Found>) {
    for (fill, when) in [(Fill::Least, "that are not set"), (Fill::Empty, "that are empty")] {
        let data = data(view, fill);
        for operation in &view.operations {
            let empty = operation.rendered(&data).is_some_and(|text| text.trim().is_empty());
            if empty && !found.iter().any(|one| one.lint == LINT.name && one.origin == operation.origin) {
                found.push(Found {
                    lint: LINT.name,
                    origin: operation.origin,
                    message: format!(
                        "the patch `{}` sets {} to null for variables {when}",
                        operation.patch, operation.path
                    ),
                    hint: "give the patch an `enabledIf` that says when it has something to set".to_owned(),
                });
            }
        }
    }
}
