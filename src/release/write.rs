//! The files of a release, by path within its folder.

use std::collections::BTreeMap;

use super::{FORMAT, History, Release, artifact::sha256};
use crate::{
    definition::Channel,
    model::{
        Addon, AddonVersion, CompatibilityRule, Digest, ImageSource, LockedChart, Migration, NodeImage,
        Stage, ValueType, ValuesFrom, ValuesSource,
    },
    template::Template,
    tree::HEADER,
    yaml::{Mapping, Node, emit},
};

/// Writes a release. Each file begins with a line that names its source.
pub fn write(release: &Release) -> BTreeMap<String, String> {
    write_with(release, None)
}

/// Writes a numbered release, with its notes and the digest of every file.
pub(super) fn write_numbered(release: &Release, notes: &str) -> BTreeMap<String, String> {
    let mut files = write(release);
    files.remove("release.yaml");
    files.insert("NOTES.md".to_owned(), notes.to_owned());
    let digests = files.iter().map(|(path, text)| (path.clone(), sha256(text.as_bytes()))).collect();
    let mut all = write_with(release, Some(&digests));
    all.insert("NOTES.md".to_owned(), notes.to_owned());
    all
}

fn write_with(release: &Release, digests: Option<&BTreeMap<String, String>>) -> BTreeMap<String, String> {
    let file = |page: ReleaseFile<'_>| {
        let body = match page.body {
            Body::Object(node) => text(&node),
            Body::Template(template) => template.canonical(),
        };
        (page.path, format!("{HEADER}{}; do not edit\n{body}", page.source))
    };
    pages_with(release, digests).into_iter().map(file).collect()
}

/// A file of a release before it is serialized.
#[derive(Debug)]
pub struct ReleaseFile<'a> {
    /// The path within the release's folder.
    pub path: String,
    /// The source, for the first line.
    pub source: String,
    /// The addon whose template it is.
    pub addon: Option<&'a str>,
    /// The content.
    pub body: Body<'a>,
}

/// The content of a release file.
#[derive(Debug)]
pub enum Body<'a> {
    /// A document.
    Object(Node),
    /// A template in its canonical form.
    Template(&'a Template),
}

/// Lists the files of a release.
pub fn pages(release: &Release) -> Vec<ReleaseFile<'_>> {
    pages_with(release, None)
}

fn pages_with<'a>(release: &'a Release, digests: Option<&BTreeMap<String, String>>) -> Vec<ReleaseFile<'a>> {
    let source = format!("stacks/{}", release.stack);
    let page =
        |path: &str, body| ReleaseFile { path: path.to_owned(), source: source.clone(), addon: None, body };
    let mut pages = vec![
        page("metadata.yaml", Body::Object(metadata(release))),
        page("release.yaml", Body::Object(description(release, digests))),
    ];
    pages.extend(release.objects.iter().map(|object| ReleaseFile {
        path: format!("cluster-class/{}", object_file(object, &release.name)),
        source: format!("{source}/cluster-class"),
        addon: None,
        body: Body::Object(object.clone()),
    }));
    let addons = release.addons.iter().flat_map(|addon| {
        let name = addon.addon.name.as_str();
        addon.values.iter().chain(&addon.manifests).map(move |template| (Some(name), template))
    });
    let shared = release.namespace.iter().chain(&release.cluster).map(|template| (None, template));
    pages.extend(shared.chain(addons).map(|(addon, template)| ReleaseFile {
        path: template.path.clone(),
        source: format!("{source}/{}", template.path),
        addon,
        body: Body::Template(&template.template),
    }));
    pages
}

fn text(node: &Node) -> String {
    let mut text = String::new();
    emit(node, &mut text);
    text
}

/// The file name `<kind>.yaml` or `<kind>-<name without the release's prefix>.yaml`.
fn object_file(object: &Node, release: &str) -> String {
    let text = |path: &[&str]| object.at(path).and_then(Node::as_str).unwrap_or_default();
    let kind = text(&["kind"]).to_ascii_lowercase();
    match text(&["metadata", "name"]).trim_start_matches(release).trim_start_matches('-') {
        "" => format!("{kind}.yaml"),
        rest => format!("{kind}-{rest}.yaml"),
    }
}

