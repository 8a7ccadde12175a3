//! Values and manifests for the operator: what depends on the release alone is evaluated now; the name and the namespace
//! of a cluster are left to the operator's Go templates.

use super::super::{Release, ReleaseAddon};
use crate::{
    definition::StackTemplate,
    note::Notes,
    template::Context,
    yaml::{Mapping, Node, Value, emit, quote},
};

/// What the operator knows of a cluster.
pub(super) struct Known {
    /// Its path in our templates.
    pub(super) path: &'static str,
    /// The word that stands for it while they are evaluated. It holds a character that the emitter writes in double quotes
    /// alone, so whatever scalar it stands in stays a text, and the same text, when a name takes its place.
    stand_in: &'static str,
    /// Where the operator's own templates have it.
    of_operator: &'static str,
    /// Where those of a chart of manifests have it.
    of_manifests: &'static str,
}

/// All of it.
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

/// Ends what would be a block that keeps its empty lines, so that it is quoted, too: who cuts a document out of a file,
/// as helm and the operator do, cuts the empty lines off at its end.
const END: &str = "\u{e000}end\u{e000}";

/// `overwrite.yaml` of an addon's chart: its values, under the one key that the operator takes as text.
pub(super) fn of_chart(release: &Release, one: &ReleaseAddon, notes: &mut Notes) -> Option<String> {
    let documents = match &one.values {
        Some(values) => rendered(release, one, values, notes)?,
        None => Vec::new(),
    };
    let values = documents.into_iter().next().unwrap_or_else(|| Mapping::new().into());
    Some(overwrite(&filled(&values, |known| known.of_operator)))
}

/// `overwrite.yaml` of a chart of manifests.
pub(super) fn of_manifests() -> String {
    overwrite(
        "clusterName: {{ .Cluster.metadata.name | quote }}\nclusterNamespace: {{ .Cluster.metadata.namespace | quote }}\n",
    )
}

/// The manifests of an addon, each for a file of its own.
pub(super) fn manifests(release: &Release, one: &ReleaseAddon, notes: &mut Notes) -> Option<Vec<String>> {
    let objects = objects(release, one, notes)?;
    Some(objects.iter().map(|(_, object)| filled(object, |known| known.of_manifests)).collect())
}

/// The objects of an addon's manifests, with stand-ins in them, each with the template that it is of.
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

/// A text with stand-ins in it, as its template says it.
pub(super) fn said(text: &str) -> String {
    let back =
        |text: String, known: &Known| text.replace(known.stand_in, &format!("${{{{ {} }}}}", known.path));
    KNOWN.iter().fold(text.to_owned(), back)
}

/// A text in which no Go template finds anything to do.
pub(super) fn literal(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}

/// The text as the value of `values`: the operator evaluates the file first and reads it afterwards.
fn overwrite(text: &str) -> String {
    let lines =
        text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
    format!("values: |\n{}", lines.collect::<String>())
}

/// A document with what the operator or a chart puts in.
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
        // A brace before it would be read as part of it.
        text = text.replace(&format!("{{{written}"), &format!("{{{{ \"{{\" }}}}{action}"));
        text = text.replace(&written, &action);
    }
    text
}

/// The document with [`END`] behind every text that needs it.
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

/// What can be said without a cluster.
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

    fn reported(text: &str) -> String {
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
            assert_eq!(reported(text), written, "{text}");
        }
    }

    #[test]
    fn empty_lines_at_the_end_of_a_text_are_not_those_of_the_file() {
        assert_eq!(reported("end\n\n\n"), r#"x: "end\n\n\n""#);
        assert_eq!(reported("end\n"), "x: |\n  end");
    }

    #[test]
    fn braces_beside_a_name_are_no_part_of_what_is_evaluated() {
        assert_eq!(reported("{NAME}"), r#"x: "{{ "{" }}{{ .Cluster.metadata.name }}}""#);
        assert_eq!(reported("{{{NAME"), r#"x: "{{ "{{" }}{{ "{" }}{{ .Cluster.metadata.name }}""#);
        assert_eq!(reported("{{ x }}"), r#"x: '{{ "{{" }} x }}'"#);
    }
}
