//! Clusters whose files leave the namespace to the deployment tool.

use serde_json::json;

use super::{Imported, Objects, identity, is};
use k8s_schema::value::{set, text};

/// A Cluster without a namespace, if the other side has one or more Clusters of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WithoutNamespace {
    /// Its file, as the user named it.
    pub file: String,
    /// The line at which its document begins, counted from 1.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// The namespaces in which the other side has a Cluster of this name, sorted. If there is only one, the Cluster belongs
    /// to it.
    pub namespaces: Vec<String>,
}

fn named(one: &Imported) -> (String, String) {
    let (namespace, name) = identity(&one.object);
    (namespace.to_owned(), name.to_owned())
}

impl Objects {
    /// Gives each Cluster without a namespace that of the only Cluster of its name on the other side, as `kubectl -n` and
    /// an engine's `targetNamespace` do. Returns those Clusters, and those with several candidates.
    pub fn take_namespaces_from(&mut self, other: &Self) -> Vec<WithoutNamespace> {
        let mut found = Vec::new();
        let here: Vec<(String, String)> =
            self.all.iter().filter(|one| is(&one.object, "Cluster")).map(named).collect();
        for one in &mut self.all {
            let is_open =
                is(&one.object, "Cluster") && text(&one.object, &["metadata", "namespace"]).is_empty();
            let name = text(&one.object, &["metadata", "name"]).to_owned();
            if !is_open {
                continue;
            }
            let same = other.all.iter().filter(|there| {
                is(&there.object, "Cluster") && text(&there.object, &["metadata", "name"]) == name
            });
            let mut namespaces: Vec<String> =
                same.map(|there| identity(&there.object).0.to_owned()).collect();
            namespaces.sort_unstable();
            namespaces.dedup();
            // A namespace that already has a Cluster of this name here is not a candidate.
            namespaces.retain(|one| one == "default" || !here.contains(&(one.clone(), name.clone())));
            if let [only] = namespaces.as_slice() {
                set(&mut one.object, &["metadata", "namespace"], json!(only));
            }
            if namespaces.iter().any(|one| one != "default") {
                found.push(WithoutNamespace { file: one.file.clone(), line: one.line, name, namespaces });
            }
        }
        found
    }
}
