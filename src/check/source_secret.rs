//! Finds a Secret with credentials for the repository that nothing reads.

use super::{Check, Finder, Rule};
use crate::{
    plan::{ManagementPlan, Plan},
    render,
};

pub(super) static RULE: Rule = Rule {
    name: "source-secret",
    docs: "`source.secret` names a Secret, and nothing reads it: the engine has the credentials of repositories in its own \
           settings, and no addon delivery reads the repository.",
    check: Check::Management(check),
};

fn check(_plan: &Plan, management: &ManagementPlan, finder: &mut Finder<'_>) {
    if let Some(unread) = render::unread_secret(management) {
        let name = &management.management.name;
        let message = format!("{}, and `source.secret` of `{name}` names one", unread.reason);
        finder.notes.error(RULE.name, management.management.provided.origin, message).hint(unread.hint);
    }
}
