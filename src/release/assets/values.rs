//! Values and manifests for the operator. Expressions that depend only on the release are evaluated now; the name and
//! namespace of a cluster are left to the operator's Go templates.

use super::super::{Release, ReleaseAddon};
use crate::{
    definition::StackTemplate,
    note::Notes,
    template::Context,
    yaml::{Mapping, Node, Value, emit, quote},
};

/// A value of a cluster that the operator knows.
pub(super) struct Known {
    /// The path in our templates.
    pub(super) path: &'static str,
    /// The placeholder during evaluation. It contains a character that the emitter writes only in double quotes. So a scalar
    /// that contains it stays the same text when the name replaces it.
    stand_in: &'static str,
    /// The path in the operator's own templates.
    of_operator: &'static str,
    /// The path in the templates of a chart of manifests.
    of_manifests: &'static str,
}

/// All values of a cluster that the operator knows.
pub(super) const KNOWN: [Known; 2] = [
    Known {
        path: "cluster.name",
        stand_in: "\u{e000}cluster.name\u{e000}",
        of_operator: ".Cluster.metadata.name",
        of_manifests: ".Values.clusterName",
    },
    Known {
        path: "cluster.namespace",
        stand_in: "\u{e000}cluster.namespace\u{e000}",
        of_operator: ".Cluster.metadata.namespace",
        of_manifests: ".Values.clusterNamespace",
    },
];

/// Appended to a text that would otherwise be a block scalar with trailing empty lines, so that it is quoted instead. Helm
/// and the operator cut documents out of a file and strip their trailing empty lines.
const END: &str = "\u{e000}end\u{e000}";

/// Writes `overwrite.yaml` of an addon's chart: its values as text, under the only key that the operator reads.
pub(super) fn of_chart(release: &Release, one: &ReleaseAddon, notes: &mut Notes) -> Option<String> {
    let documents = match &one.values {
        Some(values) => rendered(release, one, values, notes)?,
        None => Vec::new(),
    };
    let values = documents.into_iter().next().unwrap_or_else(|| Mapping::new().into());
    Some(overwrite(&filled(&values, |known| known.of_operator)))
}

/// Writes `overwrite.yaml` of a chart of manifests.
pub(super) fn of_manifests() -> String {
    overwrite(
        "clusterName: {{ .Cluster.metadata.name | quote }}\nclusterNamespace: {{ .Cluster.metadata.namespace | quote }}\n",
    )
}

/// Writes the manifests of an addon, each as a separate file.
pub(super) fn manifests(release: &Release, one: &ReleaseAddon, notes: &mut Notes) -> Option<Vec<String>> {
    let objects = objects(release, one, notes)?;
    Some(objects.iter().map(|(_, object)| filled(object, |known| known.of_manifests)).collect())
}

/// Renders an addon's manifests with placeholders. Each object comes with its template.
pub(super) fn objects<'a>(
    release: &Release,
    one: &'a ReleaseAddon,
    notes: &mut Notes,
) -> Option<Vec<(&'a StackTemplate, Node)>> {
    let mut objects = Vec::new();
    for template in &one.manifests {
        let of_template = rendered(release, one, template, notes)?;
        objects.extend(of_template.into_iter().map(|object| (template, object)));
    }
    Some(objects)
}

/// Replaces placeholders with the expressions of the template.
pub(super) fn with_expressions(text: &str) -> String {
    let back =
        |text: String, known: &Known| text.replace(known.stand_in, &format!("${{{{ {} }}}}", known.path));
    KNOWN.iter().fold(text.to_owned(), back)
}

/// Escapes a text so that Go templates leave it unchanged.
pub(super) fn literal(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}

/// Writes a text as the value of `values`. The operator evaluates the file as a template first and parses it afterwards.
fn overwrite(text: &str) -> String {
    let lines =
        text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
    format!("values: |\n{}", lines.collect::<String>())
}

