//! `stackloom rename`: explains why a cluster keeps its name, and moves its definition to another file.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::{
    Done, Exit, Global, Printer, changed,
    cluster::{self, ClusterName},
    input_or_world,
    printer::{counted, shell_word},
};
use crate::{
    definition::{self, Identity},
    generate::{self, Failure},
    io::disk::{self, Workspace},
    model::{Label, is_called},
    note::{Fault, Notes, Place},
    rename::{self, ChangedFile, Move},
    world::{Snapshot, companion_folder, is_yaml},
};

/// Move the definition of a cluster; the cluster keeps its name
///
/// Cluster API cannot rename a cluster: its name is part of its objects and machines. If NEW is a name, this
/// command shows what you can do instead. You can move the file of the definition: it can have any name and
/// be in any folder below `clusters`, as long as the same defaults apply.
///
/// Without --move-file, writes nothing; shows what would move and what that changes in generated/. With it,
/// moves the definition together with its `.d` folder. Refuses if anything but the path of that folder would
/// change, because other defaults apply in the new place, and lists the lines that would change.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom rename dev-2 dev-9                           # show what a new name would mean\n  stackloom rename dev-2 dev-9 --move-file               # clusters/dev/dev-9.yaml, still the cluster dev-2\n  stackloom rename dev-2 clusters/test/ --move-file      # to another folder\n  stackloom rename clusters/eu clusters/europe --move-file   # a whole folder, with its defaults"
)]
pub(super) struct Args {
    /// The cluster: its name, or <namespace>/<name>, or <management cluster>/<namespace>/<name>; or a folder of definitions
    #[arg(value_name = "CLUSTER|FOLDER")]
    cluster: String,
    /// A name, a file, or a folder that ends with `/`
    #[arg(value_name = "NEW")]
    new: String,
    /// Move the file or the folder
    #[arg(long)]
    move_file: bool,
}

/// The moves to make, and their effects.
struct MovePlan {
    /// The cluster; None for a folder.
    cluster: Option<ClusterName>,
    /// The requested name, which a cluster cannot take.
    name: Option<String>,
    moves: Vec<Move>,
    /// Files whose text changes because of the move, by their new paths.
    texts: Vec<(String, String)>,
    /// The changes of the generated tree.
    changed: Vec<ChangedFile>,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    if args.move_file && disk::undo_interrupted(world.root(), "clusters")? > 0 {
        notes.warning(
            "interrupted",
            None,
            "an earlier `rename` was interrupted; what it had moved is back in its place",
        );
    }
    let found = plan(args, &world, &mut notes);
    printer.notes(&notes);
    let plan = match found {
        Ok(plan) => plan,
        Err(failure) => {
            let exit = input_or_world(failure)?;
            printer.talk("nothing was written");
            printer.document(exit, &notes, json!({}));
            return Ok(exit);
        }
    };
    if args.move_file {
        carry_out(&plan, world.root())?;
    }
    report(args, &plan, printer);
    printer.document(Exit::Done, &notes, document(args, &plan));
    Ok(Exit::Done)
}

fn plan(args: &Args, world: &Workspace, notes: &mut Notes) -> Result<MovePlan, Failure> {
    let snapshot = Snapshot::read(world)?;
    let given = world.given(&args.cluster);
    let is_folder = args.cluster.contains('/') && given.is_folder && given.path.starts_with("clusters/");
    let (cluster, name, from, to) = if is_folder {
        let to = folder_target(&given.path, &args.new, world, notes).ok_or(Failure::Input)?;
        (None, None, given.path, to)
    } else {
        let identity = find(&args.cluster, &snapshot, notes).ok_or(Failure::Input)?;
        let (name, to) = target(&identity.file, &args.new, world, notes).ok_or(Failure::Input)?;
        (identity.id().as_ref().map(ClusterName::from), name, identity.file, to)
    };
    let mut moves = vec![Move { from, to }];
    if moves[0].from == moves[0].to {
        notes.error("exists", Place::file(&*moves[0].to), "it is already there").hint("choose another name");
        return Err(Failure::Input);
    }
    if let (false, Some((from, to))) = (is_folder, companions(&moves[0])) {
        if world.holds(&from) {
            moves.push(Move { from, to });
        } else if world.holds(&to) {
            note_there(&to, "what is in it would become part of this cluster", notes);
        }
    }
    for one in &moves {
        refuse_in_the_way(one, world, notes)?;
    }
    notes.halt(())?;
    let changed = rename::changes(&snapshot, &moves, notes)?;
    refuse_effect(&moves[0], &changed, notes);
    // The effect on what cannot be read is unknown.
    if let Ok((_, left)) = generate::understand_sound(&snapshot, &mut Notes::new()) {
        left.warn(notes);
    }
    let texts = rename::rewritten(&snapshot.input, &moves);
    Ok(notes.halt(MovePlan { cluster, name, moves, texts, changed })?)
}

