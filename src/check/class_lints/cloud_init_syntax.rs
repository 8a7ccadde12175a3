//! Finds text for machines that is invalid as a cloud-init template.

use serde_json::Value as Json;

use super::{
    Lint, LintFinding,
    class::{Value, View},
    probe::{Fill, data},
};
use crate::yaml::{Node, Origin, to_json};

pub(super) static LINT: Lint = Lint {
    name: "cloud-init-syntax",
    docs: "cloud-init evaluates everything that a machine boots with as a Jinja template, including files and commands. \
           `{#` begins a comment, which bash's `${#list[@]}` never ends, and `{{ .Name }}` is an error. cloud-init then \
           uses none of it, and the machine never joins.",
    find,
};

/// The fields of a kubeadm configuration that reach cloud-init unchanged.
const COMMANDS: [&str; 3] = ["bootCommands", "preKubeadmCommands", "postKubeadmCommands"];

/// Keywords that may start a statement.
const STATEMENTS: [&str; 20] = [
    "block",
    "call",
    "do",
    "elif",
    "else",
    "endblock",
    "endcall",
    "endfilter",
    "endfor",
    "endif",
    "endmacro",
    "endraw",
    "endset",
    "filter",
    "for",
    "if",
    "macro",
    "raw",
    "set",
    "with",
];

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    for object in view.templates {
        let kind = object.get("kind").and_then(Node::as_str).unwrap_or_default();
        let config: &[&str] = match kind {
            "KubeadmConfigTemplate" => &["spec", "template", "spec"],
            "KubeadmControlPlaneTemplate" => &["spec", "template", "spec", "kubeadmConfigSpec"],
            _ => continue,
        };
        let Some(config) = object.at(config) else { continue };
        if config.get("format").and_then(Node::as_str) == Some("ignition") {
            continue;
        }
        for field in ["files"].iter().chain(&COMMANDS) {
            for item in config.get(field).and_then(Node::as_sequence).unwrap_or_default() {
                tell(&to_json(item), &format!("/{field}/-"), &format!("`{kind}`"), item.origin, found);
            }
        }
    }
    let data = data(view, Fill::All);
    for operation in view.operations.iter().filter(|one| one.kind.starts_with("Kubeadm")) {
        let made = match &operation.value {
            Value::Template(..) => operation.made(&data),
            Value::Given(node) => Some(to_json(node)),
            Value::Variable(_) | Value::None => None,
        };
        if let Some(made) = made {
            tell(&made, operation.path, &format!("the patch `{}`", operation.patch), operation.origin, found);
        }
    }
}

fn tell(value: &Json, path: &str, owner: &str, origin: Origin, found: &mut Vec<LintFinding>) {
    let Some(wrong) = first(value, path) else { return };
    found.push(LintFinding {
        lint: LINT.name,
        origin,
        message: format!("{owner} gives machines a text with `{wrong}`, which cloud-init cannot read"),
        hint:
            "put it between `{% raw %}` and `{% endraw %}`, or pass the file in base64 (`encoding: base64`)"
                .to_owned(),
    });
}

/// The first text in a value that cloud-init cannot process.
fn first(value: &Json, path: &str) -> Option<String> {
    match value {
        Json::String(text) if reaches(path) => stumbles(text),
        Json::Array(items) => items.iter().find_map(|item| first(item, &format!("{path}/-"))),
        Json::Object(fields) => {
            let coded = fields.get("encoding").and_then(Json::as_str).is_some_and(|name| !name.is_empty());
            let mut plain = fields.iter().filter(|(key, _)| !(coded && *key == "content"));
            plain.find_map(|(key, value)| first(value, &format!("{path}/{key}")))
        }
        _ => None,
    }
}

fn reaches(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (last, owner) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_file = last == "content" && path.contains("/files/");
    is_file || COMMANDS.contains(&owner)
}

/// The first part of a text that is not valid Jinja.
fn stumbles(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        let Some(kind) = rest.chars().nth(1).filter(|next| "#{%".contains(*next)) else {
            rest = &rest[1..];
            continue;
        };
        let inner = rest[2..].trim_start_matches(['-', '+']).trim_start();
        let word: String = inner.chars().take_while(char::is_ascii_alphabetic).collect();
        let wrong = match kind {
            '#' => true,
            '%' => !STATEMENTS.contains(&word.as_str()),
            _ => inner.starts_with(['.', '$', '#', '/', '@', '}', '%', '|', '*', '=', ',', ')', ']', ':']),
        };
        if wrong {
            return Some(rest.lines().next().unwrap_or_default().chars().take(20).collect());
        }
        let end = match (kind, word.as_str()) {
            ('%', "raw") => rest.find("endraw")?,
            ('%', _) => rest.find("%}")?,
            _ => rest.find("}}")?,
        };
        rest = &rest[end..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jinja_reads_is_left_alone() {
        for text in [
            "name: {{ ds.meta_data.local_hostname }}",
            "{{ local_hostname }} ${var} ${var:-x} $(x) {a,b} { x; }",
            "{% if v1.distro == 'ubuntu' %}a{% endif %}",
            "{%- raw -%}${#list[@]} {{ .Name }}{% endraw %} {{ instance_id }}",
            "docker ps --format '{{ \"{{\" }}.ID}}'",
            "{{ (a | b) }} {{- -1 }}",
        ] {
            assert_eq!(stumbles(text), None, "{text}");
        }
    }

    #[test]
    fn what_it_cannot_read_is_named() {
        for (text, wrong) in [
            ("for i in ${#list[@]}; do", "{#list[@]}; do"),
            ("crictl inspect -o go-template --template '{{ .status.id }}'", "{{ .status.id }}'"),
            ("{{ a }} {{$x}}", "{{$x}}"),
            ("date +%s {%foo%}\nx", "{%foo%}"),
        ] {
            assert_eq!(stumbles(text).as_deref(), Some(wrong), "{text}");
        }
    }
}
