//! Properties that the language corpus cannot show: origins, sharing, equality, and texts outside of templates.

use super::*;
use crate::yaml::{Mapping, Sources, read};

fn sources(files: &[(&str, &str)]) -> Sources {
    let mut sources = Sources::default();
    for (path, text) in files {
        sources.add(path, *text);
    }
    sources
}

fn load(text: &str) -> Template {
    let sources = sources(&[("a.yaml", text)]);
    let mut notes = Notes::new();
    let source = sources.at("a.yaml").expect("it was added");
    Template::load(source, LANGUAGE, Visible::Cluster, &mut notes).unwrap_or_else(|| panic!("{notes:?}"))
}

fn cluster(text: &str) -> (Context, Sources) {
    let sources = sources(&[("cluster.yaml", text)]);
    let source = sources.at("cluster.yaml").expect("it was added");
    let node = read(source, &mut Notes::new()).expect("it is sound");
    let mut context = Context::new();
    context.set("cluster", node);
    (context, sources)
}

#[test]
fn templates_and_contexts_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Template>();
    shared::<Context>();
    shared::<Text>();
}

#[test]
fn nodes_come_through_with_their_origins() {
    let (context, _) = cluster("values:\n  b: [1, {c: 2}]\n");
    let template = load("x:\n  v: ${{ cluster.values }}\n  z: ${{ [cluster.values.b] }}\n  w: 1\n");
    let rendered = template.render(&context, &mut Notes::new()).expect("it renders");
    let offset = |path: &[&str]| rendered[0].at(path).expect("it is there").origin.offset;
    assert_eq!(offset(&["x", "v"]), 10, "the place in cluster.yaml");
    assert_eq!(offset(&["x", "v", "b"]), 13);
    assert_eq!(offset(&["x", "w"]), 66, "the place in the template");
    let list = rendered[0].at(&["x", "z"]).and_then(Node::as_sequence).expect("it is a list");
    assert_eq!(list[0].origin.offset, 13);
}

#[test]
fn contexts_are_extended_without_harm_to_what_they_came_from() {
    let (base, _) = cluster("name: a");
    let mut other = base.clone();
    let mut map = Mapping::new();
    map.set("name", "b");
    other.set("cluster", map);
    let template = load("${{ cluster.name }}: 1");
    let name =
        |context: &Context| template.render(context, &mut Notes::new()).map(|nodes| format!("{nodes:?}"));
    assert!(name(&base).is_some_and(|text| text.contains("\"a\"")));
    assert!(name(&other).is_some_and(|text| text.contains("\"b\"")));
}

#[test]
fn the_kinds_of_all_branches_are_known_before_a_context_is() {
    let kinds = |text: &str| load(text).kinds().into_keys().collect::<Vec<_>>();
    let known = |version: &str, kind: &str| (Some(version.to_owned()), Some(kind.to_owned()));
    assert_eq!(
        kinds("apiVersion: v1\nkind: ConfigMap\n---\nkind: A\napiVersion: b/v1\n"),
        [known("b/v1", "A"), known("v1", "ConfigMap")]
    );
    let branches = "apiVersion: v1\n#% if cluster.n\nkind: Secret\n#% else\nkind: ConfigMap\n#% endif\n";
    assert_eq!(kinds(branches), [known("v1", "ConfigMap"), known("v1", "Secret")]);
    let list = "#% for x in cluster.n\n- apiVersion: v1\n  kind: Secret\n#% endfor\n- { apiVersion: a/v1, kind: B }\n";
    assert_eq!(kinds(list), [known("a/v1", "B"), known("v1", "Secret")]);
    assert_eq!(kinds("apiVersion: a/v1\nkind: ${{ cluster.n }}\n"), [(Some("a/v1".to_owned()), None)]);
    assert_eq!(kinds("apiVersion: v1\nkind: A\n\"${{ cluster.n }}\": B\n").len(), 4);
    assert_eq!(kinds("${{ cluster.n }}\n"), [(None, None)]);
}

#[test]
fn formatting_is_not_content_and_order_follows_statements() {
    assert_eq!(
        load("b: ${{x}}\na: 1".replace('x', "cluster.n").as_str()),
        load("# c\na:   1\n'b': ${{  cluster.n }}\n")
    );
    assert_ne!(load("a: ${{ cluster.n }}"), load("a: \"${{ cluster.n }}\""));
    assert_ne!(load("a: 1\n#% set x = 1\nb: 2"), load("a: 1\nb: 2"));
    assert_ne!(load("a: 1\nb: 2\n#% set x = 1\nc: 2"), load("b: 2\na: 1\n#% set x = 1\nc: 2"));
    assert_eq!(load("# nothing\n").canonical(), "");
}

