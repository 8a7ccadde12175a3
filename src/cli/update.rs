//! `stackloom update`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::{
    Done, Exit, Global, Printer, or_exit,
    printer::{counted, whole},
    progress::Progress,
};
use crate::{
    generate,
    io::{
        disk,
        net::{self, ChartQuestion, LookupAnswer},
    },
    lock::{self, MergedLock, Wanted, values},
    model::{AddonVersion, Chart, ChartVersion, Digest, Lock, LockedChart, StackId},
    note::{Fault, Halted, Notes},
    partial::LeftOut,
    release::Releases,
    world::{CHART_VALUES, Input, LOCK},
    yaml::Origin,
};

/// Look up charts and images at their sources, and lock their digests
///
/// Looks up the digest of every chart version that an addon lists, of the images that those charts declare
/// (`artifacthub.io/images`), and of the images that the stacks' own manifests and class objects name. Writes
/// them to stackloom.lock, and what the charts say about their values to charts/values/. Only this
/// command looks up versions and digests on the network.
///
/// If the lock has another digest for the same version, refuses the new one. Reports newer versions, but
/// never adds them to an addon: you decide which versions it lists. Skips stacks with errors, and keeps their
/// entries in the lock. Uses the logins of docker, podman and helm.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom update                             look up everything, write stackloom.lock\n  stackloom update openstack/scs               look up one stack only\n  stackloom update --dry-run                   show what would change\n  stackloom update --accept cilium             accept a digest that changed, after a review\n  stackloom update --dry-run --format json | jq '.newer[]'"
)]
pub(super) struct Args {
    /// The stack; by default all stacks
    #[arg(value_name = "PROVIDER/STACK", value_parser = super::release::stack)]
    stack: Option<StackId>,
    /// Write nothing; show what would change
    #[arg(long)]
    dry_run: bool,
    /// Accept the new digest of this chart or image, although its version is the same; can be repeated
    #[arg(long, value_name = "NAME")]
    accept: Vec<String>,
}

/// Concurrent queries: most of the time is spent waiting.
const AT_A_TIME: usize = 8;

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let read = generate::understand_sound(&world, &mut notes);
    let (understood, left) = match or_exit(read, printer, &notes)? {
        Ok(read) => read,
        Err(exit) => return Ok(exit),
    };
    let generate::Understood { input, model, releases, .. } = understood;
    if refuse(args.stack.as_ref(), &releases, &left, &mut notes).is_err() {
        printer.notes(&notes);
        printer.document(Exit::Input, &notes, json!({}));
        return Ok(Exit::Input);
    }
    let is_partial = left.has_stacks();
    let wanted = Wanted { is_partial, ..lock::wanted(&releases, None) };
    let asked = lock::wanted(&releases, args.stack.as_ref());
    let answer = ask(&asked, &model.lock, &input, printer)?;
    let accept = args.accept.iter().cloned().collect();
    let merged =
        lock::merge(&model.lock, &wanted, &answer.found, &accept, &releases, &input.sources, &mut notes);
    warn_unchecked(&asked, &answer, &input, &mut notes);
    let newer = lock::newer(&asked, &answer.found);
    let path = world.root().join(LOCK);
    let text = lock::write(&merged.lock);
    let before = disk::read_file(&path)?;
    let is_new = match &before {
        Some(bytes) => *bytes != text.as_bytes(),
        None => !merged.lock.is_empty(),
    };
    if !args.dry_run {
        put_values(&merged.lock, &answer, &input, world.root())?;
        if is_new {
            disk::put(&path, &text)?;
        }
    }
    let exit = match (notes.errors(), answer.faults.len()) {
        (0, 0) => Exit::Done,
        (0, _) => Exit::World,
        _ => Exit::Input,
    };
    printer.notes(&notes);
    if !printer.is_document() {
        answer.faults.iter().for_each(|fault| printer.fault(fault));
    }
    print_result(args, &merged, &newer, &asked, is_new, printer);
    let mut document = document(&merged, &newer, &asked, &answer.faults, is_new && !args.dry_run);
    document["leftOut"] = left.document();
    printer.document(exit, &notes, document);
    Ok(exit)
}

