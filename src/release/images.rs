//! The images that a release names itself: in its class objects (including static pods of a control plane) and its
//! manifests. Images of charts are not included.

use std::collections::BTreeSet;

use super::Release;
use crate::yaml::{Emit, Item, Scalar, View};

/// The images that a release's objects and templates name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Images {
    /// Complete image names.
    pub known: BTreeSet<String>,
    /// Image names with expressions in them.
    pub unknown: BTreeSet<String>,
}

/// Collects the images that a release names itself, without those of its charts.
pub fn images_of(release: &Release) -> Images {
    let mut images = Images::default();
    for object in &release.objects {
        visit(object, false, &mut images);
    }
    let manifests = release.addons.iter().flat_map(|addon| &addon.manifests);
    for template in release.namespace.iter().chain(&release.cluster).chain(manifests) {
        for document in template.template.documents() {
            visit(document, false, &mut images);
        }
    }
    images
}

/// The fields of a pod that hold containers.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Looks for containers, including those in machine files: the static pods of a control plane are texts in a class.
fn visit<T: Emit>(tree: &T, is_container: bool, images: &mut Images) {
    match tree.view() {
        View::Scalar(Scalar::String(text) | Scalar::Literal(text)) => in_text(text, images),
        View::Scalar(_) => {}
        View::Sequence(items) => {
            for item in items {
                if let Item::Entry((), value) = item {
                    visit(value, is_container, images);
                }
            }
        }
        View::Mapping(items) => {
            for item in items {
                let Item::Entry((Scalar::String(key), _), value) = item else { continue };
                if is_container && key == "image" {
                    take_value(value, images);
                } else {
                    visit(value, CONTAINERS.contains(&key), images);
                }
            }
        }
    }
}

fn take_value<T: Emit>(value: &T, images: &mut Images) {
    match value.view() {
        View::Scalar(Scalar::String(text) | Scalar::Literal(text)) => images.take(text),
        // Verbatim scalars include their quotes.
        View::Scalar(Scalar::Verbatim(text)) => images.take(text.trim_matches(['"', '\''])),
        View::Scalar(Scalar::Expression(text)) => drop(images.unknown.insert(format!("${{{{ {text} }}}}"))),
        View::Scalar(_) | View::Sequence(_) | View::Mapping(_) => {}
    }
}

/// Collects `image: …` lines from a text that contains a pod.
fn in_text(text: &str, images: &mut Images) {
    let is_pod = text.contains('\n') && CONTAINERS.iter().any(|word| text.contains(&format!("{word}:")));
    for line in text.lines().filter(|_| is_pod) {
        let line = line.trim_start().trim_start_matches("- ").trim_start();
        if let Some(value) = line.strip_prefix("image:") {
            let value = value.split(" #").next().unwrap_or_default().trim();
            images.take(value.trim_matches(['"', '\'']));
        }
    }
}

impl Images {
    fn take(&mut self, text: &str) {
        let is_made = ["${", "{{", "$("].iter().any(|mark| text.contains(mark));
        if is_made {
            self.unknown.insert(text.to_owned());
        } else if !text.is_empty() && !text.contains(char::is_whitespace) && !text.contains('@') {
            // Skips names with a digest, which are already pinned.
            self.known.insert(text.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        note::Notes,
        template::{LANGUAGE, Template, Visible},
        yaml::{self, Sources},
    };

    const POD: &str = "\
spec:
  image: no-container
  template:
    spec:
      containers:
        - name: a
          image: registry.example.org/a:1
          env:
            - {name: image, value: registry.example.org/no:1}
        - {name: b, image: '${{ cluster.name }}:2'}
        - {name: c, image: registry.example.org/c@sha256:00}
  files:
    - content: |
        spec:
          containers:
            - image: \"registry.example.org/vip:3\" # pinned
            - image: {{ .image }}
    - content: |
        image: registry.example.org/no:2
";

    #[test]
    fn images_are_those_of_containers() {
        let mut sources = Sources::default();
        let id = sources.add("stacks/test/tiny/cluster/pod.yaml", POD);
        let source = sources.get(id).unwrap();
        let mut notes = Notes::new();
        let template = Template::load(source, LANGUAGE, Visible::Cluster, &mut notes).unwrap();
        let mut images = Images::default();
        template.documents().iter().for_each(|tree| visit(tree, false, &mut images));
        let known = ["registry.example.org/a:1", "registry.example.org/vip:3"];
        assert_eq!(images.known, known.map(str::to_owned).into());
        assert_eq!(images.unknown, ["${{ cluster.name }}:2", "{{ .image }}"].map(str::to_owned).into());
        let mut same = Images::default();
        visit(&yaml::read(source, &mut notes).unwrap(), false, &mut same);
        assert_eq!(images, same);
    }
}
