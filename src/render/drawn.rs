//! A part before it is converted to bytes: its objects, with what is known about them.

use super::{AddonPart, Facts, Installs, Purpose, engine, file_names::file_name, header};
use crate::{
    model::Digest,
    template::Recorder,
    tree::{File, Part, PartId, TreePath},
    yaml::{Mapping, Node, Origin, Path, emit},
};

/// An object that will be a file.
#[derive(Clone, Debug)]
pub struct Object {
    /// The path of its file.
    pub path: TreePath,
    /// Its source, for messages.
    pub source: String,
    /// The cluster it is applied to.
    pub target: Target,
    /// The object as it will be written.
    pub node: Node,
    /// Whether it is protected from deletion through git alone.
    pub kept: bool,
    /// Whether it is one of the engine's own objects, rather than one that the engine applies.
    pub engines: bool,
    /// What its text does not say.
    pub facts: Facts,
}

impl Object {
    /// Whether this is a Cluster of Cluster API.
    pub fn is_cluster(&self) -> bool {
        let text = |key| self.node.get(key).and_then(Node::as_str);
        let group = text("apiVersion").is_some_and(|version| version.starts_with("cluster.x-k8s.io/"));
        group && text("kind") == Some("Cluster")
    }
}

/// The kind of cluster that an object is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The management cluster.
    Management,
    /// The workload cluster.
    Workload,
}

/// A part before it is converted to bytes.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub id: PartId,
    pub objects: Vec<Object>,
    /// Its other files, as text.
    pub texts: Vec<(TreePath, String)>,
    /// Files with the values of charts, which no engine applies.
    pub values_files: Vec<ValuesFile>,
    /// Objects already contained in its texts: those of a release's class. For the checks.
    pub frozen: Vec<Node>,
    /// Objects inside other objects: manifests that an addon delivery passes on as text. For the checks.
    pub embedded: Vec<Object>,
    /// Documents embedded as text in a field of an object. Recorded only along with the inputs of templates.
    pub inlaid: Vec<Inlaid>,
    /// The values of its charts, if the accepted values are known. For the checks.
    pub values: Vec<ChartValues>,
    /// Records what its templates read, if requested.
    pub(super) recorder: Option<Recorder>,
}

/// Documents embedded as text in a field of an object.
#[derive(Clone, Debug)]
pub struct Inlaid {
    /// The file of the object.
    pub file: TreePath,
    /// The field.
    pub at: Path,
    /// The documents, in order, separated by lines of `---`.
    pub documents: Vec<Node>,
}

/// A file with the values of a chart, which the objects that install the chart name.
#[derive(Clone, Debug)]
pub struct ValuesFile {
    pub path: TreePath,
    /// Its source, for messages.
    pub source: String,
    pub values: Node,
    /// What its text does not say.
    pub facts: Facts,
}

/// The values that a chart is installed with.
#[derive(Clone, Debug)]
pub struct ChartValues {
    /// The name of the addon that brings it.
    pub addon: String,
    /// The name of its chart.
    pub chart: String,
    pub version: String,
    /// The digest of the file that describes the values the chart accepts, and the place of the digest in the lock.
    pub described: (Digest, Origin),
    /// The place where the addon lists the version.
    pub listed: Origin,
    /// The values, merged and rendered.
    pub values: Node,
    /// Whether other objects (`valuesFrom`) add further values.
    pub is_part: bool,
}

impl Drawn {
    /// The Cluster, if this is the part of a cluster.
    pub fn cluster(&self) -> Option<&Node> {
        self.objects.iter().find(|object| object.is_cluster()).map(|object| &object.node)
    }

    /// Converts the part to bytes.
    pub fn to_part(&self) -> Part {
        let objects = self.objects.iter().map(|one| (&one.path, &one.source, &one.node));
        let values = self.values_files.iter().map(|one| (&one.path, &one.source, &one.values));
        // One text grows once for all files; each file has a copy of the exact length.
        let mut text = String::new();
        let file = |(path, source, node): (&TreePath, &String, &Node)| {
            text.clear();
            text.push_str(&header(&self.id, source));
            text.push('\n');
            emit(node, &mut text);
            File::new(path.clone(), text.as_str())
        };
        let mut files: Vec<_> = objects.chain(values).map(file).collect();
        let text = |(path, text): &(TreePath, String)| File::new(path.clone(), text.as_str());
        files.extend(self.texts.iter().map(text));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Part { id: self.id.clone(), files }
    }

    pub(super) fn add(
        &mut self,
        path: TreePath,
        source: &str,
        target: Target,
        node: impl Into<Node>,
    ) -> &mut Object {
        let (node, source, facts) = (node.into(), source.to_owned(), Facts::default());
        self.objects.push_mut(Object { path, source, target, node, kept: false, engines: false, facts })
    }

    /// Adds one of the engine's own objects.
    pub(super) fn add_engines(&mut self, path: TreePath, source: &str, node: impl Into<Node>) -> &mut Object {
        let object = self.add(path, source, Target::Management, node);
        object.engines = true;
        object
    }

    /// Adds a file with the values of an addon's chart.
    pub(super) fn add_values(&mut self, path: TreePath, source: &str, values: Node, addon: &str) {
        let addon = Some(AddonPart { addon: addon.to_owned(), installs: Installs::Chart });
        let facts = Facts { addon, purpose: Purpose::Values, ..Facts::default() };
        self.values_files.push(ValuesFile { path, source: source.to_owned(), values, facts });
    }

    /// Records the documents embedded as text in a field, if requested.
    pub(super) fn inlay<'n>(
        &mut self,
        file: &TreePath,
        at: Path,
        documents: impl IntoIterator<Item = &'n Node>,
    ) {
        if self.recorder.is_some() {
            let documents = documents.into_iter().cloned().collect();
            self.inlaid.push(Inlaid { file: file.clone(), at, documents });
        }
    }

    /// Adds the annotations that the engine needs to every object.
    pub(super) fn shield(&mut self, engine: &dyn engine::Engine) {
        for object in &mut self.objects {
            let annotations = engine.annotations(&object.node, object.kept);
            let bare = std::mem::replace(&mut object.node, Node::from(Mapping::new()));
            object.node = engine::annotated(bare, &annotations);
        }
    }

    /// Adds the objects rendered from a template, each as a file named by kind and name.
    pub(super) fn add_rendered(
        &mut self,
        folder: &TreePath,
        source: &str,
        target: Target,
        objects: Vec<Node>,
    ) {
        for object in objects {
            let path = folder.join(&file_name(&object));
            self.add(path, source, target, object).facts.rendered = true;
        }
    }
}
