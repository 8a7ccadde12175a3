//! Checks the dependencies between the addons of a stack.

use std::collections::BTreeMap;

use crate::{
    definition::closest,
    model::{Addon, Label, Stage},
    note::{Notes, Place},
};

/// The addons of a stack, by name.
type ByName<'a> = BTreeMap<&'a Label, &'a Addon>;

/// Reports names in `dependsOn` that no addon of the stack has, and dependency cycles.
pub(super) fn check(addons: &[Addon], place: &dyn Fn(&Addon) -> Option<Place>, notes: &mut Notes) {
    let by_name: ByName<'_> = addons.iter().map(|addon| (&addon.name, addon)).collect();
    for addon in addons {
        for other in addon.depends_on.iter().filter(|other| !by_name.contains_key(other)) {
            let similar = closest(other.as_str(), by_name.keys().map(|name| name.as_str()));
            let note = notes.error(
                "unknown-addon",
                place(addon),
                format!("`{}` depends on `{other}`, but this stack has no such addon", addon.name),
            );
            match similar {
                Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                None => note.hint("name an addon of the same stack"),
            };
        }
        for other in addon.depends_on.iter().filter_map(|other| by_name.get(other)) {
            check_pair(addon, other, place, notes);
        }
        if let Some(circle) = circle_from(addon, &by_name) {
            notes
                .error(
                    "dependency-cycle",
                    place(addon),
                    format!("these addons wait for each other: {circle}"),
                )
                .hint("remove one of these `dependsOn` entries");
        }
    }
    check_releases(addons, place, notes);
}

/// Reports dependencies that can't work: of bootstrap addons on others, and between charts and manifests.
fn check_pair(addon: &Addon, other: &Addon, place: &dyn Fn(&Addon) -> Option<Place>, notes: &mut Notes) {
    if addon.chart.is_some() != other.chart.is_some() {
        notes
            .error(
                "depends-on-kind",
                place(addon),
                format!(
                    "`{}` cannot wait for `{}`: one is a chart, the other is made of manifests",
                    addon.name, other.name
                ),
            )
            .hint("an addon can wait only for addons of its own kind: make both charts, or both manifests");
    }
    if addon.stage == Stage::Bootstrap && other.stage == Stage::Default {
        notes
            .error(
                "dependency-cycle",
                place(addon),
                format!(
                    "`{}` is in the stage `bootstrap` and waits for `{}`, which waits for that stage",
                    addon.name, other.name
                ),
            )
            .hint(
                "addons of the stage `default` start when those of `bootstrap` are ready: put both into one stage",
            );
    }
}

/// Reports addons that share a Helm release.
fn check_releases(addons: &[Addon], place: &dyn Fn(&Addon) -> Option<Place>, notes: &mut Notes) {
    let mut releases: BTreeMap<(&Label, &Label), &Addon> = BTreeMap::new();
    let mut by_name: Vec<_> = addons.iter().filter(|addon| addon.chart.is_some()).collect();
    by_name.sort_by_key(|addon| &addon.name);
    for addon in by_name {
        let release = (&addon.release_namespace, &addon.release_name);
        if let Some(other) = releases.get(&release) {
            notes
                .error(
                    "duplicate",
                    place(addon),
                    format!(
                        "`{}` and `{}` would share one Helm release, `{}` in `{}`",
                        other.name, addon.name, addon.release_name, addon.release_namespace
                    ),
                )
                .hint("give one of them a different `release.name`");
        } else {
            releases.insert(release, addon);
        }
    }
}

/// Finds a cycle through an addon. Only the member whose name sorts first returns the cycle, so that it is reported once.
fn circle_from(start: &Addon, by_name: &ByName<'_>) -> Option<String> {
    let mut stack = vec![start];
    let mut before: BTreeMap<&Label, &Addon> = BTreeMap::new();
    while let Some(last) = stack.pop() {
        for other in &last.depends_on {
            let Some(next) = by_name.get(other) else { continue };
            if next.name == start.name {
                let mut path = vec![start.name.as_str()];
                let mut at = last;
                while at.name != start.name {
                    path.push(at.name.as_str());
                    at = before[&at.name];
                }
                path.push(start.name.as_str());
                path.reverse();
                let first = path.iter().min()?;
                return (*first == start.name.as_str()).then(|| path.join(" → "));
            }
            if !before.contains_key(&next.name) {
                before.insert(&next.name, last);
                stack.push(next);
            }
        }
    }
    None
}
