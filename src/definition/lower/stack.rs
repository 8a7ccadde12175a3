//! Lowers stacks: one per Kubernetes minor, with the minor's overrides in place of shared files.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use super::{
    Lowering, StackTemplate,
    addon::{AddonFields, lower as lower_addon, origin_at},
    addon_version,
    allowance::allowances,
    check_named, compatibility, dependencies,
    images::{check as check_images, check_patch_version, images},
    migrations, place_at, requirements,
};
use crate::{
    definition::{
        self as written,
        parse::{StackFiles, StackFolder, Written},
    },
    model::{
        Addon, AddonVersion, CompatibilityRule, Date, KubernetesVersion, Maturity, Migration, Minor,
        NodeImage, Requirements, Stack, StackId, Versioning,
    },
    note::{Notes, Place},
    template::{LANGUAGE, Template, Visible},
    yaml::{Origin, Source},
};

pub(super) fn lower_all(
    context: &Lowering<'_>,
    notes: &mut Notes,
) -> BTreeMap<(StackId, Minor), Stack<StackTemplate>> {
    let mut stacks = BTreeMap::new();
    for (name, folder) in &context.definitions.stacks {
        let lowering = StackLowering { context, folder, templates: BTreeMap::new() };
        for stack in lowering.lower(name, notes) {
            stacks.insert((stack.id.clone(), stack.kubernetes.minor()), stack);
        }
    }
    stacks
}

/// The greatest number of addons in a stack. Every cluster has an object for each, and each may wait for all others.
const MOST_ADDONS: usize = 200;

/// The files whose path begins with a prefix.
fn below<'a>(
    files: &'a BTreeMap<String, Source>,
    prefix: &'a str,
) -> impl Iterator<Item = (&'a String, &'a Source)> {
    files
        .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
        .take_while(move |(path, _)| path.starts_with(prefix))
}

struct StackLowering<'a> {
    context: &'a Lowering<'a>,
    folder: &'a StackFolder,
    /// The parsed templates. Each is parsed once, even if several minors share it.
    templates: BTreeMap<String, Option<Arc<Template>>>,
}

