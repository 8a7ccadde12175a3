//! The template language: a corpus per level that is never edited, laws over made-up templates, and templates that are
//! damaged at random.

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

/// What a case gives: its documents, or its messages.
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

/// Each case holds `template.yaml`, may hold `context.yaml` (else that of the level is taken), and holds what comes of
/// it: `expected.yaml` or `notes.txt`. A first comment line that names a folder says what the template sees.
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
