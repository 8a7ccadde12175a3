//! What the cluster stack operator cannot be told.

use super::{super::Release, values::KNOWN};
use crate::{
    definition::StackTemplate,
    note::{Notes, Place},
    template::Tree,
    yaml::{Emit, Item, Scalar, View},
};

/// The namespace that the operator applies all charts in.
const NAMESPACE: &str = "kube-system";

pub(super) fn check(release: &Release, notes: &mut Notes) {
    if !is_known_version(&release.version) || !is_known_version(&release.components.cluster_addon) {
        refuse(
            release,
            None,
            &format!("`{}` is no version that it knows", release.version),
            "it takes v<number> and v<number>-<channel>.<number>: not `versioning: semver`",
            notes,
        );
    }
    for template in release.namespace.iter().chain(&release.cluster) {
        refuse(
            release,
            Some(template),
            "it makes no objects beside a Cluster",
            "without `namespace/` and `cluster/` a stack can be told to it",
            notes,
        );
    }
    for one in release.addons.iter().filter(|one| one.addon.enabled) {
        let name = &one.addon.name;
        if !one.addon.values_from.is_empty() {
            let message = format!("the addon `{name}` takes values from Secrets or ConfigMaps");
            refuse(release, None, &message, "it takes values from the release alone", notes);
        }
        let namespace = &one.addon.release_namespace;
        if one.addon.chart.is_some() && namespace.as_str() != NAMESPACE {
            let message = format!("the addon `{name}` goes to the namespace `{namespace}`");
            refuse(release, None, &message, &format!("it installs charts in `{NAMESPACE}` alone"), notes);
        }
        for template in one.values.iter().chain(&one.manifests) {
            for document in template.template.documents() {
                let mut said = Vec::new();
                expressions(document, &mut said);
                if let Some(what) = said.iter().find(|text| !is_sayable(text)) {
                    refuse(
                        release,
                        Some(template),
                        &format!("it does not know what `{what}` says of a cluster"),
                        "of a cluster, it can be told `cluster.name` and `cluster.namespace`, as they are",
                        notes,
                    );
                }
            }
        }
    }
}

fn refuse(release: &Release, template: Option<&StackTemplate>, message: &str, hint: &str, notes: &mut Notes) {
    let place = template.map(|template| Place::file(&*template.template.source().path));
    notes
        .error(
            "assets",
            place,
            format!("`{}` cannot be told to the cluster stack operator: {message}", release.name),
        )
        .hint(hint.to_owned());
}

/// `v7`, `v0-beta.3`.
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

/// Everything that a template computes: expressions and statements.
fn expressions(tree: &Tree, said: &mut Vec<String>) {
    match tree.view() {
        View::Scalar(Scalar::Expression(text)) => said.push(text.trim().to_owned()),
        View::Scalar(Scalar::String(text) | Scalar::Literal(text) | Scalar::Verbatim(text)) => {
            in_text(text, said);
        }
        View::Scalar(_) => {}
        View::Sequence(items) => {
            for item in items {
                match item {
                    Item::Statement(text, _) => said.push(text.to_owned()),
                    Item::Entry((), value) => expressions(value, said),
                }
            }
        }
        View::Mapping(items) => {
            for item in items {
                match item {
                    Item::Statement(text, _) => said.push(text.to_owned()),
                    Item::Entry((key, _), value) => {
                        if let Scalar::String(text) | Scalar::Literal(text) | Scalar::Verbatim(text) = key {
                            in_text(text, said);
                        }
                        expressions(value, said);
                    }
                }
            }
        }
    }
}

fn in_text(text: &str, said: &mut Vec<String>) {
    for part in text.split("${{").skip(1) {
        said.push(part.split("}}").next().unwrap_or_default().trim().to_owned());
    }
    let statements = text.lines().filter_map(|line| line.trim_start().strip_prefix("#% "));
    said.extend(statements.map(str::to_owned));
}

/// What speaks of no cluster, or says no more than one of the names that the operator knows.
fn is_sayable(text: &str) -> bool {
    const OF_CLUSTERS: [&str; 3] = ["cluster", "namespace", "fleet"];
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let known = KNOWN.iter().any(|(path, ..)| text == *path);
    known || !text.split(|c| !is_word(c)).any(|word| OF_CLUSTERS.contains(&word))
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
        for good in ["cluster.name", "cluster.namespace", "kubernetes.version", "if images[0].name == 'x'"] {
            assert!(is_sayable(good), "{good}");
        }
        for bad in ["cluster.name | upper", "if cluster.name == 'x'", "cluster.variables.x", "fleet.name"] {
            assert!(!is_sayable(bad), "{bad}");
        }
    }
}
