//! Selectors of clusters by their labels, as `kubectl` takes them: `env=prod`, `env!=prod`, `region`, `!region`, joined by commas.

use std::str::FromStr;

use crate::{
    model::Cluster,
    yaml::{Mapping, Node},
};

/// All of what it says must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Is(String, String),
    IsNot(String, String),
    Has(String),
    HasNot(String),
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(|one| requirement(one.trim())).collect::<Result<_, _>>().map(Self)
    }
}

fn requirement(text: &str) -> Result<Requirement, String> {
    let is_word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let key = |text: &str| {
        let text = text.trim();
        let wrong =
            || format!("`{text}` is not the key of a label; write KEY=VALUE, KEY!=VALUE, KEY or !KEY");
        if text.is_empty() || !is_word(text) { Err(wrong()) } else { Ok(text.to_owned()) }
    };
    let value = |text: &str| {
        let text = text.trim();
        let wrong = || format!("`{text}` is not the value of a label");
        if is_word(text) { Ok(text.to_owned()) } else { Err(wrong()) }
    };
    if let Some((left, right)) = text.split_once("!=") {
        return Ok(Requirement::IsNot(key(left)?, value(right)?));
    }
    if let Some((left, right)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Ok(Requirement::Is(key(left)?, value(right)?));
    }
    match text.strip_prefix('!') {
        Some(name) => Ok(Requirement::HasNot(key(name)?)),
        None => Ok(Requirement::Has(key(text)?)),
    }
}

impl Selector {
    /// Whether a cluster is meant.
    pub(super) fn takes(&self, cluster: &Cluster) -> bool {
        self.holds(&cluster.labels)
    }

    fn holds(&self, labels: &Mapping) -> bool {
        let label = |key: &str| labels.get(key).and_then(Node::as_str);
        self.0.iter().all(|one| match one {
            Requirement::Is(key, value) => label(key) == Some(value),
            Requirement::IsNot(key, value) => label(key) != Some(value),
            Requirement::Has(key) => label(key).is_some(),
            Requirement::HasNot(key) => label(key).is_none(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read_as_kubectl_reads_them() {
        let mut labels = Mapping::new();
        labels.set("env", "prod");
        labels.set("example.org/tier", "gold");
        for (text, holds) in [
            ("env=prod", Some(true)),
            ("env==prod , example.org/tier=gold", Some(true)),
            ("env=prod,region", Some(false)),
            ("env!=prod", Some(false)),
            ("region!=eu", Some(true)),
            ("!region", Some(true)),
            ("!env", Some(false)),
            ("env", Some(true)),
            ("", None),
            ("env=prod,", None),
            ("env in (prod)", None),
            ("=prod", None),
        ] {
            let selector = text.parse::<Selector>();
            assert_eq!(selector.ok().map(|one| one.holds(&labels)), holds, "{text}");
        }
    }
}