#[test]
fn a_frozen_template_reads_well() {
    let template = load(
        "spec:\n  #% if cluster.n\n  z: ${{cluster.n}}\n  #%  endif\n  a: x ${{ cluster.n }}\n  t: |\n    a\n      #% if 1\n    b\n    #% endif\nkind: K\n",
    );
    let expected = "kind: K\nspec:\n  #% if cluster.n\n  z: ${{ cluster.n }}\n  #% endif\n  a: \"x ${{ cluster.n }}\"\n  t: |\n    a\n    #% if 1\n    b\n    #% endif\n";
    assert_eq!(template.canonical(), expected);
}

#[test]
fn unknown_levels_are_refused() {
    let sources = sources(&[("a.yaml", "a: 1")]);
    let mut notes = Notes::new();
    let source = sources.at("a.yaml").expect("it was added");
    assert!(Template::load(source, LANGUAGE + 1, Visible::Cluster, &mut notes).is_none());
    assert_eq!(notes.iter().next().map(|note| note.code), Some("template-language"));
}

fn text(written: &str) -> (Option<Text>, Notes) {
    let sources = sources(&[("a.yaml", written)]);
    let mut notes = Notes::new();
    let source = sources.at("a.yaml").expect("it was added");
    let node = read(source, &mut notes).expect("it is sound");
    let text = Text::parse(node.get("a").expect("it is there"), source, LANGUAGE, Visible::Addon, &mut notes);
    (text, notes)
}

#[test]
fn a_field_may_hold_expressions() {
    let (context, _) = cluster("name: c\nempty: null");
    let (parsed, notes) = text("a: ${{cluster.name}}-cloud-config");
    let parsed = parsed.unwrap_or_else(|| panic!("{notes:?}"));
    assert_eq!(parsed.to_string(), "${{ cluster.name }}-cloud-config");
    let node = parsed.render(&context, &mut Notes::new()).expect("it is sound");
    assert_eq!(node.as_str(), Some("c-cloud-config"));
    assert_eq!(
        text("a: 'it''s ${{ ''x'' }}'").0.map(|text| text.to_string()).as_deref(),
        Some("it's ${{ 'x' }}")
    );
    let (parsed, _) = text("a: x-${{ cluster.empty }}");
    let mut notes = Notes::new();
    assert_eq!(parsed.expect("it is sound").render(&context, &mut notes), None);
    let place = notes.iter().next().and_then(|note| note.place.clone()).expect("it has a place");
    assert_eq!((place.line, place.column, place.length), (1, 10, 13));
}

#[test]
fn a_field_at_fault_says_so() {
    for (written, code) in [
        ("a: ${{ cluster", "template-syntax"),
        ("a: ${{ }}", "template-syntax"),
        ("a: ${{ nope }}", "unknown-name"),
        ("a: ${{ cluster.x | nope }}", "template-syntax"),
        ("a: 1", "template-value"),
    ] {
        let (parsed, notes) = text(written);
        assert!(parsed.is_none(), "{written}");
        assert_eq!(notes.iter().next().map(|note| note.code), Some(code), "{written}");
    }
}

#[test]
fn a_file_holds_only_so_many_expressions_and_statements() {
    let judge = |text: &str| {
        let sources = sources(&[("a.yaml", text)]);
        let mut notes = Notes::new();
        let source = sources.at("a.yaml").expect("it was added");
        let is_sound = Template::load(source, LANGUAGE, Visible::Cluster, &mut notes).is_some();
        (is_sound, notes.sorted().first().map(|note| note.code))
    };
    let most = limits::MAX_EXPRESSIONS;
    let on_one_line = |count: usize| format!("a: \"{}\"\n", "${{ 1 }}".repeat(count));
    assert_eq!(judge(&on_one_line(most)), (true, None));
    assert_eq!(judge(&on_one_line(most + 1)), (false, Some("template-limit")));
    let statements = "#% if true\na: 1\n#% endif\n".repeat(most / 2 + 1);
    assert_eq!(judge(&statements), (false, Some("template-limit")));
}
