//! Findings that a stack or a definition allows by name, with a reason.
//!
//! `stack.yaml` allows a finding in a file of the stack. A definition allows one in its own file or in its `.d` folder, and
//! `stackloom.yaml` one in its own file, in the lock or in a rollout.

use std::{collections::BTreeMap, sync::Arc};

use super::{OWN, patterns};
use crate::{
    check::{Finder, Texts},
    definition::closest,
    note::Notes,
    yaml::{FileId, Node, Source, read},
};

/// The settings of the fleet. They hold the allowances of all files that belong neither to a stack nor to clusters.
pub(in crate::check) const FLEET: &str = "stackloom.yaml";

/// The prefix of kinds in allowances.
pub(in crate::check) const KIND: &str = "kind/";

/// The prefix of fields of kustomize files in allowances.
pub(in crate::check) const KUSTOMIZE_FIELD: &str = "kustomize/";

/// The fields of a kustomize file that can change or add any object, after the checks have read the files.
pub(in crate::check) const CHANGING_FIELDS: [&str; 12] = [
    "components",
    "configurations",
    "generators",
    "helmChartInflationGenerator",
    "helmCharts",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "transformers",
    "validators",
    "vars",
];

/// Whether this is the name of a finding about secrets, of a kind, or of a field of kustomize files.
pub(in crate::check) fn is_name(name: &str) -> bool {
    name.strip_prefix(KIND).is_some_and(|kind| kind.starts_with(|c: char| c.is_ascii_uppercase()))
        || name.strip_prefix(KUSTOMIZE_FIELD).is_some_and(|field| CHANGING_FIELDS.contains(&field))
        || OWN.contains(&name)
        || patterns::names().any(|one| one == name)
}

/// Whether a finding is allowed in a file, with a hint on how to allow it.
pub(in crate::check) fn allowed(finder: &mut Finder<'_>, file: &str, name: &str) -> (bool, Option<String>) {
    let list = of_file(finder, file);
    let allowed = list.as_ref().is_some_and(|list| list.allows(file, name));
    (allowed, list.map(|list| list.hint("if it belongs there", file, name)))
}

/// The allowances that apply to a file.
pub(super) struct List<'a> {
    owner: &'a Source,
    /// The folder that paths in `in` are relative to.
    folder: String,
    entries: Arc<[Entry]>,
}

/// A cache of allowances by the file that contains them, because a file can have thousands of findings.
#[derive(Debug, Default)]
pub(in crate::check) struct AllowanceCache(BTreeMap<FileId, Arc<[Entry]>>);

#[derive(Debug)]
struct Entry {
    rule: String,
    file: Option<String>,
    reasoned: bool,
    node: Node,
}

/// The allowances for a file; `None` if no file can contain allowances for it.
pub(super) fn of_file<'a>(finder: &mut Finder<'a>, file: &str) -> Option<List<'a>> {
    let (owner, folder) = owner(finder.texts, file)?;
    let entries = finder.allowances.0.entry(owner.id).or_insert_with(|| entries(owner));
    Some(List { owner, folder, entries: Arc::clone(entries) })
}

/// The file that contains the allowances for a file, and the folder that its paths are relative to.
fn owner<'a>(texts: Texts<'a>, file: &str) -> Option<(&'a Source, String)> {
    let sources = &texts.sources;
    if let Some(rest) = file.strip_prefix("stacks/") {
        let mut parts = rest.splitn(3, '/');
        let folder = format!("stacks/{}/{}", parts.next()?, parts.next()?);
        return Some((sources.at(&format!("{folder}/stack.yaml"))?, format!("{folder}/")));
    }
    if [FLEET, crate::world::LOCK].contains(&file) || file.starts_with("rollouts/") {
        return Some((sources.at(FLEET)?, String::new()));
    }
    let definition = match crate::world::companion_folder(file) {
        Some(folder) => {
            let stem = folder.strip_suffix(".d")?;
            ["yaml", "yml"].iter().find_map(|end| sources.at(&format!("{stem}.{end}")))?
        }
        None if file.starts_with("clusters/") => sources.at(file)?,
        None => return None,
    };
    let folder = definition.path.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
    Some((definition, folder.unwrap_or_default()))
}

