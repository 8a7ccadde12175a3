//! What the guards say of each commit since the base, beside what they say of the whole change.
//!
//! A removal takes several commits. Where all of them are in one change, the change as a whole looks as if something
//! went without its steps; each commit alone shows them. On the other hand, a commit may do what a later one undoes.
//!
//! Engines read branches, not commits: they need not see each commit. So a removal whose steps are all in one change is
//! announced, and there is a warning that it needs to reach the engine step by step. What is undone in the end is a warning,
//! too. Nothing else that the whole change is refused for is excused.

use std::collections::{BTreeMap, BTreeSet};

use super::after::{GENERATED, edited_releases};
use crate::{
    compare::{Archive, BlobId},
    model::ClusterId,
    note::{About, Diagnostic, Fault, Notes, Severity},
    remove::{Before, Guard, cluster_of},
    tree::{Changes, File, FileChange, Part, PartId, TreePath},
};

/// The commits since the base.
pub trait Past {
    /// Those that change what is generated, the oldest first.
    fn steps(&self) -> &[PastStep];

    /// The commit at which the history that this clone has ends too early.
    fn missing(&self) -> Option<&Missing>;

    /// The generated files before and after a step; those of folders that do not differ may be left out.
    fn listings(&self, step: usize) -> Result<[BTreeMap<String, BlobId>; 2], Fault>;

    /// The generated files of the last commit.
    fn tip(&self) -> Result<BTreeMap<String, BlobId>, Fault>;
}

/// A commit since the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastStep {
    /// The commit.
    pub commit: String,
    /// The first line of its message.
    pub title: String,
    /// Whether it also brings what was committed elsewhere.
    pub is_merge: bool,
}

/// A commit that is not in a shallow clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The commit.
    pub commit: String,
    /// The commit whose parent it is.
    pub child: String,
}

/// What leaves a cluster, by the steps of its removal, all of them in this change.
pub(super) type Announced = BTreeMap<ClusterId, BTreeSet<About>>;

/// What tells a finding from all others: where it stands, and what it is about.
type Key = (&'static str, Option<String>, Option<About>);

fn key(note: &Diagnostic) -> Key {
    match (cluster_of(note), &note.about) {
        // The same removal is seen at other files, and has other codes.
        (Some(cluster), Some(about @ (About::Cluster | About::Addon(_)))) => {
            ("removal", Some(cluster.whole()), Some(about.clone()))
        }
        _ => (note.code, note.place.as_ref().map(|place| place.file.clone()), note.about.clone()),
    }
}

/// Judges the steps, and what the last commit becomes. `whole` is what the guards say of the whole change; what remains of
/// it, and what the steps add, is in the result.
pub(super) fn judge(
    past: &dyn Past,
    after: &BTreeMap<String, BlobId>,
    archive: &dyn Archive,
    whole: Notes,
) -> Result<(Notes, Announced), Fault> {
    let mut steps = Vec::new();
    for (at, step) in past.steps().iter().enumerate() {
        let listings = past.listings(at)?;
        let touched = touched(&listings);
        steps.push(Judged { found: guards(&listings, after, archive)?, step: Some(step), touched });
    }
    if steps.is_empty() {
        let mut whole = whole;
        whole.change(|note| note_missing(note, past));
        return Ok((whole, Announced::new()));
    }
    let last = [past.tip()?, after.clone()];
    let touched = touched(&last);
    steps.push(Judged { found: guards(&last, after, archive)?, step: None, touched });
    let is_whole_reported: BTreeSet<Key> = whole.iter().map(key).collect();
    let mut announced = Announced::new();
    let mut notes = Notes::new();
    for note in whole.iter() {
        notes.push(settled(note, &steps, past, &mut announced));
    }
    for one in &steps {
        let Some(step) = one.step.filter(|step| !step.is_merge) else { continue };
        let errors = one.found.iter().filter(|note| note.severity == Severity::Error);
        for note in errors {
            if is_whole_reported.contains(&key(note)) {
                if !is_error_of(&whole, note) {
                    notes.push(in_commit(note, step, Severity::Error));
                }
            } else {
                notes.push(in_commit(note, step, Severity::Warning));
            }
        }
    }
    Ok((notes, announced))
}

/// What the guards say of a step.
struct Judged<'a> {
    found: Notes,
    /// None for what becomes of the last commit.
    step: Option<&'a PastStep>,
    /// The clusters of which anything differs.
    touched: BTreeSet<PartId>,
}

fn is_error_of(whole: &Notes, note: &Diagnostic) -> bool {
    whole.iter().any(|one| one.severity == Severity::Error && key(one) == key(note))
}

