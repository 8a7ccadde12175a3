//! `stackloom new`: a stack, an addon, a cluster.

use std::collections::BTreeMap;

use clap::Subcommand;
use serde_json::json;

use super::{Done, Exit, Global, Printer, input_or_world, printer::counted, scaffold};
use crate::{
    definition::{self, Definitions, Kind, Maturity},
    generate::{self, Failure},
    io::disk::{self, Workspace},
    model::{KubernetesVersion, Label, StackId},
    note::{Diagnostic, Fault, Notes, Place, Severity},
    partial::LeftOut,
    world::{Input, World, is_input},
    yaml::{Mapping, Node, emit},
};

/// Add a stack, an addon or a cluster
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Stack(StackArgs),
    Addon(AddonArgs),
    Cluster(ClusterArgs),
}

/// Add a stack to begin with: for docker and openstack a copy of those that come with the program, else a bare one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  stackloom new stack openstack/scs\n  stackloom new stack hetzner/base")]
struct StackArgs {
    /// The stack, as <provider>/<stack>: lower-case letters and digits, no dash
    #[arg(value_name = "PROVIDER/STACK")]
    stack: String,
}

/// Add an addon to a stack: a chart, or manifests
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom new addon docker/scs cert-manager --chart oci://quay.io/jetstack/charts/cert-manager --chart-version 1.19.1\n  stackloom new addon docker/scs priority-classes"
)]
struct AddonArgs {
    /// The stack, as <provider>/<stack>
    #[arg(value_name = "PROVIDER/STACK")]
    stack: String,
    /// The addon's name
    name: String,
    /// The chart, as <repository>/<chart>; without one, the addon is made of manifests
    #[arg(long, requires = "chart_version")]
    chart: Option<String>,
    /// The chart's version
    #[arg(long, requires = "chart", value_name = "VERSION")]
    chart_version: Option<String>,
}

/// Add a cluster
///
/// What the folder's defaults say already is not said again; for the rest, the fleet's first management cluster, its only
/// stack and the newest supported Kubernetes minor are taken, unless options say otherwise.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom new cluster dev-2\n  stackloom new cluster prod-eu-1 --folder clusters/prod --stack openstack/scs --kubernetes 1.35 --namespace team-b"
)]
struct ClusterArgs {
    /// The cluster's name
    name: String,
    /// The folder of its definition; the first one with clusters in it where nothing is said
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// Its namespace
    #[arg(long)]
    namespace: Option<String>,
    /// The stack, as <provider>/<stack>
    #[arg(long, value_name = "PROVIDER/STACK")]
    stack: Option<String>,
    /// The Kubernetes minor, such as 1.35
    #[arg(long, value_name = "MINOR")]
    kubernetes: Option<String>,
    /// The management cluster
    #[arg(long, value_name = "MANAGEMENT_CLUSTER")]
    management_cluster: Option<String>,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let mut notes = Notes::new();
    let world = Workspace::open(&global.directory)?;
    let written = match &args.what {
        What::Stack(args) => stack(args, &world, &mut notes)?,
        What::Addon(args) => addon(args, &world, &mut notes)?,
        What::Cluster(args) => match cluster(args, &world, &mut notes) {
            Ok(files) => Some(files),
            Err(Failure::Input) => None,
            Err(failure) => return input_or_world(failure),
        },
    };
    let Some(files) = written else { return Ok(failed(&notes, printer)) };
    for path in files.keys() {
        if disk::exists(&world.root().join(path))? {
            notes
                .error(
                    "exists",
                    Place::file(path.as_str()),
                    "this file is there already, and `new` overwrites nothing",
                )
                .hint("take another name, or edit the file");
        }
    }
    if notes.errors() > 0 {
        return Ok(failed(&notes, printer));
    }
    let found = match soundness(&world, &files)? {
        Ok(found) => found,
        Err(found) => return Ok(failed(&found, printer)),
    };
    disk::write_all(world.root(), &files)?;
    printer.notes(&found);
    printer.result(&format!("{} written:", counted(files.len(), "file")));
    for path in files.keys() {
        printer.result(&format!("  {path}"));
    }
    printer.document(Exit::Done, &found, json!({ "files": files.keys().collect::<Vec<_>>() }));
    Ok(Exit::Done)
}

