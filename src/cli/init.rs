//! `stackloom init`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::{ValueEnum, builder::PossibleValue};
use serde_json::json;

use super::{Done, Exit, Global, Printer, new, printer::counted, scaffold, schema};
use crate::{
    definition::DefinitionKind,
    generate::{self, Failure},
    io::{disk, git},
    model::{Engine, Label},
    note::{Fault, Notes, Place},
    render,
    world::Files,
    yaml::{Node, emit},
};

/// Start a fleet: a Docker stack, one cluster, schemas for editors, and a git repository if there is none
///
/// Never overwrites a file: if one of its files exists, it writes nothing. The fleet works at once:
/// `stackloom generate --commit` writes and commits generated/.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom init demo && cd demo && stackloom generate --commit\n  stackloom init demo --source https://git.example.org/platform/fleet.git\n  stackloom init demo --engine argocd"
)]
pub(super) struct Args {
    /// The folder, created if it does not exist; its name becomes the name of the fleet unless --name is
    /// given
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// The name of the fleet
    #[arg(long)]
    name: Option<String>,
    /// The URL from which the engine will read the repository
    #[arg(long, value_name = "URL", default_value = EXAMPLE_SOURCE)]
    source: String,
    /// The engine that will reconcile the fleet
    #[arg(long, value_enum, default_value_t = Engine::DEFAULT)]
    engine: Engine,
}

impl ValueEnum for Engine {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = self.about().trim_end_matches('.').replace('`', "");
        Some(PossibleValue::new(self.word()).help(help))
    }
}

/// The management cluster of a new fleet.
const MANAGEMENT: &str = "mgmt";

/// A placeholder that users replace with their own address.
const EXAMPLE_SOURCE: &str = "https://git.example.org/platform/fleet.git";

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let root = global.directory.join(&args.folder);
    let mut notes = Notes::new();
    let folder_name = disk::folder_name(&root)?;
    let name = args.name.clone().unwrap_or(folder_name);
    if let Err(fault) = Label::new(&name) {
        notes
            .error("wrong-name", None, format!("`{name}` is not a valid fleet name: {fault}"))
            .hint("give another one with `--name`: lower-case letters, digits and dashes");
    }
    refuse_nested(&root, &mut notes)?;
    let inside = disk::folder_in_repository(&root)?.filter(|folder| !folder.is_empty());
    let files = files(&name, args, inside.as_deref());
    let is_fleet = disk::exists(&root.join("stackloom.yaml"))?;
    if is_fleet {
        notes
            .error("exists", Place::file("stackloom.yaml"), "this folder already holds a fleet")
            .hint("`stackloom new` adds clusters and stacks to it; for another fleet, use an empty folder");
    }
    for path in files.keys().filter(|_| !is_fleet) {
        if disk::exists(&root.join(path))? {
            notes
                .error(
                    "exists",
                    Place::file(path.as_str()),
                    "this file already exists, and `init` never overwrites a file",
                )
                .hint("use an empty folder; to add clusters and stacks, use `stackloom new`");
        }
    }
    if notes.errors() == 0 {
        check(&files, &args.source, &mut notes)?;
    }
    if notes.errors() > 0 {
        printer.notes(&notes);
        printer.document(Exit::Input, &notes, json!({}));
        return Ok(Exit::Input);
    }
    disk::write_all(&root, &files)?;
    let world = disk::Workspace::open(&root)?;
    let made = git::Repository::find(&world)?.is_none();
    if made {
        git::Repository::init(&world)?;
    }
    printer.result(&format!(
        "{} written{}",
        counted(files.len(), "file"),
        if made { ", and a git repository made" } else { "" }
    ));
    printer.talk(&next_steps(args));
    printer.document(
        Exit::Done,
        &notes,
        json!({ "files": files.keys().collect::<Vec<_>>(), "repository": made }),
    );
    Ok(Exit::Done)
}

/// Refuses to create a fleet inside another one.
fn refuse_nested(root: &Path, notes: &mut Notes) -> Result<(), Fault> {
    if let Some(fleet) = disk::fleet_around(root)? {
        let message = format!("this folder is part of the fleet in `{}`", fleet.display());
        notes
            .error("fleet-in-fleet", None, message)
            .hint("`stackloom new` adds clusters and stacks to that fleet")
            .hint(
                "to begin another fleet here, make the folder a git repository of its own first: `git init`",
            );
    }
    Ok(())
}

