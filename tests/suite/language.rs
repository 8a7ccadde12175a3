//! The template language: a corpus per level whose results are never edited (messages can be reworded), properties of random
//! templates, and randomly damaged templates.

use std::{fmt::Write, fs, path::Path};

use stackloom::{
    note::Notes,
    template::{Context, Template, Visible},
    yaml::{self, Node, Sources},
};

use super::sandbox::messages as shown;

fn load(text: &str, visible: Visible) -> (Option<Template>, Notes) {
    let mut sources = Sources::default();
    let id = sources.add("template.yaml", text);
    let mut notes = Notes::new();
    let template = Template::load(sources.get(id).unwrap(), 1, visible, &mut notes);
    (template, notes)
}

fn context(text: &str) -> Context {
    let mut sources = Sources::default();
    let id = sources.add("context.yaml", text);
    let mut notes = Notes::new();
    let node =
        yaml::read(sources.get(id).unwrap(), &mut notes).unwrap_or_else(|| panic!("{}", shown(&notes)));
    let mut context = Context::new();
    for entry in node.as_mapping().unwrap().iter() {
        context.set(&entry.key.name, entry.value.clone());
    }
    context
}

fn emitted(nodes: &[Node]) -> String {
    let mut out = String::new();
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            out.push_str("---\n");
        }
        yaml::emit(node, &mut out);
    }
    out
}

/// The result of a case: its documents, or its messages.
fn outcome(template: &str, context: &Context, visible: Visible) -> Result<String, String> {
    let (loaded, mut notes) = load(template, visible);
    let Some(loaded) = loaded else {
        assert!(notes.errors() > 0, "refused without a word:\n{template}");
        return Err(shown(&notes));
    };
    assert!(notes.is_empty(), "loaded with messages: {}", shown(&notes));
    let result = loaded.render(context, &mut notes);
    assert_eq!(result.is_none(), notes.errors() > 0, "{}", shown(&notes));
    let canonical = loaded.canonical();
    let (again, again_notes) = load(&canonical, visible);
    let again = again.unwrap_or_else(|| panic!("{canonical}\n{}", shown(&again_notes)));
    assert_eq!(again.canonical(), canonical);
    assert_eq!(again, loaded);
    let same = again.render(context, &mut Notes::new());
    assert_eq!(same, result, "the written template renders differently:\n{canonical}");
    result.map(|nodes| emitted(&nodes)).ok_or_else(|| shown(&notes))
}

fn visible(text: &str) -> Visible {
    match text.lines().next().and_then(|line| line.strip_prefix("# ")) {
        Some("cluster-class/") => Visible::ClusterClass,
        Some("namespace/") => Visible::Namespace,
        Some("addons/") => Visible::Addon,
        _ => Visible::Cluster,
    }
}