/// The `.d` folders of a moved definition, before and after.
fn companions(one: &Move) -> Option<(String, String)> {
    let folder = |path: &str| Some(format!("{}.d", path.rsplit_once('.')?.0));
    Some((folder(&one.from)?, folder(&one.to)?))
}

/// Finds the definition of a named cluster.
fn find(name: &str, snapshot: &Snapshot, notes: &mut Notes) -> Option<Identity> {
    let definitions = definition::parse(&snapshot.input, &mut Notes::new());
    let all = Identity::all(&definitions);
    let found: Vec<_> = all.iter().filter(|one| is_called(&one.name, name)).collect();
    match found.as_slice() {
        [only] => return Some((*only).clone()),
        [] if is_unread(name, snapshot, notes) => {}
        [] => {
            let names = all.iter().filter_map(|one| one.name.rsplit('/').next());
            cluster::note_unknown(name, names, notes);
        }
        several => {
            let known: Vec<_> = several.iter().map(|one| format!("`{}` ({})", one.name, one.file)).collect();
            notes
                .error("several-clusters", None, format!("there are several clusters `{name}`"))
                .hint(format!("use one of {}", known.join(", ")));
        }
    }
    None
}

/// Whether errors may be why a cluster cannot be found; reports them if so.
fn is_unread(name: &str, snapshot: &Snapshot, notes: &mut Notes) -> bool {
    let mut found = Notes::new();
    match generate::understand_sound(snapshot, &mut found) {
        Ok((_, left)) => left.blame(name, notes),
        Err(_) => {
            notes.append(found);
            notes.errors() > 0
        }
    }
}

