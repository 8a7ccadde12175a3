//! A numbered release from its files. It is refused where its content is not what it recorded.

use std::{collections::BTreeMap, sync::Arc};

use semver::Version;

use super::{Content, Release, ReleaseAddon, class, content};
use crate::{
    definition::{self as written, Kind, StackTemplate, Written, lower_frozen},
    model::Addon,
    note::{Notes, Place},
    template::{LANGUAGE, Template, Visible},
    yaml::{self, Node, Source, Sources, Value},
};

/// Reads a release from its files, by their paths inside its folder.
pub fn read(name: &str, files: &BTreeMap<String, Source>, notes: &mut Notes) -> Option<Release> {
    let before = notes.errors();
    let Some(source) = files.get("release.yaml") else {
        notes
            .error(
                "no-release",
                Place::file(format!("generated/releases/{name}")),
                "this folder has no `release.yaml`",
            )
            .hint("put the release back from git, or remove the folder");
        return None;
    };
    let written: Written<written::Release> = written::read(source, Kind::Release, notes)?;
    let spec = &written.value.spec;
    let level = u32::try_from(spec.template_language).unwrap_or(u32::MAX);
    if level > LANGUAGE {
        notes
            .error(
                "template-language",
                source.word(0),
                format!(
                    "the release's templates are of level {level}, and this program knows up to {LANGUAGE}"
                ),
            )
            .hint("use a newer version of the program");
        return None;
    }
    let parts = lower_frozen(&written, notes)?;
    let reader = Reader { files, level };
    let objects = reader.objects(notes);
    let namespace = reader.templates("namespace/", Visible::Namespace, notes);
    let cluster = reader.templates("cluster/", Visible::Cluster, notes);
    let addons =
        parts.addons.iter().map(|(addon, version)| reader.addon(addon, version.clone(), source, notes));
    let addons = addons.collect();
    let mut release = Release {
        name: written.value.metadata.name.clone(),
        channel: spec.channel,
        version: spec.version.clone(),
        stack: parts.stack,
        kubernetes: parts.kubernetes,
        objects,
        class: class::ClusterClass::default(),
        namespace,
        cluster,
        addons,
        images: parts.images,
        compatibility: parts.compatibility,
        content: recorded(&spec.content),
        language: level,
    };
    if release.name != name
        || super::freeze::name(&release.stack, &release.kubernetes, &release.version) != name
    {
        notes
            .error(
                "wrong-name",
                source.word(0),
                format!("the folder `{name}` holds the release `{}`", release.name),
            )
            .hint("put the folder back under its own name");
    }
    if notes.errors() > before {
        return None;
    }
    check_content(&release, source, notes)?;
    release.class = class::read(&release, &Sources::default(), notes)?;
    Some(release)
}

fn recorded(hashes: &written::ContentHashes) -> Content {
    Content {
        cluster_class: hashes.cluster_class.clone(),
        cluster_addon: hashes.cluster_addon.clone(),
        node_image: hashes.node_image.clone(),
        whole: hashes.whole.clone(),
    }
}

/// Compares what the files say with what was recorded, component by component.
fn check_content(release: &Release, source: &Source, notes: &mut Notes) -> Option<()> {
    let mut nameless = release.clone();
    nameless.name = super::freeze::name(&release.stack, &release.kubernetes, "v0");
    nameless.objects =
        release.objects.iter().map(|object| renamed(object, &release.name, &nameless.name)).collect();
    let found = content::hash(&nameless);
    let components = [
        ("the cluster class", &found.cluster_class, &release.content.cluster_class),
        ("the addons", &found.cluster_addon, &release.content.cluster_addon),
        ("the node images", &found.node_image, &release.content.node_image),
        ("the whole", &found.whole, &release.content.whole),
    ];
    if let Some((what, ..)) = components.iter().find(|(_, found, recorded)| found != recorded) {
        notes
            .error(
                "release-changed",
                Place::file(&*source.path),
                format!("{what} of the release `{}` is not what it was when it was cut", release.name),
            )
            .hint(format!(
                "a release never changes: `git checkout -- generated/releases/{}`, and cut a new one",
                release.name
            ));
        return None;
    }
    Some(())
}

/// The object with the release's name replaced by the stand-in, wherever it stands.
pub(super) fn renamed(node: &Node, name: &str, stand_in: &str) -> Node {
    let value = match &node.value {
        Value::String(text) => Value::String(text.replace(name, stand_in).into()),
        Value::Sequence(items) => {
            Value::Sequence(Arc::new(items.iter().map(|item| renamed(item, name, stand_in)).collect()))
        }
        Value::Mapping(mapping) => {
            let entries = mapping.iter().map(|entry| yaml::Entry {
                key: yaml::Key {
                    name: entry.key.name.replace(name, stand_in).into(),
                    origin: entry.key.origin,
                },
                value: renamed(&entry.value, name, stand_in),
            });
            Value::Mapping(Arc::new(entries.collect()))
        }
        other => other.clone(),
    };
    Node { value, origin: node.origin }
}

struct Reader<'a> {
    files: &'a BTreeMap<String, Source>,
    level: u32,
}

impl Reader<'_> {
    fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a String, &'a Source)> {
        self.files.iter().filter(move |(path, _)| path.starts_with(prefix))
    }

    fn objects(&self, notes: &mut Notes) -> Vec<Node> {
        let mut objects: Vec<_> =
            self.below("cluster-class/").filter_map(|(_, source)| yaml::read(source, notes)).collect();
        objects.sort_by_cached_key(super::freeze::identity);
        objects
    }

    fn addon(
        &self,
        addon: &Addon,
        version: Option<Version>,
        source: &Source,
        notes: &mut Notes,
    ) -> Arc<ReleaseAddon> {
        let folder = format!("addons/{}", addon.name);
        Arc::new(ReleaseAddon {
            addon: addon.clone(),
            version,
            values_objects: super::values_objects(addon, source, self.level, notes),
            values: self.templates(&format!("{folder}/values.yaml"), Visible::Addon, notes).pop(),
            manifests: self.templates(&format!("{folder}/manifests/"), Visible::Addon, notes),
        })
    }

    fn templates(&self, prefix: &str, visible: Visible, notes: &mut Notes) -> Vec<StackTemplate> {
        let mut templates = Vec::new();
        for (path, source) in self.below(prefix) {
            if let Some(template) = Template::load(source, self.level, visible, notes) {
                templates.push(StackTemplate { path: path.clone(), template: Arc::new(template) });
            }
        }
        templates
    }
}