impl StackLowering<'_> {
    fn lower(mut self, folder_name: &str, notes: &mut Notes) -> Vec<Stack<StackTemplate>> {
        let written = &self.folder.stack;
        let spec = &written.value.spec;
        let (provider, name) = folder_name.split_once('/').unwrap_or_default();
        check_named(written, &written.value.metadata, name, notes);
        if spec.provider != provider {
            let place = place_at(written, &["spec", "provider"]);
            notes
                .error(
                    "wrong-name",
                    place,
                    format!("the provider is `{}`, but the folder is `{provider}`", spec.provider),
                )
                .hint(format!("write `provider: {provider}`, or move the folder"));
        }
        let id = match StackId::new(provider, name) {
            Ok(id) => id,
            Err(fault) => {
                notes
                    .error(
                        "wrong-name",
                        Place::file(&*written.source.path),
                        format!("`{folder_name}` is not a valid stack name: {fault}"),
                    )
                    .hint("provider and stack are lower-case letters and digits, without a dash");
                return Vec::new();
            }
        };
        compatibility::check(spec.compatibility.as_deref().unwrap_or_default(), written, notes);
        let own = self.folder.overrides.values().chain([&self.folder.shared]);
        for written in own.filter_map(|files| files.node_images.as_ref()) {
            check_images(&written.value.spec.images, written, notes);
        }
        let rules = compatibility::lower(spec.compatibility.as_deref().unwrap_or_default(), written, notes);
        let of_stack = spec.migrations.as_deref().unwrap_or_default();
        migrations::check(of_stack, written, notes);
        let migrations = migrations::lower(of_stack, written);
        let requires = requires(spec.requires.as_ref(), written, notes);
        let versions = self.versions(notes);
        for minor in self.folder.overrides.keys() {
            if !versions.iter().any(|served| served.version.minor() == *minor) {
                let folder = format!("stacks/{id}/{}", minor.dashed());
                notes
                    .error(
                        "stray-file",
                        Place::file(folder),
                        format!("this folder overrides Kubernetes {minor}, which the stack does not support"),
                    )
                    .hint(format!("add {minor} to `kubernetes` in stack.yaml, or remove the folder"))
                    .related("the stack supports", place_at(written, &["spec", "kubernetes"]));
            }
        }
        let versioning = match spec.versioning {
            None | Some(written::Versioning::Sequential) => Versioning::Sequential,
            Some(written::Versioning::Semver) => Versioning::Semver,
        };
        let mut stacks = Vec::new();
        for served in versions {
            let files = self.files(served.version.minor());
            let shared = (&rules[..], &migrations[..], &requires);
            stacks.push(self.one_minor(&id, served, versioning, shared, &files, notes));
        }
        stacks
    }

    fn versions(&self, notes: &mut Notes) -> Vec<Served> {
        let written = &self.folder.stack;
        let mut versions: Vec<Served> = Vec::new();
        for (at, release) in written.value.spec.kubernetes.iter().enumerate() {
            let place = |key| place_at(written, &["spec", "kubernetes", &at.to_string(), key]);
            check_date(release.end_of_life.as_deref(), &place("endOfLife"), notes);
            let Some(version) = kubernetes_version(&release.version, place("version"), notes) else {
                continue;
            };
            if versions.iter().any(|other| other.version.minor() == version.minor()) {
                notes
                    .error(
                        "duplicate",
                        place("version"),
                        format!("Kubernetes {} appears twice", version.minor()),
                    )
                    .hint("a stack has one patch version per minor: keep the newer one");
                continue;
            }
            let maturity = match release.maturity {
                written::Maturity::Preview => Maturity::Preview,
                written::Maturity::Supported => Maturity::Supported,
                written::Maturity::Deprecated => Maturity::Deprecated,
                written::Maturity::Expired => Maturity::Expired,
            };
            let path = ["spec", "kubernetes", &at.to_string(), "version"];
            versions.push(Served { version, maturity, origin: origin_at(written, &path) });
        }
        versions
    }

    /// The files of a minor: shared files, replaced by the minor's own files with the same path.
    fn files(&self, minor: Minor) -> StackFiles {
        let mut files = self.folder.shared.clone();
        if let Some(own) = self.folder.overrides.get(&minor) {
            files.addons.extend(own.addons.clone());
            files.templates.extend(own.templates.clone());
            files.node_images = own.node_images.clone().or(files.node_images);
        }
        files
    }

    fn one_minor(
        &mut self,
        id: &StackId,
        served: Served,
        versioning: Versioning,
        (rules, migrations, requires): (&[CompatibilityRule], &[Migration], &Requirements),
        files: &StackFiles,
        notes: &mut Notes,
    ) -> Stack<StackTemplate> {
        let cluster_class = self.templates(files, "cluster-class/", Visible::ClusterClass, notes);
        if below(&files.templates, "cluster-class/").next().is_none() {
            notes
                .error(
                    "no-class",
                    Place::file(format!("stacks/{id}")),
                    format!("the stack `{id}` has no ClusterClass"),
                )
                .hint("put the ClusterClass and its templates into `cluster-class/`");
        }
        let namespace = self.templates(files, "namespace/", Visible::Namespace, notes);
        let cluster = self.templates(files, "cluster/", Visible::Cluster, notes);
        let addons = self.addons(files, notes);
        for rule in rules {
            let folder = format!("addons/{}/", rule.addon);
            let there = self.has_broken_addons()
                || files.addons.contains_key(rule.addon.as_str())
                || below(&files.templates, &folder).next().is_some();
            if !there {
                notes
                    .error(
                        "unknown-addon",
                        self.context.place(rule.origin),
                        format!(
                            "the rule `{}` refers to `{}`, but the stack has no such addon",
                            rule.name, rule.addon
                        ),
                    )
                    .hint("name an addon of the stack, or remove the rule");
            }
        }
        let Served { version: kubernetes, maturity, origin: kubernetes_origin } = served;
        let images = files.node_images.as_ref().map(|written| {
            let all = &written.value.spec.images;
            let place = self.context.place(kubernetes_origin);
            check_patch_version(all, &written.source.path, &kubernetes, place, notes);
            images(all, written, &kubernetes, notes)
        });
        Stack {
            id: id.clone(),
            kubernetes,
            kubernetes_origin,
            maturity,
            versioning,
            cluster_class,
            namespace,
            cluster,
            addons,
            images: images.unwrap_or_default(),
            compatibility: rules.to_vec(),
            migrations: migrations.to_vec(),
            requires: requires.clone(),
            allow: allowances(&self.folder.stack, notes),
        }
    }

    fn addons(
        &mut self,
        files: &StackFiles,
        notes: &mut Notes,
    ) -> Vec<(Addon, Option<StackTemplate>, Vec<StackTemplate>)> {
        let mut lowered = Vec::new();
        if files.addons.len() > MOST_ADDONS {
            let place = Place::file(format!("{}/addons", self.root()));
            notes
                .error(
                    "too-many",
                    place,
                    format!(
                        "a stack can have at most {MOST_ADDONS} addons; this one has {}",
                        files.addons.len()
                    ),
                )
                .hint("combine charts, or split the stack in two");
            return lowered;
        }
        for (name, written) in &files.addons {
            check_named(written, &written.value.metadata, name, notes);
            let Some(addon) =
                lower_addon(&AddonFields::by_addon(name, &written.value.spec), written, &["spec"], notes)
            else {
                continue;
            };
            let values =
                self.templates(files, &format!("addons/{name}/values.yaml"), Visible::Addon, notes).pop();
            let manifests_folder = format!("addons/{name}/manifests/");
            let manifests = self.templates(files, &manifests_folder, Visible::Addon, notes);
            // A file with a syntax error is still a manifest.
            let no_manifests = below(&files.templates, &manifests_folder).next().is_none();
            check_content(&addon, written, values.is_some(), no_manifests, notes);
            lowered.push((addon, values, manifests));
        }
        let addons: Vec<_> = lowered.iter().map(|(addon, ..)| addon.clone()).collect();
        let place = |addon: &Addon| {
            let written = files.addons.get(addon.name.as_str())?;
            Some(place_at(written, &["spec", "dependsOn"]))
        };
        // The names and contents of addons with errors are unknown.
        let whole = lowered.len() == files.addons.len() && !self.has_broken_addons();
        if whole {
            dependencies::check(&addons, &place, notes);
        }
        let folders =
            files.templates.keys().filter_map(|path| path.strip_prefix("addons/")?.split('/').next());
        for folder in folders.collect::<std::collections::BTreeSet<_>>() {
            if !files.addons.contains_key(folder) && !self.has_broken_addons() {
                let path = format!("{}/addons/{folder}", self.root());
                notes
                    .error("no-addon", Place::file(path), format!("the addon `{folder}` has no `addon.yaml`"))
                    .hint("create one with `stackloom new addon`, or remove the folder");
            }
        }
        lowered
    }

    /// The path of the stack's folder.
    fn root(&self) -> &str {
        self.folder.stack.source.path.trim_end_matches("/stack.yaml")
    }

    /// Reports whether an `addon.yaml` of the stack has errors.
    fn has_broken_addons(&self) -> bool {
        let folder = format!("{}/", self.root());
        let mut broken = self.context.definitions.broken.range(folder.clone()..);
        broken.next().is_some_and(|path| path.starts_with(&folder))
    }

    /// The templates whose path begins with `prefix`.
    fn templates(
        &mut self,
        files: &StackFiles,
        prefix: &str,
        visible: Visible,
        notes: &mut Notes,
    ) -> Vec<StackTemplate> {
        let mut found = Vec::new();
        for (path, source) in below(&files.templates, prefix) {
            if let Some(template) = self.template(source, visible, notes) {
                found.push(StackTemplate { path: path.clone(), template });
            }
        }
        found
    }

    fn template(&mut self, source: &Source, visible: Visible, notes: &mut Notes) -> Option<Arc<Template>> {
        let load = || Template::load(source, LANGUAGE, visible, notes).map(Arc::new);
        self.templates.entry(source.path.to_string()).or_insert_with(load).clone()
    }
}

