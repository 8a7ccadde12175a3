//! Checks a kustomize file in a `.d` folder by itself: what kustomize refuses, and what another reader would see in it.
//!
//! The rules come from `Unmarshal`, `EnforceFields` and `CheckEmpty` of kustomize's type `Kustomization`, and from what its
//! transformers require.

use super::{
    kustomize_fields::{FIELDS, Field, Form},
    metadata::{A_LABEL_KEY, A_LABEL_VALUE, shortened},
    secret_scan::Tree,
};
use crate::{
    model::{is_label_key, is_label_value},
    note::{Notes, Place},
    yaml::{Plain, RawKind, RawNode, Source, Style, Value, read_raw, resolve_plain},
};

/// The fields that bring objects.
const BRINGING: [&str; 8] = [
    "bases",
    "components",
    "configMapGenerator",
    "generators",
    "helmChartInflationGenerator",
    "helmCharts",
    "resources",
    "secretGenerator",
];

/// A message about a kustomize file, with a hint.
pub(super) struct Refused {
    pub(super) place: Place,
    pub(super) message: String,
    pub(super) hint: &'static str,
    /// The place of what the message compares with.
    pub(super) first: Option<Place>,
}

impl Refused {
    pub(super) fn new(place: Place, message: String, hint: &'static str) -> Self {
        Self { place, message, hint, first: None }
    }
}

/// What is found in a file.
struct Finding<'a> {
    source: &'a Source,
    found: Vec<Refused>,
}

impl Finding<'_> {
    fn note(&mut self, node: &RawNode, message: String, hint: &'static str) {
        self.found.push(Refused::new(self.source.word(node.start), message, hint));
    }
}

/// Finds what makes kustomize refuse its own file, or what only some readers see.
pub(super) fn faults(source: &Source) -> Vec<Refused> {
    // Another check reports text that is not YAML.
    let Some(documents) = read_raw(source, &mut Notes::new()) else { return Vec::new() };
    let mut roots = documents.iter().map(|one| &one.root).filter(|root| !is_null(root));
    let Some(root) = roots.next() else { return vec![empty(Place::file(&*source.path))] };
    let mut finding = Finding { source, found: Vec::new() };
    if let Some(second) = roots.next() {
        let message = "kustomize does not read a second document in its file".to_owned();
        finding.note(second, message, "merge it into the first document");
    }
    of_root(root, &mut finding);
    finding.found
}

pub(super) fn is_null(node: &RawNode) -> bool {
    matches!(&node.kind, RawKind::Scalar { text, style: Style::Plain } if resolve_plain(text) == Plain::Value(Value::Null))
}

fn empty(place: Place) -> Refused {
    let hint = "name the files of the folder under `resources`, or remove this file: kustomize refuses an empty file";
    Refused::new(place, "this kustomize file is empty".to_owned(), hint)
}

fn of_root(root: &RawNode, finding: &mut Finding<'_>) {
    let RawKind::Mapping(entries) = &root.kind else {
        let message = "a kustomize file must be a map of fields".to_owned();
        return finding.note(root, message, "name the files of the folder under `resources`");
    };
    let word = |key| root.word(key).unwrap_or_default();
    let (version, kind) = (word("apiVersion"), word("kind"));
    // Another check refuses components.
    if !matches!(&*kind, "" | "Kustomization" | "Component") {
        let message = format!("a kustomize file cannot have the kind {}", shortened(&kind));
        let at = root.child("kind").unwrap_or(root);
        finding.note(at, message, "rename the file, or write `kind: Kustomization`");
    } else if kind != "Component" && !matches!(&*version, "" | "kustomize.config.k8s.io/v1beta1") {
        let message = format!("a kustomize file cannot have the version `{}`", shortened(&version));
        let at = root.child("apiVersion").unwrap_or(root);
        finding.note(at, message, "write `apiVersion: kustomize.config.k8s.io/v1beta1`");
    }
    if kind == "Component" && !matches!(&*version, "" | "kustomize.config.k8s.io/v1alpha1") {
        let message = format!("a Component cannot have the version `{}`", shortened(&version));
        let at = root.child("apiVersion").unwrap_or(root);
        finding.note(at, message, "write `apiVersion: kustomize.config.k8s.io/v1alpha1`");
    }
    let is_set = |(key, value): &(RawNode, RawNode)| {
        !is_null(value) && !matches!(key.text().as_deref(), Some("apiVersion" | "kind"))
    };
    let brings = |key| root.child(key).is_some_and(|list| !list.items().is_empty());
    if !entries.iter().any(is_set) {
        finding.found.push(empty(finding.source.word(root.start)));
    } else if kind != "Component" && !BRINGING.into_iter().any(brings) && only_known(entries) {
        let at = root.child("resources").unwrap_or(root);
        let message = "this kustomize file names no object, so nothing of its folder is applied".to_owned();
        finding.note(at, message, "name the files of the folder under `resources`, or remove this file");
    }
    of_map(entries, FIELDS, &Where::File, finding);
    of_patches(root, finding);
    of_order(root, finding);
}

