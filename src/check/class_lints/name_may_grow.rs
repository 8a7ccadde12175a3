//! Finds names that are built from other names and may become too long.

use serde_json::Value as Json;

use super::{
    Lint, LintFinding,
    class::{Operation, Value, View},
    probe::{Fill, LONG, builtin, data},
};
use crate::topology::variables::lookup as variable;

pub(super) static LINT: Lint = Lint {
    name: "name-may-grow",
    docs: "The name of a cluster or pool can have 63 characters. The name of an AWS load balancer can have 32, the name \
           of a node and the value of a node's label 63. A name made of such a name, or of one and more text, is \
           refused for the first cluster with a long name, or its machines never become nodes.",
    find,
};

/// A field with a length limit: the prefix of the template kinds that have it, the end of its path, and the maximum number
/// of characters.
struct Field {
    kind: &'static str,
    path: &'static str,
    most: usize,
}

const FIELDS: [Field; 3] = [
    // `MaxLength:=32` in api/v1beta2/awscluster_types.go of Cluster API's AWS provider.
    Field { kind: "AWSClusterTemplate", path: "/controlPlaneLoadBalancer/name", most: 32 },
    Field { kind: "AWSClusterTemplate", path: "/secondaryControlPlaneLoadBalancer/name", most: 32 },
    // The kubelet writes the host name into the label `kubernetes.io/hostname`.
    Field { kind: "Kubeadm", path: "/nodeRegistration/name", most: LABEL },
];

/// The maximum length of a label value, in characters.
const LABEL: usize = 63;

/// Kubelet arguments that contain labels: `key=value` and `key=value:effect`.
const LABELS: [&str; 2] = ["node-labels", "register-with-taints"];

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    let mut data = data(view, Fill::All);
    data["builtin"] = builtin(LONG);
    for operation in &view.operations {
        let Some(made) = value(operation, &data) else { continue };
        let mut longest = None;
        look(&made, operation.path, operation.kind, &mut longest);
        let Some(OverlongValue { what, length, most }) = longest else { continue };
        found.push(LintFinding {
            lint: LINT.name,
            origin: operation.origin,
            message: format!(
                "the patch `{}` makes {what} of up to {length} characters, but only {most} are allowed",
                operation.patch
            ),
            hint: format!("shorten it in a template: `| trunc {most} | trimSuffix \"-\"`"),
        });
    }
}

fn value(operation: &Operation<'_>, data: &Json) -> Option<Json> {
    match &operation.value {
        Value::Variable(path) => variable(|name| data.get(name), path).ok(),
        _ => operation.made(data),
    }
}

/// A value that is too long.
struct OverlongValue {
    what: String,
    length: usize,
    most: usize,
}

fn look(value: &Json, path: &str, kind: &str, longest: &mut Option<OverlongValue>) {
    let mut tell = |what: String, text: &str, most: usize| {
        let length = text.chars().count();
        let more = longest.as_ref().is_none_or(|other| other.length < length);
        if text.contains(LONG) && length > most && more {
            *longest = Some(OverlongValue { what, length, most });
        }
    };
    match value {
        Json::String(text) => {
            for field in FIELDS.iter().filter(|one| kind.starts_with(one.kind) && path.ends_with(one.path)) {
                tell(
                    format!("a `{}`", field.path.trim_start_matches('/').replace('/', ".")),
                    text,
                    field.most,
                );
            }
        }
        Json::Array(items) => {
            for item in items {
                look(item, &format!("{path}/-"), kind, longest);
            }
        }
        Json::Object(fields) => {
            let argument = fields.get("name").and_then(Json::as_str).filter(|name| LABELS.contains(name));
            if let (Some(name), Some(text)) = (argument, fields.get("value").and_then(Json::as_str)) {
                for label in text.split(',').filter_map(|one| one.split_once('=')) {
                    let label = label.1.split(':').next().unwrap_or_default();
                    tell(format!("a value in the kubelet's `{name}`"), label, LABEL);
                }
            }
            for (key, inner) in fields {
                look(inner, &format!("{path}/{key}"), kind, longest);
            }
        }
        _ => {}
    }
}
