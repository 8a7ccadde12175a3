//! The facts behind the fields of Argo CD's objects.

use super::KEEP;
use crate::{
    render::facts::{Composed, Fact},
    yaml::Node,
};

const CLUSTER: Fact<'_> = Fact::Definition(&["metadata", "name"]);
const PROJECTS_FIRST: Fact<'_> = Fact::Program("projects come before the Applications that are in them");

/// The facts behind a field that Argo CD reads; none if the field's own origin is enough.
pub(in crate::render) fn of<'a>(field: &Composed<'a>) -> Option<Vec<Fact<'a>>> {
    let names = field.path.names();
    if let ["metadata", "annotations", annotation] = names.as_slice()
        && *annotation == KEEP.0
    {
        let why = "git alone never deletes this, and neither does deleting its Application";
        return Some(vec![Fact::Program(why)]);
    }
    match field.kind() {
        "Application" => application(field, &names),
        "AppProject" => project(field, &names),
        _ => None,
    }
}

fn application<'a>(field: &Composed<'a>, names: &[&'a str]) -> Option<Vec<Fact<'a>>> {
    Some(match names {
        ["metadata", "name"] => vec![Fact::Unit(unit(field)), Fact::Management],
        ["metadata", "namespace"] => vec![setting("namespace")],
        ["metadata", "labels", "stackloom.dev/management-cluster"] => vec![Fact::Management],
        ["metadata", "labels", "stackloom.dev/namespace"] => vec![Fact::Namespace],
        ["metadata", "labels", ..] => vec![CLUSTER],
        ["metadata", "finalizers", ..] => {
            vec![Fact::Program("deleting the Application deletes what it applied"), Fact::Suspension]
        }
        ["metadata", "annotations", "argocd.argoproj.io/sync-wave"] => {
            vec![Fact::Addon(&["stage"]), Fact::Addon(&["dependsOn"])]
        }
        ["metadata", "annotations", ..] => {
            vec![Fact::Program("how Argo CD compares and waits: see docs/argocd.md")]
        }
        ["spec", "project"] if is_tenant(field.node) => vec![Fact::Management, Fact::Namespace],
        ["spec", "project"] => vec![setting("project")],
        ["spec", "destination", "name" | "server"] => match field.addon {
            Some(_) => vec![setting("clusterNames"), CLUSTER, Fact::Namespace],
            None => vec![setting("destination")],
        },
        ["spec", "destination", "namespace"] => vec![namespace(field)],
        ["spec", "source", rest @ ..] => source(field, rest)?,
        ["spec", "syncPolicy", "automated"] => vec![setting("automated"), Fact::Suspension],
        ["spec", "syncPolicy", ..] => vec![Fact::Program("how Argo CD syncs: see docs/argocd.md")],
        _ => return None,
    })
}

fn source<'a>(field: &Composed<'a>, names: &[&'a str]) -> Option<Vec<Fact<'a>>> {
    let is_chart = field.object.at(&["spec", "source", "helm"]).is_some();
    Some(match names {
        ["repoURL"] if is_chart => vec![Fact::AddonRepository],
        ["chart"] => vec![Fact::Addon(&["chart", "name"])],
        ["targetRevision"] if is_chart => vec![Fact::AddonVersion, Fact::ReleaseChoice],
        ["helm", "releaseName"] => vec![Fact::Addon(&["release", "name"])],
        ["helm", "valuesObject"] => vec![Fact::AddonValues],
        ["repoURL"] => vec![Fact::Fleet(vec!["source", "url"])],
        ["targetRevision"] => vec![Fact::Fleet(vec!["source"])],
        ["path"] if !is_chart => vec![Fact::Folder(unit(field))],
        ["plugin", ..] => vec![Fact::Fleet(vec!["decryption", "plugin"])],
        ["directory", ..] => vec![Fact::Program("the files of the folder are applied as they are")],
        _ => return None,
    })
}

fn project<'a>(field: &Composed<'a>, names: &[&'a str]) -> Option<Vec<Fact<'a>>> {
    let of_addons = field.name().ends_with(".addons");
    Some(match names {
        ["metadata", "name"] | ["spec", "description"] => vec![Fact::Management, Fact::Namespace],
        ["metadata", "namespace"] => vec![setting("namespace")],
        ["metadata", "annotations", ..] => vec![PROJECTS_FIRST],
        ["spec", "destinations", "", "name" | "server"] => {
            vec![setting(if of_addons { "clusterNames" } else { "destination" })]
        }
        ["spec", "destinations", "", "namespace"] if !of_addons => vec![Fact::Namespace],
        // The template that produces the kind.
        ["spec", "namespaceResourceWhitelist", ..] if field.node.origin.written().is_some() => return None,
        ["spec", "sourceRepos", ""] => vec![Fact::Repository(field.node.as_str()?)],
        ["spec", ..] => {
            vec![Fact::Program("what Applications of the project may apply: see docs/argocd.md")]
        }
        _ => return None,
    })
}

/// A setting of Argo CD.
fn setting(key: &str) -> Fact<'_> {
    Fact::Fleet(vec!["argocd", key])
}

/// The name of the unit that an Application applies. The Application's name is prefixed with the management cluster.
fn unit<'a>(field: &Composed<'a>) -> &'a str {
    let name = field.name();
    let unit = name.split_once('.').map_or(name, |(_, unit)| unit);
    unit.strip_suffix(".manifests").unwrap_or(unit)
}

fn is_tenant(project: &Node) -> bool {
    project.as_str().is_some_and(|name| name.contains(".namespace."))
}

/// The facts behind the namespace for objects that have none. The Application's own namespace is Argo CD's.
fn namespace<'a>(field: &Composed<'a>) -> Fact<'a> {
    let own = field.object.at(&["metadata", "namespace"]).and_then(Node::as_str);
    match field.addon {
        Some(_) => Fact::Addon(&["release", "namespace"]),
        None if field.node.as_str() == own => setting("namespace"),
        None if unit(field).starts_with("release.") => Fact::Fleet(vec!["classNamespace"]),
        None => Fact::Namespace,
    }
}
