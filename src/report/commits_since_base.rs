//! Runs the guards on each commit since the base, in addition to the whole change.
//!
//! A removal takes several commits. If one change contains them all, the change as a whole seems to delete something without
//! its removal steps; only the single commits show them. Conversely, a later commit may undo what an earlier one did.
//!
//! Engines read branches, not commits, so they need not see every commit. A removal with all its steps in one change
//! therefore counts as announced, with a warning that the steps must reach the engine one by one. A commit that is undone in
//! the end is also only a warning. No other refusal of the whole change is excused.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    new_tree::{After, GENERATED, Listing, edited_releases},
    taken_back,
};
use crate::{
    compare::{Archive as _, BlobId, cluster_folder},
    model::ClusterId,
    note::{About, Diagnostic, Extent, Fault, MissingCommit, Notes, Severity, short_commit},
    remove::{Before, Guard, cluster_of},
    render,
    tree::{Changes, File, FileChange, Part, PartId, TreePath},
};

/// The code of warnings about removals whose steps are all in the change.
pub(super) const ANNOUNCED: &str = "announced";

pub trait CommitsSinceBase {
    /// The commits that change generated files, oldest first.
    fn steps(&self) -> &[CommitSinceBase];

    /// The commit missing from a shallow clone, if its history ends too early.
    fn missing(&self) -> Option<&MissingCommit>;

    /// The generated files before and after a step. Folders without differences may be left out.
    fn listings(&self, step: usize) -> Result<[BTreeMap<String, BlobId>; 2], Fault>;

    /// The generated files before the first and after the last commit. As in a step, folders without differences may be left
    /// out; of a cluster that differs, all files are there.
    fn whole(&self) -> Result<[BTreeMap<String, BlobId>; 2], Fault>;

    /// Which of these files of Clusters a commit up to the base removed. The latest commit counts, and only recent ones are
    /// searched.
    fn lost(&self, paths: &BTreeSet<String>) -> Result<BTreeMap<String, LostFile>, Fault>;

    /// The base.
    fn base(&self) -> BaseCommit;

    /// The blob ID of a file where the change left the base; none if there was no such file.
    fn id_at_fork(&self, path: &str) -> Result<Option<BlobId>, Fault>;
}

/// The commit that a change is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseCommit {
    /// Its ID.
    pub commit: String,
    /// The ID of the commit where the change left the base, if the change lacks later commits of the base.
    pub fork: Option<String>,
}

/// A file that a commit removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostFile {
    /// The commit's ID.
    pub commit: String,
    /// The last text of the file.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitSinceBase {
    /// The commit's ID.
    pub commit: String,
    /// The first line of its message.
    pub title: String,
    /// Whether it is a merge, which also brings in commits made elsewhere.
    pub is_merge: bool,
}

/// What leaves each cluster by a removal whose steps are all in this change.
pub(super) type Announced = BTreeMap<ClusterId, BTreeSet<About>>;

/// Identifies a finding: its place and its subject.
type Key = (&'static str, Option<String>, Option<About>);

fn key(note: &Diagnostic) -> Key {
    match (cluster_of(note), &note.about) {
        // The same removal is reported at other files and with other codes.
        (Some(cluster), Some(about @ (About::Cluster | About::Addon(_)))) => {
            ("removal", Some(cluster.whole()), Some(about.clone()))
        }
        _ => (note.code, note.place.as_ref().map(|place| place.file.clone()), note.about.clone()),
    }
}

/// Judges the steps, including the one from the last commit to the definitions of the run. `whole` holds the guards'
/// messages about the whole change. The result holds the remaining messages and those added by the steps.
pub(super) fn judge(
    past: &dyn CommitsSinceBase,
    after: &After<'_>,
    whole: Notes,
) -> Result<(Notes, Announced), Fault> {
    let mut steps = Vec::new();
    for (at, step) in past.steps().iter().enumerate() {
        let listings = past.listings(at)?;
        steps.push(JudgedStep::new(&listings, after, Some(step))?);
    }
    if steps.is_empty() {
        let mut whole = whole;
        whole.change(|note| note_missing(note, past));
        return Ok((whole, Announced::new()));
    }
    let last = last(past, after)?;
    steps.push(JudgedStep::new(&last, after, None)?);
    let of_whole: BTreeSet<Key> = whole.iter().map(key).collect();
    let mut announced = Announced::new();
    let mut notes = Notes::new();
    for note in whole.iter() {
        notes.push(settled(note, &steps, past, &mut announced));
    }
    for (at, one) in steps.iter().enumerate() {
        let Some(step) = one.step.filter(|step| !step.is_merge) else { continue };
        let errors = one.found.iter().filter(|note| note.severity == Severity::Error);
        for note in errors {
            let is_last = !steps[at + 1..].iter().any(|later| later.changes(note));
            if of_whole.contains(&key(note)) {
                if !is_error_of(&whole, note) {
                    notes.push(in_commit(note, step, Severity::Error, is_last));
                }
            } else {
                notes.push(in_commit(note, step, Severity::Warning, is_last));
            }
        }
    }
    let taken: Vec<_> = steps
        .iter()
        .map(|one| taken_back::Step { commit: one.step, files: &one.files, found: &one.found })
        .collect();
    taken_back::warn(&taken, after, &mut notes)?;
    Ok((notes, announced))
}

/// The guards' messages about a step.
struct JudgedStep<'a> {
    found: Notes,
    /// None for the step from the last commit to the definitions of the run.
    step: Option<&'a CommitSinceBase>,
    /// The clusters with any differences.
    touched: BTreeSet<PartId>,
    /// The clusters that have no Cluster any more.
    lost: BTreeSet<PartId>,
    /// What left after a step of its removal.
    left: BTreeSet<(PartId, About)>,
    /// The files that show what it takes away.
    files: taken_back::Files,
}

