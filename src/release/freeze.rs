//! Freezing: makes a head release from a resolved stack.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Components, History, Release, ReleaseAddon, class, content, images::images_of};
use crate::{
    definition::Channel,
    model::{
        Addon, AddonVersion, ChartVersion, CompatibilityRule, ImageSource, KubernetesVersion, Lock,
        LockedChart, Minor, NodeImage, StackId, VersionRange,
    },
    note::{At, Notes, Place},
    resolve::ResolvedStack,
    template::{Context, LANGUAGE, Recorder},
    world::Input,
    yaml::{Mapping, Node, Value},
};

/// The placeholder for the release's own version in content hashes.
const STAND_IN: &str = "v0";

/// Freezes the current state of a stack: renders its class, keeps its other templates, and names it after its content.
pub(super) fn freeze(
    resolved: ResolvedStack<'_>,
    lock: &Lock,
    input: &Input,
    recorder: Option<&Recorder>,
    notes: &mut Notes,
) -> Option<Release> {
    let stack = resolved.stack;
    let addons = stack.addons.iter().zip(resolved.versions).map(|((addon, values, manifests), version)| {
        let source = addon.values_from.first().and_then(|from| input.sources.get(from.origin.file));
        let objects = source.map(|source| super::values_objects(addon, source, LANGUAGE, notes));
        Arc::new(ReleaseAddon {
            addon: with_canonical_ranges(addon),
            version: version.clone(),
            values_objects: objects.unwrap_or_default(),
            values: values.clone(),
            manifests: manifests.clone(),
            locked: locked(addon, lock),
        })
    });
    let addons = addons.collect();
    let mut release = Release {
        name: stand_in(&stack.id, &stack.kubernetes),
        channel: Channel::Hash,
        version: STAND_IN.to_owned(),
        stack: stack.id.clone(),
        kubernetes: stack.kubernetes.clone(),
        objects: Vec::new(),
        class: class::ClusterClass::default(),
        namespace: stack.namespace.clone(),
        cluster: stack.cluster.clone(),
        addons,
        images: stack.images.clone(),
        compatibility: stack.compatibility.iter().map(canonical_rule).collect(),
        migrations: stack.migrations.clone(),
        requires: stack.requires.clone(),
        content: content::Content::default(),
        language: LANGUAGE,
        image_digests: BTreeMap::new(),
        components: Components::default(),
        history: None,
    };
    release.objects = render_class(resolved, &release, None, &mut Notes::new()).unwrap_or_default();
    release.content = content::hash(&release);
    let by_content = |digest: &str| format!("v0-sha.{}", short(digest));
    release.version = by_content(&release.content.whole);
    release.components = Components {
        cluster_addon: by_content(&release.content.cluster_addon),
        node_image: by_content(&release.content.node_image),
    };
    release.name = name(&stack.id, stack.kubernetes.minor(), &release.version);
    let stand_in = std::mem::take(&mut release.objects);
    release.objects = render_class(resolved, &release, recorder, notes)?;
    check_name(&release, &stand_in, notes);
    release.class = class::read(&release, notes)?;
    release.requires.feature_gates = release.needed_gates();
    check_migrations(&release, notes);
    let named = images_of(&release).known;
    let locked = lock.images.iter().filter(|(name, _)| named.contains(*name));
    release.image_digests = locked.map(|(name, digest)| (name.clone(), digest.clone())).collect();
    Some(release)
}

/// Warns about migrations to variables that the class does not have: they would never apply.
fn check_migrations(release: &Release, notes: &mut Notes) {
    for (at, one) in release.migrations.iter().enumerate() {
        let last = release.migrations[at + 1..]
            .iter()
            .fold(one.target(), |name, later| if *later.variable == *name { later.target() } else { name });
        if release.class.variables.iter().all(|variable| variable.name != *last) {
            notes
                .warning(
                    "migration",
                    one.origin,
                    format!("the class has no variable `{last}`, so this migration never applies"),
                )
                .hint("correct the name, or remove the migration");
        }
    }
}

/// Normalizes the ranges of an addon, because their spacing isn't content.
fn with_canonical_ranges(addon: &Addon) -> Addon {
    let mut addon = addon.clone();
    for row in &mut addon.matrix {
        row.kubernetes = row.kubernetes.canonical();
    }
    addon
}

fn canonical_rule(rule: &CompatibilityRule) -> CompatibilityRule {
    let canonical = |range: &Option<VersionRange>| range.as_ref().map(VersionRange::canonical);
    let (version, kubernetes) = (canonical(&rule.version), canonical(&rule.kubernetes));
    CompatibilityRule { version, kubernetes, ..rule.clone() }
}

/// The locked entries of an addon's chart.
fn locked(addon: &Addon, lock: &Lock) -> BTreeMap<AddonVersion, LockedChart> {
    let Some(chart) = &addon.chart else { return BTreeMap::new() };
    let of = |version: &AddonVersion| {
        let key = ChartVersion { chart: chart.clone(), version: version.clone() };
        // Earlier digests don't concern this release.
        let locked = lock.charts.get(&key)?.clone();
        Some((version.clone(), LockedChart { replaces: BTreeSet::new(), ..locked }))
    };
    addon.matrix.iter().filter_map(|row| of(&row.version)).collect()
}

