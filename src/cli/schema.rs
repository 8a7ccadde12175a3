//! `stackloom schema`.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde_json::json;

use super::{Done, Exit, Global, Printer, printer::counted};
use crate::{
    definition::DefinitionKind,
    generate::{self, Failure},
    io::disk::{self, Workspace},
    model::StackId,
    note::Notes,
    release::{self, Release},
    world::numbered_releases,
    yaml::Origin,
};

/// Print JSON Schemas for editors, or write them to a folder
///
/// Editors that read the `yaml-language-server` line at the top of a definition complete keys and show their meaning. The
/// schema of a stack or release also completes its variables, worker classes and addons: name it in that line, or in the
/// editor's settings for a whole folder.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "stackloom schema [OPTIONS] <KIND>\n       stackloom schema [OPTIONS] --write <DIR> [--check]\n       stackloom schema [OPTIONS] --stack <PROVIDER/STACK> [--kubernetes <MINOR>] [--write <DIR>]\n       stackloom schema [OPTIONS] --release <RELEASE> [--write <DIR>]\n       stackloom schema [OPTIONS] --stacks --write <DIR> [--check]",
    after_help = "Examples:\n  stackloom schema cluster-definition\n  stackloom schema --write schemas\n  stackloom schema --stack docker/scs --kubernetes 1.35\n  stackloom schema --stacks --write schemas/stacks            # of all stacks and releases\n  stackloom schema --stacks --write schemas/stacks --check    # in CI"
)]
pub(super) struct Args {
    /// The kind of file
    #[arg(value_enum, required_unless_present_any = ["write", "stack", "release", "stacks", "check"], conflicts_with_all = ["write", "stack", "release"])]
    kind: Option<KindName>,
    /// The schema for clusters of this stack
    #[arg(long, value_name = "PROVIDER/STACK", conflicts_with = "release")]
    stack: Option<String>,
    /// The Kubernetes minor of the stack; by default the newest
    #[arg(long, value_name = "MINOR", requires = "stack")]
    kubernetes: Option<String>,
    /// The schema for clusters of this release
    #[arg(long, value_name = "RELEASE")]
    release: Option<String>,
    /// Write the schemas of all kinds to this folder, or those that the other options name
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// One schema for each stack and minor, and for each numbered release
    #[arg(long, requires = "write", conflicts_with_all = ["stack", "release"])]
    stacks: bool,
    /// Write nothing; exit with 3 if a file in the folder is out of date
    #[arg(long, requires = "write")]
    check: bool,
}

/// Kinds as the command line names them.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum KindName {
    Fleet,
    Stack,
    Addon,
    NodeImages,
    ClusterDefaults,
    ClusterDefinition,
    Release,
    Rollout,
    Lock,
}

impl KindName {
    fn kind(self) -> DefinitionKind {
        match self {
            Self::Fleet => DefinitionKind::Fleet,
            Self::Stack => DefinitionKind::Stack,
            Self::Addon => DefinitionKind::Addon,
            Self::NodeImages => DefinitionKind::NodeImages,
            Self::ClusterDefaults => DefinitionKind::ClusterDefaults,
            Self::ClusterDefinition => DefinitionKind::ClusterDefinition,
            Self::Release => DefinitionKind::Release,
            Self::Rollout => DefinitionKind::Rollout,
            Self::Lock => DefinitionKind::Lock,
        }
    }
}

/// All schemas, by file name.
pub(super) fn files() -> BTreeMap<String, String> {
    DefinitionKind::ALL.iter().map(|kind| (kind.schema_file().to_owned(), text(*kind))).collect()
}