impl<'a> JudgedStep<'a> {
    fn new(
        listings: &[Listing; 2],
        after: &After<'_>,
        step: Option<&'a CommitSinceBase>,
    ) -> Result<Self, Fault> {
        let found = guards(listings, after)?;
        let (touched, lost) = (touched(listings), lost(listings));
        let files = taken_back::files(listings);
        Ok(Self { found, step, touched, lost, left: left(listings, after)?, files })
    }

    /// Whether the step changes the cluster of a message, or else what the message is about.
    fn changes(&self, note: &Diagnostic) -> bool {
        let cluster = cluster_of(note).map(|cluster| part_of(&cluster));
        cluster.is_some_and(|cluster| self.touched.contains(&cluster))
            || self.found.iter().any(|one| key(one) == key(note))
    }

    /// Whether something left a cluster after a step of its removal, or with its cluster.
    fn has_removed(&self, cluster: &PartId, about: &About) -> bool {
        self.left.iter().any(|(part, left)| part == cluster && (left == about || *left == About::Cluster))
    }
}

fn is_error_of(whole: &Notes, note: &Diagnostic) -> bool {
    whole.iter().any(|one| one.severity == Severity::Error && key(one) == key(note))
}

/// Updates a finding of the whole change in the light of the steps.
fn settled(
    note: &Diagnostic,
    steps: &[JudgedStep<'_>],
    past: &dyn CommitsSinceBase,
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
        } else if !is_in_steps
            && matches!(about, About::Release | About::Kubernetes | About::Patch(_) | About::AddonVersion(_))
        {
            note.hint("each commit of this change alone is sound: make a pull request of each, and let the engine apply one before the next");
        }
        return note;
    }
    let part = part_of(&cluster);
    // No step removed it: it left with everything that its cluster has.
    if about != About::Cluster && steps.iter().any(|one| one.lost.contains(&part)) {
        note.hint("a commit of this change removes all generated files of the cluster: no step of a removal does that");
        return note;
    }
    // A pool leaves by steps if it has no machines, which the guards of each step require.
    let has_steps = matches!(about, About::Pool(_)) || steps.iter().any(|one| one.has_removed(&part, &about));
    if !has_steps {
        note.hint("no commit of this change is a step of its removal");
        return note;
    }
    let commits: Vec<String> = steps
        .iter()
        .filter(|one| one.touched.contains(&part))
        .map(|one| {
            one.step.map_or_else(|| "the definitions here".to_owned(), |step| short_commit(&step.commit))
        })
        .collect();
    announced.entry(cluster.clone()).or_default().insert(about.clone());
    announcement(note, &cluster, &about, &commits)
}

fn part_of(cluster: &ClusterId) -> PartId {
    PartId::Cluster {
        management: cluster.management.to_string(),
        namespace: cluster.namespace.to_string(),
        cluster: cluster.name.to_string(),
    }
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
        code: ANNOUNCED,
        message: format!("{what} is removed in steps, and this change contains all of them"),
        hints: vec![hint],
        ..note
    }
}

/// Adds a hint about the missing history.
fn note_missing(note: &mut Diagnostic, past: &dyn CommitsSinceBase) {
    let Some(missing) = past.missing() else { return };
    if matches!(note.about, Some(About::Cluster | About::Pool(_) | About::Addon(_))) {
        note.hint(missing_history(missing)).missing_commit = Some(missing.clone());
    }
}

/// The hint about the missing history.
pub(super) fn missing_history(missing: &MissingCommit) -> String {
    format!(
        "earlier steps of a removal may be in history that this shallow clone does not have: the commit {}, parent of {}; fetch it: `git fetch --unshallow`; in CI, clone all of it: `fetch-depth: 0` with actions/checkout, `GIT_DEPTH: \"0\"` with GitLab",
        short_commit(&missing.commit),
        short_commit(&missing.child)
    )
}

