//! Rules that check plans and drawn objects. Each rule is a file; one table lists them all.
//!
//! A rule checks a release, a cluster or the objects of a part. Checks across parts use [`Index`]. To add a rule, write a
//! file with a `RULE` and add a line to [`RULES`].

mod allowed_kind;
mod beside_engine;
mod beside_files;
mod chart_values;
mod class_annotation;
mod class_lint;
pub mod class_lints;
mod cluster;
mod cluster_api;
mod cluster_class;
mod compatibility;
mod control_plane_replicas;
mod delivery;
mod health_check;
mod index;
mod kustomize_build;
mod kustomize_fields;
mod kustomize_file;
mod kustomize_folder;
mod kustomize_generator;
mod kustomize_targets;
mod metadata;
mod object;
mod object_schema;
mod own_annotation;
mod other_cluster;
mod own_object;
mod plaintext_secret;
mod pod_network;
mod registered_name;
mod requirements;
mod secret_scan;
mod served_kind;
mod text_data;
mod skipped_file;
mod source_secret;
mod undecrypted_secret;
mod unencrypted_secret;
mod unlisted_version;
mod variable_value;

use crate::{
    note::{At, Notes, Place},
    plan::{ClusterPlan, ManagementPlan, Plan},
    release::Release,
    render::Drawn,
    world::Input,
    yaml::{Edge, Node, Origin, Sources},
};

pub use chart_values::check_rest;
pub use delivery::check_sizes;
pub use index::{Identities, Index};
pub use secret_scan::{without_secret, without_secrets};
pub use variable_value::{Classes, check_values};

#[derive(Debug)]
pub struct Rule {
    /// Its name, which is also the code of its messages.
    pub name: &'static str,
    /// What it forbids, and why.
    pub docs: &'static str,
    /// The function that checks it, by subject.
    pub check: Check,
}

