//! Lowering `stackloom.yaml`.

use std::sync::Arc;

use semver::Version;

use super::{Lowering, addon::origin_at, check_address, holds_credential, label, place_at, range};
use crate::{
    definition::{self as written, SourceObjectKind, parse::Written},
    model::{
        Assumption, Engine, EngineSource, Fleet, Forge, ForgeKind, GitReference, Label, ManagementCluster,
        Minor, Mirror, ReleaseSource, Subdomain, address,
    },
    note::{Notes, Place},
    world::Input,
};

/// The minors of Cluster API whose topology this program supports.
pub const CLUSTER_API: [&str; 4] = ["1.11", "1.12", "1.13", "1.14"];

/// The valid parts of a fleet. An error in one part must not hide errors in clusters of another part.
pub(super) struct Lowered {
    pub name: Option<Label>,
    pub management_clusters: Vec<Arc<ManagementCluster>>,
    pub release_sources: Vec<ReleaseSource>,
    pub forge: Option<Forge>,
    /// Whether parts of the fleet have errors, so that an unknown name may belong to one of them.
    pub broken: bool,
}

impl Lowered {
    /// The whole fleet, if it has no errors.
    pub(super) fn whole(self) -> Option<Fleet> {
        let management_clusters = (!self.broken).then_some(self.management_clusters)?;
        let Self { name, release_sources, forge, .. } = self;
        Some(Fleet { name: name?, management_clusters, release_sources, forge })
    }
}

pub(super) fn lower(context: &Lowering<'_>, input: &Input, program: &Version, notes: &mut Notes) -> Lowered {
    let Some(written) = &context.definitions.fleet else {
        return Lowered {
            name: None,
            management_clusters: Vec::new(),
            release_sources: Vec::new(),
            forge: None,
            broken: true,
        };
    };
    check_program(written, program, notes);
    let name_place = place_at(written, &["metadata", "name"]);
    let name = label(&written.value.metadata.name, "the fleet's name", Some(name_place), notes);
    let mut clusters: Vec<Arc<ManagementCluster>> = Vec::new();
    let (assumptions, mut broken) = match super::assumptions::lower(written, notes) {
        Some(assumptions) => (assumptions, false),
        None => (Arc::from([]), true),
    };
    for (at, management) in written.value.spec.management_clusters.iter().enumerate() {
        let assumptions = Arc::clone(&assumptions);
        let one = ManagementLowering { written, management, input, at: at.to_string(), assumptions };
        match one.lower(notes) {
            Some(lowered) if clusters.iter().any(|other| other.name == lowered.name) => {
                notes
                    .error(
                        "duplicate",
                        one.place(&["name"]),
                        format!("there are two management clusters `{}`", lowered.name),
                    )
                    .hint("give each its own name");
            }
            Some(lowered) => clusters.push(Arc::new(lowered)),
            None => broken = true,
        }
    }
    let release_sources = super::sources::lower(written, notes);
    let forge = forge(written, notes);
    Lowered { name, management_clusters: clusters, release_sources, forge, broken }
}

fn forge(written: &Written<written::Fleet>, notes: &mut Notes) -> Option<Forge> {
    let forge = written.value.spec.forge.as_ref()?;
    let kind = match forge.kind {
        written::ForgeKind::GitHub => ForgeKind::GitHub,
        written::ForgeKind::GitLab => ForgeKind::GitLab,
        written::ForgeKind::Forgejo => ForgeKind::Forgejo,
    };
    let place = |key: &str| place_at(written, &["spec", "forge", key]);
    if let Some(address) = &forge.url {
        if holds_credential(address) {
            notes
                .error(
                    "secret",
                    Place { source: String::new(), ..place("url") },
                    "the address holds a credential",
                )
                .hint("remove it: a token comes from the environment (`stackloom upgrade next --help`)");
            return None;
        }
        if !address.starts_with("https://") && !address.starts_with("http://") {
            notes
                .error("wrong-url", place("url"), format!("`{address}` is not the address of a forge"))
                .hint("write the address of its start page, such as `https://git.example.org`");
            return None;
        }
    }
    let url = forge.url.as_ref().map(|url| url.trim_end_matches('/').to_owned());
    let project = forge.project.as_ref().map(|name| name.trim_matches('/').to_owned());
    Some(Forge { kind, url, project })
}

