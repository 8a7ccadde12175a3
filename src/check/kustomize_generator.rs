//! Checks what the generators of a kustomize file in a `.d` folder read, and the objects that they make of it.
//!
//! The rules come from kustomize's `kv` package and `makeValidatedDataMap`. Whether an object fits those that the folder
//! has is not checked here.

use std::collections::BTreeSet;

use super::{
    Texts,
    kustomize_file::{Refused, is_null},
    kustomize_folder::joined,
    metadata::shortened,
    object::{A_NAME, is_name},
    secret_scan::{Tree, is_encrypted_file},
    text_data,
};
use crate::{
    note::Place,
    yaml::{RawKind, RawNode, Source},
};

const REFUSED: &str = "correct it: kustomize refuses the whole folder";
pub(super) const MISSING: &str = "add the file, or remove its name: kustomize refuses the whole folder";

/// The fields with generators, and the kind of object that each makes.
pub(super) const GENERATORS: [(&str, &str); 2] =
    [("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")];

/// Finds what makes kustomize refuse the generators of a file, or the API server what they make. `folder` is the `.d` folder.
pub(super) fn faults(root: &RawNode, source: &Source, folder: &str, texts: Texts<'_>) -> Vec<Refused> {
    let mut found = Vec::new();
    for (field, kind) in GENERATORS {
        for entry in root.child(field).map(Tree::items).unwrap_or_default() {
            let is_written = matches!(entry.kind, RawKind::Mapping(_)) && entry.child("<<").is_none();
            if is_written || is_null(entry) {
                let mut generator = Generator { kind, entry, source, folder, texts, found: &mut found };
                generator.check(field);
            }
        }
    }
    found
}

/// One entry of a list of generators.
struct Generator<'a> {
    kind: &'a str,
    entry: &'a RawNode,
    source: &'a Source,
    folder: &'a str,
    texts: Texts<'a>,
    found: &'a mut Vec<Refused>,
}

impl<'a> Generator<'a> {
    fn check(&mut self, field: &str) {
        let name = self.entry.word("name").unwrap_or_default();
        if name.is_empty() {
            let message = format!("an entry of `{field}` has no `name`");
            self.note(self.entry, message, "add the name of the object that it makes");
        } else if !is_name(self.kind, &format!("a{name}a")) {
            // A prefix or a suffix may complete it.
            let message =
                format!("{} `{}` has a name that no API server accepts", self.kind, shortened(&name));
            self.note(self.entry.child("name").unwrap_or(self.entry), message, A_NAME);
        }
        let mut keys = BTreeSet::new();
        self.literals(&mut keys);
        self.files(&mut keys);
        let is_read = self.environments(&mut keys);
        // What it merges into may have the other keys.
        let merges = self.entry.word("behavior").is_some_and(|behavior| behavior == "merge");
        if self.kind == "Secret" && is_read && !merges {
            let of_type = self.entry.word("type").unwrap_or_default();
            if let Some(missing) = text_data::missing_keys(&of_type, |key| keys.contains(key)) {
                let message = format!("a Secret of type `{of_type}` needs {missing}");
                self.note(self.entry, message, text_data::OF_TYPE);
            }
        }
    }

    fn note(&mut self, node: &RawNode, message: String, hint: &'static str) {
        self.found.push(Refused::new(self.source.word(node.start), message, hint));
    }

    /// A literal is `<key>=<value>`. Messages do not repeat it, because the value may be a secret.
    fn literals(&mut self, keys: &mut BTreeSet<String>) {
        let entry = self.entry;
        for literal in items(entry, "literals") {
            let text = literal.text().unwrap_or_default();
            match text.split_once('=') {
                Some((key, _)) if !key.is_empty() => {
                    let place = self.source.word(literal.start);
                    self.key(key, place, keys);
                }
                _ => self.note(literal, "this literal has no key".to_owned(), "write `<key>=<value>`"),
            }
        }
    }

    /// A file is `<path>` or `<key>=<path>`.
    fn files(&mut self, keys: &mut BTreeSet<String>) {
        let entry = self.entry;
        for file in items(entry, "files") {
            let text = file.text().unwrap_or_default();
            let (key, path) = match text.split_once('=') {
                None => (text.trim_end_matches('/').rsplit('/').next().unwrap_or_default(), &*text),
                Some((key, path)) if !key.is_empty() && !path.is_empty() && !path.contains('=') => {
                    (key, path)
                }
                Some(_) => {
                    let message = format!("`{}` is neither a path nor a key with a path", shortened(&text));
                    self.note(file, message, "write `<path>` or `<key>=<path>`");
                    continue;
                }
            };
            self.read(file, path);
            let place = self.source.word(file.start);
            self.key(key, place, keys);
        }
    }

    /// Collects the keys of the lines of files. Returns whether it could read all of them.
    fn environments(&mut self, keys: &mut BTreeSet<String>) -> bool {
        let entry = self.entry;
        let one = entry.child("env").filter(|env| matches!(env.kind, RawKind::Scalar { .. }));
        let mut is_read = true;
        for file in items(entry, "envs").chain(one) {
            let path = file.text().unwrap_or_default();
            let Some(lines) = self.read(file, &path).filter(|lines| !is_encrypted_file(&lines.text)) else {
                is_read = false;
                continue;
            };
            let mut offset = 0;
            for line in lines.text.split_inclusive('\n') {
                let begins = offset + (line.len() - line.trim_start().len());
                offset += line.len();
                let content = line.trim_start().trim_end_matches(['\n', '\r']);
                if !content.is_empty() && !content.starts_with('#') {
                    let key = content.split_once('=').map_or(content, |(key, _)| key);
                    self.key(key, lines.word(begins), keys);
                }
            }
        }
        is_read
    }

    /// The file at a path, if the folder has it. Other checks report paths that leave the folder.
    fn read(&mut self, node: &RawNode, path: &str) -> Option<&'a Source> {
        let below = format!("{}/", self.folder);
        let full = joined(&self.source.path, path)?;
        if path.is_empty() {
            self.note(node, "this path is empty".to_owned(), REFUSED);
            return None;
        }
        let file = self.texts.beside.at(&full);
        if file.is_none() && format!("{full}/").starts_with(&below) {
            let (message, hint) = if self.texts.beside.below(&full).next().is_some() {
                (format!("`{}` is a folder, not a file", shortened(path)), "name the files in it")
            } else {
                (format!("`{}` does not exist", shortened(path)), MISSING)
            };
            self.note(node, message, hint);
        }
        file
    }

    /// Messages do not repeat keys: a line without a key may be a secret.
    fn key(&mut self, key: &str, place: Place, keys: &mut BTreeSet<String>) {
        let (message, hint) = if !text_data::is_key(key) {
            (format!("a {} cannot have this key", self.kind), text_data::A_KEY)
        } else if !keys.insert(key.to_owned()) {
            let message = format!("this key occurs twice in one {}", self.kind);
            (message, "keep one of them: kustomize refuses the whole folder")
        } else {
            return;
        };
        self.found.push(Refused::new(place, message, hint));
    }
}

/// The items of a list that can be text.
fn items<'a>(entry: &'a RawNode, field: &str) -> impl Iterator<Item = &'a RawNode> + use<'a> {
    let items = entry.child(field).map(Tree::items).unwrap_or_default();
    items.iter().filter(|item| matches!(item.kind, RawKind::Scalar { .. }))
}
