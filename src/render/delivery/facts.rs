//! What the fields of the objects that install addons are made of.

use crate::render::facts::{Composed, Fact};

/// The facts of a field of such an object; none where its own origin says it.
pub(in crate::render) fn of<'a>(field: &Composed<'a>) -> Option<Vec<Fact<'a>>> {
    let names = field.path.names();
    match (field.kind(), field.addon) {
        ("HelmRelease", Some(_)) => helm_release(field, &names),
        _ => None,
    }
}

fn helm_release<'a>(field: &Composed<'a>, names: &[&'a str]) -> Option<Vec<Fact<'a>>> {
    const CLUSTER: Fact<'_> = Fact::Definition(&["metadata", "name"]);
    Some(match names {
        ["metadata", "name"] => vec![CLUSTER, Fact::Addon(&[])],
        ["metadata", "namespace"] => vec![Fact::Namespace],
        ["metadata", "labels", ..] | ["spec", "kubeConfig", ..] => vec![CLUSTER],
        ["spec", "chartRef", "kind"] => vec![Fact::AddonRepository],
        ["spec", "chartRef", "name"] => vec![
            Fact::AddonVersion,
            Fact::Addon(&["chart", "name"]),
            Fact::AddonRepository,
            Fact::ReleaseChoice,
        ],
        ["spec", "releaseName"] => vec![Fact::Addon(&["release", "name"])],
        ["spec", "targetNamespace" | "storageNamespace"] => vec![Fact::Addon(&["release", "namespace"])],
        ["spec", "dependsOn"] => vec![Fact::Dependencies { charts: true }],
        ["spec", "dependsOn", "", "name"] => vec![Fact::Installer(field.node.as_str()?)],
        ["spec", _, "disableWait"] => vec![Fact::Addon(&["stage"])],
        ["spec", "suspend"] => vec![Fact::Suspension],
        ["spec", "valuesFrom"] => vec![Fact::Addon(&["valuesFrom"])],
        ["spec", "valuesFrom", "", key] => vec![Fact::AddonValuesFrom(key)],
        ["spec", "values"] => vec![Fact::AddonValues],
        ["spec", "interval" | "timeout"] => {
            vec![Fact::Program("how long Helm takes and waits: see docs/flux.md")]
        }
        ["spec", "install" | "upgrade", "crds"] => vec![Fact::Program(
            "CustomResourceDefinitions follow the chart, which Helm alone does not do for them",
        )],
        ["spec", "install" | "upgrade", ..] => vec![Fact::Program(
            "what fails is tried again from where it stands, never undone: see docs/flux.md",
        )],
        _ => return None,
    })
}
