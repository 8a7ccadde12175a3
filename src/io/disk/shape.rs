//! Paths that are reserved for folders: a file there would hide the folder's contents, which would vanish from the tree. And
//! names in capitals, which some disks take for those of sources, and others do not.

use std::path::Path;

use crate::{
    model::Minor,
    note::{Notes, Place},
    world::{companion_folder, is_yaml},
};

/// Reports a file at a path that is reserved for a folder. Returns whether there is one.
pub(super) fn is_in_the_place_of_a_folder(path: &str, notes: &mut Notes) -> bool {
    let Some(what) = folder_at(path) else { return false };
    notes
        .error(
            "special-file",
            Place::file(path),
            format!("this is not a folder, but the path is reserved for {what}"),
        )
        .hint("move or rename it, so that the contents of the folder are not missing from `generated/`");
    true
}

/// Whether a path is reserved for a folder.
pub(super) fn is_reserved(path: &str) -> bool {
    folder_at(path).is_some()
}

/// Folders and files at the root whose names in capitals are reported, and what is missing without them.
const AT_ROOT: [(&str, &str); 4] =
    [("clusters", "clusters"), ("rollouts", "rollouts"), ("stacks", "stacks"), ("stackloom.lock", "digests")];

/// Reports names at the root that differ from those of sources in capital letters only. Where case does not count, such a source
/// is read; anywhere else, it is missing. Without clusters or digests, another tree would be generated, so that is an error.
pub(super) fn note_capitals_at_root(names: &[String], notes: &mut Notes) {
    for (name, what) in AT_ROOT {
        let is_there = names.iter().any(|other| other == name);
        for other in names.iter().filter(|other| *other != name && other.eq_ignore_ascii_case(name)) {
            let message = format!("this is not called `{name}`, so its {what} are missing where case counts");
            let note = match what {
                "clusters" | "digests" if !is_there => {
                    notes.error("bad-file-name", Place::file(other), message)
                }
                _ => notes.warning("bad-file-name", Place::file(other), message),
            };
            note.hint(if is_there {
                format!("move what belongs to the fleet into `{name}`, and rename the rest")
            } else {
                format!("rename it: `git mv {other} {name}`")
            });
        }
    }
}

/// Reports a JSON file among the definitions. Returns whether it is one.
pub(super) fn is_json_definition(path: &str, notes: &mut Notes) -> bool {
    let is_definition = path.starts_with("clusters/") || path.starts_with("rollouts/");
    let Some((stem, _)) = path.rsplit_once('.').filter(|_| is_definition && is_json(path)) else {
        return false;
    };
    let name = stem.rsplit('/').next().unwrap_or_default();
    notes
        .error("bad-file-name", Place::file(path), "stackloom does not read JSON files as definitions")
        .hint(format!("rename it to `{name}.yaml`: JSON is valid YAML; or move it out of the folder"));
    true
}

fn is_json(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

/// Describes the folder that belongs at a path.
fn folder_at(path: &str) -> Option<&'static str> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["clusters", .., name] if name.strip_suffix(".d").is_some_and(|stem| !stem.is_empty()) => {
            Some("the folder of a cluster's own objects")
        }
        ["clusters", .., name] if is_name(name) => Some("a folder of cluster definitions"),
        ["stacks", provider] if is_name(provider) => Some("the folder of a provider's stacks"),
        ["stacks", _, stack] if is_name(stack) => Some("the folder of a stack"),
        ["stacks", _, _, minor] if Minor::parse_dashed(minor).is_some() => {
            Some("the folder of a Kubernetes minor")
        }
        ["stacks", _, _, minor, inside @ ..] if Minor::parse_dashed(minor).is_some() => of_stack(inside),
        ["stacks", _, _, inside @ ..] => of_stack(inside),
        _ => None,
    }
}

fn of_stack(inside: &[&str]) -> Option<&'static str> {
    match inside {
        ["cluster-class"] => Some("the folder `cluster-class`"),
        ["cluster"] => Some("the folder `cluster`"),
        ["namespace"] => Some("the folder `namespace`"),
        ["addons"] => Some("the folder `addons`"),
        ["node-images"] => Some("the folder `node-images`"),
        ["addons", addon] if is_name(addon) => Some("the folder of an addon"),
        ["addons", _, "manifests"] => Some("the folder `manifests`"),
        _ => None,
    }
}

/// Whether this may be the name of a provider, a stack, an addon or a folder of clusters. Such names contain no dots and no
/// capitals, so `README.md` and `OWNERS` do not count.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Reports a definition whose file extension is in capitals: neither this program nor kustomize would read the file. Returns
/// whether it is one.
pub(super) fn has_capital_ending(path: &str, notes: &mut Notes) -> bool {
    let Some(lower) = with_lower_ending(path) else { return false };
    let name = lower.rsplit('/').next().unwrap_or_default();
    notes
        .error(
            "bad-file-name",
            Place::file(path),
            "the file extension has capital letters, so neither stackloom nor an engine reads the file",
        )
        .hint(format!("rename it to `{name}`"));
    true
}

fn with_lower_ending(path: &str) -> Option<String> {
    let ending = Path::new(path).extension()?.to_str()?;
    if is_json(path) && ending != "json" && companion_folder(path).is_some() {
        // No engine reads `.json`, either.
        return Some(format!("{}yaml", &path[..path.len() - ending.len()]));
    }
    let lower = format!("{}{}", &path[..path.len() - ending.len()], ending.to_ascii_lowercase());
    (!is_yaml(path) && is_yaml(&lower) && !is_build_file(path)).then_some(lower)
}

/// Files below `node-images/` build images, and are no definitions.
fn is_build_file(path: &str) -> bool {
    path.starts_with("stacks/") && path.split('/').any(|part| part == "node-images")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_belong_where_names_are_given_and_files_may_lie_beside_them() {
        for path in [
            "clusters/blue",
            "clusters/blue/green",
            "clusters/blue/one.d",
            "stacks/docker",
            "stacks/docker/scs",
            "stacks/docker/scs/1-35",
            "stacks/docker/scs/1-35/addons",
            "stacks/docker/scs/addons",
            "stacks/docker/scs/addons/cni",
            "stacks/docker/scs/addons/cni/manifests",
            "stacks/docker/scs/namespace",
        ] {
            assert!(folder_at(path).is_some(), "{path}");
        }
        for path in [
            "stackloom.yaml",
            "clusters/README.md",
            "clusters/OWNERS",
            "clusters/one.yaml",
            "stacks/docker/scs/stack.yaml",
            "stacks/docker/scs/LICENSE",
            "stacks/docker/scs/addons/README.md",
            "stacks/docker/scs/addons/cni/values.yaml",
            "stacks/docker/scs/node-images/build",
        ] {
            assert!(folder_at(path).is_none(), "{path}");
        }
    }

    #[test]
    fn an_ending_in_capitals_is_found_in_every_case() {
        assert_eq!(with_lower_ending("clusters/One.YAML").as_deref(), Some("clusters/One.yaml"));
        assert_eq!(with_lower_ending("clusters/a.d/b.Yml").as_deref(), Some("clusters/a.d/b.yml"));
        assert_eq!(with_lower_ending("clusters/a.d/b.JSON").as_deref(), Some("clusters/a.d/b.yaml"));
        assert_eq!(with_lower_ending("clusters/a.d/b.json"), None);
        assert_eq!(with_lower_ending("clusters/one.yaml"), None);
        assert_eq!(with_lower_ending("stacks/a/b/node-images/x.YAML"), None);
        assert_eq!(with_lower_ending("clusters/README.MD"), None);
    }
}