fn check_content(
    addon: &Addon,
    written: &Written<written::Addon>,
    has_values: bool,
    no_manifests: bool,
    notes: &mut Notes,
) {
    let place = place_at(written, &["spec"]);
    if addon.chart.is_none() && no_manifests {
        notes
            .error(
                "empty-addon",
                place.clone(),
                format!("the addon `{}` has neither a chart nor manifests", addon.name),
            )
            .hint("add `chart:` to it, or put manifests into its folder `manifests/`");
    }
    if addon.chart.is_none() && (has_values || !addon.values_from.is_empty()) {
        notes
            .error(
                "values-without-chart",
                place,
                format!("the addon `{}` has values but no chart that uses them", addon.name),
            )
            .hint("add `chart:`, or write the values into the manifests' templates");
    }
}

pub(super) fn check_date(date: Option<&str>, place: &Place, notes: &mut Notes) {
    let Some(date) = date else { return };
    if Date::parse(date).is_none() {
        notes
            .error("wrong-date", place.clone(), format!("`{date}` is not a date"))
            .hint("write it as 'YYYY-MM-DD', in quotes");
    } else if place.source.chars().nth(place.column.saturating_sub(1)) == date.chars().next() {
        notes.warning("unquoted-date", place.clone(), format!("`{date}` has no quotes")).hint(format!(
            "write '{date}': editors and other YAML readers take a date without quotes for a timestamp"
        ));
    }
}