/// Checks the new fleet: the options may make it invalid.
fn check(files: &BTreeMap<String, String>, source: &str, notes: &mut Notes) -> Result<(), Fault> {
    let mut found = Notes::new();
    match generate::check(&Files(files.clone()), &|_, _| {}, &mut found) {
        Ok(_) | Err(Failure::Input) => {}
        Err(Failure::World(fault)) => return Err(fault),
    }
    let options = [("--source", source.to_owned())];
    for mut note in found.iter().cloned() {
        // The file is not written, so the message must not refer to a place in it.
        if let Some(place) = note.place.take() {
            note.message = new::name_option(&options, &place, &note.message);
        }
        notes.push(note);
    }
    Ok(())
}

fn next_steps(args: &Args) -> String {
    let (folder, source) = (&args.folder, &args.source);
    let enter = if folder == Path::new(".") { String::new() } else { format!("  cd {}\n", folder.display()) };
    let address = if *source == EXAMPLE_SOURCE {
        "set `source.url` in stackloom.yaml to the address that your engine reads this repository from"
            .to_owned()
    } else {
        format!("your engine reads this repository from {source}: `git remote add origin {source}`, and push")
    };
    let engine = args.engine.word();
    let files = render::entry_files(args.engine).iter();
    let files: Vec<_> = files.map(|file| format!("-f generated/management/{MANAGEMENT}/{file}")).collect();
    let files = files.join(" ");
    format!(
        "next:\n{enter}  stackloom generate                  write generated/\n  git add . && git commit -m \"begin the fleet\"\n  \
         stackloom new cluster dev-2         add a cluster\n  \
         stackloom generate --commit --all   commit it, and what changes in generated/, as one commit\n{address}\n\
         to hand the fleet to the engine, run this in the management cluster once (see docs/{engine}.md):\n  kubectl apply {files}",
    )
}

fn files(name: &str, args: &Args, inside: Option<&str>) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut put = |path: &str, text: String| files.insert(path.to_owned(), text);
    let path = inside.map(|folder| {
        format!("    # The folder of the fleet inside the repository.\n    path: {}", scalar(folder))
    });
    let fleet = FLEET
        .replace("NAME", name)
        .replace("SOURCE\n", &scalar(&args.source))
        .replace("ENGINE", args.engine.word())
        .replace("    PATH\n", &path.unwrap_or_default())
        + render::first_settings(args.engine);
    put("stackloom.yaml", scaffold::schema_line(DefinitionKind::Fleet, 0) + &fleet);
    put("clusters/dev/_defaults.yaml", scaffold::schema_line(DefinitionKind::ClusterDefaults, 2) + DEFAULTS);
    put("clusters/dev/dev-1.yaml", scaffold::schema_line(DefinitionKind::ClusterDefinition, 2) + CLUSTER);
    put(".gitattributes", ATTRIBUTES.to_owned());
    put("CODEOWNERS.example", OWNERS.to_owned());
    for (path, text) in scaffold::DOCKER {
        put(&format!("stacks/docker/scs/{path}"), (*text).to_owned());
    }
    for (file, text) in schema::files() {
        put(&format!("schemas/{file}"), text);
    }
    files
}

/// A text as a YAML scalar, with a line break.
fn scalar(text: &str) -> String {
    let mut out = String::new();
    emit(&Node::from(text), &mut out);
    out
}

const FLEET: &str = "\
apiVersion: stackloom.dev/v1alpha1
kind: Fleet
metadata:
  name: NAME
spec:
  # The versions of the program that may generate this repository, so that laptops and CI do not fight.
  stackloom: '>=0.1, <0.2'
  engine: ENGINE
  # Where the engine reads this repository from.
  source:
    url: SOURCE
    branch: main
    PATH
  clusterApi: '1.14'
  managementClusters:
    - name: mgmt
";

const DEFAULTS: &str = "\
# What all clusters of this folder share. Maps merge, lists and single values replace, null removes.
apiVersion: stackloom.dev/v1alpha1
kind: ClusterDefaults
metadata:
  namespace: team-a
  labels:
    env: dev
spec:
  managementCluster: mgmt
  stack: docker/scs
  kubernetes: '1.35'
  release: head
  network:
    pods: [192.168.0.0/16]
    services: [10.128.0.0/12]
";

const CLUSTER: &str = "\
apiVersion: stackloom.dev/v1alpha1
kind: ClusterDefinition
metadata:
  name: dev-1
spec:
  controlPlane:
    replicas: 1
  nodePools:
    - name: md-0
      class: default-worker
      replicas: 1
";

const ATTRIBUTES: &str = "\
# Definitions have the same bytes on every machine; generated/ says the same for itself.
*.yaml text eol=lf
";

const OWNERS: &str = "\
# An example: rename it to CODEOWNERS, where your forge looks for it.
# Owners review definitions. The generated tree follows from them and needs no owner.
/stacks/     @platform-team
/clusters/   @platform-team
/clusters/dev/
/generated/
";
