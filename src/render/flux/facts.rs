//! The facts behind the fields of Flux's objects.

use super::{PRUNE, SUBSTITUTE};
use crate::{
    render::facts::{ChartFact, Composed, Fact},
    yaml::Node,
};

/// The facts behind a field that Flux reads; none if the field's own origin is enough.
pub(in crate::render) fn of<'a>(field: &Composed<'a>) -> Option<Vec<Fact<'a>>> {
    let names = field.path.names();
    if let ["metadata", "annotations", annotation] = names.as_slice() {
        let why = match *annotation {
            name if name == PRUNE.0 => "git alone never deletes this, whatever the engine prunes",
            name if name == SUBSTITUTE.0 => "a text in it contains `${`, which Flux must leave unchanged",
            _ => return None,
        };
        return Some(vec![Fact::Program(why)]);
    }
    match field.kind() {
        "Kustomization" => kustomization(field, &names),
        "GitRepository" => git_repository(&names),
        "HelmRepository" | "HelmChart" | "OCIRepository" => chart(field, &names),
        _ => None,
    }
}

fn kustomization<'a>(field: &Composed<'a>, names: &[&'a str]) -> Option<Vec<Fact<'a>>> {
    let name = field.name();
    Some(vec![match names {
        ["metadata", "name"] => Fact::Unit(name),
        ["metadata", "namespace"] if name.contains(".addon.") => Fact::Namespace,
        ["spec", "path"] => Fact::Folder(name),
        ["spec", "sourceRef", key] => Fact::Source(key),
        ["spec", "dependsOn"] => Fact::Dependencies { charts: false },
        ["spec", "dependsOn", "", ..] => Fact::Unit(field.above(3)?.get("name").and_then(Node::as_str)?),
        ["spec", "targetNamespace"] => Fact::Fleet(vec!["classNamespace"]),
        ["spec", "decryption", "provider"] => Fact::Fleet(vec!["decryption", "provider"]),
        ["spec", "decryption", ..] => Fact::Fleet(vec!["decryption", "secret"]),
        ["spec", "kubeConfig", ..] | ["spec", "healthChecks", "", "name"] => {
            Fact::Definition(&["metadata", "name"])
        }
        ["spec", "healthChecks", "", "namespace"] => Fact::Namespace,
        ["spec", "suspend"] => Fact::Suspension,
        ["spec", "interval" | "retryInterval" | "timeout"] => {
            Fact::Program("how long Flux takes and waits: see docs/flux.md")
        }
        ["spec", "deletionPolicy"] => Fact::Program("deleting the Kustomization leaves what it applied"),
        ["spec", "prune"] => Fact::Program("what leaves the folder is deleted, unless it is protected"),
        ["spec", "healthCheckExprs" | "healthChecks", ..] => {
            Fact::Program("what it waits for: see docs/flux.md")
        }
        _ => return None,
    }])
}

fn git_repository<'a>(names: &[&'a str]) -> Option<Vec<Fact<'a>>> {
    Some(vec![match names {
        ["metadata", "name"] => Fact::FleetName,
        ["spec", "url"] => Fact::Fleet(vec!["source", "url"]),
        ["spec", "ref", key] => Fact::Fleet(vec!["source", key]),
        ["spec", "secretRef", ..] => Fact::Fleet(vec!["source", "secret"]),
        ["spec", "interval"] => Fact::Program("how often Flux polls if there is no webhook"),
        _ => return None,
    }])
}

/// A chart, which all clusters that use it share.
fn chart<'a>(field: &Composed<'a>, names: &[&'a str]) -> Option<Vec<Fact<'a>>> {
    let what = match names {
        ["spec", "version"] | ["spec", "ref", "tag"] => ChartFact::Version,
        ["spec", "chart"] => ChartFact::Name,
        ["spec", "url" | "sourceRef", ..] => ChartFact::Repository,
        ["metadata", "name"] => ChartFact::Identity,
        ["spec", "interval"] => return Some(vec![Fact::Program("how often Flux polls the registry")]),
        _ => return None,
    };
    Some(vec![Fact::Chart(field.name(), what)])
}
