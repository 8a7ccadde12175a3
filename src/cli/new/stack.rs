//! `stackloom new stack` and `stackloom new addon`.

use std::collections::BTreeSet;

use super::{Additions, Files, mapping};
use crate::{
    cli::scaffold,
    definition::{self, DefinitionKind, closest},
    io::disk::{self, Workspace},
    model::{KubernetesVersion, Label, Minor, StackId},
    note::{Fault, Notes, Place},
    world::World as _,
    yaml::{Mapping, Node, emit},
};

/// Add a stack
///
/// For docker and openstack, copies the built-in stack. For any other provider, writes a minimal stack.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  stackloom new stack openstack/scs\n  stackloom new stack hetzner/base")]
pub(super) struct StackArgs {
    /// The stack, as <provider>/<stack>: lower-case letters and digits, no dash
    #[arg(value_name = "PROVIDER/STACK")]
    stack: String,
}

/// Add an addon to a stack, from a chart or from manifests
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom new addon docker/scs cert-manager --chart oci://quay.io/jetstack/charts/cert-manager --chart-version v1.19.1\n  stackloom new addon docker/scs priority-classes"
)]
pub(super) struct AddonArgs {
    /// The stack, as <provider>/<stack>
    #[arg(value_name = "PROVIDER/STACK")]
    stack: String,
    /// The name of the addon
    name: String,
    /// The chart, as <address of the repository>/<chart>; without it, the addon is made of manifests
    #[arg(long, requires = "chart_version")]
    chart: Option<String>,
    /// The version of the chart, as published; for a chart in a registry the exact tag, including a leading
    /// `v`
    #[arg(long, requires = "chart", value_name = "VERSION")]
    chart_version: Option<String>,
}

pub(super) fn stack_id(text: &str, notes: &mut Notes) -> Option<StackId> {
    let id = StackId::parse(text);
    if id.is_none() {
        notes
            .error("wrong-name", None, format!("`{text}` is not a valid stack name"))
            .hint("write it as <provider>/<stack>, both with lower-case letters and digits only");
    }
    id
}

/// Reports that a folder to create already exists, once for all of its files. Returns whether it does.
fn is_taken(world: &Workspace, folder: &str, what: &str, notes: &mut Notes) -> Result<bool, Fault> {
    let taken = disk::exists(&world.root().join(folder))?;
    if taken {
        notes
            .error("exists", Place::file(folder), format!("there is already {what} with this name"))
            .hint("choose another name, or edit what exists");
    }
    Ok(taken)
}

