//! `stackloom new`: a stack, an addon, a folder of clusters, a cluster, a node pool.
//!
//! What is new is checked together with the fleet before anything is written, and a file that is there is never
//! overwritten. A node pool is the one thing that edits a file; everything else in it stays as it was.

mod cluster;
mod folder;
mod inherit;
mod origin;
mod pool;
mod stack;

use std::collections::BTreeMap;

use clap::Subcommand;
use serde_json::{Map, Value as Json, json};

use super::{Done, Exit, Global, Printer, input_or_world, printer::counted, scaffold};
use crate::{
    definition::{self, Definitions, Kind},
    generate::{self, Failure},
    io::disk::{self, Workspace},
    note::{Diagnostic, Fault, Notes, Place, Severity},
    partial::LeftOut,
    world::{Input, World, is_input},
    yaml::{Mapping, Node, Sources, emit},
};

/// Add a stack, an addon, a cluster folder, a cluster or a node pool
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom new folder clusters/prod --namespace team-b\n  stackloom new cluster prod-eu-1 --folder clusters/prod\n  stackloom new pool prod-eu-1 gpu --replicas 2\n  stackloom new stack openstack/scs\n  stackloom new addon openstack/scs priority-classes"
)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
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

/// What a command makes.
#[derive(Default)]
struct Made {
    /// Files that are new.
    files: Files,
    /// A file that is edited: its path and its new text.
    edited: Option<(String, String)>,
    /// What people should know about it.
    talk: Vec<String>,
    /// The same for machines.
    more: Map<String, Json>,
}

impl From<Files> for Made {
    fn from(files: Files) -> Self {
        Self { files, ..Self::default() }
    }
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let mut notes = Notes::new();
    let world = super::fleet(global, printer)?;
    let made = match make(&args.what, &world, &mut notes) {
        Ok(made) if notes.errors() == 0 => made,
        Ok(_) | Err(Failure::Input) => return Ok(failed(&notes, printer)),
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
    let found = match soundness(&world, &made)? {
        Ok(found) => found,
        Err(found) => return Ok(failed(&found, printer)),
    };
    disk::write_all(world.root(), &made.files)?;
    if let Some((path, text)) = &made.edited {
        disk::replace(&world.root().join(path), text)?;
    }
    printer.notes(&found);
    report(made, &found, printer);
    Ok(Exit::Done)
}

fn make(what: &What, world: &Workspace, notes: &mut Notes) -> Result<Made, Failure> {
    Ok(match what {
        What::Stack(args) => stack::stack(args, world, notes)?.unwrap_or_default().into(),
        What::Addon(args) => stack::addon(args, world, notes)?.unwrap_or_default().into(),
        What::Folder(args) => folder::make(args, world, notes)?,
        What::Cluster(args) => cluster::make(args, world, notes)?,
        What::Pool(args) => pool::make(args, world, notes)?,
    })
}

fn report(made: Made, found: &Notes, printer: &Printer) {
    if !made.files.is_empty() {
        printer.result(&format!("{} written:", counted(made.files.len(), "file")));
        made.files.keys().for_each(|path| printer.result(&format!("  {path}")));
    }
    if let Some((path, _)) = &made.edited {
        printer.result(&format!("{path} edited"));
    }
    made.talk.iter().for_each(|line| printer.talk(line));
    let mut document = made.more;
    document.insert("files".to_owned(), json!(made.files.keys().collect::<Vec<_>>()));
    document.insert("edited".to_owned(), json!(made.edited.map(|(path, _)| path)));
    printer.document(Exit::Done, found, Json::Object(document));
}

/// The fleet with what is not written yet.
struct Added<'a> {
    world: &'a Workspace,
    made: &'a Made,
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

/// Checks the fleet with the new files. `Ok` holds warnings, and definitions that already had errors and are skipped. `Err`
/// holds errors in the new files, or errors of the whole fleet that may hide those.
fn soundness(world: &Workspace, made: &Made) -> Result<Result<Notes, Notes>, Fault> {
    let check = |world: &dyn World, notes: &mut Notes| match generate::check(world, &|_, _| {}, notes) {
        Ok(_) | Err(Failure::Input) => Ok(()),
        Err(Failure::World(fault)) => Err(fault),
    };
    let mut found = Notes::new();
    check(&Added { world, made }, &mut found)?;
    if found.errors() == 0 {
        return Ok(Ok(found));
    }
    let mut before = Notes::new();
    check(world, &mut before)?;
    let known = before.sorted();
    let is_new = |note: &Diagnostic| !known.iter().any(|known| known.says_as(note));
    let of_all = |note: &Diagnostic| {
        let file = note.place.as_ref().map_or("", |place| place.file.as_str());
        !["clusters/", "stacks/", "generated/releases/"].iter().any(|folder| file.starts_with(folder))
    };
    let is_error = |note: &Diagnostic| note.severity == Severity::Error;
    let mut stopping = Notes::new();
    stopping.append_if(found.clone(), |note| is_error(note) && (is_new(note) || of_all(note)));
    if stopping.errors() > 0 {
        return Ok(Err(stopping));
    }
    let mut warnings = Notes::new();
    LeftOut::new(Vec::new(), &found, &mut warnings).warn(&mut warnings);
    Ok(Ok(warnings))
}

fn failed(notes: &Notes, printer: &Printer) -> Exit {
    printer.notes(notes);
    printer.talk("nothing was written");
    printer.document(Exit::Input, notes, json!({}));
    Exit::Input
}

/// The definitions of a fleet. What is new is made from folders' defaults and from files that concern the whole fleet, so
/// these have to be sound; a fault of another cluster or stack does not matter here.
fn read(world: &Workspace, notes: &mut Notes) -> Result<(Input, Definitions), Failure> {
    let mut found = Notes::new();
    let input = world.read(&mut found)?;
    let definitions = definition::parse(&input, &mut found);
    let matters = |note: &Diagnostic| {
        let file = note.place.as_ref().map_or("", |place| place.file.as_str());
        let is_of_one = file.starts_with("clusters/") || file.starts_with("stacks/");
        note.severity == Severity::Error && (!is_of_one || file.contains("/_defaults."))
    };
    notes.append_if(found, matters);
    Ok(notes.halt((input, definitions))?)
}

/// A definition as text, with the line for editors; `up` leads from its folder to the fleet's root.
fn definition(kind: Kind, up: usize, metadata: Mapping, spec: Mapping) -> String {
    document(kind, scaffold::schema_line(kind, up), metadata, spec)
}

fn document(kind: Kind, schema_line: String, metadata: Mapping, spec: Mapping) -> String {
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
