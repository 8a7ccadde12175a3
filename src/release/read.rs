//! Reads a numbered release from its files. Rejects it if its content differs from the recorded digests.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Component, Components, Content, FORMAT, History, RebaseEffect, Release, ReleaseAddon, artifact::sha256,
    class, content, record,
};
use crate::{
    definition::{
        self as written, Channel, DefinitionKind, FrozenParts, StackTemplate, Written, lower_frozen,
    },
    model::{Addon, AddonVersion, Digest, LockedChart},
    note::{Notes, Place},
    template::{LANGUAGE, Template, Visible},
    world::unix_ends,
    yaml::{self, Node, Source, Sources},
};

/// Fields that only a later version of the program defines.
const RESERVED: [&[&str]; 1] = [&["spec", "upgrades"]];

/// Reads a release from its files, given by path within its folder.
pub fn read(name: &str, files: &BTreeMap<String, Source>, notes: &mut Notes) -> Option<Release> {
    let before = notes.errors();
    let Some(source) = files.get("release.yaml") else {
        notes
            .error(
                "no-release",
                Place::file(format!("generated/releases/{name}")),
                "this folder has no `release.yaml`",
            )
            .hint("restore the release from git, or remove the folder");
        return None;
    };
    let node = written::document(source, DefinitionKind::Release, notes)?;
    check_format(&node, source, notes)?;
    let written: Written<written::Release> = written::decode(source, DefinitionKind::Release, node, notes)?;
    let level = language(&written, source, notes)?;
    let release = read_content(name, &written, level, files, source, notes)?;
    (notes.errors() == before).then_some(release)
}

/// What the text of a `release.yaml` states; none if it cannot be read. Its files are not looked at.
pub fn parts(text: &str) -> Option<FrozenParts> {
    let (mut sources, mut notes) = (Sources::default(), Notes::new());
    let id = sources.add("release.yaml", text);
    let source = sources.get(id)?;
    let node = written::document(source, DefinitionKind::Release, &mut notes)?;
    let written: Written<written::Release> =
        written::decode(source, DefinitionKind::Release, node, &mut notes)?;
    lower_frozen(&written, &mut notes)
}

/// The place of a field, or the start of the file if the field is missing.
fn word(written: &Written<written::Release>, source: &Source, path: &[&str]) -> Place {
    source.word(written.node.at(path).map_or(0, |node| node.origin.offset as usize))
}

/// The level of the template language that the release was cut with. A level that this program doesn't support is an error.
fn language(written: &Written<written::Release>, source: &Source, notes: &mut Notes) -> Option<u32> {
    let level = u32::try_from(written.value.spec.template_language).unwrap_or(u32::MAX);
    if level <= LANGUAGE {
        return Some(level);
    }
    notes
        .error(
            "template-language",
            source.word(
                written.node.at(&["spec", "templateLanguage"]).map_or(0, |node| node.origin.offset as usize),
            ),
            format!("the release's templates have level {level}, but this program supports only levels up to {LANGUAGE}"),
        )
        .hint("upgrade stackloom");
    None
}

/// Reads the content of a release, and compares its digests with the recorded ones.
fn read_content(
    name: &str,
    written: &Written<written::Release>,
    level: u32,
    files: &BTreeMap<String, Source>,
    source: &Source,
    notes: &mut Notes,
) -> Option<Release> {
    let (before, spec) = (notes.errors(), &written.value.spec);
    if spec.channel != Channel::Hash {
        check_digests(name, spec.files.as_ref(), files, source, notes);
        if notes.errors() > before {
            return None;
        }
    }
    let parts = lower_frozen(written, notes)?;
    let reader = Reader { files, level };
    let objects = reader.objects(notes);
    let namespace = reader.templates("namespace/", Visible::Namespace, notes);
    let cluster = reader.templates("cluster/", Visible::Cluster, notes);
    let addons = parts.addons.iter().map(|(addon, version)| {
        let locked = locked_versions(written, addon.name.as_str(), source, notes);
        reader.addon(addon, version.clone(), locked, source, notes)
    });
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
        migrations: parts.migrations,
        requires: parts.requires,
        content: recorded(&spec.content),
        language: level,
        image_digests: digests(spec.image_digests.as_deref()),
        components: files.get("metadata.yaml").and_then(|one| components(one, notes)).unwrap_or_default(),
        history: spec
            .history
            .as_ref()
            .map(|one| history(one, &word(written, source, &["spec", "history"]), notes)),
    };
    check_name(&release, name, source, notes);
    if notes.errors() > before {
        return None;
    }
    check_content(&release, source, notes)?;
    // Messages name the release; places in its files would not help.
    let mut own = Notes::new();
    let class = class::read(&release, &mut own);
    own.locate(|_| None);
    notes.append(own);
    release.class = class?;
    Some(release)
}

