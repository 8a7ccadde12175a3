//! Where the fields of Flux's objects come from.

use super::{PRUNE, SUBSTITUTE};
use crate::render::{
    Purpose,
    provenance::{ChartProvenance, ComposedField, Provenance},
};

/// Where a field that Flux reads comes from; none if the field's own origin is enough.
pub(super) fn of<'a>(field: &ComposedField<'a>) -> Option<Vec<Provenance<'a>>> {
    let names = field.path.names();
    if let ["metadata", "annotations", annotation] = names.as_slice() {
        let why = match *annotation {
            name if name == PRUNE.0 => "git alone never deletes this, whatever the engine prunes",
            name if name == SUBSTITUTE.0 => "a text in it contains `${`, which Flux must leave unchanged",
            _ => return None,
        };
        return Some(vec![Provenance::Program(why)]);
    }
    match field.kind() {
        "Kustomization" => kustomization(field, &names),
        "GitRepository" => git_repository(&names),
        "HelmRepository" | "HelmChart" | "OCIRepository" => chart(field, &names),
        _ => None,
    }
}

fn kustomization<'a>(field: &ComposedField<'a>, names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    Some(vec![match names {
        ["metadata", "name"] => Provenance::Applied(field.facts.applied()?),
        ["metadata", "namespace"] if field.addon().is_some() => Provenance::Namespace,
        ["spec", "path"] => Provenance::Folder(field.facts.applied()?),
        ["spec", "sourceRef", key] => Provenance::Source(key),
        ["spec", "dependsOn"] => Provenance::Dependencies { charts: false, of_stages: false },
        ["spec", "dependsOn", "", ..] => Provenance::Unit(field.awaited()?),
        ["spec", "targetNamespace"] => Provenance::Fleet(vec!["classNamespace"]),
        ["spec", "decryption", "provider"] => Provenance::Fleet(vec!["decryption", "provider"]),
        ["spec", "decryption", ..] => Provenance::Fleet(vec!["decryption", "secret"]),
        ["spec", "kubeConfig", ..] | ["spec", "healthChecks", "", "name"] => {
            Provenance::Definition(&["metadata", "name"])
        }
        ["spec", "healthChecks", "", "namespace"] => Provenance::Namespace,
        ["spec", "suspend"] => Provenance::Suspension,
        ["spec", "interval" | "retryInterval" | "timeout"] => {
            Provenance::Program("how long Flux takes and waits: see docs/flux.md")
        }
        ["spec", "deletionPolicy"] => {
            Provenance::Program("deleting the Kustomization leaves what it applied")
        }
        ["spec", "prune"] => Provenance::Program("what leaves the folder is deleted, unless it is protected"),
        ["spec", "healthCheckExprs" | "healthChecks", ..] => {
            Provenance::Program("what it waits for: see docs/flux.md")
        }
        _ => return None,
    }])
}

fn git_repository<'a>(names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    Some(vec![match names {
        ["metadata", "name"] => Provenance::FleetName,
        ["spec", "url"] => Provenance::Fleet(vec!["source", "url"]),
        ["spec", "ref", key] => Provenance::Fleet(vec!["source", key]),
        ["spec", "secretRef", ..] => Provenance::Fleet(vec!["source", "secret"]),
        ["spec", "interval"] => Provenance::Program("how often Flux polls if there is no webhook"),
        _ => return None,
    }])
}

/// A chart, which all clusters that use it share.
fn chart<'a>(field: &ComposedField<'a>, names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    let what = match names {
        ["spec", "version"] | ["spec", "ref", "tag"] => ChartProvenance::Version,
        ["spec", "chart"] => ChartProvenance::Name,
        ["spec", "url" | "sourceRef", ..] => ChartProvenance::Repository,
        ["metadata", "name"] => ChartProvenance::Identity,
        ["spec", "interval"] => return Some(vec![Provenance::Program("how often Flux polls the registry")]),
        _ => return None,
    };
    let Purpose::Chart(name) = &field.facts.purpose else { return None };
    Some(vec![Provenance::Chart(name, what)])
}
