//! Finds secrets in an object by its kind, keys and values.

use std::borrow::Cow;

use super::{At, Found, arguments::of_arguments, commands, embedded::Objects, files, in_text, keys, literal};
use crate::yaml::{Mapping, Node, RawKind, RawNode, Style};

/// The name of a finding for a Secret with plaintext content.
pub(in crate::check) const OBJECT: &str = "secret-object";

/// A tree of values from a generated object, or from a file, in which a key may occur twice.
pub(in crate::check) trait Tree: Sized {
    /// What objects within the texts of the tree are.
    const OBJECTS: Objects;

    /// The text of a scalar; none for null and booleans.
    fn text(&self) -> Option<Cow<'_, str>>;
    /// The entries of a map.
    fn entries(&self) -> impl Iterator<Item = (&str, &Self)>;
    /// The items of a list.
    fn items(&self) -> &[Self];

    /// The value of a key; the first if there are several.
    fn child(&self, name: &str) -> Option<&Self>;

    /// The text of a key's value.
    fn word(&self, name: &str) -> Option<Cow<'_, str>> {
        self.child(name)?.text()
    }
}

impl Tree for Node {
    const OBJECTS: Objects = Objects::Checked;

    fn text(&self) -> Option<Cow<'_, str>> {
        let number = || self.as_int().map(|number| Cow::Owned(number.to_string()));
        self.as_str().map(Cow::Borrowed).or_else(number)
    }

    fn entries(&self) -> impl Iterator<Item = (&str, &Self)> {
        let entries = self.as_mapping().into_iter().flat_map(Mapping::iter);
        entries.map(|entry| (&*entry.key.name, &entry.value))
    }

    fn items(&self) -> &[Self] {
        self.as_sequence().unwrap_or_default()
    }

    fn child(&self, name: &str) -> Option<&Self> {
        self.get(name)
    }
}

impl Tree for RawNode {
    const OBJECTS: Objects = Objects::Unchecked;

    fn text(&self) -> Option<Cow<'_, str>> {
        match &self.kind {
            RawKind::Scalar { text, style: Style::Plain }
                if matches!(&**text, "" | "~" | "null" | "true" | "false") =>
            {
                None
            }
            RawKind::Scalar { text, .. } => Some(Cow::Borrowed(text)),
            RawKind::Sequence(_) | RawKind::Mapping(_) => None,
        }
    }

    fn entries(&self) -> impl Iterator<Item = (&str, &Self)> {
        let entries: &[_] = if let RawKind::Mapping(entries) = &self.kind { entries } else { &[] };
        entries.iter().filter_map(|(key, value)| match &key.kind {
            RawKind::Scalar { text, .. } => Some((text.as_str(), value)),
            RawKind::Sequence(_) | RawKind::Mapping(_) => None,
        })
    }

    fn items(&self) -> &[Self] {
        match &self.kind {
            RawKind::Sequence(items) => items,
            RawKind::Scalar { .. } | RawKind::Mapping(_) => &[],
        }
    }

    fn child(&self, name: &str) -> Option<&Self> {
        let RawKind::Mapping(entries) = &self.kind else { return None };
        let is_called =
            |key: &Self| matches!(&key.kind, RawKind::Scalar { text, .. } if text.as_str() == name);
        entries.iter().find(|(key, _)| is_called(key)).map(|(_, value)| value)
    }
}

/// Finds plaintext secrets, and values that look like one, in an object of a file. `skip` recognizes objects whose contents
/// are allowed.
pub(in crate::check) fn in_object<'a, T: Tree>(
    path: &str,
    object: &'a T,
    skip: &dyn Fn(&T) -> bool,
) -> Vec<(&'a T, Found)> {
    in_nested_object(path, object, skip, 0)
}

