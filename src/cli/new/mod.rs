//! `stackloom new`: creates a stack, an addon, a folder of clusters, a cluster or a node pool.
//!
//! New files are checked together with the fleet before anything is written, and an existing file is never overwritten. Only
//! a node pool edits a file; everything else in that file stays as it was.

mod cluster;
mod folder;
mod inherit;
mod origin;
mod pool;
mod stack;

use std::collections::{BTreeMap, BTreeSet};

use clap::Subcommand;
use serde_json::{Map, Value as Json, json};

use super::{
    Done, Exit, Global, Printer, changed, input_or_world,
    printer::{counted, shell_word},
    scaffold,
};
pub(super) use origin::worker_classes;

use crate::{
    definition::{self, DefinitionKind, Definitions},
    generate::{self, Failure},
    io::disk::{self, Workspace},
    model::{Cluster, is_called},
    note::{Diagnostic, Fault, Notes, Place, Severity},
    partial::LeftOut,
    tree::NullSink,
    world::{Input, World, is_input},
    yaml::{Mapping, Node, Sources, emit},
};

/// Add a stack, an addon, a cluster folder, a cluster or a node pool
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom new folder clusters/prod --namespace team-b\n  stackloom new cluster prod-eu-1 --folder clusters/prod\n  stackloom new cluster prod-eu-2 --dry-run\n  stackloom new pool prod-eu-1 gpu --replicas 2\n  stackloom new stack openstack/scs\n  stackloom new addon openstack/scs priority-classes"
)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
    /// Show what would be written, and write nothing
    #[arg(long, global = true)]
    dry_run: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    Stack(stack::StackArgs),
    Addon(stack::AddonArgs),
    Folder(folder::FolderArgs),
    Cluster(cluster::ClusterArgs),
    Pool(pool::PoolArgs),
}

/// New files, by their paths.
type Files = BTreeMap<String, String>;

/// The result of a command.
#[derive(Default)]
struct Additions {
    files: Files,
    /// A file that is edited: its path and its new text.
    edited: Option<(String, String)>,
    /// Messages about it for people.
    talk: Vec<String>,
    /// The same information for machines.
    more: Map<String, Json>,
    /// The given options with their values. Messages name these, rather than a file that was not written.
    options: Vec<(&'static str, String)>,
    /// Warnings about valid values that should be checked.
    warnings: Notes,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let mut notes = Notes::new();
    let world = super::fleet(global, printer)?;
    let made = match make(&args.what, &world, &mut notes) {
        Ok(made) if notes.errors() == 0 => made,
        Ok(made) => return Ok(failed(&by_option(&notes, &made, &world), printer)),
        Err(Failure::Input) => return Ok(failed(&notes, printer)),
        Err(failure) => return input_or_world(failure),
    };
    for path in made.files.keys() {
        if disk::exists(&world.root().join(path))? {
            notes
                .error(
                    "exists",
                    Place::file(path.as_str()),
                    "this file already exists, and `new` never overwrites a file",
                )
                .hint("choose another name, or edit the file");
        }
    }
    if notes.errors() > 0 {
        return Ok(failed(&notes, printer));
    }
    let mut found = match soundness(&world, &made)? {
        Ok(found) => found,
        Err(found) => return Ok(failed(&by_option(&found, &made, &world), printer)),
    };
    found.append(made.warnings.clone());
    if args.dry_run {
        printer.notes(&found);
        show(&made, &world, printer);
    } else {
        disk::write_all(world.root(), &made.files)?;
        if let Some((path, text)) = &made.edited {
            disk::replace(&world.root().join(path), text)?;
        }
        printer.notes(&found);
        report(&made, printer);
    }
    printer.document(Exit::Done, &found, document_of(made, args.dry_run));
    Ok(Exit::Done)
}

fn make(what: &What, world: &Workspace, notes: &mut Notes) -> Result<Additions, Failure> {
    Ok(match what {
        What::Stack(args) => stack::stack(args, world, notes)?.unwrap_or_default(),
        What::Addon(args) => stack::addon(args, world, notes)?.unwrap_or_default(),
        What::Folder(args) => folder::make(args, world, notes)?,
        What::Cluster(args) => cluster::make(args, world, notes)?,
        What::Pool(args) => pool::make(args, world, notes)?,
    })
}

fn report(made: &Additions, printer: &Printer) {
    if !made.files.is_empty() {
        printer.result(&format!("{} written:", counted(made.files.len(), "file")));
        made.files.keys().for_each(|path| printer.result(&format!("  {path}")));
    }
    if let Some((path, _)) = &made.edited {
        printer.result(&format!("{path} edited"));
    }
    made.talk.iter().for_each(|line| printer.talk(line));
}

/// Shows the text that would be written.
fn show(made: &Additions, world: &Workspace, printer: &Printer) {
    for (path, text) in &made.files {
        printer.result(&format!("{path}:"));
        text.lines().for_each(|line| printer.result(format!("  {line}").trim_end()));
    }
    if let Some((path, text)) = &made.edited {
        printer.result(&format!("{path}:"));
        let before = disk::text(world, path).unwrap_or_default();
        for line in changed::lines(&before, text) {
            printer.result(&format!("  {line}"));
        }
    }
    printer.talk("this was a dry run: nothing was written");
}

fn document_of(made: Additions, dry_run: bool) -> Json {
    let mut document = made.more;
    document.insert("files".to_owned(), json!(made.files.keys().collect::<Vec<_>>()));
    document.insert("edited".to_owned(), json!(made.edited.map(|(path, _)| path)));
    document.insert("written".to_owned(), json!(!dry_run));
    Json::Object(document)
}

/// The fleet with the unwritten files.
struct Added<'a> {
    world: &'a Workspace,
    made: &'a Additions,
}

