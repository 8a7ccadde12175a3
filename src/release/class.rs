//! The parts of a release's `ClusterClass` that clusters refer to, and the rules for the objects of the class.

use std::collections::BTreeSet;

use super::Release;
use crate::{
    model::Subdomain,
    note::{At, Notes, Place},
    yaml::Node,
};

/// The parts of a cluster class that clusters refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterClass {
    /// The variables, in alphabetical order.
    pub variables: Vec<ClassVariable>,
    /// The names of its machine deployment classes.
    pub machine_deployments: Vec<String>,
    /// The names of its machine pool classes.
    pub machine_pools: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClassVariable {
    pub name: String,
    /// Whether every cluster must set it.
    pub required: bool,
    /// The `openAPIV3Schema`.
    pub schema: Node,
}

/// Reads the class objects of a release and reports violations of the rules.
pub(super) fn read(release: &Release, notes: &mut Notes) -> Option<ClusterClass> {
    let before = notes.errors();
    let mut objects = Objects { release, notes };
    let class = objects.check_all();
    let class = class.map(|class| ClusterClass {
        variables: variables(class),
        machine_deployments: classes(class, "machineDeployments"),
        machine_pools: classes(class, "machinePools"),
    });
    if notes.errors() == before { class } else { None }
}

fn variables(class: &Node) -> Vec<ClassVariable> {
    let listed = class.at(&["spec", "variables"]).and_then(Node::as_sequence).unwrap_or_default();
    let variable = |node: &Node| {
        Some(ClassVariable {
            name: node.get("name")?.as_str()?.to_owned(),
            required: node.get("required").and_then(Node::as_bool).unwrap_or(false),
            schema: node.at(&["schema", "openAPIV3Schema"])?.clone(),
        })
    };
    let mut variables: Vec<_> = listed.iter().filter_map(variable).collect();
    variables.sort_by(|a, b| a.name.cmp(&b.name));
    variables
}

fn classes(class: &Node, kind: &str) -> Vec<String> {
    let listed = class.at(&["spec", "workers", kind]).and_then(Node::as_sequence).unwrap_or_default();
    listed.iter().filter_map(|node| Some(node.get("class")?.as_str()?.to_owned())).collect()
}

struct Objects<'a> {
    release: &'a Release,
    notes: &'a mut Notes,
}

impl<'a> Objects<'a> {
    fn check_all(&mut self) -> Option<&'a Node> {
        let mut seen = BTreeSet::new();
        for object in &self.release.objects {
            if let Some(identity) = self.check_one(object)
                && !seen.insert(identity.clone())
            {
                self.error(
                    object.at(&["metadata", "name"]).unwrap_or(object),
                    format!("the class has two objects {} `{}`", identity.0, identity.1),
                    "give each its own name",
                );
            }
        }
        let is_class = |object: &&Node| object.get("kind").and_then(Node::as_str) == Some("ClusterClass");
        let classes: Vec<_> = self.release.objects.iter().filter(is_class).collect();
        let [class] = classes.as_slice() else {
            let folder = || Place::file(format!("stacks/{}/cluster-class", self.release.stack));
            let second = classes.get(1).map(|class| class.origin);
            let place = second.map_or_else(|| At::from(folder()), |second| At::word_or(second, folder));
            self.notes
                .error(
                    "no-class",
                    place,
                    format!("a stack has one ClusterClass, and this one has {}", classes.len()),
                )
                .hint("`cluster-class/` holds one ClusterClass and the templates that it names");
            return None;
        };
        // A name without this prefix has already been reported.
        let name = class.at(&["metadata", "name"]).filter(|name| name.as_str() != Some(&self.release.name));
        if let Some(name) =
            name.filter(|name| name.as_str().unwrap_or_default().starts_with(&self.release.name))
        {
            self.error(
                name,
                "the ClusterClass does not have the release's name".to_owned(),
                "write `name: ${{ release.name }}`",
            );
        }
        let version = class.get("apiVersion").unwrap_or(class);
        if version.as_str() != Some("cluster.x-k8s.io/v1beta2") {
            self.error(
                version,
                "the ClusterClass is not `cluster.x-k8s.io/v1beta2`".to_owned(),
                "older versions of the API are no longer served from Cluster API 1.16 on",
            );
        }
        self.check_references(class, &seen);
        Some(class)
    }

    fn check_one(&mut self, object: &Node) -> Option<(String, String)> {
        let text = |path: &[&str]| object.at(path).and_then(Node::as_str);
        let (Some(_), Some(kind), Some(name)) =
            (text(&["apiVersion"]), text(&["kind"]), text(&["metadata", "name"]))
        else {
            self.error(
                object,
                "this is not a Kubernetes object".to_owned(),
                "it needs apiVersion, kind and metadata.name",
            );
            return None;
        };
        if Subdomain::new(name).is_err() || !name.starts_with(&self.release.name) {
            let place = object.at(&["metadata", "name"]).unwrap_or(object);
            self.error(place, format!("the name `{name}` does not begin with the release's"), "write `name: ${{ release.name }}-…`: a template is never edited in place, so its name carries the release");
        }
        if let Some(namespace) = object.at(&["metadata", "namespace"]) {
            self.error(
                namespace,
                "an object of a class has no namespace of its own".to_owned(),
                "remove it: the engine puts classes into the management cluster's `classNamespace`",
            );
        }
        Some((kind.to_owned(), name.to_owned()))
    }

    /// Checks that every template the class references is among its objects, so that a release is complete.
    fn check_references(&mut self, class: &Node, objects: &BTreeSet<(String, String)>) {
        let mut open = vec![class];
        while let Some(node) = open.pop() {
            if let Some(reference) = node.get("templateRef") {
                let text = |key| reference.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
                let identity = (text("kind"), text("name"));
                if !objects.contains(&identity) {
                    // As it is written, so that all minors of a stack have one message.
                    let name = identity.1.replace(&self.release.name, "${{ release.name }}");
                    self.error(
                        reference.get("name").unwrap_or(reference),
                        format!(
                            "the class refers to {} `{name}`, which is not among its objects",
                            identity.0
                        ),
                        "put the template into `cluster-class/`, with exactly this name",
                    );
                }
            }
            open.extend(
                node.as_mapping().into_iter().flat_map(|mapping| mapping.iter().map(|entry| &entry.value)),
            );
            open.extend(node.as_sequence().into_iter().flatten());
        }
    }

    fn error(&mut self, node: &Node, message: String, hint: &str) {
        self.notes.error("cluster-class", node.origin, message).hint(hint);
    }
}
