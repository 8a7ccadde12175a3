//! `stackloom schema`.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::json;

use super::{Done, Exit, Global, Printer, printer::counted};
use crate::{definition::Kind, io::disk, note::Notes};

/// Print the JSON Schema of a kind, or write those of all kinds
///
/// Editors that know the `yaml-language-server` line at the top of a definition complete keys and show what they mean.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom schema cluster-definition\n  stackloom schema --write schemas"
)]
pub(super) struct Args {
    /// The kind
    #[arg(value_enum, required_unless_present = "write", conflicts_with = "write")]
    kind: Option<KindName>,
    /// Write the schemas of all kinds into this folder, below that of -C
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
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
    Lock,
}

impl KindName {
    fn kind(self) -> Kind {
        match self {
            Self::Fleet => Kind::Fleet,
            Self::Stack => Kind::Stack,
            Self::Addon => Kind::Addon,
            Self::NodeImages => Kind::NodeImages,
            Self::ClusterDefaults => Kind::ClusterDefaults,
            Self::ClusterDefinition => Kind::ClusterDefinition,
            Self::Release => Kind::Release,
            Self::Lock => Kind::Lock,
        }
    }
}

/// Every schema, by file name.
pub(super) fn files() -> BTreeMap<String, String> {
    Kind::ALL.iter().map(|kind| (kind.schema_file().to_owned(), text(*kind))).collect()
}

fn text(kind: Kind) -> String {
    let text = serde_json::to_string_pretty(&kind.schema()).expect("a schema is JSON");
    format!("{text}\n")
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    if let Some(kind) = args.kind {
        printer.data(&text(kind.kind()));
    }
    if let Some(folder) = &args.write {
        let files = files();
        for (name, text) in &files {
            disk::write(&global.directory.join(folder).join(name), text)?;
        }
        printer.result(&format!("{} written to {}", counted(files.len(), "schema"), folder.display()));
        printer.document(Exit::Done, &Notes::new(), json!({ "files": files.keys().collect::<Vec<_>>() }));
    }
    Ok(Exit::Done)
}