/// A finding of the whole change, as it stands once the steps were seen.
fn settled(
    note: &Diagnostic,
    steps: &[Judged<'_>],
    past: &dyn Past,
    announced: &mut Announced,
) -> Diagnostic {
    let own = key(note);
    let is_in_steps = steps.iter().any(|one| one.found.iter().any(|found| key(found) == own));
    let mut note = note.clone();
    let (Some(cluster), Some(about)) = (cluster_of(&note), note.about.clone()) else { return note };
    let is_leaving = matches!(about, About::Cluster | About::Pool(_) | About::Addon(_));
    if is_in_steps || !is_leaving || past.missing().is_some() {
        if is_leaving {
            note_missing(&mut note, past);
        } else if !is_in_steps && matches!(about, About::Release | About::AddonVersion(_)) {
            note.hint("each commit of this change alone is sound: make a pull request of each, and let the engine apply one before the next");
        }
        return note;
    }
    let part = PartId::Cluster {
        management: cluster.management.to_string(),
        namespace: cluster.namespace.to_string(),
        cluster: cluster.name.to_string(),
    };
    let commits: Vec<String> = steps
        .iter()
        .filter(|one| one.touched.contains(&part))
        .map(|one| one.step.map_or_else(|| "the definitions here".to_owned(), |step| short(&step.commit)))
        .collect();
    announced.entry(cluster.clone()).or_default().insert(about.clone());
    announcement(note, &cluster, &about, &commits)
}

fn announcement(note: Diagnostic, cluster: &ClusterId, about: &About, commits: &[String]) -> Diagnostic {
    let what = match about {
        About::Pool(name) => format!("the node pool `{name}` of `{cluster}`"),
        About::Addon(name) => format!("the addon `{name}` of `{cluster}`"),
        _ => format!("the cluster `{cluster}`"),
    };
    let otherwise = match about {
        About::Pool(_) => "the pool is deleted at once, with its machines",
        _ => "it is left behind, unmanaged",
    };
    let hint = format!(
        "merge and apply the commits one by one: if the engine sees only the last of them, {otherwise}; the commits: {}",
        commits.join(", ")
    );
    Diagnostic {
        severity: Severity::Warning,
        code: "announced",
        message: format!("{what} leaves by the steps of its removal, and all of them are in this change"),
        hints: vec![hint],
        ..note
    }
}

/// Says which history would show more.
fn note_missing(note: &mut Diagnostic, past: &dyn Past) {
    let Some(missing) = past.missing() else { return };
    if matches!(note.about, Some(About::Cluster | About::Pool(_) | About::Addon(_))) {
        note.hint(format!(
            "earlier steps of a removal may be in history that this shallow clone does not have: the commit {}, parent of {}; fetch it: `git fetch --unshallow`; with actions/checkout: `fetch-depth: 0`",
            short(&missing.commit),
            short(&missing.child)
        ));
    }
}

/// A finding of a commit in between.
fn in_commit(note: &Diagnostic, step: &PastStep, severity: Severity) -> Diagnostic {
    let mut note = note.clone();
    note.message = format!("in the commit {} ({}): {}", short(&step.commit), step.title, note.message);
    if severity == Severity::Warning {
        note.hints = vec![
            "a later commit undoes it, so nothing is wrong in the end; an engine that reads the branch in between applies it: squash the commits".to_owned(),
        ];
    }
    Diagnostic { severity, ..note }
}

fn short(commit: &str) -> String {
    commit.chars().take(10).collect()
}

/// The clusters of which files differ.
fn touched([old, new]: &[BTreeMap<String, BlobId>; 2]) -> BTreeSet<PartId> {
    let differs = old.iter().filter(|(path, id)| new.get(*path) != Some(id));
    let is_new = new.iter().filter(|(path, _)| !old.contains_key(*path));
    let parts = differs.chain(is_new).filter_map(|(path, _)| PartId::of_path(&TreePath::parse(path)?));
    parts.filter(|part| matches!(part, PartId::Cluster { .. })).collect()
}

/// What the guards say of two trees. `last` is the tree in the end: it has the folders that the listings leave out.
fn guards(
    [old, new]: &[BTreeMap<String, BlobId>; 2],
    last: &BTreeMap<String, BlobId>,
    archive: &dyn Archive,
) -> Result<Notes, Fault> {
    let mut changes = Changes::default();
    let mut guard = Guard::default();
    for (path, id) in new {
        let Some(tree_path) = TreePath::parse(path) else { continue };
        let part = PartId::of_path(&tree_path).unwrap_or(PartId::Root);
        let change = match old.get(path) {
            None => FileChange::Added,
            Some(old) if old == id => FileChange::Unchanged,
            Some(_) => FileChange::Changed,
        };
        changes.record(&part, &tree_path, change);
        if change != FileChange::Unchanged && Guard::reads(&tree_path) {
            let bytes = archive.read(id)?.into_bytes();
            guard.see(&Part { id: part, files: vec![File { path: tree_path, bytes }] }, &changes);
        }
    }
    for path in old.keys().filter(|path| !new.contains_key(*path)) {
        changes.files.extend(TreePath::parse(path).map(|path| (path, FileChange::Removed)));
    }
    let text = |path: &TreePath| {
        let id = old.get(path.as_str()).or_else(|| last.get(path.as_str()))?;
        Some(archive.read(id).ok()?.into_bytes())
    };
    let mut notes = Notes::new();
    guard.judge(&changes, Before { text: &text, published: &|_| true }, &mut notes);
    edited_releases(&changes, old, &mut notes);
    debug_assert!(old.keys().all(|path| path.starts_with(GENERATED)));
    Ok(notes)
}
