//! Lowers node images.

use std::collections::BTreeSet;

use super::{check_address, place_at, stack::kubernetes_version};
use crate::{
    definition::{self as written, closest, parse::Written},
    model::{ImageSource, KubernetesVersion, NodeImage, address},
    note::{Notes, Place, in_words},
};

/// The architectures that Kubernetes supports, with the names used by Go.
const ARCHITECTURES: [&str; 8] = ["amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64", "loong64"];

/// Checks all images as written, for all versions.
pub(super) fn check(
    images: &[written::NodeImage],
    written: &Written<written::NodeImages>,
    notes: &mut Notes,
) {
    for (number, image) in images.iter().enumerate() {
        let at = number.to_string();
        let place = |key: &str| place_at(written, &["spec", "images", &at, key]);
        check_name(&image.name, "name", place("name"), notes);
        check_same_name(image, &images[..number], &place, notes);
        if let Some(os) = &image.os {
            check_name(os, "os", place("os"), notes);
        }
        if let Some(architecture) = &image.architecture
            && !ARCHITECTURES.contains(&architecture.as_str())
        {
            let message =
                format!("`{}` is not an architecture that Kubernetes supports", architecture.escape_debug());
            let note = notes.error("image", place("architecture"), message);
            match (architecture.as_str(), closest(architecture, ARCHITECTURES.into_iter())) {
                ("x86_64", _) => note.hint("did you mean `amd64`?"),
                ("aarch64", _) => note.hint("did you mean `arm64`?"),
                (_, Some(similar)) => note.hint(format!("did you mean `{similar}`?")),
                (_, None) => note.hint(format!("write one of {}", ARCHITECTURES.join(", "))),
            };
        }
        if let Some(url) = &image.url {
            check_address(address::IMAGE, url, "wrong-address", place("url"), notes);
        }
        if let Some(Err(wrong)) = image.artifact.as_deref().map(address::check_image_name) {
            let artifact = image.artifact.as_deref().unwrap_or_default().escape_debug();
            notes
                .error(
                    "wrong-address",
                    place("artifact"),
                    format!("`{artifact}` is not a valid artifact name: {wrong}"),
                )
                .hint("write it as for container tools, such as `registry.example.org/node:v1.35.1`");
        } else if let Some(artifact) = &image.artifact {
            check_artifact(artifact, place("artifact"), notes);
        }
        if image.build.as_deref().is_some_and(|build| build.trim().is_empty()) {
            notes
                .error(
                    "image-source",
                    place("build"),
                    format!("the image `{}` has an empty `build`", image.name),
                )
                .hint("describe the build steps, or set `url` and `checksum`, or `artifact`");
        }
    }
}

/// Providers find an image by its name, and an address has one content, so images of two Kubernetes versions share neither. An
/// artifact has its own name.
fn check_same_name(
    image: &written::NodeImage,
    before: &[written::NodeImage],
    place: &dyn Fn(&str) -> Place,
    notes: &mut Notes,
) {
    let mut others =
        before.iter().filter(|other| other.artifact.is_none() && other.kubernetes != image.kubernetes);
    if image.artifact.is_some() {
        return;
    }
    if let Some(other) = others.clone().find(|other| other.name == image.name) {
        let message =
            format!("the image for Kubernetes {} is called `{}`, too", other.kubernetes, image.name);
        notes
            .error("duplicate", place("name"), message)
            .hint("put the version into the name: providers find an image by its name, and would start machines of the wrong version");
    }
    if let Some(other) = others.find(|other| image.url.is_some() && other.url == image.url) {
        let message = format!("the image for Kubernetes {} has this address, too", other.kubernetes);
        notes
            .error("duplicate", place("url"), message)
            .hint("an address has one image, and an image one Kubernetes version: write the address of each");
    }
}

/// A release is immutable, so what it names must be, too.
fn check_artifact(artifact: &str, place: Place, notes: &mut Notes) {
    let name = artifact.rsplit('/').next().unwrap_or(artifact);
    let moves = match name.split_once('@') {
        Some(_) => None,
        None => match name.split_once(':') {
            None => Some("has no tag"),
            Some((_, tag)) => (tag == "latest").then_some("has the tag `latest`, which moves"),
        },
    };
    if let Some(why) = moves {
        notes
            .error("wrong-address", place, format!("`{artifact}` {why}"))
            .hint("write the tag of a version, or a digest: machines that are created later must get the same image");
    }
}