/// The fleet with files that are not written yet.
struct Added<'a> {
    world: &'a Workspace,
    files: &'a Files,
}

impl World for Added<'_> {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        let mut input = self.world.read(notes)?;
        for (path, text) in self.files.iter().filter(|(path, _)| is_input(path)) {
            input.sources.add(path, text.as_str());
        }
        Ok(input)
    }
}

/// What is to be said of the fleet with new files: warnings, and what was at fault before them and is left out. `Err` is
/// what stops them: faults that they bring, or those of the whole fleet, behind which theirs may hide.
fn soundness(world: &Workspace, files: &Files) -> Result<Result<Notes, Notes>, Fault> {
    let check = |world: &dyn World, notes: &mut Notes| match generate::check(world, &|_, _| {}, notes) {
        Ok(_) | Err(Failure::Input) => Ok(()),
        Err(Failure::World(fault)) => Err(fault),
    };
    let mut found = Notes::new();
    check(&Added { world, files }, &mut found)?;
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
    let mut told = Notes::new();
    LeftOut::new(Vec::new(), &found, &mut told).warn(&mut told);
    Ok(Ok(told))
}

fn failed(notes: &Notes, printer: &Printer) -> Exit {
    printer.notes(notes);
    printer.talk("nothing was written");
    printer.document(Exit::Input, notes, json!({}));
    Exit::Input
}

type Files = BTreeMap<String, String>;

