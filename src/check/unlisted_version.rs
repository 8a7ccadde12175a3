//! Finds addon versions that are in no matrix.

use super::{Check, Finder, Rule};
use crate::{plan::ClusterPlan, resolve::Versions, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "unlisted-version",
    docs: "A cluster uses an addon version that its release does not list, with a reason. This is for emergencies. The \
           warning stays until the release lists the version or the cluster goes back to a listed one, and then until \
           the reason is removed.",
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
            let message = format!("the release lists {name} {version}, so `unlisted` has no effect");
            (*said, message, "remove `unlisted`")
        } else {
            let message = format!("{name} {version} is used although the release does not list it: {reason}");
            (*origin, message, "add it to the stack's matrix once it is tested")
        };
        finder.notes.warning("unlisted-version", place, message).hint(hint);
    }
}