/// Builds `metadata.yaml` in the format of the cluster stack operator and csctl, with the keys in their order.
fn metadata(release: &Release) -> Node {
    let mut components = Mapping::new();
    components.set("clusterAddon", release.components.cluster_addon.as_str());
    components.set("nodeImage", release.components.node_image.as_str());
    let mut versions = Mapping::new();
    versions.set("clusterStack", release.version.as_str());
    versions.set("kubernetes", format!("v{}", release.kubernetes));
    versions.set("components", components);
    let mut root = Mapping::new();
    root.set("apiVersion", "metadata.clusterstack.x-k8s.io/v1alpha1");
    root.set("versions", versions);
    root.into()
}

fn description(release: &Release, digests: Option<&BTreeMap<String, String>>) -> Node {
    let mut spec = Mapping::new();
    spec.set("format", FORMAT);
    spec.set("provider", &*release.stack.provider);
    spec.set("stack", &*release.stack.name);
    spec.set("kubernetes", release.kubernetes.to_string());
    spec.set("channel", channel(release.channel));
    spec.set("version", release.version.as_str());
    spec.set("templateLanguage", i64::from(release.language));
    let mut content = Mapping::new();
    content.set("clusterClass", release.content.cluster_class.as_str());
    content.set("clusterAddon", release.content.cluster_addon.as_str());
    content.set("nodeImage", release.content.node_image.as_str());
    content.set("whole", release.content.whole.as_str());
    spec.set("content", content);
    let mut addons = Mapping::new();
    for addon in &release.addons {
        let mut node = addon_node(&addon.addon, addon.version.as_ref());
        if let Some(node) = node.as_mapping_mut() {
            node.set_filled("locked", addon.locked.iter().map(locked).collect::<Vec<_>>());
        }
        addons.set(addon.addon.name.as_str(), node);
    }
    spec.set_filled("addons", addons);
    spec.set_filled("images", release.images.iter().map(image).collect::<Vec<_>>());
    spec.set_filled("compatibility", release.compatibility.iter().map(rule).collect::<Vec<_>>());
    spec.set_filled("migrations", release.migrations.iter().map(migration).collect::<Vec<_>>());
    spec.set_filled("imageDigests", digests_of(&release.image_digests));
    let mut requires = Mapping::new();
    requires.set("kinds", kinds(release));
    let mut providers = Mapping::new();
    for (name, range) in &release.requires.providers {
        providers.set(name, range.to_string());
    }
    requires.set_filled("providers", providers);
    let gates = release.requires.feature_gates.iter();
    requires.set_filled("featureGates", gates.map(|gate| Node::from(gate.as_str())).collect::<Vec<_>>());
    spec.set("requires", requires);
    spec.set_some("history", release.history.as_ref().map(history));
    if let Some(digests) = digests {
        let mut files = Mapping::new();
        for (path, digest) in digests {
            files.set(path, digest.as_str());
        }
        spec.set("files", files);
    }
    let mut named = Mapping::new();
    named.set("name", release.name.as_str());
    let mut root = Mapping::new();
    root.set("apiVersion", "stackloom.dev/v1alpha1");
    root.set("kind", "Release");
    root.set("metadata", named);
    root.set("spec", spec);
    root.into()
}

/// Writes the locked entry of a chart version. It isn't content, so it isn't part of the hash.
fn locked((version, locked): (&AddonVersion, &LockedChart)) -> Node {
    let mut mapping = Mapping::new();
    mapping.set("version", version.to_string());
    mapping.set("digest", Node::from(locked.digest.as_str()).with_origin(locked.origin));
    mapping.set_filled("images", digests_of(&locked.images));
    mapping.into()
}

/// Writes images with their digests, sorted by name.
pub fn digests_of(images: &BTreeMap<String, Digest>) -> Vec<Node> {
    let image = |(image, digest): (&String, &Digest)| {
        let mut mapping = Mapping::new();
        mapping.set("image", image.as_str());
        mapping.set("digest", digest.as_str());
        Node::from(mapping)
    };
    images.iter().map(image).collect()
}

fn history(history: &History) -> Node {
    let texts = |texts: &mut dyn Iterator<Item = &str>| texts.map(Node::from).collect::<Vec<_>>();
    let mut node = Mapping::new();
    node.set_some("previous", history.previous.as_deref());
    node.set_some("commit", history.commit.as_deref());
    node.set("bumped", texts(&mut history.bumped.iter().map(|component| component.name())));
    if let Some(impact) = &history.impact {
        let mut effects = Mapping::new();
        for (effect, why) in impact {
            effects.set(effect.name(), texts(&mut why.iter().map(String::as_str)));
        }
        node.set("impact", effects);
    }
    node.into()
}

fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Stable => "stable",
        Channel::Beta => "beta",
        Channel::Hash => "hash",
        Channel::Custom => "custom",
    }
}

fn kinds(release: &Release) -> Vec<Node> {
    let kind = |object: &Node| {
        let text = |key| object.get(key).and_then(Node::as_str).unwrap_or_default();
        format!("{}/{}", text("apiVersion"), text("kind"))
    };
    let mut kinds: Vec<_> = release.objects.iter().map(kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds.into_iter().map(Node::from).collect()
}

/// Writes an addon as text, for its content hash.
pub(super) fn addon_text(addon: &Addon, version: Option<&AddonVersion>) -> String {
    format!("{}\n{}", addon.name, text(&addon_node(addon, version)))
}

pub(super) fn addon_node(addon: &Addon, version: Option<&AddonVersion>) -> Node {
    let mut node = Mapping::new();
    node.set_some("version", version.map(ToString::to_string));
    if let Some(chart) = &addon.chart {
        let mut mapping = Mapping::new();
        mapping.set("repository", chart.repository.as_str());
        mapping.set("name", chart.name.as_str());
        node.set("chart", mapping);
    }
    let row = |row: &crate::model::Requirement| {
        let mut mapping = Mapping::new();
        mapping.set("version", row.version.to_string());
        mapping.set("kubernetes", row.kubernetes.to_string());
        Node::from(mapping)
    };
    node.set_filled("versions", addon.matrix.iter().map(row).collect::<Vec<_>>());
    if let Some(step) = addon.max_minor_step {
        let mut mapping = Mapping::new();
        mapping.set("maxMinorStep", i64::try_from(step.minors).unwrap_or(i64::MAX));
        node.set("upgrade", mapping);
    }
    let mut helm = Mapping::new();
    helm.set("name", addon.release_name.as_str());
    helm.set("namespace", addon.release_namespace.as_str());
    node.set("release", helm);
    node.set(
        "stage",
        match addon.stage {
            Stage::Bootstrap => "bootstrap",
            Stage::Default => "default",
        },
    );
    node.set_filled(
        "dependsOn",
        addon.depends_on.iter().map(|name| Node::from(name.as_str())).collect::<Vec<_>>(),
    );
    node.set("enabled", addon.enabled);
    node.set_filled("valuesFrom", addon.values_from.iter().map(values_from).collect::<Vec<_>>());
    node.into()
}

fn values_from(from: &ValuesFrom) -> Node {
    let mut mapping = Mapping::new();
    let kind = match from.kind {
        ValuesSource::Secret => "secret",
        ValuesSource::ConfigMap => "configMap",
    };
    mapping.set(kind, from.name.as_str());
    mapping.set("key", from.key.as_str());
    mapping.set_some("path", from.path.as_deref());
    if from.optional {
        mapping.set("optional", true);
    }
    mapping.into()
}

pub(super) fn image(image: &NodeImage) -> Node {
    let mut mapping = Mapping::new();
    mapping.set("name", image.name.as_str());
    mapping.set("kubernetes", image.kubernetes.to_string());
    mapping.set_some("os", image.os.as_deref());
    mapping.set("architecture", image.architecture.as_str());
    match &image.source {
        ImageSource::Url { url, checksum } => {
            mapping.set("url", url.as_str());
            mapping.set("checksum", checksum.as_str());
        }
        ImageSource::Artifact(artifact) => mapping.set("artifact", artifact.as_str()),
        ImageSource::Build(build) => mapping.set("build", build.as_str()),
    }
    mapping.into()
}

pub(super) fn rule(rule: &CompatibilityRule) -> Node {
    let mut when = Mapping::new();
    when.set("addon", rule.addon.as_str());
    when.set_some("version", rule.version.as_ref().map(ToString::to_string));
    when.set_some("kubernetes", rule.kubernetes.as_ref().map(ToString::to_string));
    let mut mapping = Mapping::new();
    mapping.set("name", &*rule.name);
    mapping.set("when", when);
    mapping.set("deny", &*rule.deny);
    mapping.set_some("upgradeTo", rule.upgrade_to.as_ref().map(ToString::to_string));
    mapping.into()
}

pub(super) fn migration(migration: &Migration) -> Node {
    let mut mapping = Mapping::new();
    mapping.set("variable", &*migration.variable);
    mapping.set_some("renameTo", migration.rename_to.as_deref());
    mapping.set_some("type", migration.value_type.map(ValueType::as_str));
    mapping.into()
}