/// Whether all fields exist. A misspelt one may be the field that brings objects.
fn only_known(entries: &[(RawNode, RawNode)]) -> bool {
    entries.iter().all(|(key, value)| {
        let field = FIELDS.iter().find(|(field, _)| key.text().is_some_and(|name| name == *field));
        field.is_some_and(|(_, form)| {
            !matches!(form, Form::List(_)) || matches!(value.kind, RawKind::Sequence(_))
        })
    })
}

/// What has a field, in words.
enum Where<'a> {
    File,
    /// A field that holds a map.
    Field(&'a str),
    /// An entry of the list in a field.
    Entry(&'a str),
}

impl std::fmt::Display for Where<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File => f.write_str("a kustomize file"),
            Self::Field(name) => write!(f, "`{name}`"),
            Self::Entry(name) => write!(f, "an entry of `{name}`"),
        }
    }
}

fn of_map(entries: &[(RawNode, RawNode)], fields: &[Field], of: &Where<'_>, finding: &mut Finding<'_>) {
    const UNKNOWN: &str = "correct or remove it: kustomize refuses an unknown field, and the checks read a field only in its own spelling";
    for (key, value) in entries {
        let name = key.text().unwrap_or_default();
        if let Some((field, form)) = fields.iter().find(|(field, _)| *field == name) {
            of_value(value, *form, field, &format!("`{field}` of {of}"), finding);
        } else if let (false, Some(merged)) = (matches!(of, Where::File), merged(key, value)) {
            of_map(merged, fields, of, finding);
        } else {
            finding.note(key, format!("{of} has no field `{}`", shortened(&name)), UNKNOWN);
        }
    }
}

/// The entries that a merge key adds to its map.
fn merged<'a>(key: &RawNode, value: &'a RawNode) -> Option<&'a [(RawNode, RawNode)]> {
    match (&key.kind, &value.kind) {
        (RawKind::Scalar { text, style: Style::Plain }, RawKind::Mapping(entries)) if text == "<<" => {
            Some(entries)
        }
        _ => None,
    }
}

/// Checks the value of the field `field`. `what` describes the value.
fn of_value(value: &RawNode, form: Form, field: &str, what: &str, finding: &mut Finding<'_>) {
    const REFUSED: &str = "correct it: kustomize refuses the whole folder";
    const QUOTES: &str = "write it in quotes: kustomize refuses the whole folder";
    if is_null(value) {
        return;
    }
    let mut must_be = |expected: &str, hint| finding.note(value, format!("{what} must be {expected}"), hint);
    match (form, &value.kind) {
        (Form::Text | Form::Word(_), RawKind::Scalar { .. }) if !is_text(value) => must_be("text", QUOTES),
        (Form::Any, _) | (Form::Text, RawKind::Scalar { .. }) => {}
        (Form::Text, _) => must_be("text", REFUSED),
        (Form::Word(words), kind) => {
            if !matches!(kind, RawKind::Scalar { text, .. } if text.is_empty() || words.contains(&text.as_str()))
            {
                let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
                must_be(&format!("one of {}", words.join(", ")), "correct or remove it");
            }
        }
        (Form::Flag, _) if is_flag(value) => {}
        (Form::Flag, _) => must_be("true or false", "write `true` or `false`, without quotes"),
        (Form::Whole, _) if is_whole(value) => {}
        (Form::Whole, _) => must_be("a whole number", "write a whole number, without quotes"),
        (Form::List(form), RawKind::Sequence(items)) => {
            for item in items {
                match (form, &item.kind) {
                    (Form::Map(fields), RawKind::Mapping(entries)) => {
                        of_map(entries, fields, &Where::Entry(field), finding);
                    }
                    _ => of_value(item, *form, field, &Where::Entry(field).to_string(), finding),
                }
            }
        }
        (Form::List(_), _) => must_be("a list", REFUSED),
        (Form::Map(fields), RawKind::Mapping(entries)) => {
            of_map(entries, fields, &Where::Field(field), finding);
        }
        (Form::Texts | Form::Labels | Form::Annotations | Form::Flags, RawKind::Mapping(entries)) => {
            for (key, value) in entries {
                of_entry(key, value, form, what, finding);
            }
        }
        (Form::Map(_) | Form::Texts | Form::Labels | Form::Annotations | Form::Flags, _) => {
            must_be("a map", REFUSED);
        }
    }
}