/// The same for an object within texts, as many as `depth`.
pub(super) fn in_nested_object<'a, T: Tree>(
    path: &str,
    object: &'a T,
    skip: &dyn Fn(&T) -> bool,
    depth: usize,
) -> Vec<(&'a T, Found)> {
    let mut found = Vec::new();
    of_object(&Walk { path, hidden: "", depth }, object, None, skip, &mut found);
    found
}

fn of_object<'a, T: Tree>(
    walk: &Walk<'_>,
    object: &'a T,
    of_list: Option<&str>,
    skip: &dyn Fn(&T) -> bool,
    found: &mut Vec<(&'a T, Found)>,
) {
    if skip(object) {
        return;
    }
    let kind = object.word("kind").map(Cow::into_owned).or_else(|| of_list.map(str::to_owned));
    let kind = kind.unwrap_or_default();
    // A list of the API: each item is an object. Items without a kind have that of the list.
    if let (Some(of), Some(items)) = (kind.strip_suffix("List"), object.child("items")) {
        let of = (!of.is_empty()).then_some(of);
        items.items().iter().for_each(|item| of_object(walk, item, of, skip, found));
        return;
    }
    let encrypted = object.child("sops").is_some();
    if kind == "Secret" && walk.depth == 0 {
        of_secret(object, encrypted, found);
    } else if kind == "Secret" {
        inner_secret(object, found);
    } else if encrypted && !holds_encrypted(object) {
        found.push((object, plain("a SOPS file in which nothing is encrypted")));
    }
    let hidden = if kind == "SealedSecret" { "encryptedData" } else { "" };
    Walk { hidden, ..*walk }.walk("", "", object, found);
}

fn of_secret<'a, T: Tree>(object: &'a T, encrypted: bool, found: &mut Vec<(&'a T, Found)>) {
    let mut values = Vec::new();
    for key in ["data", "stringData"] {
        if let Some(data) = object.child(key) {
            leaves(data, &mut values);
        }
    }
    if !encrypted && !values.is_empty() {
        let what = "a Secret with plain content";
        found.push((object, Found::new(OBJECT, what, 0)));
    } else if encrypted {
        let open = values.into_iter().filter(|value| {
            value.text().is_some_and(|text| !text.is_empty() && !literal::is_encrypted(&text))
        });
        found.extend(open.map(|value| (value, plain("a value of a Secret that SOPS did not encrypt"))));
    }
}

/// Finds a Secret with plaintext content inside another object or a text, as in the values of a chart that applies extra
/// objects. A program may fill in templates.
fn inner_secret<'a, T: Tree>(object: &'a T, found: &mut Vec<(&'a T, Found)>) {
    if is_open_secret(object) {
        let what = "a Secret with plain content";
        found.push((object, Found::new(OBJECT, what, 0)));
    }
}

/// Whether an object is a Secret in which at least one value is neither encrypted nor a template, or a list with one.
pub(super) fn is_open_secret<T: Tree>(object: &T) -> bool {
    let kind = object.word("kind").unwrap_or_default();
    match kind.strip_suffix("List") {
        Some(of) => {
            let items = object.child("items").map(Tree::items).unwrap_or_default();
            items.iter().any(|item| {
                let is_secret = item.word("kind").map_or(of == "Secret", |kind| kind == "Secret");
                is_secret && has_open_value(item)
            })
        }
        None => kind == "Secret" && has_open_value(object),
    }
}

fn has_open_value<T: Tree>(secret: &T) -> bool {
    if secret.child("sops").is_some() {
        return false;
    }
    let mut values = Vec::new();
    let data = || ["data", "stringData"].iter().filter_map(|key| secret.child(key));
    // A rule that generates Secrets has a whole Secret as its `data`.
    if data().any(|data| data.entries().any(|(key, value)| key == "data" && value.entries().next().is_some()))
    {
        return data().any(has_open_value);
    }
    data().for_each(|data| leaves(data, &mut values));
    values.into_iter().any(|value| value.text().is_some_and(|text| literal::is_open(&text)))
}

fn plain(what: &str) -> Found {
    Found::new("unencrypted-value", what, 0)
}

