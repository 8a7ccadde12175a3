//! Folders in which tests may do anything, and runs in them.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use stackloom::{
    generate::{Failure, Generation, generate},
    io::disk::{CheckSink, DiskSink, Workspace},
    model::AddonDelivery,
    note::Notes,
    tree::{MemorySink, Sink},
    world::{Files, World},
};
use tempfile::TempDir;

use super::support;

/// An empty folder.
pub(crate) fn folder() -> TempDir {
    TempDir::with_prefix("stackloom-test-").unwrap()
}

/// Copies a folder over another.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Copies the sources of a fleet and nothing else from its folder.
pub(crate) fn copy_fleet(from: &Path, to: &Path) {
    fs::copy(from.join("stackloom.yaml"), to.join("stackloom.yaml")).unwrap();
    copy(&from.join("stacks"), &to.join("stacks"));
    copy(&from.join("clusters"), &to.join("clusters"));
    for release in support::numbered(from) {
        copy(&release, &to.join(release.strip_prefix(from).unwrap()));
    }
}

/// Writes a file, creating its parent folders.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The contents of a folder by path: the bytes of files, the targets of links.
pub(crate) fn snapshot(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in walkdir::WalkDir::new(root).min_depth(1) {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let kind = entry.file_type();
        let bytes = if kind.is_symlink() {
            fs::read_link(entry.path()).unwrap().to_str().unwrap().as_bytes().to_vec()
        } else if kind.is_file() {
            fs::read(entry.path()).unwrap()
        } else {
            b"folder".to_vec()
        };
        all.insert(path, bytes);
    }
    all
}

/// Runs the generator, and returns its messages.
pub(crate) fn run(world: &dyn World, sink: &mut dyn Sink) -> (Result<Generation, Failure>, Notes) {
    let mut notes = Notes::new();
    let done = generate(world, sink, &|_, _| {}, &mut notes);
    (done, notes)
}

/// Runs the generator, which must succeed.
pub(crate) fn sound(world: &dyn World, sink: &mut dyn Sink) -> Generation {
    let (done, notes) = run(world, sink);
    done.unwrap_or_else(|failure| panic!("{failure:?}\n{}", messages(&notes)))
}

/// Writes a fleet's tree to disk.
pub(crate) fn to_disk(root: &Path) -> Generation {
    let world = Workspace::open(root).unwrap();
    sound(&world, &mut DiskSink::new(&world))
}

/// Compares a fleet's tree with the disk.
pub(crate) fn compared(root: &Path) -> Generation {
    let world = Workspace::open(root).unwrap();
    sound(&world, &mut CheckSink::new(&world))
}

/// The tree of a world, by path.
pub(crate) fn tree(world: &dyn World) -> BTreeMap<String, String> {
    let mut sink = MemorySink::default();
    sound(world, &mut sink);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    sink.files().map(|file| (file.path.to_string(), text(file.bytes()))).collect()
}

/// The paths at which two trees differ.
pub(crate) fn differences(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<String> {
    let mut paths: Vec<_> = one.keys().chain(other.keys()).cloned().collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| one.get(path) != other.get(path));
    paths
}

/// Messages in a form that is stable across runs.
pub(crate) fn messages(notes: &Notes) -> String {
    let mut out = String::new();
    for cause in notes.causes() {
        let note = &cause.note;
        let place = note.place.as_ref().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "{}[{}] {place}: {}", note.severity, note.code, note.message).unwrap();
        if let Some(place) = note.place.as_ref().filter(|place| place.line > 0) {
            let shown: String = place.source.chars().take(120).collect();
            writeln!(out, "  | {shown}").unwrap();
            let marks = place.length.min(120 - (place.column - 1).min(119));
            writeln!(out, "  | {}{}", " ".repeat(place.column - 1), "^".repeat(marks)).unwrap();
        }
        for (what, place) in &note.related {
            writeln!(out, "  {what}: {place}").unwrap();
        }
        if let Some(concerns) = cause.concerns(false) {
            writeln!(out, "  {concerns}").unwrap();
        }
        for hint in &note.hints {
            writeln!(out, "  hint: {hint}").unwrap();
        }
    }
    out
}

/// Compares a text with the expected file; `UPDATE=1` writes the file instead.
pub(crate) fn expect_file(path: &Path, found: &str, wrong: &mut String) {
    let expected = fs::read_to_string(path).ok();
    if expected.as_deref() == Some(found) {
        return;
    }
    if updating() {
        write(path, found);
        return;
    }
    let expected = expected.unwrap_or_else(|| "nothing\n".to_owned());
    writeln!(wrong, "{}: expected\n{expected}found\n{found}", path.display()).unwrap();
}

/// Whether to rewrite expected files.
pub(crate) fn updating() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// The folders in a folder, ordered by name.
pub(crate) fn folders(root: &Path) -> Vec<std::path::PathBuf> {
    let mut all: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.is_dir());
    all.sort();
    all
}

/// The name of a file or folder.
pub(crate) fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// The delivery that installs no charts.
pub(crate) fn without_charts() -> AddonDelivery {
    AddonDelivery::of_word("cluster-resource-set").unwrap()
}

/// The deliveries that install charts, under any engine, except the engines' own.
pub(crate) fn chart_deliveries() -> impl Iterator<Item = AddonDelivery> {
    AddonDelivery::all().filter(|one| one.engine().is_none() && *one != without_charts())
}

/// Writes a fleet and its tree to a folder in `target/`, for the readers in `tests/conformance`.
pub(super) fn export(folder: &str, world: &Files, tree: &MemorySink) {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join(folder);
    if root.exists() {
        fs::remove_dir_all(&root).unwrap();
    }
    for (path, text) in &world.0 {
        write(&root.join(path), text);
    }
    for file in tree.files() {
        write(&root.join(file.path.as_str()), file.bytes());
    }
}
