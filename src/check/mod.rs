//! Rules over what is planned and drawn: one file per rule, one table.
//!
//! A rule looks at one cluster's plan or at one part's objects; what concerns several parts goes through [`Index`]. To
//! add a rule, write a file with a `RULE` and add one line to [`RULES`].

mod cluster_api;
mod control_plane;
mod object;
mod plaintext_secret;
mod unlisted;

use std::collections::BTreeMap;

use crate::{
    note::{Notes, Place},
    plan::ClusterPlan,
    render::{Drawn, Target},
    tree::PartId,
    world::Input,
    yaml::Node,
};

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name: the code of its messages.
    pub name: &'static str,
    /// What it forbids, and why.
    pub docs: &'static str,
    /// What it looks at.
    pub check: Check,
}

/// What a rule looks at.
#[derive(Debug)]
pub enum Check {
    /// The plan of a cluster.
    Cluster(fn(&ClusterPlan, &mut Finder<'_>)),
    /// The objects of a part.
    Objects(fn(&Drawn, &mut Finder<'_>)),
}

/// All rules, by name.
pub static RULES: [&Rule; 5] =
    [&cluster_api::RULE, &control_plane::RULE, &object::RULE, &plaintext_secret::RULE, &unlisted::RULE];

/// Where a rule puts what it finds.
#[derive(Debug)]
pub struct Finder<'a> {
    /// The input, for places.
    pub input: &'a Input,
    /// What was found.
    pub notes: &'a mut Notes,
}

impl Finder<'_> {
    /// The place of a node, else of the file that an object was made from.
    pub fn place(&self, node: &Node, source: &str) -> Place {
        self.input.sources.place(node.origin).unwrap_or_else(|| Place::file(source))
    }
}

/// Runs the rules that look at a cluster's plan.
pub fn cluster(plan: &ClusterPlan, input: &Input, notes: &mut Notes) {
    for rule in RULES {
        if let Check::Cluster(check) = rule.check {
            check(plan, &mut Finder { input, notes });
        }
    }
}

/// Runs the rules that look at a part's objects.
pub fn objects(drawn: &Drawn, input: &Input, notes: &mut Notes) {
    for rule in RULES {
        if let Check::Objects(check) = rule.check {
            check(drawn, &mut Finder { input, notes });
        }
    }
}

/// Which part each object is in: every object is in exactly one.
#[derive(Debug, Default)]
pub struct Index {
    seen: BTreeMap<Identity, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    management: String,
    workload: Option<String>,
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

impl Index {
    /// Adds a part's objects; one that another part or the same one has already is reported.
    pub fn add(&mut self, drawn: &Drawn, input: &Input, notes: &mut Notes) {
        let Some((management, cluster)) = home(&drawn.id) else { return };
        for object in &drawn.objects {
            let text =
                |path: &[&str]| object.node.at(path).and_then(Node::as_str).unwrap_or_default().to_owned();
            let version = text(&["apiVersion"]);
            let identity = Identity {
                management: management.clone(),
                workload: (object.target == Target::Workload).then(|| cluster.clone()),
                group: version.rsplit_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default(),
                kind: text(&["kind"]),
                namespace: text(&["metadata", "namespace"]),
                name: text(&["metadata", "name"]),
            };
            if let Some(other) = self.seen.get(&identity) {
                let place = input
                    .sources
                    .place(object.node.origin)
                    .unwrap_or_else(|| Place::file(object.path.as_str()));
                let message = format!(
                    "{} `{}` would be written twice: as {} and as {other}",
                    identity.kind, identity.name, object.path
                );
                notes
                    .error("duplicate-object", place, message)
                    .hint("every object is in one file: give it a name of its own, for example with the cluster's or the namespace's name in it");
                continue;
            }
            self.seen.insert(identity, object.path.to_string());
        }
    }
}

fn home(id: &PartId) -> Option<(String, String)> {
    match id {
        PartId::Root | PartId::Release(_) => None,
        PartId::Management(management) | PartId::Namespace { management, .. } => {
            Some((management.clone(), String::new()))
        }
        PartId::Cluster { management, namespace, cluster } => {
            Some((management.clone(), format!("{namespace}/{cluster}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_says_what_each_rule_is_for() {
        let names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(RULES.iter().all(|rule| rule.docs.len() > 40));
    }
}