pub(super) fn kubernetes_version(text: &str, place: Place, notes: &mut Notes) -> Option<KubernetesVersion> {
    let found = KubernetesVersion::parse(text);
    found
        .map_err(|fault| {
            notes
                .error("wrong-version", place, format!("`{text}` is not an exact Kubernetes version"))
                .hint(fault.hint(text));
        })
        .ok()
}

/// A Kubernetes version that a stack supports.
struct Served {
    version: KubernetesVersion,
    maturity: Maturity,
    /// The origin of the version.
    origin: Origin,
}

/// The lowered content of a `release.yaml`.
#[derive(Clone, Debug)]
pub struct FrozenParts {
    /// The identity of the stack.
    pub stack: StackId,
    /// The exact Kubernetes version.
    pub kubernetes: KubernetesVersion,
    /// The addons by name, each with the version in the release.
    pub addons: Vec<(Addon, Option<AddonVersion>)>,
    /// The node images.
    pub images: Vec<NodeImage>,
    /// Combinations of addon and Kubernetes versions that don't work.
    pub compatibility: Vec<CompatibilityRule>,
    /// Variables whose name or type differs from that in earlier releases.
    pub migrations: Vec<Migration>,
    /// The requirements on a management cluster.
    pub requires: Requirements,
}

fn requires(
    spec: Option<&written::Requirements>,
    written: &Written<written::Stack>,
    notes: &mut Notes,
) -> Requirements {
    let gates = spec.and_then(|spec| spec.feature_gates.as_deref()).unwrap_or_default();
    let gates = gates.iter().map(|gate| gate.as_str().to_owned());
    requirements::lower(spec.and_then(|spec| spec.providers.as_ref()), gates, written, notes)
}

/// Lowers a `release.yaml`, with the same checks as for a stack.
pub fn lower_frozen(written: &Written<written::Release>, notes: &mut Notes) -> Option<FrozenParts> {
    let spec = &written.value.spec;
    let place = place_at(written, &["spec", "kubernetes"]);
    let kubernetes = kubernetes_version(&spec.kubernetes, place, notes);
    let stack = StackId::new(&spec.provider, &spec.stack);
    let stack = stack
        .map_err(|fault| {
            notes
                .error(
                    "wrong-name",
                    place_at(written, &["spec", "stack"]),
                    format!("this is not a valid stack name: {fault}"),
                )
                .hint("restore the release as it was cut");
        })
        .ok();
    let mut addons = Vec::new();
    for (name, frozen) in spec.addons.iter().flatten() {
        let base = ["spec", "addons", name.as_str()];
        let addon = lower_addon(&AddonFields::by_release(name, frozen), written, &base, notes);
        let version_place = place_at(written, &[&base[..], &["version"]].concat());
        let version = frozen.version.as_ref().map(|text| addon_version(text, version_place, notes));
        if let (Some(addon), false) = (addon, version == Some(None)) {
            addons.push((addon, version.flatten()));
        }
    }
    let kubernetes = kubernetes?;
    let images = images(spec.images.as_deref().unwrap_or_default(), written, &kubernetes, notes);
    let compatibility =
        compatibility::lower(spec.compatibility.as_deref().unwrap_or_default(), written, notes);
    let migrations = migrations::lower(spec.migrations.as_deref().unwrap_or_default(), written);
    let gates = spec.requires.feature_gates.iter().flatten().cloned();
    let requires = requirements::lower(spec.requires.providers.as_ref(), gates, written, notes);
    Some(FrozenParts { stack: stack?, kubernetes, addons, images, compatibility, migrations, requires })
}
