//! Addon versions that no matrix lists.

use super::{Check, Finder, Rule};
use crate::{plan::ClusterPlan, resolve::Versions, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "unlisted-version",
    docs: "A cluster takes an addon version that its release does not list, with a reason. That is a way out for an \
           emergency: the warning stays until the version is listed or the cluster goes back, and then until the reason goes.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, _drawn: &Node, finder: &mut Finder<'_>) {
    for addon in &plan.addons {
        let name = &addon.frozen.addon.name;
        let Some(choice) = plan.cluster.addons.get(name.as_str()) else { continue };
        let (Some((reason, said)), Some((version, origin))) = (&choice.unlisted, &choice.version) else {
            continue;
        };
        let release = &plan.release;
        let versions = Versions::new(&addon.frozen.addon, &release.kubernetes, &release.compatibility);
        let (place, message, hint) = if versions.lists(version) {
            let message = format!("the release lists {name} {version}, so `unlisted` says nothing");
            (*said, message, "remove `unlisted`")
        } else {
            let message = format!("{name} {version} is taken without being listed: {reason}");
            (*origin, message, "add it to the stack's matrix once it is tested")
        };
        finder.notes.warning("unlisted-version", place, message).hint(hint);
    }
}
