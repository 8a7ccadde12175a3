//! Reports the lints of a class, except those that the stack allows.

use super::{Check, Finder, Rule};
use crate::release::Release;

pub(super) static RULE: Rule = Rule {
    name: "class-lint",
    docs: "Cluster API accepts the class, but does something unintended to some clusters. Each lint has its own \
           name, which is also the code of its messages. `spec.allow` of `stack.yaml` allows a lint by this name, with \
           a reason.",
    check: Check::Release(check),
};

fn check(release: &Release, finder: &mut Finder<'_>) {
    let place = |origin| origin;
    for found in finder.classes.lints.found(release) {
        let note = finder.notes.error(found.lint, place(found.origin), &*found.message);
        note.hint(&*found.hint);
        let stack = &release.stack;
        note.hint(format!(
            "or allow it in stacks/{stack}/stack.yaml: `allow: [{{ rule: {}, reason: … }}]`",
            found.lint
        ));
    }
    for wrong in finder.classes.lints.wrong(release) {
        let place = place(wrong.origin);
        let note = if wrong.error {
            finder.notes.error("unknown-lint", place, &*wrong.message)
        } else {
            finder.notes.warning("unused-allowance", place, &*wrong.message)
        };
        note.hint(&*wrong.hint);
    }
}