/// Checks an entry of a map with any keys.
fn of_entry(key: &RawNode, value: &RawNode, form: Form, what: &str, finding: &mut Finding<'_>) {
    if let Some(merged) = merged(key, value) {
        return merged.iter().for_each(|(key, value)| of_entry(key, value, form, what, finding));
    }
    if !is_text(key) {
        let message = format!("a key in {what} must be text");
        return finding.note(key, message, "write it in quotes: kustomize refuses the whole folder");
    }
    let name = key.text().unwrap_or_default();
    let of_value_form = if matches!(form, Form::Flags) { Form::Flag } else { Form::Text };
    of_value(value, of_value_form, "", &format!("the value of `{}` in {what}", shortened(&name)), finding);
    let text = value.text().unwrap_or_default();
    if matches!(form, Form::Labels | Form::Annotations) && !is_label_key(&name) {
        let message = format!("the key `{}` in {what} is one that no API server accepts", shortened(&name));
        finding.note(key, message, A_LABEL_KEY);
    }
    // A variable is replaced afterwards.
    if matches!(form, Form::Labels) && !is_label_value(&text) && !text.contains("$(") {
        let message = format!("the value of `{}` in {what} is not a valid label value", shortened(&name));
        finding.note(value, message, A_LABEL_VALUE);
    }
}

/// Whether kustomize reads a scalar as text. Its reader follows YAML 1.1, with numbers and booleans of its own.
fn is_text(node: &RawNode) -> bool {
    match &node.kind {
        RawKind::Scalar { text, style: Style::Plain } => {
            matches!(resolve_plain(text), Plain::Value(Value::String(_)))
        }
        RawKind::Scalar { .. } => true,
        RawKind::Sequence(_) | RawKind::Mapping(_) => false,
    }
}

fn is_flag(node: &RawNode) -> bool {
    let RawKind::Scalar { text, style: Style::Plain } = &node.kind else { return false };
    match resolve_plain(text) {
        Plain::Value(value) => matches!(value, Value::Bool(_)),
        Plain::Ambiguous(_) => text.starts_with(|c: char| c.is_ascii_alphabetic()),
    }
}

fn is_whole(node: &RawNode) -> bool {
    let RawKind::Scalar { text, style: Style::Plain } = &node.kind else { return false };
    match resolve_plain(text) {
        Plain::Value(Value::Int(_)) => true,
        Plain::Value(Value::Float(number)) => number.fract() == 0.0,
        Plain::Value(_) => false,
        Plain::Ambiguous(_) => !text.starts_with(|c: char| c.is_ascii_alphabetic()),
    }
}

/// A patch is either in a file or in the list itself.
fn of_patches(root: &RawNode, finding: &mut Finding<'_>) {
    let patches =
        ["patches", "patchesJson6902"].map(|key| root.child(key).map(Tree::items).unwrap_or_default());
    for patch in patches.into_iter().flatten() {
        let RawKind::Mapping(entries) = &patch.kind else { continue };
        let is_set = |key| patch.word(key).is_some_and(|text| !text.is_empty());
        let message = match (is_set("path"), is_set("patch")) {
            (true, true) => "this patch has both `patch` and `path`",
            (false, false) if entries.iter().all(|(key, value)| merged(key, value).is_none()) => {
                "this patch has neither `patch` nor `path`"
            }
            _ => continue,
        };
        finding.note(patch, message.to_owned(), "write one of them: kustomize refuses the whole folder");
    }
}

fn of_order(root: &RawNode, finding: &mut Finding<'_>) {
    let Some(options) = root.child("sortOptions").filter(|node| matches!(node.kind, RawKind::Mapping(_)))
    else {
        return;
    };
    match options.word("order").as_deref() {
        None | Some("") => {
            let message = "`sortOptions` has no `order`".to_owned();
            finding.note(options, message, "write `order: fifo` or `order: legacy`");
        }
        Some("fifo") => {
            if let Some(legacy) = options.child("legacySortOptions").filter(|node| !is_null(node)) {
                let message = "`legacySortOptions` is only for `order: legacy`".to_owned();
                finding.note(legacy, message, "remove it, or write `order: legacy`");
            }
        }
        Some(_) => {}
    }
}