/// Refuses an unknown or invalid stack, and a fleet with errors in all stacks. Warns about other stacks that are skipped.
fn refuse(
    asked: Option<&StackId>,
    releases: &Releases,
    left: &LeftOut,
    notes: &mut Notes,
) -> Result<(), Halted> {
    let is_there = |stack: &StackId| releases.heads().any(|one| one.stack == *stack);
    let nothing = releases.heads().next().is_none() && left.has_stacks();
    match asked {
        Some(stack) if left.blame_stack(stack, notes) => {}
        Some(stack) if !is_there(stack) => {
            notes
                .error("unknown-stack", None, format!("there is no stack `{stack}`"))
                .hint("stacks are the folders `stacks/<provider>/<stack>/`");
        }
        None if nothing => notes.append(left.faults().clone()),
        _ => left.warn_of_stacks(notes),
    }
    notes.halt(())
}

/// Warns about charts whose values `check` cannot verify, with the reason.
fn warn_unchecked(asked: &Wanted, answer: &LookupAnswer, input: &Input, notes: &mut Notes) {
    for (key, chart) in &answer.found.charts {
        let Some(Err(why)) = &chart.values else { continue };
        let listed = asked.charts.get(key).and_then(BTreeSet::first);
        let place = listed.and_then(|origin| input.sources.place(*origin));
        notes
            .warning("chart-values", place, format!("the values of {key} cannot be checked: {why}"))
            .hint("compare them with the chart's own `values.yaml`: stackloom will not find a misspelt key");
    }
}

/// Queries all repositories, several at a time, and then the images that their charts name.
fn ask(wanted: &Wanted, old: &Lock, input: &Input, printer: &Printer) -> Result<LookupAnswer, Fault> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(AT_A_TIME)
        .build()
        .map_err(|error| Fault::because("cannot set up the network", error))?;
    let questions = questions(&wanted.charts, old, input);
    let charts = Progress::new(printer, "repositories");
    let mut answer = all(&pool, &questions, &charts, net::charts);
    let named = wanted.images.keys().cloned().chain(answer.found.images_of_charts(old));
    let named: Vec<String> = named.collect::<BTreeSet<_>>().into_iter().collect();
    let images = Progress::new(printer, "images");
    answer.extend(all(&pool, &named, &images, |name| net::image(name)));
    Ok(answer)
}

/// Sends all queries; the answers have the order of the queries.
fn all<T: Sync>(
    pool: &rayon::ThreadPool,
    questions: &[T],
    progress: &Progress,
    ask: impl Fn(&T) -> LookupAnswer + Sync,
) -> LookupAnswer {
    let done = AtomicUsize::new(0);
    let answers: Vec<LookupAnswer> = pool.install(|| {
        let one = |question: &T| {
            let answer = ask(question);
            progress.at(done.fetch_add(1, Ordering::Relaxed) + 1, questions.len());
            answer
        };
        questions.par_iter().with_max_len(1).map(one).collect()
    });
    progress.end();
    let mut whole = LookupAnswer::default();
    for answer in answers {
        whole.extend(answer);
    }
    whole
}

/// One query per classic repository, and one per chart in a registry.
fn questions(
    charts: &BTreeMap<ChartVersion, BTreeSet<Origin>>,
    old: &Lock,
    input: &Input,
) -> Vec<ChartQuestion> {
    let mut questions: BTreeMap<(String, String), ChartQuestion> = BTreeMap::new();
    for key in charts.keys() {
        let Chart { repository, name } = key.chart.clone();
        let per_chart = if repository.starts_with("oci://") { name.clone() } else { String::new() };
        let question = questions
            .entry((repository.clone(), per_chart))
            .or_insert_with(|| ChartQuestion { repository, charts: BTreeMap::new() });
        // An archive is downloaded again if the file with its values is missing.
        let is_known =
            |locked: &&LockedChart| locked.values.as_ref().is_some_and(|values| is_kept(values, input));
        let locked = old.charts.get(key).filter(is_known).map(|locked| locked.digest.clone());
        question.charts.entry(name).or_default().insert(key.version.clone(), locked);
    }
    questions.into_values().collect()
}