/// Each case contains `template.yaml`, optionally `context.yaml` (otherwise the level's context is used), and the result:
/// `expected.yaml` or `notes.txt`. A folder in the first comment line selects what the template can see.
#[test]
fn every_level_renders_its_corpus_to_the_same_bytes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language/1");
    let mut cases: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.is_dir());
    cases.sort();
    assert!(cases.len() >= 40, "{} cases", cases.len());
    let update = std::env::var("UPDATE").is_ok();
    let mut wrong = String::new();
    for case in cases {
        let template = fs::read_to_string(case.join("template.yaml")).unwrap();
        let own = fs::read_to_string(case.join("context.yaml"));
        let context =
            context(&own.unwrap_or_else(|_| fs::read_to_string(root.join("context.yaml")).unwrap()));
        let found = outcome(&template, &context, visible(&template));
        let (name, found) = match &found {
            Ok(yaml) => ("expected.yaml", yaml),
            Err(notes) => ("notes.txt", notes),
        };
        match fs::read_to_string(case.join(name)) {
            Ok(expected) if expected == *found => {}
            Ok(_) if update && name == "notes.txt" => fs::write(case.join(name), found).unwrap(),
            Ok(expected) => {
                writeln!(wrong, "{}: expected\n{expected}found\n{found}", case.display()).unwrap();
            }
            Err(_) if update && fs::read_dir(&case).unwrap().count() <= 2 => {
                fs::write(case.join(name), found).unwrap();
            }
            Err(_) => writeln!(wrong, "{}: no {name}, found\n{found}", case.display()).unwrap(),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A random template: formatted, commented and quoted at random, valid by construction.
mod made {
    use std::fmt::{Arguments, Write};

    use proptest::prelude::*;

    fn put(text: &mut String, what: Arguments<'_>) {
        text.write_fmt(what).unwrap();
    }

    /// A part of a collection, before it is written.
    #[derive(Clone, Debug)]
    pub(super) enum Part {
        Entry(Node),
        If(Vec<Part>, Vec<Part>),
        For(Vec<Part>),
        Set,
        Comment,
    }

    #[derive(Clone, Debug)]
    pub(super) enum Node {
        Scalar(String),
        Block(&'static str, Vec<String>),
        Sequence(Vec<Part>),
        Mapping(Vec<Part>),
    }

    const SCALARS: [&str; 22] = [
        "1",
        "1.5",
        "true",
        "null",
        "~",
        "",
        "text",
        "'it''s'",
        "\"a\\tb\\n\"",
        "\"\\u00a0\"",
        "a ${{ cluster.name }} b",
        "${{ cluster.name }}",
        "${{cluster.variables.rootDisk+1}}",
        "\"${{ cluster.name }}\"",
        "'${{ 'x' }}: #'",
        "\"a\\n  ${{ cluster.name }}\\n\"",
        "\"\\n${{ 1 }}\"",
        "[1, ${{ cluster.labels }}, {a: '${{ 2 }}'}]",
        "{}",
        "[]",
        "${{ {'a': [1]} }}",
        "x ${{ true ~ 0.5 }}",
    ];
    const LINES: [&str; 10] = [
        "a",
        "",
        "  indented",
        "trailing ",
        "\ttab",
        "${{ cluster.name }}",
        "x ${{ 1 }} # no comment",
        "${var} {{ x }}",
        "- a: 'b",
        "é ${{ \"é\" }}",
    ];

    fn scalar() -> impl Strategy<Value = Node> {
        prop_oneof![
            4 => prop::sample::select(&SCALARS[..]).prop_map(|text| Node::Scalar(text.to_owned())),
            1 => (prop::sample::select(&["|", "|-", "|+"][..]), block()).prop_map(|(style, lines)| Node::Block(style, lines)),
        ]
    }

    fn block() -> impl Strategy<Value = Vec<String>> {
        let line = prop::sample::select(&LINES[..]).prop_map(|line| vec![line.to_owned()]);
        let lines = line.prop_recursive(3, 12, 4, |inner| {
            prop::collection::vec(inner, 1..4).prop_flat_map(|parts| {
                let body: Vec<String> = parts.concat();
                prop::sample::select(
                    &[
                        ("#% if cluster.variables.debug", "#% endif"),
                        ("  #%  for x in [1, 2]", "#% endfor"),
                        ("#% if false\n#% else", "  #% endif"),
                        ("#% set y = 1", "${{ y }}"),
                    ][..],
                )
                .prop_map(move |(open, close)| {
                    let mut lines: Vec<String> = open.split('\n').map(str::to_owned).collect();
                    lines.extend(body.clone());
                    lines.push(close.to_owned());
                    lines
                })
            })
        });
        // The first line determines the indentation of the block.
        prop::collection::vec(lines, 0..4)
            .prop_map(|parts| std::iter::once("first".to_owned()).chain(parts.concat()).collect())
    }

    fn parts(node: impl Strategy<Value = Node> + Clone + 'static) -> impl Strategy<Value = Vec<Part>> {
        let part =
            prop_oneof![5 => node.prop_map(Part::Entry), 1 => Just(Part::Comment), 1 => Just(Part::Set)];
        let part = part.prop_recursive(2, 8, 3, |inner| {
            let many = prop::collection::vec(inner, 1..3);
            prop_oneof![
                (many.clone(), many.clone()).prop_map(|(a, b)| Part::If(a, b)),
                many.prop_map(Part::For),
            ]
        });
        prop::collection::vec(part, 1..4)
    }

    fn node() -> impl Strategy<Value = Node> {
        scalar().boxed().prop_recursive(3, 24, 3, |inner| {
            prop_oneof![parts(inner.clone()).prop_map(Node::Sequence), parts(inner).prop_map(Node::Mapping),]
                .boxed()
        })
    }

    /// The text of a template.
    pub(super) fn template() -> impl Strategy<Value = String> {
        parts(node().boxed()).prop_map(|parts| {
            let mut text = String::new();
            let mut keys = 0;
            collection(&mut text, &parts, true, 0, &mut keys);
            text
        })
    }

    fn collection(text: &mut String, parts: &[Part], mapping: bool, indent: usize, keys: &mut usize) {
        entries(text, parts, mapping, indent, keys);
        // Ensures that no collection is without entries, and that every set is followed by one.
        let pad = " ".repeat(indent);
        *keys += 1;
        let end = if mapping { format!("k{keys}:") } else { "-".to_owned() };
        put(text, format_args!("{pad}{end} end\n"));
    }

    fn entries(text: &mut String, parts: &[Part], mapping: bool, indent: usize, keys: &mut usize) {
        let pad = " ".repeat(indent);
        for part in parts {
            *keys += 1;
            match part {
                Part::Comment => put(text, format_args!("{pad}# comment - {keys}\n\n")),
                Part::Set => {
                    put(text, format_args!("{pad}#% set v{keys} = {keys}\n"));
                    let end = if mapping {
                        format!("k{keys}: ${{{{ v{keys} }}}}")
                    } else {
                        format!("- ${{{{v{keys}}}}}")
                    };
                    put(text, format_args!("{pad}{end}\n"));
                }
                Part::If(yes, no) => {
                    put(text, format_args!("{pad}#% if cluster.variables.debug\n"));
                    collection(text, yes, mapping, indent, keys);
                    put(text, format_args!("{pad}#%  else \n"));
                    collection(text, no, mapping, indent, keys);
                    put(text, format_args!("  {pad}#% endif\n"));
                }
                Part::For(body) => {
                    put(text, format_args!("{pad}#% for x in cluster.variables.list\n"));
                    collection(text, body, mapping, indent, keys);
                    put(text, format_args!("{pad}#% endfor\n"));
                }
                Part::Entry(node) => {
                    text.push_str(&pad);
                    let key = match *keys % 3 {
                        0 => format!("z{keys}:"),
                        1 => format!("\"a${{{{ {keys} }}}}\":"),
                        _ => format!("'k{keys}' :"),
                    };
                    text.push_str(if mapping { &key } else { "-" });
                    value(text, node, indent, keys);
                }
            }
        }
    }

    fn value(text: &mut String, node: &Node, indent: usize, keys: &mut usize) {
        match node {
            Node::Scalar(scalar) => put(text, format_args!(" {scalar}\n")),
            Node::Block(style, lines) => {
                put(text, format_args!(" {style}\n"));
                for line in lines {
                    put(text, format_args!("{}{line}\n", " ".repeat(indent + 3)));
                }
            }
            Node::Sequence(parts) => {
                text.push('\n');
                collection(text, parts, false, indent + 2, keys);
            }
            Node::Mapping(parts) => {
                text.push_str(" # what follows is deeper\n");
                collection(text, parts, true, indent + 4, keys);
            }
        }
    }
}

const SMALL: &str =
    "cluster: { name: c, labels: { env: prod }, variables: { debug: true, rootDisk: 50, list: [1] } }\n";

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    /// A written template reads back as the same template, and renders the same documents.
    #[test]
    fn a_written_template_is_the_same_template(template in made::template()) {
        if let Err(notes) = outcome(&template, &context(SMALL), Visible::Cluster) {
            panic!("{template}\n{notes}");
        }
    }
}

/// A small generator, so that failures are reproducible.
fn random(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap()
}

fn damaged(template: &str, state: &mut u64) -> String {
    const INSERTS: [&str; 30] = [
        "#% if true\n",
        "#% endif\n",
        "#% for x in [1]\n",
        "#% endfor\n",
        "#% else\n",
        "#% set x = 1\n",
        "${{ ",
        " }}",
        "${{ x }}",
        "~",
        "-",
        "  ",
        "\n",
        ":",
        "{",
        "}",
        "[",
        "]",
        "'",
        "\"",
        "|",
        ">",
        "#",
        "---\n",
        "\\",
        "&a ",
        "*a",
        "\u{e000}",
        "\r\n",
        "é",
    ];
    let mut text: Vec<char> = template.chars().collect();
    for _ in 0..=random(state) % 3 {
        let at = random(state) % (text.len() + 1);
        let end = (at + random(state) % 12).min(text.len());
        match random(state) % 4 {
            0 => drop(text.drain(at..end)),
            1 => {
                let copy: Vec<_> = text[at..end].to_vec();
                let to = random(state) % (text.len() + 1);
                text.splice(to..to, copy);
            }
            _ => {
                let insert = INSERTS[random(state) % INSERTS.len()];
                text.splice(at..at, insert.chars());
            }
        }
    }
    text.into_iter().collect()
}

/// A damaged template is refused with a message, or it still satisfies the properties.
#[test]
fn damaged_templates_are_refused_or_keep_the_law() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language/1");
    let context = context(&fs::read_to_string(root.join("context.yaml")).unwrap());
    let mut cases: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.is_dir() && !path.to_string_lossy().contains("limits"));
    cases.sort();
    let rounds = std::env::var("ROUNDS").map_or(20, |rounds| rounds.parse().unwrap());
    let mut state = 7;
    for case in cases {
        let template = fs::read_to_string(case.join("template.yaml")).unwrap();
        for _ in 0..rounds {
            let damaged = damaged(&template, &mut state);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                outcome(&damaged, &context, visible(&template))
            }));
            assert!(result.is_ok(), "{}:\n{damaged}", case.display());
        }
    }
}