impl World for Added<'_> {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        let mut input = self.world.read(notes)?;
        for (path, text) in self.made.files.iter().filter(|(path, _)| is_input(path)) {
            input.sources.add(path, text.as_str());
        }
        if let Some((path, text)) = &self.made.edited {
            let mut files: BTreeMap<_, _> = input
                .sources
                .iter()
                .map(|source| (source.path.to_string(), source.text.to_string()))
                .collect();
            files.insert(path.clone(), text.clone());
            input.sources = Sources::new(files);
        }
        Ok(input)
    }
}

/// Collects all errors and warnings of a fleet.
fn check(world: &dyn World, notes: &mut Notes) -> Result<(), Fault> {
    match generate::check(world, &|_, _| {}, notes) {
        Ok(_) | Err(Failure::Input) => Ok(()),
        Err(Failure::World(fault)) => Err(fault),
    }
}

/// Collects the errors and warnings of a fleet, as far as a command's files can cause them: a new cluster affects its
/// neighbors at most.
fn check_made(world: &dyn World, made: &Additions, notes: &mut Notes) -> Result<(), Fault> {
    let own = made.files.keys().chain(made.edited.iter().map(|(path, _)| path));
    let files: Vec<&str> = own.map(String::as_str).collect();
    let is_definition = |path: &&str| path.starts_with("clusters/") && defaults_of(path).is_none();
    if !files.iter().all(is_definition) {
        return check(world, notes);
    }
    let is_made = |cluster: &Cluster| files.contains(&&*cluster.file);
    match generate::check_near(world, &is_made, &mut NullSink, notes) {
        Ok(_) | Err(Failure::Input) => Ok(()),
        Err(Failure::World(fault)) => Err(fault),
    }
}

/// Checks the fleet with the new files. `Ok` holds warnings, and definitions that already had errors and are skipped. `Err`
/// holds errors in the new files, errors of the whole fleet that may hide those, or errors in what the new files need.
fn soundness(world: &Workspace, made: &Additions) -> Result<Result<Notes, Notes>, Fault> {
    let added = Added { world, made };
    let mut found = Notes::new();
    check_made(&added, made, &mut found)?;
    if found.errors() == 0 {
        return Ok(Ok(found));
    }
    let mut before = Notes::new();
    check_made(world, made, &mut before)?;
    let known = before.sorted();
    let is_new = |note: &Diagnostic| !known.iter().any(|known| known.says_as(note));
    let of_all = |note: &Diagnostic| {
        !["clusters/", "rollouts/", "stacks/", "generated/releases/"]
            .iter()
            .any(|folder| file(note).starts_with(folder))
    };
    let is_error = |note: &Diagnostic| note.severity == Severity::Error;
    let mut stopping = Notes::new();
    stopping.append_if(found.clone(), |note| is_error(note) && (is_new(note) || of_all(note)));
    if stopping.errors() == 0 {
        unchecked(&added, &found, &mut stopping)?;
    }
    if stopping.errors() > 0 {
        return Ok(Err(stopping));
    }
    let mut warnings = Notes::new();
    LeftOut::new(Vec::new(), &found, &mut warnings).warn(&mut warnings);
    Ok(Ok(warnings))
}

