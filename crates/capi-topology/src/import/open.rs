//! Clusters whose files leave the namespace to who applies them.

use serde_json::json;

use super::{Imported, Objects, identity, is};
use k8s_schema::value::{set, text};

/// A Cluster without a namespace of which the other side has one, or several, of the name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Open {
    /// Its file, as the user named it.
    pub file: String,
    /// The line at which its document begins.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// The namespaces in which the other side has a Cluster of the name, in order; with only one it is taken to lie there.
    pub namespaces: Vec<String>,
}

fn named(one: &Imported) -> (String, String) {
    let (namespace, name) = identity(&one.object);
    (namespace.to_owned(), name.to_owned())
}

impl Objects {
    /// Gives Clusters without a namespace that of the only Cluster of their name on the other side: `kubectl apply -n` and
    /// `targetNamespace` of an engine do so. Says which they were, and which could be of several.
    pub fn placed_as(&mut self, other: &Self) -> Vec<Open> {
        let mut open = Vec::new();
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
            // Beside one that stands there already, it is another.
            namespaces.retain(|one| one == "default" || !here.contains(&(one.clone(), name.clone())));
            if let [only] = namespaces.as_slice() {
                set(&mut one.object, &["metadata", "namespace"], json!(only));
            }
            if namespaces.iter().any(|one| one != "default") {
                open.push(Open { file: one.file.clone(), line: one.line, name, namespaces });
            }
        }
        open
    }
}
