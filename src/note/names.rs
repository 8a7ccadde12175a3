//! The names of clusters in messages, in the shape that they have in every document for machines.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Identity<'a> {
    management_cluster: &'a str,
    namespace: &'a str,
    name: &'a str,
}

/// Writes full names, `<management cluster>/<namespace>/<name>`.
pub(super) fn write<S: Serializer>(clusters: &BTreeSet<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(clusters.iter().map(|full| {
        let (management_cluster, rest) = full.split_once('/').unwrap_or_default();
        let (namespace, name) = rest.split_once('/').unwrap_or_default();
        Identity { management_cluster, namespace, name }
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::note::Notes;

    #[test]
    fn a_message_names_clusters_as_every_document_does() {
        let mut notes = Notes::new();
        notes.error("x", None, "it is wrong").hint("mend it");
        notes.concern("mgmt/team-a/dev-1");
        let note = json!(notes.iter().next().unwrap());
        let name = json!({ "managementCluster": "mgmt", "namespace": "team-a", "name": "dev-1" });
        assert_eq!(note["clusters"], json!([name]));
    }
}
