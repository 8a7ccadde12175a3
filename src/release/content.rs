//! Content hashes. They ignore a release's own name, comments, formatting, file names and the order of keys.

use sha2::{Digest, Sha256};

use super::{Component, Release, ReleaseAddon};
use crate::{
    definition::StackTemplate,
    model::{CompatibilityRule, ImageSource, Migration, NodeImage, ValueType, hex},
    yaml::emit,
};

/// `sha256:` digests of the content of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The class, namespace and cluster templates, Kubernetes version, compatibility rules, migrations and requirements.
    pub cluster_class: String,
    pub cluster_addon: String,
    /// The node images.
    pub node_image: String,
    /// The digest of everything together.
    pub whole: String,
}

impl Content {
    /// The digest of one component.
    pub fn of(&self, component: Component) -> &str {
        match component {
            Component::ClusterClass => &self.cluster_class,
            Component::ClusterAddon => &self.cluster_addon,
            Component::NodeImage => &self.node_image,
        }
    }
}

/// Hashes a release. Its name must be the placeholder, or must already be replaced in its class objects.
pub(super) fn hash(release: &Release) -> Content {
    let cluster_class = digest(&class(release));
    let cluster_addon = digest(&release.addons.iter().map(|one| addon(one)).collect::<Vec<_>>());
    let node_image = digest(&release.images.iter().map(image).collect::<Vec<_>>());
    let whole = digest(&[
        cluster_class.clone(),
        cluster_addon.clone(),
        node_image.clone(),
        release.language.to_string(),
    ]);
    Content { cluster_class, cluster_addon, node_image, whole }
}

/// Hashes a release that has its own name.
pub(super) fn hash_named(release: &Release) -> Content {
    let mut nameless = release.clone();
    nameless.name = release.stand_in();
    nameless.objects = release.nameless();
    hash(&nameless)
}

/// Hashes several texts. Their boundaries are part of the hash.
fn digest(parts: &[String]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    format!("sha256:{}", hex(&hasher.finalize()))
}

fn class(release: &Release) -> Vec<String> {
    let mut objects: Vec<_> = release
        .objects
        .iter()
        .map(|object| {
            let mut text = String::new();
            emit(object, &mut text);
            text
        })
        .collect();
    objects.sort();
    let mut parts = vec![release.kubernetes.to_string()];
    parts.extend(objects);
    parts.extend(canonical("namespace", &release.namespace));
    parts.extend(canonical("cluster", &release.cluster));
    parts.extend(release.compatibility.iter().map(rule));
    parts.extend(release.migrations.iter().map(migration));
    parts.extend(release.declared_requirements());
    parts
}

/// The text form of a rule for hashing. Existing releases record the digest of this text, so it must never change.
fn rule(rule: &CompatibilityRule) -> String {
    let CompatibilityRule { name, addon, version, kubernetes, deny, upgrade_to, origin: _ } = rule;
    format!(
        "CompatibilityRule {{ name: {name:?}, addon: {addon:?}, version: {version:?}, kubernetes: {kubernetes:?}, deny: {deny:?}, upgrade_to: {upgrade_to:?} }}"
    )
}

/// The text form of a migration for hashing. A release without migrations keeps the digest from before migrations existed.
fn migration(migration: &Migration) -> String {
    let Migration { variable, rename_to, value_type, origin: _ } = migration;
    let value_type = value_type.map(ValueType::as_str);
    format!("Migration {{ variable: {variable:?}, rename_to: {rename_to:?}, type: {value_type:?} }}")
}

/// The content of templates, independent of their file names.
fn canonical(folder: &str, templates: &[StackTemplate]) -> Vec<String> {
    let mut texts: Vec<_> = templates.iter().map(|template| template.template.canonical()).collect();
    texts.sort();
    std::iter::once(format!("{folder} {}", texts.len())).chain(texts).collect()
}

fn addon(release_addon: &ReleaseAddon) -> String {
    let ReleaseAddon { addon, version, values_objects: _, values, manifests, locked: _ } = release_addon;
    let mut parts = vec![super::write::addon_text(addon, version.as_ref())];
    parts.extend(canonical("values", &values.iter().cloned().collect::<Vec<_>>()));
    parts.extend(canonical("manifests", manifests));
    digest(&parts)
}

fn image(image: &NodeImage) -> String {
    let source = match &image.source {
        ImageSource::Url { url, checksum } => format!("url {url} {checksum}"),
        ImageSource::Artifact(artifact) => format!("artifact {artifact}"),
        ImageSource::Build(build) => format!("build {build}"),
    };
    digest(&[
        image.name.clone(),
        image.kubernetes.to_string(),
        format!("{:?}", image.os),
        image.architecture.clone(),
        source,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{Label, VersionRange},
        yaml::Origin,
    };

    #[test]
    fn a_migration_counts_by_a_text_that_never_changes() {
        let one = Migration {
            variable: "workerFlavor".into(),
            rename_to: Some("machineFlavor".into()),
            value_type: None,
            origin: Origin::NOWHERE,
        };
        let two = Migration { rename_to: None, value_type: Some(ValueType::Integer), ..one.clone() };
        assert_eq!(
            [one, two].map(|one| migration(&one)),
            [
                "Migration { variable: \"workerFlavor\", rename_to: Some(\"machineFlavor\"), type: None }",
                "Migration { variable: \"workerFlavor\", rename_to: None, type: Some(\"integer\") }",
            ]
        );
    }

    /// The text form must never change, because existing releases record its digest.
    #[test]
    fn a_rule_counts_by_a_text_that_never_changes() {
        let range = |text| Some(VersionRange::parse(text).unwrap());
        let rule = CompatibilityRule {
            name: "cloud-provider".into(),
            addon: Label::new("openstack-ccm").unwrap(),
            version: range(">=2.35.0 <3.0.0"),
            kubernetes: range("~1.34.0 || 1.35.1"),
            deny: "it is newer than the API server".into(),
            upgrade_to: Some(semver::Version::new(2, 36, 1)),
            origin: Origin::NOWHERE,
        };
        let elsewhere = CompatibilityRule { origin: Origin::traced(3), ..rule.clone() };
        assert_eq!(super::rule(&rule), super::rule(&elsewhere));
        let bare = CompatibilityRule { version: None, kubernetes: None, upgrade_to: None, ..rule.clone() };
        let digests = [rule, bare].map(|rule| digest(&[super::rule(&rule)]));
        assert_eq!(
            digests,
            [
                "sha256:3a085207460bc36e9314b31e55dfdcfc2a8361171481be1c2def5cd631d9e418",
                "sha256:b1b1cd95cfda1e93a0d5bca67eb38534a22af7a8b3b1a8caaed86a0e849cd5de",
            ]
        );
    }
}