/// Reports the errors in files that the new files depend on or belong to: with these, the new files cannot be checked.
fn unchecked(added: &Added<'_>, found: &Notes, notes: &mut Notes) -> Result<(), Fault> {
    let own = || added.made.files.keys().chain(added.made.edited.iter().map(|(path, _)| path));
    let stacks: BTreeSet<_> = own().filter_map(|path| stack_folder(path)).collect();
    let of_stack = |note: &Diagnostic| stack_folder(file(note)).is_some_and(|folder| stacks.contains(folder));
    let is_error = |note: &&Diagnostic| note.severity == Severity::Error;
    let (understood, left) = match generate::understand_sound(added, &mut Notes::new()) {
        Ok(sound) => sound,
        Err(Failure::World(fault)) => return Err(fault),
        Err(Failure::Input) => {
            notes.append(found.clone());
            return Ok(());
        }
    };
    let clusters: Vec<_> =
        understood.model.clusters.iter().filter(|one| own().any(|path| **path == *one.file)).collect();
    let concerns = |note: &Diagnostic| clusters.iter().any(|one| note.clusters.contains(&one.full_name()));
    found
        .iter()
        .filter(is_error)
        .filter(|note| of_stack(note) || concerns(note))
        .for_each(|note| notes.push(note.clone()));
    for (path, why) in own().filter_map(|path| Some((path, left.why(path)?))) {
        let needed = |note: &&Diagnostic| {
            let folder = defaults_of(file(note));
            folder.is_some_and(|folder| path.starts_with(&format!("{folder}/")))
                || !file(note).starts_with("clusters/")
        };
        found.iter().filter(is_error).filter(needed).for_each(|note| notes.push(note.clone()));
        notes
            .error("left-out", None, format!("nothing can be generated from the new definition: {why}"))
            .hint("fix that first, then run the command again");
    }
    Ok(())
}

/// The folder of the stack that contains a file.
fn stack_folder(path: &str) -> Option<&str> {
    let (at, _) = path.strip_prefix("stacks/")?.match_indices('/').nth(1)?;
    Some(&path[..at + "stacks/".len()])
}

/// Errors in unwritten files have no place that the user could look at. They name the option instead.
fn by_option(notes: &Notes, made: &Additions, world: &Workspace) -> Notes {
    let mut named = Notes::new();
    let before = made.edited.as_ref().and_then(|(path, _)| disk::text(world, path)).unwrap_or_default();
    for mut note in notes.iter().cloned() {
        let is_ours = |place: &Place| {
            made.files.contains_key(&place.file)
                || made.edited.as_ref().is_some_and(|(path, _)| *path == place.file)
                    && before.lines().all(|line| line != place.source)
        };
        if let Some(place) = note.place.take_if(|place| note.severity == Severity::Error && is_ours(place)) {
            note.message = name_option(&made.options, &place, &note.message);
        }
        named.push(note);
    }
    named
}

