//! The emitter: our reader and a third-party reader read back exactly what it writes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stackloom::yaml::{self, Key, Mapping, Node, Origin, Sources, Value};

use super::super::{sandbox, yaml_hazards};

fn emitted(node: &Node) -> String {
    let mut text = String::new();
    yaml::emit(node, &mut text);
    text
}

fn read_back(text: &str) -> Node {
    let mut sources = Sources::default();
    let id = sources.add("emitted.yaml", text);
    let mut notes = stackloom::note::Notes::new();
    let node = yaml::read(sources.get(id).unwrap(), &mut notes);
    node.unwrap_or_else(|| panic!("{text:?}\n{}", sandbox::messages(&notes)))
}

fn key(name: &str) -> Key {
    Key { name: name.into(), origin: Origin::NOWHERE }
}

/// The string as key and value, at the top, in a list, and after another key.
fn everywhere(text: &str) -> Node {
    let mut inner = Mapping::new();
    inner.insert(key(text), text.into());
    let mut outer = inner.clone();
    outer.insert(key(&format!("{text}|")), Node::from(vec![Node::from(text), inner.clone().into()]));
    outer.insert(key(&format!("{text}+")), inner.into());
    outer.into()
}

fn holds(text: &str) {
    let node = everywhere(text);
    let written = emitted(&node);
    assert_eq!(read_back(&written), node, "our reader: {written:?}");
    let other: serde_json::Value =
        serde_yaml::from_str(&written).unwrap_or_else(|error| panic!("another reader: {error}: {written:?}"));
    assert_eq!(other, yaml::to_json(&node), "another reader: {written:?}");
}

#[test]
fn no_hazardous_string_is_read_as_anything_else() {
    for text in yaml_hazards::strings() {
        holds(&text);
    }
}

/// Random combinations of pieces with a meaning for readers.
fn pieces() -> impl Strategy<Value = String> {
    const PIECES: [&str; 40] = [
        " ", "  ", "\n", "\n\n", "\t", "\r", "\u{85}", "\u{2028}", "\u{2029}", "\u{feff}", "\0", "\u{1b}",
        "#", " #", ":", ": ", "-", "- ", "---", "...", "?", "? ", "\"", "'", "\\", "|", ">", "{", "}", "[",
        "]", ",", "&a", "*a", "!t", "%", "@", "`", "yes", "0x1f",
    ];
    let piece = prop_oneof![
        4 => (0..PIECES.len()).prop_map(|at| PIECES[at].to_owned()),
        1 => "[a-z0-9é漢😀]{1,4}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn trees() -> impl Strategy<Value = Node> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>()
            .prop_filter("JSON has finite numbers", |number| number.is_finite())
            .prop_map(Value::Float),
        pieces().prop_map(|text| Value::String(text.into())),
    ];
    scalar.prop_map(Node::from).prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Node::from),
            prop::collection::btree_map(pieces(), inner, 0..5).prop_map(|entries: BTreeMap<String, Node>| {
                let mut mapping = Mapping::new();
                for (name, value) in entries {
                    mapping.insert(key(&name), value);
                }
                mapping.into()
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_string_is_that_string(text in any::<String>()) {
        holds(&text);
    }

    #[test]
    fn any_pieces_are_those_pieces(text in pieces()) {
        holds(&text);
    }

    #[test]
    fn any_tree_is_that_tree(node in trees()) {
        let written = emitted(&node);
        // A document that only contains `null` is an empty file, which every reader of definitions refuses.
        if !node.is_null() {
            prop_assert_eq!(read_back(&written), node.clone(), "our reader: {:?}", written);
        }
        let other: serde_json::Value = serde_yaml::from_str(&written).unwrap();
        prop_assert_eq!(other, yaml::to_json(&node), "another reader: {:?}", written);
    }
}