/// A finding of a commit in between.
fn in_commit(note: &Diagnostic, step: &CommitSinceBase, severity: Severity, is_last: bool) -> Diagnostic {
    let mut note = note.clone();
    note.message = format!("in the commit {} ({}): {}", short_commit(&step.commit), step.title, note.message);
    note.extent = Extent::Commit;
    if severity == Severity::Warning {
        let hint = if is_last {
            "it undoes an earlier commit of this change, so nothing is wrong in the end; an engine that reads the branch in between applies both: squash the commits"
        } else if note.code == "abandoned" {
            "a later commit defines it again, so nothing is wrong in the end: an engine that reads the branch in between deletes nothing, and manages it again afterwards"
        } else {
            "a later commit undoes it, so nothing is wrong in the end; an engine that reads the branch in between applies it: squash the commits"
        };
        note.hints = vec![hint.to_owned()];
    }
    Diagnostic { severity, ..note }
}

/// The clusters whose files differ.
fn touched([old, new]: &[BTreeMap<String, BlobId>; 2]) -> BTreeSet<PartId> {
    let differs = old.iter().filter(|(path, id)| new.get(*path) != Some(id));
    let is_new = new.iter().filter(|(path, _)| !old.contains_key(*path));
    let parts = differs.chain(is_new).filter_map(|(path, _)| PartId::of_path(&TreePath::parse(path)?));
    parts.filter(|part| matches!(part, PartId::Cluster { .. })).collect()
}

/// The clusters whose Cluster a step removes.
fn lost([old, new]: &[Listing; 2]) -> BTreeSet<PartId> {
    let gone = old.keys().filter(|path| !new.contains_key(*path));
    let paths = gone.filter(|path| render::is_cluster_file(path)).filter_map(|path| TreePath::parse(path));
    paths.filter_map(|path| PartId::of_path(&path)).collect()
}

/// What a step removes from clusters, of the objects that announce it.
fn left([old, new]: &[Listing; 2], after: &After<'_>) -> Result<BTreeSet<(PartId, About)>, Fault> {
    let mut left = BTreeSet::new();
    for (path, id) in old.iter().filter(|(path, _)| !new.contains_key(*path)) {
        let about = match TreePath::parse(path) {
            Some(_) if render::is_cluster_file(path) => About::Cluster,
            Some(path) if render::is_addon_file(&path) => About::Addon(render::addon_of(&path).to_owned()),
            _ => continue,
        };
        let part = TreePath::parse(path).and_then(|path| PartId::of_path(&path));
        if let Some(part) = part
            && render::is_leaving(&after.read(id)?)
        {
            left.insert((part, about));
        }
    }
    Ok(left)
}

/// The step from the last commit to the definitions of the run. Clusters that neither side changed since the base are left out.
fn last(past: &dyn CommitsSinceBase, after: &After<'_>) -> Result<[Listing; 2], Fault> {
    let [base, tip] = past.whole()?;
    let [old, new] = after.listings();
    let mut before = old.clone();
    before.retain(|path, _| !base.contains_key(path));
    before.extend(tip);
    let mut new = new.clone();
    // A cluster that only the commits changed is the same as at the base again.
    let is_back = |path: &str| cluster_folder(path).is_some_and(|folder| after.is_same(folder));
    new.extend(base.into_iter().filter(|(path, _)| is_back(path)));
    Ok([before, new])
}

/// The clusters of which `generate` would refuse to replace what the last commit has, by folder, each with the first reason.
pub(super) fn refused_in_last(
    past: &dyn CommitsSinceBase,
    after: &After<'_>,
) -> Result<BTreeMap<String, String>, Fault> {
    let mut found = BTreeMap::new();
    for note in guards(&last(past, after)?, after)?.iter() {
        // `generate` only warns of what leaves without any step.
        if note.severity == Severity::Error
            && note.code != "abandoned"
            && let Some(cluster) = cluster_of(note)
        {
            found
                .entry(render::folder_of_cluster(&cluster).to_string())
                .or_insert_with(|| note.message.clone());
        }
    }
    Ok(found)
}

/// Runs the guards on two trees. `last` is the final tree, which has the folders that the listings leave out.
fn guards([old, new]: &[Listing; 2], last: &After<'_>) -> Result<Notes, Fault> {
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
            let file = File::new(tree_path, last.read(id)?);
            guard.see(&Part { id: part, files: vec![file] }, &changes);
        }
    }
    for path in old.keys().filter(|path| !new.contains_key(*path)) {
        changes.files.extend(TreePath::parse(path).map(|path| (path, FileChange::Removed)));
    }
    let text = |path: &TreePath| {
        let id = match old.get(path.as_str()) {
            Some(id) => Some(*id),
            None => last.id_after(path.as_str())?,
        };
        id.map(|id| Ok(last.read(&id)?.into_bytes())).transpose()
    };
    let mut notes = Notes::new();
    guard.judge(
        &changes,
        Before {
            text: &text,
            facts: &|_| None,
            published: &|_| true,
            definitions: &Vec::new,
            lost: Severity::Error,
        },
        &mut notes,
    )?;
    edited_releases(&changes, old, &mut notes);
    debug_assert!(old.keys().all(|path| path.starts_with(GENERATED)));
    Ok(notes)
}