/// Whether the file of a digest exists unchanged.
fn is_kept(digest: &Digest, input: &Input) -> bool {
    let source = input.sources.at(&values::file(digest));
    source.is_some_and(|source| values::digest(&source.text).as_ref() == Some(digest))
}

/// Writes the descriptions of the charts' values, and removes those that no chart in the lock refers to.
fn put_values(lock: &Lock, answer: &LookupAnswer, input: &Input, root: &Path) -> Result<(), Fault> {
    let meant: BTreeSet<String> =
        lock.charts.values().filter_map(|chart| chart.values.as_ref()).map(values::file).collect();
    for text in answer.found.charts.values().filter_map(|chart| chart.values.as_ref()?.as_ref().ok()) {
        let Some(digest) = values::digest(text) else { continue };
        let file = values::file(&digest);
        if meant.contains(&file) && !is_kept(&digest, input) {
            disk::write(&root.join(file), text)?;
        }
    }
    let stale = input.sources.below(CHART_VALUES).filter(|source| !meant.contains(&*source.path));
    stale.into_iter().try_for_each(|source| disk::remove(&root.join(&*source.path)))
}

fn print_result(
    args: &Args,
    merged: &MergedLock,
    newer: &BTreeMap<Chart, Vec<AddonVersion>>,
    wanted: &Wanted,
    is_new: bool,
    printer: &Printer,
) {
    for change in &merged.changes {
        let what = &change.what;
        printer.result(&match (&change.before, &change.after) {
            (None, Some(after)) => format!("+ {what}: {after}"),
            (Some(before), Some(after)) => format!("~ {what}: {before} → {after}"),
            (before, None) => {
                format!("- {what}: {}", before.as_ref().map(ToString::to_string).unwrap_or_default())
            }
        });
    }
    for (chart, versions) in newer {
        let all: Vec<_> = versions.iter().map(ToString::to_string).collect();
        printer.result(&format!("newer: {} {} (no addon lists it)", chart.name, all.join(", ")));
    }
    for image in &wanted.unknown {
        printer.talk(&format!("not looked up: `{image}`, whose full name is known only inside a cluster"));
    }
    let Lock { charts, images, .. } = &merged.lock;
    let nested = charts.values().flat_map(|chart| chart.images.keys()).collect::<BTreeSet<_>>().len();
    let holds = format!("{} and {}", counted(charts.len(), "chart"), counted(images.len() + nested, "image"));
    printer.result(&match (is_new, args.dry_run) {
        (true, true) => format!("{LOCK} would hold {holds}"),
        (true, false) => format!("{LOCK} written: it holds {holds}"),
        (false, _) => format!("{LOCK} stays as it is: it holds {holds}"),
    });
    if args.dry_run {
        printer.talk("this was a dry run: nothing was written");
    }
}

fn document(
    merged: &MergedLock,
    newer: &BTreeMap<Chart, Vec<AddonVersion>>,
    wanted: &Wanted,
    faults: &[Fault],
    written: bool,
) -> Json {
    let digest = |digest: &Option<crate::model::Digest>| digest.as_ref().map(ToString::to_string);
    let changes: Vec<Json> = merged
        .changes
        .iter()
        .map(|change| {
            json!({ "what": change.what, "before": digest(&change.before), "after": digest(&change.after) })
        })
        .collect();
    let newer: Vec<Json> = newer
        .iter()
        .map(|(chart, versions)| {
            let versions: Vec<_> = versions.iter().map(ToString::to_string).collect();
            json!({ "repository": chart.repository, "chart": chart.name, "versions": versions })
        })
        .collect();
    let faults: Vec<Json> =
        faults.iter().map(|fault| json!({ "message": whole(fault), "hints": fault.hints() })).collect();
    json!({
        "changes": changes,
        "newer": newer,
        "notLookedUp": wanted.unknown,
        "faults": faults,
        "written": written,
    })
}