fn check_program(written: &Written<written::Fleet>, program: &Version, notes: &mut Notes) {
    let Some(text) = &written.value.spec.stackloom else { return };
    let place = place_at(written, &["spec", "stackloom"]);
    let Some(allowed) = range(text, place.clone(), notes) else { return };
    if !allowed.contains(program) {
        notes
            .error("wrong-program", place, format!("this fleet requires stackloom {text}, but this is {program}"))
            .hint("use a version of stackloom that the fleet allows, or change the range for everyone in a separate commit");
    }
}

/// A management cluster, with its position in the definition.
pub(super) struct ManagementLowering<'a> {
    pub(super) written: &'a Written<written::Fleet>,
    pub(super) management: &'a written::ManagementCluster,
    input: &'a Input,
    at: String,
    assumptions: Arc<[Assumption]>,
}

impl ManagementLowering<'_> {
    /// The place of a key in this management cluster, or else in the fleet's defaults.
    pub(super) fn place(&self, path: &[&str]) -> Place {
        let own: Vec<_> =
            ["spec", "managementClusters", &self.at].into_iter().chain(path.iter().copied()).collect();
        let items = self.written.node.at(&["spec", "managementClusters"]).and_then(|node| node.as_sequence());
        let node = items.and_then(|items| items.get(self.at.parse::<usize>().ok()?));
        if path.is_empty() || node.is_some_and(|node| node.get(path[0]).is_some()) {
            return place_at(self.written, &own);
        }
        let shared: Vec<_> = ["spec"].into_iter().chain(path.iter().copied()).collect();
        if self.written.node.at(&shared[..2]).is_some() {
            place_at(self.written, &shared)
        } else {
            place_at(self.written, &own)
        }
    }

    fn lower(&self, notes: &mut Notes) -> Option<ManagementCluster> {
        let (spec, management) = (&self.written.value.spec, self.management);
        let name = label(&management.name, "the management cluster", Some(self.place(&["name"])), notes);
        let class_namespace = management.class_namespace.as_deref().unwrap_or("cluster-classes");
        let class_namespace =
            label(class_namespace, "the class namespace", Some(self.place(&["classNamespace"])), notes);
        let engine = management.engine.or(spec.engine).map_or(Engine::DEFAULT, |written| written.0);
        let argocd = self.argocd(engine, notes);
        let addon_delivery = self.addon_delivery(engine, notes);
        let cluster_api =
            self.cluster_api(management.cluster_api.as_deref().or(spec.cluster_api.as_deref()), notes);
        let provided = super::requirements::provided(management, self.written, &self.at, cluster_api, notes);
        let source = self.source(management.source.as_ref().or(spec.source.as_ref()), notes);
        let source = source
            .filter(|(source, _)| self.check_engine_reads(source, engine, addon_delivery, notes).is_some());
        let decryption = self.decryption(engine, notes);
        let mirrors = self.mirrors(notes);
        let (source, folder) = source?;
        self.check_folder(&source, &folder, notes)?;
        Some(ManagementCluster {
            name: name?,
            engine,
            addon_delivery: addon_delivery?,
            source,
            folder,
            cluster_api: cluster_api?,
            class_namespace: class_namespace?,
            decryption: decryption?,
            mirrors: mirrors?,
            standby: management.standby.unwrap_or(false),
            argocd: argocd?,
            assumptions: Arc::clone(&self.assumptions),
            provided: provided?,
        })
    }

    fn cluster_api(&self, text: Option<&str>, notes: &mut Notes) -> Option<Minor> {
        let text = text.unwrap_or("1.14");
        let known = CLUSTER_API.contains(&text).then(|| Minor::parse(text)).flatten();
        if known.is_none() {
            notes
                .error(
                    "cluster-api",
                    self.place(&["clusterApi"]),
                    format!("Cluster API `{text}` is not supported"),
                )
                .hint(format!("use one of {}", CLUSTER_API.join(", ")));
        }
        known
    }

    /// Lowers mirrors. Both sides must be beginnings of addresses that the engine reads charts from.
    fn mirrors(&self, notes: &mut Notes) -> Option<Vec<Mirror>> {
        let before = notes.errors();
        let mut mirrors = Vec::new();
        for (from, to) in self.management.mirrors.iter().flatten() {
            let origin = origin_at(self.written, &["spec", "managementClusters", &self.at, "mirrors", from]);
            mirrors.push(Mirror { from: from.clone(), to: to.clone(), origin });
            let place = self.place(&["mirrors", from]);
            let schemes = ["https://", "http://", "oci://"];
            for side in [from, to] {
                if !schemes.iter().any(|scheme| side.len() > scheme.len() && side.starts_with(scheme)) {
                    notes
                        .error(
                            "mirror",
                            place.clone(),
                            format!("`{}` is not the address of a chart repository", side.escape_debug()),
                        )
                        .hint("write `https://…` or `oci://…` on both sides");
                } else if !holds_credential(side) {
                    check_address(address::CHARTS, side, "mirror", place.clone(), notes);
                }
            }
            if holds_credential(to) {
                notes
                    .error(
                        "secret",
                        Place { source: String::new(), ..place },
                        "the address holds a credential",
                    )
                    .hint("put it into the registry configuration of the management cluster");
            }
        }
        (notes.errors() == before).then_some(mirrors)
    }

    fn source(
        &self,
        source: Option<&written::SourceRef>,
        notes: &mut Notes,
    ) -> Option<(EngineSource, String)> {
        let Some(source) = source else {
            notes
                .error(
                    "no-source",
                    self.place(&["name"]),
                    "no source is set from which the engine reads this repository",
                )
                .hint("add `spec.source: { url: https://…, branch: main }` to stackloom.yaml");
            return None;
        };
        let folder = self.folder(source.path.as_deref().unwrap_or("."), notes)?;
        let engine_source = match (&source.url, &source.reference) {
            (Some(url), None) => self.git(url, source, notes)?,
            (None, Some(reference)) => self.existing(reference, source, notes)?,
            _ => {
                notes
                    .error("source", self.place(&["source"]), "a source needs exactly one of `url` and `ref`")
                    .hint("`url` makes a GitRepository; `ref` names a source object that exists already");
                return None;
            }
        };
        Some((engine_source, folder))
    }

    fn folder(&self, path: &str, notes: &mut Notes) -> Option<String> {
        let trimmed = path.trim_start_matches("./").trim_end_matches('/');
        let inside = !path.starts_with('/')
            && trimmed.split('/').all(|part| !matches!(part, "..") && !part.is_empty() || trimmed.is_empty());
        if !inside {
            notes
                .error(
                    "source",
                    self.place(&["source", "path"]),
                    format!("`{path}` is not a folder inside the repository"),
                )
                .hint("write it like `fleets/demo`, without `..`");
            return None;
        }
        Some(if trimmed == "." { String::new() } else { trimmed.to_owned() })
    }

    /// Checks that `source.path` is the folder of the fleet in the repository, because the engine reads the tree from there.
    fn check_folder(&self, source: &EngineSource, folder: &str, notes: &mut Notes) -> Option<()> {
        let Some(actual) = self.input.folder.as_deref().filter(|actual| *actual != folder) else {
            return Some(());
        };
        let expected = if folder.is_empty() { "the top".to_owned() } else { format!("`{folder}`") };
        let found = if actual.is_empty() { "at its top".to_owned() } else { format!("in `{actual}`") };
        let hint = match actual {
            "" => "remove `source.path`".to_owned(),
            actual => format!("write `path: {actual}` into `source`"),
        };
        let (place, message) = (
            self.place(&["source", "path"]),
            format!("the engine looks for the fleet in {expected} of the repository, but it is {found}"),
        );
        match source {
            EngineSource::Existing { kind, .. } if *kind != "GitRepository" => {
                // An artifact may have been made from a folder of the repository.
                let note = notes.warning("source-path", place, message);
                note.hint(format!("{hint}, unless the {kind} is made from that folder alone"));
                Some(())
            }
            EngineSource::Git { .. } | EngineSource::Existing { .. } => {
                notes.error("source-path", place, message).hint(hint);
                None
            }
        }
    }

    fn git(&self, url: &str, source: &written::SourceRef, notes: &mut Notes) -> Option<EngineSource> {
        let place = self.place(&["source", "url"]);
        let long = address::with_scheme(url);
        let good = ["https://", "http://", "ssh://"].iter().any(|scheme| url.starts_with(scheme));
        if !good && long.is_none() {
            notes
                .error(
                    "source",
                    place,
                    format!(
                        "`{}` is not an address that the engine can read: use http, https or ssh",
                        url.escape_debug()
                    ),
                )
                .hint("write an address such as `https://host/path.git` or `ssh://git@host/path.git`");
            return None;
        }
        if holds_credential(url) {
            let place = Place { source: String::new(), ..place };
            notes
                .error("secret", place, "the address holds a credential")
                .hint("put it into a Secret of the management cluster and name that in `source.secret`");
            return None;
        }
        if !check_address(address::GIT, long.as_deref().unwrap_or(url), "source", place, notes) {
            return None;
        }
        for (key, name) in [("branch", &source.branch), ("tag", &source.tag)] {
            if let Some(name) = name.as_ref().filter(|name| !is_reference(name)) {
                notes
                    .error(
                        "source",
                        self.place(&["source", key]),
                        format!("`{name}` is not a valid {key} name in git"),
                    )
                    .hint(format!(
                        "write the {key} as `git {key} --list` shows it, such as `{}`",
                        if key == "tag" { "v1.2.3" } else { "main" }
                    ));
                return None;
            }
        }
        let reference = match (&source.branch, &source.tag) {
            (Some(_), Some(_)) => {
                notes
                    .error(
                        "source",
                        self.place(&["source", "tag"]),
                        "a source follows either a branch or a tag",
                    )
                    .hint("remove one of them");
                return None;
            }
            (None, Some(tag)) => GitReference::Tag(tag.clone()),
            (branch, None) => GitReference::Branch(branch.clone().unwrap_or_else(|| "main".to_owned())),
        };
        let secret = match &source.secret {
            None => None,
            Some(secret) => Some(self.subdomain(secret, "the Secret", &["source", "secret"], notes)?),
        };
        Some(EngineSource::Git { url: url.to_owned(), reference, secret })
    }

    fn existing(
        &self,
        reference: &written::SourceObject,
        source: &written::SourceRef,
        notes: &mut Notes,
    ) -> Option<EngineSource> {
        if source.branch.is_some() || source.tag.is_some() || source.secret.is_some() {
            notes
                .error(
                    "source",
                    self.place(&["source"]),
                    "`branch`, `tag` and `secret` can only be used with `url`",
                )
                .hint("remove them: the object that `ref` names decides what it follows");
            return None;
        }
        let kind = match reference.kind {
            SourceObjectKind::GitRepository => "GitRepository",
            SourceObjectKind::OciRepository => "OCIRepository",
            SourceObjectKind::Bucket => "Bucket",
            SourceObjectKind::ExternalArtifact => "ExternalArtifact",
        };
        let name = self.subdomain(&reference.name, "the source", &["source", "ref", "name"], notes)?;
        let namespace = match &reference.namespace {
            None => None,
            Some(namespace) => {
                let place = self.place(&["source", "ref", "namespace"]);
                Some(label(namespace, "the namespace", Some(place), notes)?)
            }
        };
        Some(EngineSource::Existing { kind, name, namespace })
    }

    pub(super) fn subdomain(
        &self,
        text: &str,
        what: &str,
        path: &[&str],
        notes: &mut Notes,
    ) -> Option<Subdomain> {
        Subdomain::new(text)
            .map_err(|fault| super::name_error(text, what, Some(self.place(path)), &fault, notes))
            .ok()
    }
}

/// Reports whether a text is valid as the name of a branch or tag, by the rules of git-check-ref-format.
fn is_reference(name: &str) -> bool {
    let forbidden = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let part = |part: &str| {
        let lock = part.rsplit_once('.').is_some_and(|(_, ending)| ending == "lock");
        !(part.is_empty() || part.starts_with('.') || part.ends_with('.') || lock)
    };
    name.split('/').all(part)
        && !name.contains(forbidden)
        && !name.contains("..")
        && !name.contains("@{")
        && name != "@"
        && !name.starts_with('-')
}
