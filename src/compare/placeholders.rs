//! Placeholders for the name and the namespace of a Cluster. With them, the text of an answer shows whether it depends on
//! either, whatever the Cluster is called.

use serde_json::Value as Json;

/// The fields of `metadata` that identify a Cluster.
pub(super) const IDENTITY: [&str; 2] = ["name", "namespace"];

/// Letters that no message has in this order, for each of these fields.
const LETTERS: [&str; 2] = ["zqxjkvwq", "qjzvxkqw"];

/// The values that placeholders stand for.
#[derive(Debug)]
pub(super) struct Placeholders([String; 2]);

impl Placeholders {
    /// Sets placeholders in two states of a Cluster, unless their names differ. They are as long as the values, because names of
    /// other objects are built from them and shortened.
    pub(super) fn set([before, after]: [&mut Json; 2]) -> Option<Self> {
        let values = identity(before);
        if values != identity(after) {
            return None;
        }
        let placeholders = [0, 1].map(|at| LETTERS[at].chars().cycle().take(values[at].len()).collect());
        write(before, &placeholders);
        write(after, &placeholders);
        Some(Self(values))
    }

    /// Whether a text contains a placeholder, perhaps shortened.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let starts = [0, 1].map(|at| &LETTERS[at][..LETTERS[at].len().min(self.0[at].len())]);
        starts.iter().any(|start| !start.is_empty() && text.contains(start))
    }

    /// Restores the values.
    pub(super) fn remove_from(&self, cluster: &mut Json) {
        write(cluster, &self.0);
    }
}

fn identity(cluster: &Json) -> [String; 2] {
    IDENTITY.map(|field| cluster["metadata"][field].as_str().unwrap_or_default().to_owned())
}

fn write(cluster: &mut Json, values: &[String; 2]) {
    for (field, value) in IDENTITY.into_iter().zip(values) {
        if let Some(Json::String(old)) = cluster.pointer_mut(&format!("/metadata/{field}")) {
            old.clone_from(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(name: &str) -> Json {
        json!({ "metadata": { "name": name, "namespace": "controlplane-team" } })
    }

    #[test]
    fn placeholders_are_as_long_as_the_names_and_found_if_shortened() {
        let [mut before, mut after] = ["core", "core"].map(cluster);
        let set = Placeholders::set([&mut before, &mut after]).unwrap();
        assert_eq!(before["metadata"], json!({ "name": "zqxj", "namespace": "qjzvxkqwqjzvxkqwq" }));
        assert!(set.are_in("Cluster/zqxj is refused"));
        assert!(set.are_in("qjzvxkqw-12345"));
        assert!(!set.are_in("core/reconcilers and controlplane-team"));
        set.remove_from(&mut after);
        assert_eq!(after, cluster("core"));
    }

    #[test]
    fn clusters_with_different_names_keep_them() {
        let [mut before, mut after] = ["a", "b"].map(cluster);
        assert!(Placeholders::set([&mut before, &mut after]).is_none());
        assert_eq!([before, after], ["a", "b"].map(cluster));
    }
}