fn leaves<'a, T: Tree>(node: &'a T, out: &mut Vec<&'a T>) {
    if node.text().is_some() {
        out.push(node);
    }
    for value in node.entries().map(|(_, value)| value).chain(node.items()) {
        leaves(value, out);
    }
}

fn holds_encrypted<T: Tree>(object: &T) -> bool {
    let mut values = Vec::new();
    object.entries().filter(|(key, _)| *key != "sops").for_each(|(_, one)| leaves(one, &mut values));
    values.into_iter().any(|value| value.text().is_some_and(|text| literal::is_encrypted(&text)))
}

struct Walk<'a> {
    path: &'a str,
    /// A key whose values are encrypted by a tool.
    hidden: &'static str,
    /// The number of texts around the tree.
    depth: usize,
}

impl Walk<'_> {
    fn walk<'a, T: Tree>(&self, parent: &str, key: &str, node: &'a T, found: &mut Vec<(&'a T, Found)>) {
        let before = found.len();
        if let Some(text) = node.text() {
            self.value(parent, key, node, &text, found);
        }
        // In an ExternalSecret, `secretKey` contains the name of a key; the other fields name the source.
        let reference = node.child("remoteRef").is_some();
        for (name, value) in node.entries() {
            let skipped = reference && name == "secretKey" || !self.hidden.is_empty() && name == self.hidden;
            if !skipped {
                inner_secret(value, found);
                self.walk(key, name, value, found);
            }
            self.key(node, name, found);
        }
        let items = node.items();
        for (at, item) in items.iter().enumerate() {
            // A command line as a list: `--password`, followed by its value.
            let flag = at.checked_sub(1).and_then(|before| items[before].text());
            inner_secret(item, found);
            let flag = flag.as_deref().filter(|flag| commands::is_long_option(flag) && !flag.contains('='));
            match flag {
                Some(flag) if item.text().is_some_and(|text| !text.starts_with('-')) => {
                    self.walk(key, flag.trim_start_matches('-'), item, found);
                }
                _ => self.walk(parent, key, item, found),
            }
        }
        self.named(node, before, found);
        of_arguments(self.path, node, found);
        of_written_file(node, found);
        of_web_key(node, found);
    }

    fn value<'a, T: Tree>(
        &self,
        parent: &str,
        key: &str,
        node: &'a T,
        text: &str,
        found: &mut Vec<(&'a T, Found)>,
    ) {
        let at = At { path: self.path, parent, key };
        let reported = in_text(at, text, T::OBJECTS, self.depth);
        found.extend(reported.into_iter().map(|one| (node, one)));
    }

    /// A key may be a token itself.
    fn key<'a, T: Tree>(&self, node: &'a T, name: &str, found: &mut Vec<(&'a T, Found)>) {
        if name.len() >= 20 {
            self.value("", "", node, name, found);
        }
    }

    /// Handles variables, environment entries and JSON patches, whose name describes the value next to it. Findings inside
    /// the node start at `before`.
    fn named<'a, T: Tree>(&self, node: &'a T, before: usize, found: &mut Vec<(&'a T, Found)>) {
        let Some(value) = node.child("value") else { return };
        let Some(text) = value.text() else { return };
        let name = ["name", "key", "path", "type"].into_iter().find_map(|key| node.word(key));
        let Some(name) = name else { return };
        let name = name.rsplit('/').next().unwrap_or_default();
        if is_known(value, &found[before..]) {
            return;
        }
        if keys::is_credential(name, &text) {
            found.push((value, Found::new("credential", "a credential", 0)));
        } else {
            self.value("", name, value, &text, found);
        }
    }
}