/// Checks a name that is used in paths and in providers' fields.
fn check_name(name: &str, key: &str, place: Place, notes: &mut Notes) {
    const LONGEST: usize = 255;
    let odd = |c: char| c.is_control() || c == '\\' || "\u{200b}\u{200e}\u{200f}\u{202e}\u{feff}".contains(c);
    let part = |part: &str| !part.is_empty() && part != ".";
    let sound = name.trim() == name
        && !name.chars().any(odd)
        && !name.contains("..")
        && name.trim_start_matches('/').split('/').all(part)
        && name.len() <= LONGEST;
    if !sound {
        let name: String = name.escape_debug().take(LONGEST).collect();
        notes
            .error(
                "image",
                place,
                format!("`{key}: {name}` is not a valid name for an image or its operating system"),
            )
            .hint("use letters, digits, `.`, `-`, `_`, `/` and single spaces inside, without `..`, and at most 255 bytes");
    }
}

/// Reports a version without images while others of its minor have some: a patch version that was raised in one file only.
/// `place` is that of the version in `stack.yaml`.
pub(super) fn check_patch_version(
    images: &[written::NodeImage],
    file: &str,
    kubernetes: &KubernetesVersion,
    place: Option<Place>,
    notes: &mut Notes,
) {
    let versions = images.iter().filter_map(|image| KubernetesVersion::parse(&image.kubernetes).ok());
    let of_minor: BTreeSet<_> = versions.filter(|version| version.minor() == kubernetes.minor()).collect();
    if of_minor.is_empty() || of_minor.contains(kubernetes) {
        return;
    }
    let others: Vec<_> = of_minor.iter().map(ToString::to_string).collect();
    let others = in_words(&others, "and");
    notes
        .error("image", place, format!("{file} has no image for Kubernetes {kubernetes}, only for {others}"))
        .hint(format!("add images for {kubernetes} there, or set this version back"));
}

/// The images for one Kubernetes version, by name.
pub(super) fn images<T>(
    images: &[written::NodeImage],
    written: &Written<T>,
    kubernetes: &KubernetesVersion,
    notes: &mut Notes,
) -> Vec<NodeImage> {
    let mut lowered: Vec<NodeImage> = Vec::new();
    for (at, image) in images.iter().enumerate() {
        let at = at.to_string();
        let place = |key: &str| place_at(written, &["spec", "images", &at, key]);
        let version = kubernetes_version(&image.kubernetes, place("kubernetes"), notes);
        let source = image_source(image, &place, notes);
        let (Some(version), Some(source)) = (version, source) else { continue };
        if version != *kubernetes {
            continue;
        }
        if lowered.iter().any(|other| other.name == image.name) {
            notes
                .error(
                    "duplicate",
                    place("name"),
                    format!("there are two images `{}` for Kubernetes {version}", image.name),
                )
                .hint("give each its own name");
        }
        lowered.push(NodeImage {
            name: image.name.clone(),
            kubernetes: version,
            os: image.os.clone(),
            architecture: image.architecture.clone().unwrap_or_else(|| "amd64".to_owned()),
            source,
        });
    }
    lowered.sort_by(|a, b| a.name.cmp(&b.name));
    lowered
}

fn image_source(
    image: &written::NodeImage,
    place: &dyn Fn(&str) -> Place,
    notes: &mut Notes,
) -> Option<ImageSource> {
    let digest = |text: &str| {
        let hex = text.strip_prefix("sha256:").unwrap_or_default();
        hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    match (&image.url, &image.checksum, &image.artifact, &image.build) {
        (Some(url), Some(checksum), None, None) => {
            if !digest(checksum) {
                notes
                    .error("checksum", place("checksum"), format!("`{checksum}` is not a SHA-256 checksum"))
                    .hint("write `sha256:` followed by 64 lower-case hexadecimal digits");
                return None;
            }
            Some(ImageSource::Url { url: url.clone(), checksum: checksum.clone() })
        }
        (None, None, Some(artifact), None) => Some(ImageSource::Artifact(artifact.clone())),
        (None, None, None, Some(build)) => Some(ImageSource::Build(build.clone())),
        _ => {
            notes
                .error(
                    "image-source",
                    place("name"),
                    format!("the image `{}` must have exactly one origin", image.name),
                )
                .hint("set `url` and `checksum`, or `artifact`, or `build`");
            None
        }
    }
}