/// Rejects a release of another format, and fields that only a later version of the program understands.
///
/// This check precedes the schema, which would report each field of a later format as unknown.
fn check_format(release: &Node, source: &Source, notes: &mut Notes) -> Option<()> {
    let place = |node: Option<&Node>| source.word(node.map_or(0, |node| node.origin.offset as usize));
    let format = release.at(&["spec", "format"]);
    if format.is_none() {
        notes
            .error(
                "release-format",
                place(release.get("spec")),
                format!(
                    "the release has no `spec.format`, but this version of stackloom reads format {FORMAT}"
                ),
            )
            .hint("restore the file as it was released, or release the stack again");
        return None;
    }
    if let Some(number) = format.and_then(Node::as_int).filter(|number| *number != FORMAT) {
        notes
            .error(
                "release-format",
                place(format),
                format!(
                    "the release has format {number}, but this version of stackloom reads format {FORMAT}"
                ),
            )
            .hint(if number > FORMAT { "upgrade stackloom" } else { "release the stack again" });
        return None;
    }
    let reserved = RESERVED.iter().find_map(|path| Some((path, release.at(path)?)));
    let Some((path, found)) = reserved else { return Some(()) };
    notes
        .error(
            "release-format",
            place(Some(found)),
            format!("the release has `{}`, which this version of stackloom does not support", path.join(".")),
        )
        .hint("upgrade stackloom");
    None
}

fn check_name(release: &Release, name: &str, source: &Source, notes: &mut Notes) {
    if release.name != name
        || super::freeze::name(&release.stack, release.kubernetes.minor(), &release.version) != name
    {
        notes
            .error(
                "wrong-name",
                source.word(0),
                format!("the folder `{name}` holds the release `{}`", release.name),
            )
            .hint("restore the folder under its own name");
    }
}

fn recorded(hashes: &written::ContentHashes) -> Content {
    Content {
        cluster_class: hashes.cluster_class.clone(),
        cluster_addon: hashes.cluster_addon.clone(),
        node_image: hashes.node_image.clone(),
        whole: hashes.whole.clone(),
    }
}

/// The locked entries of an addon's chart at the time of the cut.
fn locked_versions(
    written: &Written<written::Release>,
    addon: &str,
    source: &Source,
    notes: &mut Notes,
) -> BTreeMap<AddonVersion, LockedChart> {
    let frozen = written.value.spec.addons.as_ref().and_then(|addons| addons.get(addon));
    let locked = frozen.and_then(|frozen| frozen.locked.as_deref()).unwrap_or_default();
    let nodes = written.node.at(&["spec", "addons", addon, "locked"]).and_then(Node::as_sequence);
    let locked = locked.iter().zip(nodes.unwrap_or_default());
    locked.filter_map(|(one, node)| locked_version(one, node, source, notes)).collect()
}

/// The locked entry of one chart version.
fn locked_version(
    written: &written::LockedVersion,
    node: &Node,
    source: &Source,
    notes: &mut Notes,
) -> Option<(AddonVersion, LockedChart)> {
    let version = AddonVersion::parse(&written.version).ok();
    let digest = Digest::new(&written.digest);
    let (Some(version), Some(digest)) = (version, digest) else {
        notes
            .error(
                "release-changed",
                source.word(node.origin.offset as usize),
                format!("the locked version `{}`, or its digest, is not valid", written.version),
            )
            .hint("restore the release as it was cut");
        return None;
    };
    let images = digests(written.images.as_deref());
    let origin = node.get("digest").map_or(node.origin, |digest| digest.origin);
    Some((version, LockedChart { digest, replaces: BTreeSet::new(), images, values: None, origin }))
}

