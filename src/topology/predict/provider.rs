//! What the webhooks of infrastructure providers let change in place.
//!
//! One file for each kind under `data/mutable/`; adding one is adding a file and its line in
//! [`FILES`].

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::kubeadm::path_matches;
use crate::topology::value::{group, list, text};

const FILES: &[&str] = &[include_str!("../data/mutable/OpenStackCluster.json")];

/// Whether a provider takes a change in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Its webhook lets the field change.
    Yes,
    /// Its webhook refuses.
    No,
    /// It depends on more than the field, or the webhook is not known.
    Unknown,
}

struct Rules {
    group: String,
    source: String,
    mutable: Vec<String>,
    perhaps: Vec<String>,
}

static KINDS: LazyLock<BTreeMap<String, Rules>> = LazyLock::new(|| {
    let words = |file: &Value, name: &str| {
        let words = list(file, &[name]).iter().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    };
    let read = |text_of_file: &&str| {
        let file: Value = serde_json::from_str(text_of_file).expect("the file is part of the program");
        let rules = Rules {
            group: text(&file, &["group"]).to_owned(),
            source: text(&file, &["source"]).to_owned(),
            mutable: words(&file, "mutable"),
            perhaps: words(&file, "perhaps"),
        };
        (text(&file, &["kind"]).to_owned(), rules)
    };
    FILES.iter().map(read).collect()
});

/// Whether a field below `spec` may change, and the source of the rule.
pub fn takes(api_version: &str, kind: &str, path: &[String]) -> (Taken, Option<&'static str>) {
    let rules = KINDS.get(kind).filter(|rules| rules.group == group(api_version));
    let Some(rules) = rules else { return (Taken::Unknown, None) };
    let any = |patterns: &[String]| patterns.iter().any(|one| path_matches(one, path));
    let taken = if any(&rules.mutable) {
        Taken::Yes
    } else if any(&rules.perhaps) {
        Taken::Unknown
    } else {
        Taken::No
    };
    (taken, Some(&rules.source))
}
