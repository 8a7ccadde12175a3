//! Where the fields of Argo CD's objects come from.

use super::KEEP;
use crate::{
    render::{
        AppliedFolder, Purpose,
        provenance::{ComposedField, Provenance},
    },
    yaml::{Node, Path},
};

const CLUSTER: Provenance<'_> = Provenance::Definition(&["metadata", "name"]);
const PROJECTS_FIRST: Provenance<'_> =
    Provenance::Program("projects come before the Applications that are in them");

/// Where a field that Argo CD reads comes from; none if the field's own origin is enough.
pub(super) fn of<'a>(field: &ComposedField<'a>) -> Option<Vec<Provenance<'a>>> {
    let names = field.path.names();
    if let ["metadata", "annotations", annotation] = names.as_slice()
        && *annotation == KEEP.0
    {
        let why = "git alone never deletes this, and neither does deleting its Application";
        return Some(vec![Provenance::Program(why)]);
    }
    match field.kind() {
        "Application" => application(field, &names),
        "AppProject" => project(field, &names),
        _ => None,
    }
}

fn application<'a>(field: &ComposedField<'a>, names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    Some(match names {
        ["metadata", "name"] => match field.facts.applied()? {
            AppliedFolder::Fleet => vec![Provenance::Management],
            applied => vec![Provenance::Applied(applied), Provenance::Management],
        },
        ["metadata", "namespace"] => vec![setting("namespace")],
        ["metadata", "labels", "stackloom.dev/management-cluster"] => vec![Provenance::Management],
        ["metadata", "labels", "stackloom.dev/namespace"] => vec![Provenance::Namespace],
        ["metadata", "labels", ..] => vec![CLUSTER],
        ["metadata", "finalizers", ..] => {
            vec![
                Provenance::Program("deleting the Application deletes what it applied"),
                Provenance::Suspension,
            ]
        }
        ["metadata", "annotations", "argocd.argoproj.io/sync-wave"] => {
            vec![Provenance::Addon(&["stage"]), Provenance::Addon(&["dependsOn"])]
        }
        ["metadata", "annotations", ..] => {
            vec![Provenance::Program("how Argo CD compares and waits: see docs/argocd.md")]
        }
        ["spec", "project"] if is_tenant(field) => vec![Provenance::Management, Provenance::Namespace],
        ["spec", "project"] => vec![setting("project")],
        ["spec", "destination", "name" | "server"] => match field.addon() {
            Some(_) => vec![setting("clusterNames"), CLUSTER, Provenance::Namespace],
            None => vec![setting("destination")],
        },
        ["spec", "destination", "namespace"] => vec![namespace(field)],
        ["spec", "source", rest @ ..] => {
            source(field, field.object.at(&["spec", "source", "helm"]).is_some(), rest)?
        }
        ["spec", "sources", "", rest @ ..] => source(field, is_chart_of_several(field), rest)?,
        ["spec", "syncPolicy", "automated"] => vec![setting("automated"), Provenance::Suspension],
        ["spec", "revisionHistoryLimit"] => {
            vec![Provenance::Program("no copies of the values in the history: see docs/deliveries.md")]
        }
        ["spec", "syncPolicy", ..] => vec![Provenance::Program("how Argo CD syncs: see docs/argocd.md")],
        _ => return None,
    })
}

/// Whether a field is in the chart among several sources, and not in the repository beside it.
fn is_chart_of_several(field: &ComposedField<'_>) -> bool {
    let to_source = field.path.segments().iter().take(3).cloned();
    let source = to_source.fold(Path::default(), |path, segment| path.to(segment));
    source.find(field.object).is_some_and(|source| source.get("ref").is_none())
}

fn source<'a>(field: &ComposedField<'a>, is_chart: bool, names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    Some(match names {
        ["repoURL"] if is_chart => vec![Provenance::AddonRepository],
        ["chart"] => vec![Provenance::Addon(&["chart", "name"])],
        ["targetRevision"] if is_chart => vec![Provenance::AddonVersion, Provenance::ReleaseChoice],
        ["helm", "releaseName"] => vec![Provenance::Addon(&["release", "name"])],
        ["helm", "valuesObject"] => vec![Provenance::AddonValues],
        ["helm", "valueFiles", ..] => vec![
            Provenance::Management,
            Provenance::Namespace,
            CLUSTER,
            Provenance::Addon(&[]),
            Provenance::Addon(&["chart", "name"]),
            Provenance::Addon(&["release", "name"]),
            Provenance::AddonRepository,
            Provenance::AddonVersion,
            Provenance::AddonValues,
            Provenance::ReleaseChoice,
        ],
        ["ref"] => {
            vec![Provenance::Program("the name under which the chart refers to files of the repository")]
        }
        ["repoURL"] => vec![Provenance::Fleet(vec!["source", "url"])],
        ["targetRevision"] => vec![Provenance::SourceReference],
        ["path"] if !is_chart => vec![Provenance::Folder(field.facts.applied()?)],
        ["plugin", ..] => vec![Provenance::Fleet(vec!["decryption", "plugin"])],
        ["directory", ..] => vec![Provenance::Program("the files of the folder are applied as they are")],
        _ => return None,
    })
}

fn project<'a>(field: &ComposedField<'a>, names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    let of_addons = field.facts.purpose == Purpose::AddonProject;
    Some(match names {
        ["metadata", "name"] | ["spec", "description"] => vec![Provenance::Management, Provenance::Namespace],
        ["metadata", "namespace"] => vec![setting("namespace")],
        ["metadata", "annotations", ..] => vec![PROJECTS_FIRST],
        ["spec", "destinations", "", "name" | "server"] => {
            vec![setting(if of_addons { "clusterNames" } else { "destination" })]
        }
        ["spec", "destinations", "", "namespace"] if !of_addons => vec![Provenance::Namespace],
        // The template that produces the kind.
        ["spec", "namespaceResourceWhitelist", ..] if field.node.origin.written().is_some() => return None,
        ["spec", "sourceRepos", ""] => vec![Provenance::Repository(field.node.as_str()?)],
        ["spec", ..] => {
            vec![Provenance::Program("what Applications of the project may apply: see docs/argocd.md")]
        }
        _ => return None,
    })
}

fn setting(key: &str) -> Provenance<'_> {
    Provenance::Fleet(vec!["argocd", key])
}

fn is_tenant(field: &ComposedField<'_>) -> bool {
    matches!(field.facts.purpose, Purpose::Applies { in_tenant_project: true, .. })
}

/// Where the namespace of objects without one comes from. The Application's own namespace is Argo CD's.
fn namespace<'a>(field: &ComposedField<'a>) -> Provenance<'a> {
    let own = field.object.at(&["metadata", "namespace"]).and_then(Node::as_str);
    match field.addon() {
        Some(_) => Provenance::Addon(&["release", "namespace"]),
        None if field.node.as_str() == own => setting("namespace"),
        None if field.facts.release().is_some() => Provenance::Fleet(vec!["classNamespace"]),
        None => Provenance::Namespace,
    }
}