/// Makes a numbered release with the same content.
pub(super) fn cut(
    resolved: ResolvedStack<'_>,
    head: &Release,
    channel: Channel,
    version: String,
    components: Components,
    history: History,
    notes: &mut Notes,
) -> Option<Release> {
    let name = name(&head.stack, head.kubernetes.minor(), &version);
    let mut release = Release { name, channel, version, components, history: Some(history), ..head.clone() };
    release.objects = render_class(resolved, &release, None, notes)?;
    release.class = class::read(&release, notes)?;
    Some(release)
}

/// The placeholder for a release's name when its content is hashed or compared.
pub(super) fn stand_in(stack: &StackId, kubernetes: &KubernetesVersion) -> String {
    name(stack, kubernetes.minor(), STAND_IN)
}

/// Checks that a class contains nothing of its release's identity but the whole name. Anything else, such as the version,
/// would be different content in every release: machines would be replaced, and a release that was read could not be
/// distinguished from a modified one.
fn check_name(release: &Release, stand_in: &[Node], notes: &mut Notes) {
    let mut found = release.nameless();
    found.sort_by_cached_key(identity);
    let different = found.iter().zip(stand_in).find_map(|(found, expected)| difference(found, expected));
    if different.is_none() && found.len() == stand_in.len() {
        return;
    }
    let folder = || Place::file(format!("stacks/{}/cluster-class", release.stack));
    let place = different.map_or_else(|| At::from(folder()), |node| At::word_or(node.origin, folder));
    notes
        .error("release-name", place, "a class can use only the complete name of its release")
        .hint("write `${{ release.name }}`: with a part of it, or with its version, each release would have a different class and replace machines");
}

/// Finds the first node of a tree that differs from another tree.
fn difference<'a>(found: &'a Node, expected: &Node) -> Option<&'a Node> {
    match (&found.value, &expected.value) {
        (Value::Mapping(one), Value::Mapping(other)) if one.len() == other.len() => {
            one.iter().find_map(|entry| match other.get(&entry.key.name) {
                Some(expected) => difference(&entry.value, expected),
                None => Some(&entry.value),
            })
        }
        (Value::Sequence(one), Value::Sequence(other)) if one.len() == other.len() => {
            one.iter().zip(other.iter()).find_map(|(found, expected)| difference(found, expected))
        }
        _ => (found != expected).then_some(found),
    }
}

/// Formats `<provider>-<stack>-<major>-<minor>-<version>`.
pub(super) fn name(stack: &StackId, minor: Minor, version: &str) -> String {
    format!("{}-{}-{}-{version}", stack.provider, stack.name, minor.dashed())
}

/// Shortens a digest to eight characters. The first one is a letter, because a number with a leading zero is invalid in
/// semver.
pub(super) fn short(digest: &str) -> String {
    let hex = digest.trim_start_matches("sha256:");
    let (first, rest) = hex.split_at(1);
    let letter = u8::from_str_radix(first, 16).map_or('a', |nibble| char::from(b'a' + nibble));
    format!("{letter}{}", &rest[..7])
}

fn render_class(
    resolved: ResolvedStack<'_>,
    release: &Release,
    recorder: Option<&Recorder>,
    notes: &mut Notes,
) -> Option<Vec<Node>> {
    let mut context = Context::recorded(recorder.cloned());
    for entry in release.context().iter() {
        context.set(&entry.key.name, entry.value.clone());
    }
    let mut objects = Vec::new();
    let mut sound = true;
    for template in &resolved.stack.cluster_class {
        match template.template.objects(&context, notes) {
            Some(documents) => objects.extend(documents),
            None => sound = false,
        }
    }
    objects.sort_by_cached_key(identity);
    sound.then_some(objects)
}

pub(super) fn identity(object: &Node) -> (String, String) {
    let text = |path: &[&str]| object.at(path).and_then(Node::as_str).unwrap_or_default().to_owned();
    (text(&["kind"]), text(&["metadata", "name"]))
}

/// The values that every template of a release can read.
pub(super) fn context(
    stack: &StackId,
    name: &str,
    version: &str,
    kubernetes: &KubernetesVersion,
    images: &[NodeImage],
) -> Mapping {
    let pair = |entries: &[(&str, String)]| {
        let mut mapping = Mapping::new();
        for (key, value) in entries {
            mapping.set(key, value.as_str());
        }
        mapping
    };
    let mut context = Mapping::new();
    context.set("stack", pair(&[("name", stack.name.to_string()), ("provider", stack.provider.to_string())]));
    context.set("release", pair(&[("name", name.to_owned()), ("version", version.to_owned())]));
    context.set(
        "kubernetes",
        pair(&[("version", kubernetes.to_string()), ("minor", kubernetes.minor().to_string())]),
    );
    context.set("images", images.iter().map(image).collect::<Vec<_>>());
    context
}

fn image(image: &NodeImage) -> Node {
    let text =
        |value: Option<&String>| value.map_or(Node::from(Value::Null), |value| Node::from(value.as_str()));
    let (url, checksum, artifact, build) = match &image.source {
        ImageSource::Url { url, checksum } => (Some(url), Some(checksum), None, None),
        ImageSource::Artifact(artifact) => (None, None, Some(artifact), None),
        ImageSource::Build(build) => (None, None, None, Some(build)),
    };
    let mut mapping = Mapping::new();
    mapping.set("name", image.name.as_str());
    mapping.set("os", text(image.os.as_ref()));
    mapping.set("architecture", image.architecture.as_str());
    mapping.set("url", text(url));
    mapping.set("checksum", text(checksum));
    mapping.set("artifact", text(artifact));
    mapping.set("build", text(build));
    mapping.into()
}
