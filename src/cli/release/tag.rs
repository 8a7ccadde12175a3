//! `stackloom release tag`.

use serde_json::json;

use crate::{
    cli::{Done, Exit, Global, Printer},
    io::git::{Repository, Tagging},
    note::Notes,
    release,
    world::{World as _, numbered_releases},
};

/// Create missing tags for the releases in HEAD
///
/// Use it if your pull requests are squashed: cut the release on the branch with `release --no-tag`, and run
/// this command after the merge. It tags the oldest commit that has the release as it is now. A tag that has
/// other content is reported and left alone.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom release tag --dry-run      show which tags are missing\n  stackloom release tag && git push --tags"
)]
pub(super) struct Args {
    /// Create no tag; show which are missing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = match crate::cli::fleet_here(global, printer)? {
        Ok(world) => world,
        Err(exit) => return Ok(exit),
    };
    let repository = Repository::discover(&world)?;
    let mut notes = Notes::new();
    let input = world.read(&mut notes)?;
    let messages = release::numbered_notes(&input, &mut notes);
    let Tagging { made, elsewhere, absent } = repository.tag_releases(&messages, args.dry_run)?;
    // Errors in a release that is present were reported with its files.
    let here = numbered_releases(&input.sources);
    for name in absent.iter().filter(|name| !here.contains(*name) && !input.damaged.contains_key(*name)) {
        notes
            .error(
                "release-tag",
                None,
                format!("HEAD has the release `{name}`, but the work tree does not have all of it"),
            )
            .hint(format!(
                "run `git checkout HEAD -- generated/releases/{name}` to restore it, then run this again"
            ))
            .hint("if a run was killed, `stackloom release` finishes it");
    }
    for name in &elsewhere {
        notes
            .error(
                "release-tag",
                None,
                format!("the tag `{name}` has other content than the release in HEAD"),
            )
            .hint(format!("compare them: `git diff {name} HEAD -- generated/releases/{name}`"));
    }
    let exit = if notes.errors() > 0 { Exit::Input } else { Exit::Done };
    printer.notes(&notes);
    for name in &made {
        printer.result(&format!("{name} {}", if args.dry_run { "would be tagged" } else { "tagged" }));
    }
    if made.is_empty() && exit == Exit::Done {
        printer.result("every release of HEAD has its tag");
    } else if args.dry_run {
        printer.talk("this was a dry run: no tag was made");
    } else if !made.is_empty() {
        printer.talk(&format!("next: git push origin {}", made.join(" ")));
    }
    printer.document(exit, &notes, json!({ "tags": made, "dryRun": args.dry_run }));
    Ok(exit)
}