/// Handles files that cloud-init writes, as in `{path: /root/.pgpass, content: …}`, whose name says what they contain.
fn of_written_file<'a, T: Tree>(node: &'a T, found: &mut Vec<(&'a T, Found)>) {
    let Some((path, content)) = node.word("path").zip(node.child("content")) else { return };
    let is_open = || content.text().is_some_and(|text| !text.trim().is_empty() && literal::is_open(&text));
    if files::is_key_file(&path) && is_open() && !is_known(content, found) {
        found.push((content, Found::new("key-file", "a key file", 0)));
    }
}

/// Handles JSON web keys (RFC 7517): `d` is the private part of a key, `k` a symmetric key.
fn of_web_key<'a, T: Tree>(node: &'a T, found: &mut Vec<(&'a T, Found)>) {
    if node.child("kty").is_none() {
        return;
    }
    for part in ["d", "k"].iter().filter_map(|name| node.child(name)) {
        let is_open = || part.text().is_some_and(|text| literal::is_literal(&text));
        if is_open() && !is_known(part, found) {
            let what = "a private JSON web key";
            found.push((part, Found::new("private-key", what, 0)));
        }
    }
}

/// Whether something was found in a node.
fn is_known<T>(node: &T, found: &[(&T, Found)]) -> bool {
    found.iter().any(|(known, _)| std::ptr::eq(*known, node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        note::Notes,
        yaml::{FileId, Source, read},
    };

    fn found(text: &str) -> Vec<&'static str> {
        let source = Source::new(FileId(0), "values.yaml", text);
        let values = read(&source, &mut Notes::new()).unwrap();
        in_object("values.yaml", &values, &|_| false).into_iter().map(|(_, one)| one.name).collect()
    }

    #[test]
    fn a_command_line_in_lists_is_read_as_a_whole() {
        for text in [
            "command: [racadm]\nargs: [\"-p\", \"Xk29dkwl\"]\n",
            "command: [sshpass, \"-p\", Xk29dkwl, ssh, host]\n",
            "command: [ipmitool, \"-U\", root, \"-P\", Xk29dkwl]\n",
            "command: [curl, \"-u\", \"me:Xk29dkwl\", \"https://a\"]\n",
            "runcmd:\n- [mysql, -uroot, -pXk29dkwl]\n",
        ] {
            assert_eq!(found(text), ["credential"], "{text}");
        }
        for text in [
            "command: [racadm]\nargs: [\"-p\", \"$PASSWORD\"]\n",
            "command: [nginx]\nargs: [\"-p\", \"port8080\"]\n",
            "command: [mysql, \"-p\", appdatabase]\n",
            "command: [sh, \"-c\", \"racadm help -p\"]\n",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn a_rule_that_generates_secrets_is_told_from_a_secret() {
        let rule = |data: &str| format!("generate:\n  kind: Secret\n  name: x\n  {data}\n");
        assert_eq!(found(&rule("clone: { namespace: default, name: x }")), Vec::<&str>::new());
        assert_eq!(found(&rule("data: { kind: Secret, data: { a: \"{{ x }}\" } }")), Vec::<&str>::new());
        assert_eq!(found(&rule("data: { kind: Secret, data: { a: b3BlbnNlc2FtZQ== } }"))[0], OBJECT);
        assert_eq!(found(&rule("data: { a: b3BlbnNlc2FtZQ== }"))[0], OBJECT);
    }

    #[test]
    fn a_secret_hides_neither_in_a_list_nor_behind_a_template() {
        let with = |value: &str| {
            format!("extra:\n- kind: SecretList\n  items:\n  - stringData: {{ key: \"{value}\" }}\n")
        };
        assert_eq!(found(&with("open-sesame")), [OBJECT]);
        assert_eq!(found(&with("{{ .Values.key }}")), Vec::<&str>::new());
        assert_eq!(found("a:\n  kind: Secret\n  data: { k: \"b3BlbnNlc2FtZTE{{ .x }}\" }\n"), [OBJECT]);
        assert_eq!(
            found("a:\n  kind: List\n  items: [{ kind: ConfigMap, data: { k: v } }]\n"),
            Vec::<&str>::new()
        );
    }
}