/// Images with their digests. The schema has already validated the digests.
fn digests(written: Option<&[written::LockedImage]>) -> BTreeMap<String, Digest> {
    let one = |image: &written::LockedImage| Some((image.image.clone(), Digest::new(&image.digest)?));
    written.unwrap_or_default().iter().filter_map(one).collect()
}

/// Reads the versions of the components from `metadata.yaml`.
pub(super) fn components(metadata: &Source, notes: &mut Notes) -> Option<Components> {
    let metadata = yaml::read(metadata, notes)?;
    let version = |name| Some(metadata.at(&["versions", "components", name])?.as_str()?.to_owned());
    Some(Components { cluster_addon: version("clusterAddon")?, node_image: version("nodeImage")? })
}

fn history(written: &written::ReleaseHistory, place: &Place, notes: &mut Notes) -> History {
    let mut unknown = |what: &str, name: &str| {
        notes
            .error(
                "release-changed",
                place.clone(),
                format!("this program does not support the {what} `{name}`"),
            )
            .hint("upgrade stackloom, or restore the release as it was cut");
    };
    let mut bumped = BTreeSet::new();
    for name in &written.bumped {
        match Component::ALL.iter().find(|one| one.name() == name) {
            Some(component) => drop(bumped.insert(*component)),
            None => unknown("component", name),
        }
    }
    let mut impact = written.impact.as_ref().map(|_| BTreeMap::new());
    for (name, why) in written.impact.iter().flatten() {
        match (RebaseEffect::ALL.iter().find(|one| one.name() == name), &mut impact) {
            (Some(effect), Some(impact)) => drop(impact.insert(*effect, why.iter().cloned().collect())),
            _ => unknown("effect", name),
        }
    }
    History { previous: written.previous.clone(), commit: written.commit.clone(), bumped, impact }
}

/// Checks that every file matches its recorded digest, and that no file is missing or added.
fn check_digests(
    name: &str,
    recorded: Option<&BTreeMap<String, String>>,
    files: &BTreeMap<String, Source>,
    source: &Source,
    notes: &mut Notes,
) {
    let Some(recorded) = recorded else {
        notes
            .error(
                "release-changed",
                source.word(0),
                format!("the release `{name}` records no digests of its files"),
            )
            .hint("numbered releases are made only by `stackloom release`");
        return;
    };
    let mut wrong = |file: &str, what: String, hint: String| {
        let place = Place::file(format!("generated/releases/{name}/{file}"));
        notes.error("release-changed", place, what).hint(hint);
    };
    let is = |text: &str, digest: &str| sha256(text.as_bytes()) == digest;
    let mut ends = Vec::new();
    for (path, digest) in recorded {
        let what = match files.get(path) {
            None => "is missing",
            Some(file) if is(&file.text, digest) => continue,
            Some(file) if unix_ends(&file.text).is_some_and(|text| is(&text, digest)) => {
                ends.push(path);
                continue;
            }
            Some(_) => "was changed after the release was cut",
        };
        wrong(path, format!("this file of the release `{name}` {what}"), put_back(name, path));
    }
    for path in files.keys().filter(|path| *path != "release.yaml" && !recorded.contains_key(*path)) {
        wrong(
            path,
            format!("this file was not part of the release `{name}` when it was cut"),
            format!("a release never changes: {}", record::ADDED),
        );
    }
    record::note_line_ends(name, &ends, None, notes);
}

/// The hint for restoring a file if git was not asked, or has no record of the release.
fn put_back(name: &str, file: &str) -> String {
    format!(
        "a release never changes: restore the file from the tag `{name}` or from the commit that added the release \
         (`git log --oneline -- generated/releases/{name}/{file}`); to change something, cut a new release"
    )
}

/// Compares the digests of the content with the recorded ones, component by component.
fn check_content(release: &Release, source: &Source, notes: &mut Notes) -> Option<()> {
    let found = content::hash_named(release);
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
                format!("{what} of the release `{}` changed after the release was cut", release.name),
            )
            .hint(put_back(&release.name, "release.yaml"));
        return None;
    }
    Some(())
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
        version: Option<AddonVersion>,
        locked: BTreeMap<AddonVersion, LockedChart>,
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
            locked,
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