/// Writes a document with the template actions of the operator or of a chart.
fn filled(document: &Node, place: impl Fn(&Known) -> &'static str) -> String {
    let as_written = |word: &str| {
        let mut written = String::new();
        quote(word, &mut written);
        written
    };
    let mut text = String::new();
    emit(&ended(document), &mut text);
    let mut text = literal(&text).replace(&as_written(END), "");
    for known in &KNOWN {
        let written = as_written(known.stand_in);
        let action = format!("{{{{ {} }}}}", place(known));
        // A preceding brace would be read as part of the action.
        text = text.replace(&format!("{{{written}"), &format!("{{{{ \"{{\" }}}}{action}"));
        text = text.replace(&written, &action);
    }
    text
}

/// Appends [`END`] to every text that needs it.
fn ended(node: &Node) -> Node {
    let origin = node.origin;
    let ended = match &node.value {
        Value::String(text) if text.ends_with("\n\n") => Node::from(format!("{text}{END}")),
        Value::Sequence(items) => Node::from(items.iter().map(ended).collect::<Vec<_>>()),
        Value::Mapping(mapping) => {
            let mut copy = Mapping::new();
            for entry in mapping.iter() {
                copy.insert(entry.key.clone(), ended(&entry.value));
            }
            Node::from(copy)
        }
        _ => return node.clone(),
    };
    ended.with_origin(origin)
}

fn rendered(
    release: &Release,
    one: &ReleaseAddon,
    template: &StackTemplate,
    notes: &mut Notes,
) -> Option<Vec<Node>> {
    template.template.objects(&context(release, one), notes)
}

/// The template context that is available without a cluster.
fn context(release: &Release, one: &ReleaseAddon) -> Context {
    let mut context = Context::default();
    for entry in release.context().iter() {
        context.set(&entry.key.name, entry.value.clone());
    }
    let mut addon = Mapping::new();
    addon.set("name", one.addon.name.as_str());
    addon.set_some("version", one.version.as_ref().map(ToString::to_string));
    context.set("addon", addon);
    let mut cluster = Mapping::new();
    for known in &KNOWN {
        cluster.set(known.path.trim_start_matches("cluster."), known.stand_in);
    }
    context.set("cluster", cluster);
    context
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str) -> String {
        let text = text.replace("NAME", KNOWN[0].stand_in).replace("SPACE", KNOWN[1].stand_in);
        let mut document = Mapping::new();
        document.set("x", text.as_str());
        filled(&document.into(), |known| known.of_operator).trim_end().to_owned()
    }

    #[test]
    fn a_text_with_a_name_in_it_is_quoted_as_a_whole_and_the_name_never() {
        for (text, written) in [
            ("NAME", r#"x: "{{ .Cluster.metadata.name }}""#),
            ("cluster - NAME", r#"x: "cluster - {{ .Cluster.metadata.name }}""#),
            ("NAME.5", r#"x: "{{ .Cluster.metadata.name }}.5""#),
            ("SPACE/NAME", r#"x: "{{ .Cluster.metadata.namespace }}/{{ .Cluster.metadata.name }}""#),
            (
                "name: NAME\nlist:\n  - NAME\n",
                concat!(
                    r#"x: "name: {{ .Cluster.metadata.name }}\nlist:\n  - "#,
                    r#"{{ .Cluster.metadata.name }}\n""#,
                ),
            ),
            (r#"say "NAME" \"#, r#"x: "say \"{{ .Cluster.metadata.name }}\" \\""#),
        ] {
            assert_eq!(scalar(text), written, "{text}");
        }
    }

    #[test]
    fn empty_lines_at_the_end_of_a_text_are_not_those_of_the_file() {
        assert_eq!(scalar("end\n\n\n"), r#"x: "end\n\n\n""#);
        assert_eq!(scalar("end\n"), "x: |\n  end");
    }

    #[test]
    fn braces_beside_a_name_are_no_part_of_what_is_evaluated() {
        assert_eq!(scalar("{NAME}"), r#"x: "{{ "{" }}{{ .Cluster.metadata.name }}}""#);
        assert_eq!(scalar("{{{NAME"), r#"x: "{{ "{{" }}{{ "{" }}{{ .Cluster.metadata.name }}""#);
        assert_eq!(scalar("{{ x }}"), r#"x: '{{ "{{" }} x }}'"#);
    }
}
