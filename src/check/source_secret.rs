//! Finds a Secret with credentials for the repository that nothing reads.

use super::{Check, Finder, Rule};
use crate::{
    plan::{ManagementPlan, Plan},
    render,
};

pub(super) static RULE: Rule = Rule {
    name: "source-secret",
    docs: "`source.secret` names a Secret, and nothing reads it: Argo CD has the credentials of repositories in its own settings. \
           Only Flux reads it, for addons that it installs.",
    check: Check::Management(check),
};

fn check(_plan: &Plan, management: &ManagementPlan, finder: &mut Finder<'_>) {
    if render::has_unread_secret(management) {
        let message = format!(
            "an Application of Argo CD cannot refer to a Secret, and `source.secret` of `{}` names one",
            management.management.name
        );
        finder
            .notes
            .error(RULE.name, management.management.provided.origin, message)
            .hint("remove `secret`, and register the repository with its credentials: `argocd repo add`");
    }
}