fn text(kind: DefinitionKind) -> String {
    let text = serde_json::to_string_pretty(&kind.schema()).expect("a schema is JSON");
    format!("{text}\n")
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    if let Some(kind) = args.kind {
        printer.data(&text(kind.kind()));
        return Ok(Exit::Done);
    }
    let mut notes = Notes::new();
    let files = if args.stacks || args.stack.is_some() || args.release.is_some() {
        let world = super::fleet(global, printer)?;
        match super::or_exit(of_releases(args, &world, &mut notes), printer, &notes)? {
            Ok(files) => files,
            Err(exit) => return Ok(exit),
        }
    } else {
        files()
    };
    printer.notes(&notes);
    let Some(folder) = &args.write else {
        for text in files.values() {
            printer.data(text);
        }
        return Ok(Exit::Done);
    };
    let target = global.path(folder);
    let mut changed = Vec::new();
    for (name, text) in &files {
        let path = target.join(name);
        if disk::read_file(&path)?.as_deref() != Some(text.as_bytes()) {
            changed.push(name.as_str());
            if !args.check {
                disk::write(&path, text)?;
            }
        }
    }
    let exit = if args.check && !changed.is_empty() { Exit::Changes } else { Exit::Done };
    let count = counted(files.len(), "schema");
    printer.result(&match (args.check, changed.len()) {
        (true, 0) => format!("{count} in {} are up to date", folder.display()),
        (true, _) => {
            format!("out of date in {}: {}; run this without --check", folder.display(), changed.join(", "))
        }
        (false, _) => format!("{count} written to {}", folder.display()),
    });
    let of_clusters = args.stacks || args.stack.is_some() || args.release.is_some();
    if let Some(name) = files.keys().next_back().filter(|_| of_clusters && !args.check) {
        let path = folder.join(name);
        printer
            .talk("to use one, begin a definition with such a line; the path is relative to the definition:");
        printer.talk(&format!("  # yaml-language-server: $schema=../../{}", path.display()));
        printer.talk("`stackloom new cluster` writes it into new definitions");
    }
    let names: Vec<_> = files.keys().collect();
    printer.document(exit, &notes, json!({ "files": names, "changed": changed }));
    Ok(exit)
}

/// The schemas of the requested releases, by file name.
fn of_releases(
    args: &Args,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<BTreeMap<String, String>, Failure> {
    // Errors of clusters do not matter here.
    let (generate::Understood { input, releases, .. }, left) = generate::understand_sound(world, notes)?;
    let heads: Vec<_> = releases.shared_heads().cloned().collect();
    let named = |name: &str, notes: &mut Notes| releases.named(name, Origin::NOWHERE, notes);
    let chosen = if let Some(stack) = &args.stack {
        let fits = |head: &&Arc<Release>| {
            let minor = head.kubernetes.minor().to_string();
            head.stack.to_string() == *stack && args.kubernetes.as_ref().is_none_or(|asked| *asked == minor)
        };
        let found = heads.iter().filter(fits).max_by_key(|head| head.kubernetes.minor());
        let id = StackId::parse(stack).filter(|_| found.is_none());
        let is_faulty = id.is_some_and(|id| left.blame_stack(&id, notes));
        if found.is_none() && !is_faulty {
            let all: Vec<_> =
                heads.iter().map(|head| format!("{} {}", head.stack, head.kubernetes.minor())).collect();
            let what =
                args.kubernetes.as_ref().map(|minor| format!(" for Kubernetes {minor}")).unwrap_or_default();
            notes
                .error("unknown-stack", None, format!("there is no stack `{stack}`{what}"))
                .hint(format!("the fleet has {}", all.join(", ")));
        }
        found.into_iter().cloned().collect()
    } else if let Some(name) = &args.release {
        named(name, notes).into_iter().collect()
    } else {
        // The schema of a stack with errors would be out of date or missing.
        left.refuse_stacks(notes)?;
        // `check` reports errors in a numbered release; such a release gets no schema.
        let numbered = numbered_releases(&input.sources);
        let numbered = numbered.iter().filter_map(|name| named(name, &mut Notes::new()));
        heads.into_iter().chain(numbered).collect::<Vec<_>>()
    };
    notes.halt(())?;
    let one = |release: &Arc<Release>| {
        let text =
            serde_json::to_string_pretty(&release::definition_schema(release)).expect("a schema is JSON");
        (release::schema_file(release), format!("{text}\n"))
    };
    Ok(chosen.iter().map(one).collect())
}