#[test]
fn deep_and_long_templates_are_refused_without_harm() {
    let context = context(SMALL);
    for text in [
        format!("a: ${{{{ {}1{} }}}}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("a: ${{{{ {}1 }}}}", "-".repeat(10_000)),
        format!("a: ${{{{ {}1 }}}}", "not ".repeat(10_000)),
        format!("a: ${{{{ 1{} }}}}", " + 1".repeat(10_000)),
        format!("a: ${{{{ cluster{} }}}}", ".a".repeat(10_000)),
        format!("{}a: 1\n{}", "#% if true\n".repeat(10_000), "#% endif\n".repeat(10_000)),
        format!("{}a: ${{{{ x }}}}", "#% set x = [1]\n".to_owned() + &"#% set x = [x]\n".repeat(1000)),
        format!("a: {}1{}", "[".repeat(10_000), "]".repeat(10_000)),
        "a: ${{ [[0] * 100000] * 100000 }}".to_owned(),
        "a: ${{ range(100000) | list | tojson | replace('1', 'x' * 10000) }}".to_owned(),
        "a: ${{ 5 is even(0) }}".to_owned(),
    ] {
        assert!(outcome(&text, &context, Visible::Cluster).is_err());
    }
}

#[test]
fn templates_at_the_limits_are_rendered() {
    let context = context(SMALL);
    let nested = (0..90).fold(String::new(), |text, level| text + &" ".repeat(level) + "a:\n")
        + &" ".repeat(90)
        + "b: 1\n";
    for text in [
        format!("a: ${{{{ {}1{} }}}}", "(".repeat(48), ")".repeat(48)),
        format!("a: ${{{{ 1{} }}}}", " + 1".repeat(190)),
        format!("a: ${{{{ 1{} }}}}", " ~ 1".repeat(190)),
        format!("a: ${{{{ 'a'{} }}}}", "|lower".repeat(190)),
        format!("a: ${{{{ {}1 }}}}", "not ".repeat(8)),
        format!("{}a: 1\n{}", "#% if true\n".repeat(48), "#% endif\n".repeat(48)),
        format!("{}a: ${{{{ x }}}}", "#% set x = [1]\n".to_owned() + &"#% set x = [x]\n".repeat(150)),
        format!("#% if true\n{nested}#% endif\n"),
    ] {
        if let Err(notes) = outcome(&text, &context, Visible::Cluster) {
            panic!("{notes}");
        }
    }
}