/// The check of a rule, by subject.
#[derive(Debug)]
pub enum Check {
    /// A head release, once for all its clusters.
    Release(fn(&Release, &mut Finder<'_>)),
    /// A cluster: its plan, and the drawn Cluster object including everything from `raw`.
    Cluster(fn(&ClusterPlan, &Node, &mut Finder<'_>)),
    /// The objects of a part.
    Objects(fn(&Drawn, &mut Finder<'_>)),
    /// The charts of a cluster.
    Charts(fn(&Drawn, &mut Finder<'_>)),
    /// A management cluster, among all clusters.
    Management(fn(&Plan, &ManagementPlan, &mut Finder<'_>)),
}

/// All rules, ordered by name.
pub static RULES: [&Rule; 35] = [
    &allowed_kind::RULE,
    &allowed_kind::OF_CLUSTER,
    &allowed_kind::OF_STACK,
    &chart_values::RULE,
    &class_annotation::RULE,
    &class_annotation::OF_NUMBERED,
    &class_lint::RULE,
    &cluster::RULE,
    &cluster_api::RULE,
    &cluster_class::RULE,
    &compatibility::RULE,
    &compatibility::OF_STACK,
    &control_plane_replicas::RULE,
    &delivery::RULE,
    &health_check::RULE,
    &health_check::OF_STACK,
    &health_check::OF_OBJECTS,
    &object::RULE,
    &object::OF_CLUSTER,
    &own_annotation::RULE,
    &own_annotation::OF_STACK,
    &plaintext_secret::RULE,
    &plaintext_secret::OF_CLUSTER,
    &plaintext_secret::OF_STACK,
    &pod_network::RULE,
    &registered_name::RULE,
    &requirements::RULE,
    &skipped_file::RULE,
    &skipped_file::OF_NUMBERED,
    &source_secret::RULE,
    &undecrypted_secret::RULE,
    &undecrypted_secret::OF_STACK,
    &unencrypted_secret::RULE,
    &unlisted_version::RULE,
    &variable_value::RULE,
];

/// The files as written, for rules that read text: those about secrets, the users' own objects, and the values of charts.
/// Messages use them only for places in these texts.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    /// The sources of the fleet.
    pub sources: &'a Sources,
    /// The files in `<cluster>.d/` folders.
    pub beside: &'a Sources,
}

impl<'a> From<&'a Input> for Texts<'a> {
    fn from(input: &'a Input) -> Self {
        Self { sources: &input.sources, beside: &input.beside }
    }
}

/// The context of a rule, with the messages that it reports.
#[derive(Debug)]
pub struct Finder<'a> {
    /// The files as written.
    pub texts: Texts<'a>,
    /// The classes that clusters use.
    pub classes: &'a Classes,
    /// The messages.
    pub notes: &'a mut Notes,
    allowances: secret_scan::AllowanceCache,
}

impl<'a> Finder<'a> {
    fn new(texts: Texts<'a>, classes: &'a Classes, notes: &'a mut Notes) -> Self {
        Self { texts, classes, notes, allowances: secret_scan::AllowanceCache::default() }
    }
    /// The place of a node, or of the file that its object was made from.
    pub fn place(&self, node: &Node, source: &str) -> At {
        At::word_or(node.origin, || Place::file(source))
    }

    /// The origin of the deepest node on a trail that comes from a file.
    pub fn origin_on(&self, trail: &[(Edge<'_>, &Node)]) -> Origin {
        trail.iter().rev().find_map(|(_, node)| node.origin.written()).unwrap_or(Origin::NOWHERE)
    }
}

/// Runs the rules for a release.
pub fn release(release: &Release, classes: &Classes, texts: Texts<'_>, notes: &mut Notes) {
    for rule in RULES {
        if let Check::Release(check) = rule.check {
            check(release, &mut Finder::new(texts, classes, notes));
        }
    }
}

/// Runs the rules for a management cluster.
pub fn management(plan: &Plan, management: &ManagementPlan, texts: Texts<'_>, notes: &mut Notes) {
    for rule in RULES {
        if let Check::Management(check) = rule.check {
            check(plan, management, &mut Finder::new(texts, &Classes::default(), notes));
        }
    }
}

/// Checks the sources that belong neither to a stack nor to a single cluster.
pub fn shared(texts: Texts<'_>, notes: &mut Notes) {
    plaintext_secret::check_shared(&mut Finder::new(texts, &Classes::default(), notes));
}

/// Runs the rules for a cluster.
pub fn cluster(plan: &ClusterPlan, drawn: &Drawn, classes: &Classes, texts: Texts<'_>, notes: &mut Notes) {
    for rule in RULES {
        if let Check::Charts(check) = rule.check {
            check(drawn, &mut Finder::new(texts, classes, notes));
        }
    }
    let Some(object) = drawn.cluster() else { return };
    for rule in RULES {
        if let Check::Cluster(check) = rule.check {
            check(plan, object, &mut Finder::new(texts, classes, notes));
        }
    }
}

/// Runs the rules for the objects of a part.
pub fn objects(drawn: &Drawn, texts: Texts<'_>, notes: &mut Notes) {
    let classes = &Classes::default();
    for rule in RULES {
        if let Check::Objects(check) = rule.check {
            check(drawn, &mut Finder::new(texts, classes, notes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        definition,
        note::Diagnostic,
        plan, release, render, resolve,
        world::{Files, World},
    };

    const FLEET: &str = include_str!("../../tests/fleets/inmemory/stackloom.yaml");
    const DEFAULTS: &str = include_str!("../../tests/fleets/inmemory/clusters/_defaults.yaml");
    const STACK: &str = include_str!("../../tests/fleets/inmemory/stacks/dev/inmemory/stack.yaml");
    const IMAGES: &str = include_str!("../../tests/fleets/inmemory/stacks/dev/inmemory/node-images.yaml");
    const CLASS: &str =
        include_str!("../../tests/fleets/inmemory/stacks/dev/inmemory/cluster-class/cluster-class.yaml");
    const TEMPLATES: &str =
        include_str!("../../tests/fleets/inmemory/stacks/dev/inmemory/cluster-class/templates.yaml");

    const CLUSTER: &str = "\
apiVersion: stackloom.dev/v1alpha1
kind: ClusterDefinition
metadata:
  name: one
  namespace: blue
spec:
  kubernetes: \"1.35\"
  variables:
";

    /// Runs the rules for releases and clusters on an edited class. The only cluster sets `variables` (indented by four).
    /// Lists the messages as `code place message hints`.
    pub(super) fn found(edits: &[(&str, &str)], variables: &str) -> Vec<String> {
        let mut class = CLASS.to_owned();
        for (from, to) in edits {
            assert!(class.contains(from), "the class has no {from}");
            class = class.replacen(from, to, 1);
        }
        let variables = if variables.is_empty() { "    motd: hello\n" } else { variables };
        let stack = |path: &str| format!("stacks/dev/inmemory/{path}");
        let files = [
            ("stackloom.yaml".to_owned(), FLEET.to_owned()),
            (stack("stack.yaml"), STACK.to_owned()),
            (stack("node-images.yaml"), IMAGES.to_owned()),
            (stack("cluster-class/cluster-class.yaml"), class),
            (stack("cluster-class/templates.yaml"), TEMPLATES.to_owned()),
            ("clusters/_defaults.yaml".to_owned(), DEFAULTS.to_owned()),
            ("clusters/one.yaml".to_owned(), format!("{CLUSTER}{variables}")),
        ];
        let mut notes = Notes::new();
        let input = Files(files.into_iter().collect()).read(&mut notes).expect("a world in memory");
        let definitions = definition::parse(&input, &mut notes);
        let plan = definition::lower(&definitions, &input, &semver::Version::new(0, 1, 0), &mut notes)
            .and_then(|model| {
                let resolution = resolve::resolve(&model, &mut notes)?;
                let releases = release::releases(&model, &resolution, &input, &mut notes)?;
                plan::plan(&model, &releases, &mut notes)
            })
            .unwrap_or_else(|_| panic!("{:?}", notes.sorted()));
        let (classes, texts) = (Classes::read(&plan), Texts::from(&input));
        plan.heads.iter().for_each(|release| super::release(release, &classes, texts, &mut notes));
        for cluster in &plan.clusters {
            let drawn = render::draw(render::PartSubject::Cluster(cluster), &mut notes);
            super::cluster(cluster, &drawn, &classes, texts, &mut notes);
        }
        notes.locate(|origin| input.sources.place(origin));
        notes.sorted().iter().map(line).collect()
    }

    fn line(note: &Diagnostic) -> String {
        let place = note.place.as_ref().map(ToString::to_string).unwrap_or_default();
        let file = place.rsplit('/').next().unwrap_or_default();
        format!("{} {file} {} {}", note.code, note.message, note.hints.join(" "))
    }

    #[test]
    fn the_table_is_in_order_and_says_what_each_rule_is_for() {
        let names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(RULES.iter().all(|rule| rule.docs.len() > 40));
    }
}