pub(super) fn stack(
    args: &StackArgs,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<Option<Additions>, Fault> {
    let Some(id) = stack_id(&args.stack, notes) else { return Ok(None) };
    if is_taken(world, &format!("stacks/{id}"), "a stack", notes)? {
        return Ok(None);
    }
    let pieces = match &*id.provider {
        "docker" => scaffold::renamed(scaffold::DOCKER, "scs", &id.name),
        "openstack" => scaffold::renamed(scaffold::OPENSTACK, "scs", &id.name),
        provider => scaffold::bare_stack(provider, &id.name),
    };
    let files = pieces.into_iter().map(|(path, text)| (format!("stacks/{id}/{path}"), text)).collect();
    let talk = vec![
        format!("next: stackloom variables {id}     the variables of its clusters"),
        format!("      stackloom new cluster NAME --stack {id} --release head"),
    ];
    Ok(Some(Additions { files, talk, ..Additions::default() }))
}

pub(super) fn addon(
    args: &AddonArgs,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<Option<Additions>, Fault> {
    let Some(id) = stack_id(&args.stack, notes) else { return Ok(None) };
    let folder = format!("stacks/{id}");
    if !disk::exists(&world.root().join(&folder).join("stack.yaml"))? {
        let input = world.read(&mut Notes::new())?;
        let of_file =
            |path: &str| Some(path.strip_prefix("stacks/")?.strip_suffix("/stack.yaml")?.to_owned());
        let known: Vec<String> = input.sources.iter().filter_map(|source| of_file(&source.path)).collect();
        let note = notes.error("unknown-stack", None, format!("there is no stack `{id}`"));
        match closest(&id.to_string(), known.iter().map(String::as_str)) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None if known.is_empty() => note.hint("the fleet has no stack"),
            None => note.hint(format!("the fleet has {}", known.join(", "))),
        };
        note.hint(format!("`stackloom new stack {id}` adds it"));
        return Ok(None);
    }
    if let Err(fault) = Label::new(&args.name) {
        notes
            .error("wrong-name", None, format!("`{}` is not a valid addon name: {fault}", args.name))
            .hint("use lower-case letters, digits and dashes");
    }
    let base = format!("{folder}/addons/{}", args.name);
    is_taken(world, &base, "an addon", notes)?;
    let (mut files, mut talk) = (Files::new(), Vec::new());
    let name = mapping([("name", args.name.as_str().into())]);
    let addon = |spec| super::definition(DefinitionKind::Addon, 5, name.clone(), spec);
    match (&args.chart, &args.chart_version) {
        (Some(chart), Some(version)) => {
            let range = served(world, &id.to_string())?;
            let Some(spec) = chart_spec(&args.name, chart, version, &range, notes) else { return Ok(None) };
            files.insert(format!("{base}/addon.yaml"), addon(spec));
            files.insert(format!("{base}/values.yaml"), VALUES.to_owned());
            talk.push(format!("next: write the chart's values to {base}/values.yaml"));
            talk.push("      stackloom update     lock the chart's digest".to_owned());
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
            talk.push(format!("next: write the addon's objects to {base}/manifests/"));
        }
    }
    talk.push("      stackloom check".to_owned());
    let options = [("--chart", &args.chart), ("--chart-version", &args.chart_version)];
    let options = options.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect();
    Ok((notes.errors() == 0).then_some(Additions { files, talk, options, ..Additions::default() }))
}

const VALUES: &str = "\
# Helm values: a template, so that a value can be ${{ cluster.name }} or ${{ cluster.variables.… }}.
{}
";

/// The range of the Kubernetes minors that a stack serves. If its `stack.yaml` has errors, the check of the new files reports them.
fn served(world: &Workspace, stack: &str) -> Result<String, Fault> {
    let definitions = definition::parse(&world.read(&mut Notes::new())?, &mut Notes::new());
    let versions = definitions.stacks.get(stack).map(|folder| &folder.stack.value.spec.kubernetes);
    let minors = versions.into_iter().flatten().filter_map(|one| KubernetesVersion::parse(&one.version).ok());
    let minors: BTreeSet<Minor> = minors.map(|version| version.minor()).collect();
    Ok(match (minors.first(), minors.last()) {
        (Some(first), Some(last)) => format!(">={first} <{}.{}", last.major, last.minor + 1),
        _ => "*".to_owned(),
    })
}

/// The spec of an addon from a chart. Its author can narrow or widen the Kubernetes range after testing.
fn chart_spec(name: &str, chart: &str, version: &str, range: &str, notes: &mut Notes) -> Option<Mapping> {
    const SCHEMES: [&str; 3] = ["oci://", "https://", "http://"];
    let has_address = SCHEMES.iter().any(|scheme| chart.starts_with(scheme));
    let split = chart.trim_end_matches('/').rsplit_once('/');
    // An address without a path has its last slash in the scheme.
    let split = split.filter(|(repository, name)| !repository.ends_with('/') && !name.is_empty());
    let Some((repository, chart)) = split.filter(|_| has_address) else {
        let message = format!("`{chart}` is not the address of a chart");
        let note = notes.error("wrong-value", None, message);
        if !has_address && split.is_some() {
            note.hint("names that `helm repo add` gave to repositories are known to Helm on one machine only: `helm repo list` shows their addresses");
        }
        note.hint("write <address of the repository>/<chart>, such as oci://quay.io/jetstack/charts/cert-manager or https://helm.cilium.io/cilium");
        return None;
    };
    let row = mapping([("version", version.into()), ("kubernetes", range.into())]);
    let chart = mapping([("repository", repository.into()), ("name", chart.into())]);
    let release = mapping([("name", name.into()), ("namespace", name.into())]);
    Some(mapping([
        ("chart", chart.into()),
        ("versions", vec![Node::from(row)].into()),
        ("release", release.into()),
        ("stage", "default".into()),
    ]))
}