/// A definition as text, with the line for editors; `up` leads from its folder to the fleet's root.
fn definition(kind: Kind, up: usize, metadata: Mapping, spec: Mapping) -> String {
    let mut root = Mapping::new();
    root.set("apiVersion", "stackloom.dev/v1alpha1");
    root.set("kind", kind.name());
    root.set("metadata", metadata);
    root.set("spec", spec);
    let mut text = scaffold::schema_line(kind, up);
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

fn stack_id(text: &str, notes: &mut Notes) -> Option<StackId> {
    let id = StackId::parse(text);
    if id.is_none() {
        notes
            .error("wrong-name", None, format!("`{text}` names no stack"))
            .hint("write it as <provider>/<stack>, both of lower-case letters and digits");
    }
    id
}

/// Whether a folder that is to be made is there already; says so, once for all of its files.
fn is_taken(world: &Workspace, folder: &str, what: &str, notes: &mut Notes) -> Result<bool, Fault> {
    let taken = disk::exists(&world.root().join(folder))?;
    if taken {
        notes
            .error("exists", Place::file(folder), format!("there is {what} of this name already"))
            .hint("take another name, or edit what is there");
    }
    Ok(taken)
}

fn stack(args: &StackArgs, world: &Workspace, notes: &mut Notes) -> Result<Option<Files>, Fault> {
    let Some(id) = stack_id(&args.stack, notes) else { return Ok(None) };
    if is_taken(world, &format!("stacks/{id}"), "a stack", notes)? {
        return Ok(None);
    }
    let pieces = match &*id.provider {
        "docker" => scaffold::renamed(scaffold::DOCKER, "scs", &id.name),
        "openstack" => scaffold::renamed(scaffold::OPENSTACK, "scs", &id.name),
        provider => scaffold::bare_stack(provider, &id.name),
    };
    Ok(Some(pieces.into_iter().map(|(path, text)| (format!("stacks/{id}/{path}"), text)).collect()))
}

fn addon(args: &AddonArgs, world: &Workspace, notes: &mut Notes) -> Result<Option<Files>, Fault> {
    let Some(id) = stack_id(&args.stack, notes) else { return Ok(None) };
    let folder = format!("stacks/{id}");
    if !disk::exists(&world.root().join(&folder).join("stack.yaml"))? {
        notes
            .error("unknown-stack", Place::file(folder.as_str()), format!("there is no stack `{id}`"))
            .hint(format!("`stackloom new stack {id}` begins one"));
    }
    if let Err(fault) = Label::new(&args.name) {
        notes
            .error("wrong-name", None, format!("`{}` is no name of an addon: {fault}", args.name))
            .hint("use lower-case letters, digits and dashes");
    }
    let base = format!("{folder}/addons/{}", args.name);
    is_taken(world, &base, "an addon", notes)?;
    let mut files = Files::new();
    let name = mapping([("name", args.name.as_str().into())]);
    let addon = |spec| definition(Kind::Addon, 5, name.clone(), spec);
    match (&args.chart, &args.chart_version) {
        (Some(chart), Some(version)) => {
            let Some(spec) = chart_spec(&args.name, chart, version, notes) else { return Ok(None) };
            files.insert(format!("{base}/addon.yaml"), addon(spec));
            files.insert(format!("{base}/values.yaml"), VALUES.to_owned());
        }
        _ => {
            files.insert(format!("{base}/addon.yaml"), addon(mapping([("stage", "default".into())])));
            let labels = mapping([("cluster", "${{ cluster.name }}".into())]);
            let metadata = mapping([("name", args.name.as_str().into()), ("labels", labels.into())]);
            let namespace = mapping([
                ("apiVersion", "v1".into()),
                ("kind", "Namespace".into()),
                ("metadata", metadata.into()),
            ]);
            let mut manifest = "# Manifests are templates, applied in the workload cluster.\n".to_owned();
            emit(&Node::from(namespace), &mut manifest);
            files.insert(format!("{base}/manifests/namespace.yaml"), manifest);
        }
    }
    Ok((notes.errors() == 0).then_some(files))
}

const VALUES: &str = "\
# Helm values: a template, so that a value can be ${{ cluster.name }} or ${{ cluster.variables.… }}.
{}
";

/// An addon of a chart; the Kubernetes range is the author's to widen once it is tested.
fn chart_spec(name: &str, chart: &str, version: &str, notes: &mut Notes) -> Option<Mapping> {
    let Some((repository, chart)) = chart.trim_end_matches('/').rsplit_once('/') else {
        notes
            .error("wrong-value", None, format!("`{chart}` names no chart"))
            .hint("write it as <repository>/<chart>");
        return None;
    };
    let row = mapping([("version", version.into()), ("kubernetes", ">=1.34 <1.37".into())]);
    let chart = mapping([("repository", repository.into()), ("name", chart.into())]);
    let release = mapping([("name", name.into()), ("namespace", name.into())]);
    Some(mapping([
        ("chart", chart.into()),
        ("versions", vec![Node::from(row)].into()),
        ("release", release.into()),
        ("stage", "default".into()),
    ]))
}

fn cluster(args: &ClusterArgs, world: &Workspace, notes: &mut Notes) -> Result<Files, Failure> {
    let mut found = Notes::new();
    let input = world.read(&mut found)?;
    let definitions = definition::parse(&input, &mut found);
    if let Err(fault) = Label::new(&args.name) {
        notes
            .error("wrong-name", None, format!("`{}` is no name of a cluster: {fault}", args.name))
            .hint("use lower-case letters, digits and dashes");
        return Err(Failure::Input);
    }
    let choice = Choice { args, definitions: &definitions, input: &input };
    let folder = choice.folder();
    // What the cluster is made from has to be sound; a fault of another cluster is not this one's.
    let matters = |note: &Diagnostic| {
        let file = note.place.as_ref().map_or("", |place| place.file.as_str());
        let defaults = file.rsplit_once("/_defaults.").map(|(folder, _)| folder);
        let above = |above: &str| folder == above || folder.starts_with(&format!("{above}/"));
        note.severity == Severity::Error && !(file.starts_with("clusters/") || file.starts_with("stacks/"))
            || defaults.is_some_and(above)
    };
    notes.append_if(found, matters);
    notes.halt(())?;
    let Some(text) = choice.definition(&folder, notes) else { return Err(Failure::Input) };
    Ok(Files::from([(format!("{folder}/{}.yaml", args.name), text)]))
}

/// What a new cluster says, beside what its folder says already.
struct Choice<'a> {
    args: &'a ClusterArgs,
    definitions: &'a Definitions,
    input: &'a Input,
}

