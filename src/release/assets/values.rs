//! Values and manifests for the operator: what depends on the release alone is evaluated now; the name and the namespace
//! of a cluster are left to the operator's Go templates.

use super::super::{Release, ReleaseAddon};
use crate::{
    definition::StackTemplate,
    note::Notes,
    template::Context,
    yaml::{Mapping, Node, emit},
};

/// A path of our templates, the word that stands for it, and where the operator and a chart of manifests have it.
type Known = (&'static str, &'static str, &'static str, &'static str);

/// What the operator knows of a cluster.
pub(super) const KNOWN: [Known; 2] = [
    ("cluster.name", "StackloomClusterNameStandIn", ".Cluster.metadata.name", ".Values.clusterName"),
    (
        "cluster.namespace",
        "StackloomClusterNamespaceStandIn",
        ".Cluster.metadata.namespace",
        ".Values.clusterNamespace",
    ),
];

/// `overwrite.yaml` of an addon's chart: its values, under the one key that the operator takes as text.
pub(super) fn of_chart(release: &Release, one: &ReleaseAddon, notes: &mut Notes) -> Option<String> {
    let documents = match &one.values {
        Some(values) => rendered(release, one, values, notes)?,
        None => Vec::new(),
    };
    let mut text = String::new();
    emit(&documents.into_iter().next().unwrap_or_else(|| Mapping::new().into()), &mut text);
    Some(overwrite(&filled(&text, |known| known.2)))
}

/// `overwrite.yaml` of a chart of manifests.
pub(super) fn of_manifests() -> String {
    overwrite(
        "clusterName: {{ .Cluster.metadata.name | quote }}\nclusterNamespace: {{ .Cluster.metadata.namespace | quote }}\n",
    )
}

/// The manifests of an addon, each for a file of its own.
pub(super) fn manifests(release: &Release, one: &ReleaseAddon, notes: &mut Notes) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    for template in &one.manifests {
        for object in rendered(release, one, template, notes)? {
            let mut text = String::new();
            emit(&object, &mut text);
            texts.push(filled(&text, |known| known.3));
        }
    }
    Some(texts)
}

/// A text in which no Go template finds anything to do.
pub(super) fn literal(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}

/// The text as the value of `values`: the operator evaluates the file first and reads it afterwards.
fn overwrite(text: &str) -> String {
    let lines =
        text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
    format!("values: |\n{}", lines.collect::<String>())
}

/// The text with what the operator or a chart puts in.
fn filled(text: &str, place: impl Fn(&Known) -> &'static str) -> String {
    let mut text = literal(text);
    for known in &KNOWN {
        let (_, word, ..) = known;
        let at = place(known);
        // Alone it must stay a text, whatever the name looks like.
        let lines = text.lines().map(|line| match line.strip_suffix(word) {
            Some(before) if before.ends_with(": ") || before.ends_with("- ") => {
                format!("{before}{{{{ {at} | quote }}}}\n")
            }
            _ => format!("{}\n", line.replace(word, &format!("{{{{ {at} }}}}"))),
        });
        text = lines.collect();
    }
    text
}

fn rendered(
    release: &Release,
    one: &ReleaseAddon,
    template: &StackTemplate,
    notes: &mut Notes,
) -> Option<Vec<Node>> {
    template.template.objects(&context(release, one), notes)
}

/// What can be said without a cluster.
fn context(release: &Release, one: &ReleaseAddon) -> Context {
    let mut context = Context::default();
    for entry in release.context().iter() {
        context.set(&entry.key.name, entry.value.clone());
    }
    let mut addon = Mapping::new();
    addon.set("name", one.addon.name.as_str());
    addon.set_some("version", one.version.as_ref().map(ToString::to_string));
    context.set("addon", addon);
    let mut cluster = Mapping::new();
    for (path, word, ..) in &KNOWN {
        cluster.set(path.trim_start_matches("cluster."), *word);
    }
    context.set("cluster", cluster);
    context
}
