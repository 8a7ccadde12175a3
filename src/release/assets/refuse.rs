//! Finds the parts of a release that can't be expressed for the cluster stack operator.

use std::collections::BTreeMap;

use super::{
    super::{Release, ReleaseAddon, namespaced::is_namespaced_object},
    values::{self, KNOWN},
};
use crate::{
    definition::StackTemplate,
    note::{Notes, Place},
    template::{Tree, expression_end},
    yaml::{Emit, Item, Node, Scalar, View},
};

/// The namespace to which the operator applies everything.
const NAMESPACE: &str = "kube-system";

pub(super) fn check(release: &Release, notes: &mut Notes) {
    if !is_known_version(&release.version) || !is_known_version(&release.components.cluster_addon) {
        refuse(
            release,
            None,
            &format!("the operator does not support the version `{}`", release.version),
            "it supports only v<number> and v<number>-<channel>.<number>, not `versioning: semver`",
            notes,
        );
    }
    for template in release.namespace.iter().chain(&release.cluster) {
        refuse(
            release,
            Some(template),
            "the operator creates no objects next to a Cluster",
            "it supports only stacks without `namespace/` and `cluster/`",
            notes,
        );
    }
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for one in release.addons.iter().filter(|one| one.addon.enabled) {
        let name = one.addon.name.as_str();
        for folder in super::folders(one) {
            if let Some(other) = owners.insert(folder.clone(), name) {
                let message = format!("the addons `{other}` and `{name}` both use the folder `{folder}`");
                let hint = "the manifests of an addon that has a chart are a chart of their own, in the folder \
                            `<addon>-manifests`: give one of the two another name";
                refuse(release, None, &message, hint, notes);
            }
        }
        addon(release, one, notes);
    }
}

fn addon(release: &Release, one: &ReleaseAddon, notes: &mut Notes) {
    let name = &one.addon.name;
    if !one.addon.values_from.is_empty() {
        let message = format!("the addon `{name}` takes values from Secrets or ConfigMaps");
        refuse(release, None, &message, "the operator takes values only from the release", notes);
    }
    let namespace = &one.addon.release_namespace;
    if one.addon.chart.is_some() && namespace.as_str() != NAMESPACE {
        let message = format!("the addon `{name}` goes to the namespace `{namespace}`");
        refuse(
            release,
            None,
            &message,
            &format!("the operator installs charts only in `{NAMESPACE}`"),
            notes,
        );
    }
    let before = notes.errors();
    for template in one.values.iter().chain(&one.manifests) {
        let mut found = Vec::new();
        template.template.documents().iter().for_each(|document| expressions(document, &mut found));
        if let Some(what) = found.iter().find(|text| !is_sayable(text)) {
            let message = format!("the operator does not know the value of `{what}` for a cluster");
            let hint = "of a cluster, use only `cluster.name` and `cluster.namespace`, unchanged";
            refuse(release, Some(template), &message, hint, notes);
        }
        if let Some(what) = found.iter().find(|text| !is_of_the_addons(text)) {
            let message = format!(
                "`{what}` may differ in the next release, although its addons can have the same version `{}`",
                release.components.cluster_addon
            );
            let hint = "the operator applies addons of one version only once: of a release, use only `stack`, `addon` \
                        and `kubernetes.minor` in their templates";
            refuse(release, Some(template), &message, hint, notes);
        }
    }
    if notes.errors() == before {
        objects(release, one, notes);
    }
}

/// Reports objects of another namespace. The operator applies everything in one namespace, and an API server rejects an
/// object that names another.
fn objects(release: &Release, one: &ReleaseAddon, notes: &mut Notes) {
    for (template, object) in values::objects(release, one, notes).unwrap_or_default() {
        let text = |path: &[&str]| object.at(path).and_then(Node::as_str);
        let goes = match text(&["metadata", "namespace"]) {
            Some(NAMESPACE) => continue,
            Some(other) => format!("goes to the namespace `{}`", values::with_expressions(other)),
            None if is_namespaced_object(&object) => "has no namespace".to_owned(),
            None => continue,
        };
        let word = |path: &[&str]| values::with_expressions(text(path).unwrap_or_default());
        let message = format!("{} `{}` {goes}", word(&["kind"]), word(&["metadata", "name"]));
        let hint = format!(
            "the operator applies everything in `{NAMESPACE}`: set this namespace, or turn the addon `{}` off by \
             default, with `enabled: false` in its addon.yaml",
            one.addon.name
        );
        refuse(release, Some(template), &message, &hint, notes);
    }
}

fn refuse(release: &Release, template: Option<&StackTemplate>, message: &str, hint: &str, notes: &mut Notes) {
    let place = template.map(|template| Place::file(&*template.template.source().path));
    notes
        .error(
            "assets",
            place,
            format!("`{}` cannot be converted for the cluster stack operator: {message}", release.name),
        )
        .hint(hint.to_owned());
}