impl Choice<'_> {
    fn folder(&self) -> String {
        if let Some(folder) = &self.args.folder {
            return folder.trim_start_matches("./").trim_end_matches('/').to_owned();
        }
        let first =
            self.input.sources.below("clusters").find(|source| !source.path.ends_with("_defaults.yaml"));
        let first =
            first.and_then(|source| source.path.rsplit_once('/')).map(|(folder, _)| folder.to_owned());
        first.unwrap_or_else(|| "clusters".to_owned())
    }

    /// Whether a default of the folder, or of one that it lies in, says something.
    fn is_said(&self, folder: &str, path: &[&str]) -> bool {
        let folders = folder.match_indices('/').map(|(at, _)| &folder[..at]).chain([folder]);
        let said = folders.filter_map(|folder| self.definitions.defaults.get(folder));
        said.into_iter().any(|layer| layer.node.at(path).is_some_and(|node| !node.is_null()))
    }

    fn definition(&self, folder: &str, notes: &mut Notes) -> Option<String> {
        let mut parts = folder.split('/');
        let below = parts.next() == Some("clusters");
        let taken = |part: &str| matches!(part.rsplit_once('.'), Some((_, "d" | "yaml" | "yml")));
        if !below || parts.any(|part| part.is_empty() || part.starts_with('.') || taken(part)) {
            notes
                .error("wrong-value", None, format!("`{folder}` is no folder below `clusters`"))
                .hint("clusters are defined in `clusters/**`");
            return None;
        }
        let args = self.args;
        let mut metadata = mapping([("name", args.name.as_str().into())]);
        match &args.namespace {
            Some(namespace) => metadata.set("namespace", namespace.as_str()),
            None if self.is_said(folder, &["metadata", "namespace"]) => {}
            None => metadata.set("namespace", "default"),
        }
        let mut spec = self.release(folder, notes)?;
        let management = args.management_cluster.clone().or_else(|| {
            let first = self.definitions.fleet.as_ref()?.value.spec.management_clusters.first()?;
            (!self.is_said(folder, &["spec", "managementCluster"])).then(|| first.name.clone())
        });
        spec.set_some("managementCluster", management);
        spec.set("controlPlane", mapping([("replicas", 1.into())]));
        let pool =
            mapping([("name", "md-0".into()), ("class", "default-worker".into()), ("replicas", 1.into())]);
        spec.set("nodePools", vec![pool.into()]);
        Some(definition(Kind::ClusterDefinition, folder.matches('/').count() + 1, metadata, spec))
    }

    /// Which stack and Kubernetes minor, where the folder does not say.
    fn release(&self, folder: &str, notes: &mut Notes) -> Option<Mapping> {
        let said = self.is_said(folder, &["spec", "release"])
            && self.args.stack.is_none()
            && self.args.kubernetes.is_none();
        if said {
            return Some(Mapping::new());
        }
        let mut known = self.definitions.stacks.keys();
        let stack = match (&self.args.stack, known.next(), known.next()) {
            (Some(stack), ..) => stack.clone(),
            (None, Some(only), None) => only.clone(),
            _ => {
                let all: Vec<_> = self.definitions.stacks.keys().map(String::as_str).collect();
                notes
                    .error("missing-value", None, "nothing says which stack")
                    .hint(format!("say it with `--stack`: {}", all.join(", ")));
                return None;
            }
        };
        let Some(kubernetes) = self.args.kubernetes.clone().or_else(|| self.newest(&stack)) else {
            let known: Vec<_> = self.definitions.stacks.keys().map(String::as_str).collect();
            let note = notes.error("unknown-stack", None, format!("there is no stack `{stack}`"));
            note.hint(format!("the fleet has {}; `stackloom new stack` adds one", known.join(", ")));
            return None;
        };
        Some(mapping([
            ("stack", stack.into()),
            ("kubernetes", kubernetes.into()),
            ("release", "head".into()),
        ]))
    }

    /// The newest minor of a stack that is for production, else the newest at all.
    fn newest(&self, stack: &str) -> Option<String> {
        let releases = &self.definitions.stacks.get(stack)?.stack.value.spec.kubernetes;
        let of = |supported: bool| {
            let fit = releases.iter().filter(|release| !supported || release.maturity == Maturity::Supported);
            fit.filter_map(|release| KubernetesVersion::parse(&release.version).ok()).max()
        };
        of(true).or_else(|| of(false)).map(|version| version.minor().to_string())
    }
}