/// The new path of a cluster's definition and, if NEW is a cluster name, that name.
fn target(from: &str, new: &str, world: &Workspace, notes: &mut Notes) -> Option<(Option<String>, String)> {
    let (folder, file) = from.rsplit_once('/')?;
    if !new.contains('/') && !is_yaml(new) {
        if let Err(fault) = Label::new(new) {
            notes
                .error("wrong-name", None, format!("`{new}` cannot be the name of a cluster: {fault}"))
                .hint("give a name, a file that ends in `.yaml`, or a folder with a `/` at its end");
            return None;
        }
        let (_, ending) = file.rsplit_once('.')?;
        return Some((Some(new.to_owned()), format!("{folder}/{new}.{ending}")));
    }
    let path = inside(new, world, notes)?;
    if new.ends_with('/') || world.given(new).is_folder {
        return Some((None, format!("{path}/{file}")));
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    if !is_yaml(&path) || matches!(last.rsplit_once('.'), Some(("_defaults", _))) {
        notes
            .error("wrong-path", None, format!("`{new}` cannot be the file of a definition"))
            .hint("give a file that ends in `.yaml`, or a folder with a `/` at its end");
        return None;
    }
    Some((None, path))
}

fn folder_target(from: &str, new: &str, world: &Workspace, notes: &mut Notes) -> Option<String> {
    let path = inside(new, world, notes)?;
    if is_yaml(&path)
        || path.starts_with(&format!("{from}/"))
        || companion_folder(&format!("{from}/")).is_some()
    {
        notes
            .error("wrong-path", None, format!("the folder `{from}` cannot become `{path}`"))
            .hint("give a folder below `clusters` that is not yet there");
        return None;
    }
    Some(path)
}

/// Resolves a path of the fleet below which definitions are read.
fn inside(new: &str, world: &Workspace, notes: &mut Notes) -> Option<String> {
    // As in messages, `clusters/…` is relative to the root, unless the current folder is itself below `clusters`.
    let as_shown = new.starts_with("clusters/") && !world.here().starts_with("clusters");
    let path = if as_shown { Some(new.to_owned()) } else { world.path(new) };
    let path = path.map(|path| path.trim_end_matches('/').to_owned());
    let is_read = |path: &String| {
        let hidden = path.split('/').any(|part| part.starts_with('.') || part.is_empty());
        path.starts_with("clusters/") && !hidden && companion_folder(&format!("{path}/")).is_none()
    };
    let found = path.filter(|path| is_read(path) || path == "clusters");
    if found.is_none() {
        notes
            .error("wrong-path", None, format!("no definition is read from `{new}`"))
            .hint("give a path below `clusters`, without hidden folders, and not in a `.d` folder");
    }
    found
}

fn refuse_in_the_way(one: &Move, world: &Workspace, notes: &mut Notes) -> Result<(), Fault> {
    if world.holds(&one.to) {
        note_there(&one.to, "`rename` never overwrites anything", notes);
    }
    if let Some(link) = disk::link_in(&world.root().join(&one.from))? {
        let link = link.strip_prefix(world.root()).unwrap_or(&link).display().to_string();
        notes
            .error("link", Place::file(link), "this is a link, and a moved link may lead elsewhere")
            .hint("move it by hand, then run `stackloom diff`");
    }
    Ok(())
}

fn note_there(path: &str, why: &str, notes: &mut Notes) {
    notes
        .error("exists", Place::file(path), format!("this already exists, and {why}"))
        .hint("choose another name, or move it away");
}

/// The maximum number of changed lines to show per file.
const SHOWN: usize = 12;

/// Refuses a move that would change the cluster.
fn refuse_effect(one: &Move, changed: &[ChangedFile], notes: &mut Notes) {
    for file in changed.iter().filter(|file| !file.only_follows) {
        let [before, after] = [&file.before, &file.after].map(|text| text.as_deref().unwrap_or_default());
        let lines = changed::lines(before, after);
        let more = lines.len().saturating_sub(SHOWN);
        let mut shown = lines.into_iter().take(SHOWN).collect::<Vec<_>>().join("\n");
        if more > 0 {
            shown.extend(["\n… and ", &counted(more, "more line")]);
        }
        notes
            .error(
                "effect",
                Place::file(file.path.as_str()),
                format!("moving `{}` to `{}` changes this generated file", one.from, one.to),
            )
            .hint(shown)
            .hint("other defaults apply there: first write the values that the definition needs into it, then move it");
    }
}

/// Moves everything or nothing, even if the process is killed: the next `rename` undoes a first move without the second.
fn carry_out(plan: &MovePlan, root: &Path) -> Result<(), Fault> {
    // The `.d` folder is moved first. Without its definition, it stops every command; a definition without it would lose
    // its objects.
    let moves = plan.moves.iter().rev().map(|one| (one.from.clone(), one.to.clone()));
    disk::Moves::begin(root, moves.collect())?.make()?;
    plan.texts.iter().try_for_each(|(path, text)| disk::replace(&root.join(path), text))
}

fn report(args: &Args, plan: &MovePlan, printer: &Printer) {
    let say = |text: &str| printer.result(text);
    let new = &args.new;
    let [subject, word] = [&args.cluster, new].map(|word| shell_word(word));
    if let (Some(name), Some(cluster)) = (&plan.name, &plan.cluster) {
        say(&format!(
            "Cluster API cannot rename a cluster: `{name}` would be another cluster, with new machines, and `{cluster}` would be deleted"
        ));
    }
    let keeps = plan.cluster.as_ref().map_or_else(
        || "the clusters keep their names; the folder moves".to_owned(),
        |cluster| format!("the cluster keeps the name `{cluster}`; its definition moves"),
    );
    say(&format!("{keeps}{}:", if args.move_file { "" } else { " (nothing was written)" }));
    plan.moves.iter().for_each(|one| say(&format!("  {} -> {}", one.from, one.to)));
    say(&effect(&plan.changed));
    if args.move_file {
        say("next:");
        return say("  stackloom generate --commit --all, then push");
    }
    say("to move it:");
    say(&format!("  stackloom rename {subject} {word} --move-file"));
    if plan.name.is_some() {
        say(&format!("to have a cluster with the name {new}:"));
        say(&format!("  stackloom new cluster {word}"));
        say("  move the workloads, then, step by step:");
        say(&format!("  stackloom remove {subject} --reason \"{new} replaces it\""));
    }
}

fn effect(changed: &[ChangedFile]) -> String {
    match changed {
        [] => "effect: no generated file changes".to_owned(),
        files => format!(
            "effect: no object of a cluster changes; in {} below generated/ only the path of the `.d` folder",
            counted(files.len(), "file")
        ),
    }
}

fn document(args: &Args, plan: &MovePlan) -> Json {
    let moves = plan.moves.iter().map(|one| json!({ "from": one.from, "to": one.to }));
    json!({
        "cluster": plan.cluster,
        "moves": moves.collect::<Vec<_>>(),
        "changed": plan.changed.iter().map(|file| &file.path).collect::<Vec<_>>(),
        "written": args.move_file,
    })
}
