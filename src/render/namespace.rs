//! A namespace and the objects that its clusters share.

use super::{Drawn, Target, context, folders::management_folder};
use crate::{
    note::Notes,
    plan::NamespacePlan,
    tree::TreePath,
    yaml::{Mapping, Node},
};

pub(super) fn folder(plan: &NamespacePlan) -> TreePath {
    management_folder(&plan.management).join("namespaces").join(plan.name.as_str())
}

pub(super) fn draw(plan: &NamespacePlan, drawn: &mut Drawn, notes: &mut Notes) {
    let folder = folder(plan);
    drawn.add(folder.join("namespace.yaml"), "stackloom.yaml", Target::Management, object(plan)).kept = true;
    for release in &plan.releases {
        let context = context::of_namespace(release, &plan.name, &plan.fleet, drawn.recorder.as_ref());
        for template in &release.namespace {
            let Some(objects) = template.template.objects(&context, notes) else { continue };
            // Two releases with the same image render equal objects, which are added only once.
            let new =
                objects.into_iter().filter(|object| !drawn.objects.iter().any(|other| other.node == *object));
            let source = format!("{} of stack {}", template.path, release.stack);
            let new = new.collect();
            drawn.add_rendered(&folder, &source, Target::Management, new);
        }
    }
}

fn object(plan: &NamespacePlan) -> Node {
    let mut metadata = Mapping::new();
    metadata.set("name", plan.name.as_str());
    let mut root = Mapping::new();
    root.set("apiVersion", "v1");
    root.set("kind", "Namespace");
    root.set("metadata", metadata);
    root.into()
}
