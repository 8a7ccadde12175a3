//! Edits of files in unusual layouts: each is made without touching other text, or refused.

use super::*;
use crate::yaml::{FileId, Value};

/// Files with a release and an addon, in unusual layouts.
const LAYOUTS: [&str; 26] = [
    "spec:\n  # a\n  release: old # b\n\n  # c\n  addons: # d\n    # e\n    net: # f\n      # g\n      version: 1.0.0 # h\n  # i\n# j\n",
    "{ spec: { release: old, addons: { net: { version: 1.0.0 } } } } # a\n",
    "spec: { # a\n  release: old, # b\n  addons: { net: { version: 1.0.0 } } # c\n} # d\n",
    "spec: {\n  release: old,\n  addons: {\n    net: {\n      version: 1.0.0,\n    },\n  },\n}\n",
    "spec:\n  release: >- # a\n    old\n  # b\n  addons:\n    net:\n      version: |-\n        1.0.0\n",
    "spec:\n  release: |2-\n    old\n  addons: { net: { version: '1.0.0' } }\n",
    "spec:\n  release: >-\n\n    old\n\n  addons: { net: { version: '1.0.0' } }\n",
    "spec:\n  release: &r old # a\n  labels: { r: *r }\n  addons: { net: &n { version: 1.0.0 } }\n",
    "spec:\n  release: &r old # a\n  addons: &a # b\n    net: # c\n      version: 1.0.0 # d\n",
    "spec:\n  release: !!str old # a\n  addons: !!map\n    net: { version: !!str 1.0.0 }\n",
    "\"spec\":\n  'release' : \"old\" # a\n  \"addons\" : { \"net\": { \"version\": '1.0.0' } }\n",
    "spec:\n  ? release # a\n  : old # b\n  ? addons\n  : net:\n      version: 1.0.0\n",
    "spec:\r\n  release: old # a\r\n  addons: # b\r\n    net:\r\n      version: 1.0.0\r\n",
    "spec:\r\n  release: >-\r\n    old\r\n  addons: # b\r\n    net: { version: 1.0.0 }",
    "spec:\n  release: old\n  addons:\n    net:\n      version: 1.0.0 # a",
    "spec:\n  release: old\n  addons:\n    net:\n      version: 1.0.0\n  # a",
    "spec:\n  release:\told\t# a\n  addons:\t#\tb\n    net:\t{ version: 1.0.0 }\t# c\t\n\t# d\n",
    "\u{feff}spec:\n  release: old # a\n  addons: { net: { version: 1.0.0 } }\n",
    "\u{feff}{ spec: { release: old, addons: { net: { version: 1.0.0 } } } }\n",
    "# a\n%YAML 1.2\n---\nspec: # b\n  release: old\n  addons: { net: { version: 1.0.0 } }\n...\n# c\n",
    "spec:\n  release:\n    old # a\n  addons:\n    net:\n      version:\n        # b\n        1.0.0\n",
    "spec:\n  release: \"\n    old\"\n  addons: { net: { version: 1.0.0 } }\n",
    "spec:\n addons: # a\n    net:\n     version: 1.0.0\n # b\n\n release: old\n\n\n",
    "spec:\n  release: old   \n  addons:   \n    net:   \n      version: 1.0.0   \n   \n  # a\n",
    "--- # a\nspec:\n  release: old\n  addons:\n    net:\n      version: 1.0.0\n",
    "spec:\n  release: old\n  addons: { net: { version: 1.0.0, # a\n    } }\n",
];

type Edited = (&'static str, Option<Node>);

fn edits() -> [Edited; 7] {
    let text = |text: &str| Some(Node::from(text));
    [
        ("spec/release", text("new")),
        ("spec/kubernetes", text("1.36")),
        ("spec/addons/net/version", text("1.1.0")),
        ("spec/addons/net/interimVersion", text("1.0.0")),
        ("spec/addons/net/interimVersion", Some(Node::from(Value::Null))),
        ("spec/addons/other/interimVersion", text("2.0.0")),
        ("spec/release", None),
    ]
}

/// The comments of a text: what begins with ` #` or leads a line.
fn comments(text: &str) -> Vec<&str> {
    let of = |line: &'_ str| -> Option<usize> {
        let at = line.find('#')?;
        line[..at].chars().next_back().is_none_or(char::is_whitespace).then_some(at)
    };
    text.lines().filter_map(|line| of(line).map(|at| line[at..].trim_end())).collect()
}

/// The lines that are in only one of two texts, in order.
fn changed(before: &str, after: &str) -> (usize, usize) {
    let (old, new): (Vec<_>, Vec<_>) = (before.split('\n').collect(), after.split('\n').collect());
    let front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - front;
    let back = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count().min(most);
    (old.len() - back - front, new.len() - back - front)
}

#[test]
fn an_edit_changes_no_other_text_or_is_refused() {
    let mut refused = Vec::new();
    for (number, layout) in LAYOUTS.iter().enumerate() {
        for (path, value) in edits() {
            let source = Source::new(FileId(0), "clusters/one.yaml", *layout);
            let steps: Vec<_> = path.split('/').map(Locator::Key).collect();
            let mut notes = Notes::new();
            let edit = match &value {
                Some(value) => set(&source, &steps, value, &mut notes),
                None => remove(&source, &steps, &mut notes),
            };
            let Some(edit) = edit else {
                let note = notes.sorted().remove(0);
                assert!(note.place.is_some() && !note.hints.is_empty(), "{note:?}");
                refused.push(format!("{number} {path}: {}", note.message));
                continue;
            };
            let after = edit.apply(layout);
            if value.is_some() {
                assert_eq!(comments(&after), comments(layout), "{path}: {after}");
            }
            let breaks = |text: &str| (text.contains("\r\n"), text.replace("\r\n", "").contains('\n'));
            assert_eq!(breaks(&after), breaks(layout), "{path}: {after:?}");
            assert_eq!(after.starts_with('\u{feff}'), layout.starts_with('\u{feff}'), "{path}");
            let (old, new) = changed(layout, &after);
            assert!(old <= 3 && new <= 4, "{path}: {old} {new}: {after}");
        }
    }
    assert!(!refused.is_empty() && refused.len() < LAYOUTS.len() * edits().len() / 2, "{refused:#?}");
}