/// Accepts `v7` and `v0-beta.3`.
fn is_known_version(version: &str) -> bool {
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let Some(rest) = version.strip_prefix('v') else { return false };
    match rest.split_once('-') {
        None => is_number(rest),
        Some((major, rest)) => {
            let parts = rest.split_once('.');
            is_number(major) && parts.is_some_and(|(channel, patch)| is_word(channel) && is_word(patch))
        }
    }
}

/// Collects all expressions and statements of a template.
fn expressions(tree: &Tree, found: &mut Vec<String>) {
    match tree.view() {
        View::Scalar(Scalar::Expression(text)) => found.push(text.trim().to_owned()),
        View::Scalar(Scalar::String(text) | Scalar::Literal(text) | Scalar::Verbatim(text)) => {
            in_text(text, found);
        }
        View::Scalar(_) => {}
        View::Sequence(items) => {
            for item in items {
                match item {
                    Item::Statement(text, _) => found.push(text.to_owned()),
                    Item::Entry((), value) => expressions(value, found),
                }
            }
        }
        View::Mapping(items) => {
            for item in items {
                match item {
                    Item::Statement(text, _) => found.push(text.to_owned()),
                    Item::Entry((key, _), value) => {
                        if let Scalar::String(text) | Scalar::Literal(text) | Scalar::Verbatim(text) = key {
                            in_text(text, found);
                        }
                        expressions(value, found);
                    }
                }
            }
        }
    }
}

fn in_text(text: &str, found: &mut Vec<String>) {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("${{") {
        let (expression, after) = behind.split_at(expression_end(behind).unwrap_or(behind.len()));
        found.push(expression.trim().to_owned());
        rest = after;
    }
    let statements = text.lines().filter_map(|line| line.trim_start().strip_prefix("#% "));
    found.extend(statements.map(str::to_owned));
}

/// Reports whether an expression can be converted: it uses no cluster data, or consists of one name that the operator knows.
fn is_sayable(text: &str) -> bool {
    const OF_CLUSTERS: [&str; 3] = ["cluster", "namespace", "fleet"];
    let known = KNOWN.iter().any(|known| text == known.path);
    known || !names(text).iter().any(|path| OF_CLUSTERS.contains(&first(path)))
}

/// Reports whether an expression is the same in every release with these addons. Their version identifies the addons only.
fn is_of_the_addons(text: &str) -> bool {
    const OF_RELEASES: [&str; 3] = ["release", "images", "kubernetes"];
    !names(text).iter().any(|path| OF_RELEASES.contains(&first(path)) && *path != "kubernetes.minor")
}

fn first(path: &str) -> &str {
    path.split('.').next().unwrap_or_default()
}

/// The names in an expression or statement, each with its field access. Quoted strings are skipped.
fn names(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' | '\'' => string_length(rest),
            c if is_part(c) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        if is_part(c) {
            names.push(word);
        }
        rest = behind;
    }
    names
}

/// The length, in bytes, of the string at the start of a text.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let quote = text.chars().next();
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if Some(c) == quote {
            return at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_operator() {
        for good in ["v1", "v12", "v0-beta.3", "v0-sha.a1b2c3d4", "v7-hotfix.1"] {
            assert!(is_known_version(good), "{good}");
        }
        for bad in ["1", "v", "v1.2.3", "v1-beta", "v1-beta.", "v1-beta.1.2", "va"] {
            assert!(!is_known_version(bad), "{bad}");
        }
    }

    #[test]
    fn of_a_cluster_only_its_names_can_be_said() {
        for good in ["cluster.name", "cluster.namespace", "kubernetes.minor", "if addon.name == 'my cluster'"]
        {
            assert!(is_sayable(good), "{good}");
        }
        for bad in [
            "cluster.name | upper",
            "if cluster.name == 'x'",
            "cluster.variables.x",
            "fleet.name",
            "'\\'' ~ cluster.name",
        ] {
            assert!(!is_sayable(bad), "{bad}");
        }
    }

    #[test]
    fn of_a_release_only_what_its_addons_share_can_be_said() {
        for good in ["stack.name", "addon.version", "kubernetes.minor", "'release.name'", "addon.release"] {
            assert!(is_of_the_addons(good), "{good}");
        }
        for bad in [
            "release.name",
            "if images[0].name == 'x'",
            "kubernetes.version",
            "kubernetes",
            "-release.version",
        ] {
            assert!(!is_of_the_addons(bad), "{bad}");
        }
    }

    #[test]
    fn an_expression_ends_behind_the_braces_in_its_strings() {
        let mut found = Vec::new();
        in_text("a ${{ '}}' ~ (cluster.name | upper) }} b ${{ addon.name }}", &mut found);
        assert_eq!(found, ["'}}' ~ (cluster.name | upper)", "addon.name"]);
    }
}