fn entries(owner: &Source) -> Arc<[Entry]> {
    // Few definitions allow anything, and parsing all of them again is slow.
    let is_worth_reading = owner.text.contains("allow");
    let read = is_worth_reading.then(|| read(owner, &mut Notes::new())).flatten();
    let Some(root) = read else { return Arc::default() };
    let list = root.at(&["spec", "allow"]).and_then(Node::as_sequence).unwrap_or_default();
    let entry = |node: &Node| {
        let word = |key| node.get(key).and_then(Node::as_str);
        let reasoned = word("reason").is_some_and(|reason| !reason.trim().is_empty());
        Some(Entry {
            rule: word("rule")?.to_owned(),
            file: word("in").map(str::to_owned),
            reasoned,
            node: node.clone(),
        })
    };
    list.iter().filter_map(entry).collect()
}

impl List<'_> {
    /// Whether a finding with this name is allowed in a file.
    pub(super) fn allows(&self, file: &str, name: &str) -> bool {
        let inside = self.inside(file);
        self.entries.iter().any(|one| one.reasoned && one.rule == name && one.file.as_deref() == inside)
    }

    /// The path of a file as written in `in`; `None` for the owner itself.
    fn inside<'f>(&self, file: &'f str) -> Option<&'f str> {
        let own = *self.owner.path == *file && !file.starts_with("stacks/");
        (!own).then(|| file.strip_prefix(&*self.folder).unwrap_or(file))
    }

    /// A hint on how to allow a finding.
    pub(super) fn hint(&self, when: &str, file: &str, name: &str) -> String {
        let inside = self.inside(file).map(|path| format!("in: {path}, ")).unwrap_or_default();
        format!(
            "{when}, allow it in {} under `spec`: `allow: [{{ rule: {name}, {inside}reason: … }}]`",
            self.owner.path
        )
    }
}

/// Reports allowances that have no effect: an unknown name, no reason, or a missing file.
pub(in crate::check) fn faults(file: &str, finder: &mut Finder<'_>) {
    let Some(list) = of_file(finder, file) else { return };
    for entry in &*list.entries {
        let place = |key: &str| {
            let node = entry.node.get(key).unwrap_or(&entry.node);
            node.origin
        };
        let of_stack = list.owner.path.starts_with("stacks/");
        if !is_name(&entry.rule) && !of_stack {
            let names = OWN.into_iter().chain(patterns::names());
            let hint = closest(&entry.rule, names).map(|name| format!("did you mean `{name}`?"));
            let message = format!("no check is called `{}`, so it cannot be allowed", entry.rule);
            let note = finder.notes.error("unknown-lint", place("rule"), message);
            note.hint(hint.unwrap_or_else(|| "use the name that the message's hint shows".to_owned()));
        }
        if of_stack && entry.rule.starts_with(KUSTOMIZE_FIELD) {
            let message =
                format!("a stack cannot allow `{}`: it may not have objects for kustomize", entry.rule);
            finder
                .notes
                .error("unknown-lint", place("rule"), message)
                .hint("a cluster's definition can allow it, for a kustomize file in its `.d` folder");
        } else if of_stack && is_name(&entry.rule) != entry.file.is_some() {
            let (message, hint) = if entry.file.is_some() {
                (
                    format!("the lint `{}` is about the whole class, not about a file", entry.rule),
                    "remove `in`",
                )
            } else {
                (
                    format!("`{}` is allowed without a file", entry.rule),
                    "name the file with `in`, relative to the stack's folder",
                )
            };
            finder.notes.error("wrong-value", place("rule"), message).hint(hint);
        }
        if !entry.reasoned {
            let message = format!("`{}` is allowed without a reason", entry.rule);
            let note = finder.notes.error("wrong-value", place("reason"), message);
            note.hint("add the reason why it may be there");
        }
        let missing = entry.file.as_deref().filter(|path| {
            let path = format!("{}{path}", list.folder);
            finder.texts.sources.at(&path).is_none() && finder.texts.beside.at(&path).is_none()
        });
        if let Some(path) = missing {
            let message = format!("`{}{path}` does not exist", list.folder);
            let note = finder.notes.error("wrong-value", place("in"), message);
            note.hint(match &*list.folder {
                "" => "write the path relative to the root of the fleet".to_owned(),
                folder => format!("write the path relative to `{folder}`"),
            });
        }
    }
}