/// A message about unwritten text, with the option that the text came from.
pub(super) fn name_option(options: &[(&'static str, String)], place: &Place, message: &str) -> String {
    let marked: String =
        place.source.chars().skip(place.column.saturating_sub(1)).take(place.length).collect();
    let is_all = |value: &str| marked.trim_matches(['"', '\'']) == value;
    let is_in = |text: &str, value: &str| !value.is_empty() && text.contains(value);
    let given = options
        .iter()
        .find(|(_, value)| is_all(value))
        .or_else(|| options.iter().find(|(_, value)| is_in(&marked, value)))
        .or_else(|| options.iter().find(|(_, value)| is_in(&place.source, value)));
    match given {
        Some((option, value)) => format!("`{option} {}`: {message}", shell_word(value)),
        None => format!("the new text of {}: {message}", place.file),
    }
}

fn failed(notes: &Notes, printer: &Printer) -> Exit {
    printer.notes(notes);
    printer.talk("nothing was written");
    printer.document(Exit::Input, notes, json!({}));
    Exit::Input
}

/// The definitions of a fleet.
struct Fleet {
    input: Input,
    definitions: Definitions,
    /// The errors below `clusters/`, `rollouts/` and `stacks/`.
    faults: Notes,
}

/// Reads the definitions. Errors in files that concern the whole fleet end the command; those of one cluster, folder, rollout
/// or stack may not matter.
fn read(world: &Workspace, notes: &mut Notes) -> Result<Fleet, Failure> {
    let mut found = Notes::new();
    let input = world.read(&mut found)?;
    let definitions = definition::parse(&input, &mut found);
    let is_error = |note: &Diagnostic| note.severity == Severity::Error;
    let is_of_one = |note: &Diagnostic| {
        ["clusters/", "rollouts/", "stacks/"].iter().any(|top| file(note).starts_with(top))
    };
    notes.append_if(found.clone(), |note| is_error(note) && !is_of_one(note));
    let mut faults = Notes::new();
    faults.append_if(found, |note| is_error(note) && is_of_one(note));
    Ok(notes.halt(Fleet { input, definitions, faults })?)
}

impl Fleet {
    /// Ends the command if the defaults that a folder inherits have errors.
    fn sound_defaults(&self, folder: &str, notes: &mut Notes) -> Result<(), Failure> {
        let inside = format!("{folder}/");
        let holds = |note: &Diagnostic| {
            defaults_of(file(note)).is_some_and(|one| inside.starts_with(&format!("{one}/")))
        };
        notes.append_if(self.faults.clone(), holds);
        Ok(notes.halt(())?)
    }

    /// Ends the command if the defaults of any folder have errors: they may decide which folder is chosen.
    fn all_defaults_sound(&self, notes: &mut Notes) -> Result<(), Failure> {
        for note in self.faults.iter().filter(|note| defaults_of(file(note)).is_some()) {
            let mut note = note.clone();
            note.hint("or choose a folder yourself: `--folder FOLDER`");
            notes.push(note);
        }
        Ok(notes.halt(())?)
    }

    /// Reports the errors that may be why a cluster cannot be found. Returns whether there are any.
    fn blame(&self, name: &str, world: &Workspace, notes: &mut Notes) -> Result<bool, Failure> {
        let mut found = Notes::new();
        check(world, &mut found)?;
        if LeftOut::new(Vec::new(), &found, &mut Notes::new()).blame(name, notes) {
            return Ok(true);
        }
        let own = |layer: &&definition::Layer| {
            let given = layer.node.at(&["metadata", "name"]).and_then(Node::as_str);
            given.is_some_and(|given| is_called(name, given))
        };
        for layer in self.definitions.clusters.iter().filter(own) {
            let folder = layer.source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            self.sound_defaults(folder, notes).ok();
        }
        Ok(notes.errors() > 0)
    }
}

/// The file that a message is about.
fn file(note: &Diagnostic) -> &str {
    note.place.as_ref().map_or("", |place| place.file.as_str())
}

/// The folder to which a file of defaults applies.
fn defaults_of(file: &str) -> Option<&str> {
    let (folder, name) = file.rsplit_once('/')?;
    name.starts_with("_defaults.").then_some(folder)
}

/// Formats a definition, with the schema line for editors; `up` is the number of folders up to the fleet's root.
fn definition(kind: DefinitionKind, up: usize, metadata: Mapping, spec: Mapping) -> String {
    document(kind, scaffold::schema_line(kind, up), metadata, spec)
}

fn document(kind: DefinitionKind, schema_line: String, metadata: Mapping, spec: Mapping) -> String {
    let mut root = Mapping::new();
    root.set("apiVersion", "stackloom.dev/v1alpha1");
    root.set("kind", kind.name());
    root.set_filled("metadata", metadata);
    root.set_filled("spec", spec);
    let mut text = schema_line;
    emit(&Node::from(root), &mut text);
    text
}

fn mapping<const N: usize>(entries: [(&str, Node); N]) -> Mapping {
    let mut mapping = Mapping::new();
    for (key, value) in entries {
        mapping.set(key, value);
    }
    mapping
}
