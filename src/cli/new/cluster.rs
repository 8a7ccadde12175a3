//! `stackloom new cluster`.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Additions, Files, Fleet, document,
    folder::{self, DEFAULTS},
    inherit::Inherited,
    mapping,
    origin::{OriginArgs, Origins},
    shell_word,
};
use crate::{
    cli::{cluster::note_unknown, scaffold, today::Today},
    definition::{self as definitions, DefinitionKind, Definitions},
    generate::Failure,
    io::disk::{self, Workspace},
    model::{Label, is_called},
    note::Notes,
    yaml::{Mapping, Node},
};

/// Add a cluster
///
/// Writes a definition that contains only what the defaults of its folder do not set. The output shows what
/// the cluster inherits, and from which file. A new folder gets a `_defaults.yaml`.
///
/// If neither the defaults nor the options name a release, the cluster uses the newest numbered release of
/// the stack and minor or, in a fleet without releases, the head of the stack. The stack defaults to the only
/// one of the fleet, and the minor to the newest supported one.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom new cluster dev-2\n  stackloom new cluster prod-eu-1 --folder clusters/prod\n  stackloom new cluster prod-eu-1 --namespace team-b --release openstack-scs-1-35-v7\n  stackloom new cluster try-1 --stack openstack/scs --kubernetes 1.35 --release head"
)]
pub(super) struct ClusterArgs {
    /// The cluster's name
    name: String,
    /// The folder of its definition; by default the current folder, the folder whose defaults set the
    /// namespace, or the only folder
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// Its namespace; overrides the defaults of the folder for this cluster only
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    origin: OriginArgs,
    /// The management cluster; by default the first one in stackloom.yaml
    #[arg(long, value_name = "MANAGEMENT_CLUSTER")]
    management_cluster: Option<String>,
    #[command(flatten)]
    today: Today,
}

pub(super) fn make(args: &ClusterArgs, world: &Workspace, notes: &mut Notes) -> Result<Additions, Failure> {
    let mut fleet = super::read(world, notes)?;
    if let Some(Err(fault)) = args.namespace.as_deref().map(Label::new) {
        notes
            .error("wrong-name", None, format!("`--namespace` cannot be the name of a namespace: {fault}"))
            .hint("use lower-case letters, digits and dashes");
    }
    if let Err(fault) = Label::new(&args.name) {
        notes
            .error("wrong-name", None, format!("`{}` cannot be the name of a cluster: {fault}", args.name))
            .hint("use lower-case letters, digits and dashes");
    }
    notes.halt(())?;
    let mut files = Files::new();
    let folder = settle_in(args, world, &mut fleet, &mut files, notes)?;
    let (input, definitions) = (&fleet.input, &fleet.definitions);
    let inherited = Inherited::of(definitions, &folder);
    let origins = Origins { args: &args.origin, definitions, input };
    let origin = origins.choose(&inherited, notes).ok_or(Failure::Input)?;
    let warnings = origins.lifecycle(&origin, args.today.day()?, notes);
    notes.halt(())?;
    let (metadata, spec) =
        write(args, &inherited, definitions, origin.spec(&inherited), || origin.usual_class(input));
    let mut overridden = spec.clone();
    origin.override_inherited(&mut overridden);
    let own = Node::from(mapping([("metadata", metadata.clone().into()), ("spec", overridden.into())]));
    let up = folder.matches('/').count() + 1;
    // With the schema of the release, editors can complete variables and addons.
    let schema = format!("stacks/{}", origin.schema_file());
    let is_there = disk::exists(&world.root().join("schemas").join(&schema))?;
    let kind = DefinitionKind::ClusterDefinition;
    let line = scaffold::line_of_schema(if is_there { &schema } else { kind.schema_file() }, up);
    files.insert(format!("{folder}/{}.yaml", args.name), document(kind, line, metadata, spec));
    let mut talk = vec![origin.words()];
    talk.extend(inherited.lines(input, &own));
    talk.push("next: stackloom generate --commit --all".to_owned());
    talk.push(format!("      stackloom secrets {}     the Secrets that it needs", args.name));
    let more = serde_json::Map::from_iter([("inherited".to_owned(), inherited.document(input, &own))]);
    Ok(Additions { files, talk, more, edited: None, options: args.options(), warnings })
}

impl ClusterArgs {
    fn options(&self) -> Vec<(&'static str, String)> {
        let mut options = self.origin.options();
        let own = [("--namespace", &self.namespace), ("--management-cluster", &self.management_cluster)];
        options.extend(own.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
        options
    }
}

/// Chooses the folder of the definition. A new folder gets its defaults, which are added to the fleet.
fn settle_in(
    args: &ClusterArgs,
    world: &Workspace,
    fleet: &mut Fleet,
    files: &mut Files,
    notes: &mut Notes,
) -> Result<String, Failure> {
    let is_named = args.folder.is_some() || world.here().starts_with("clusters/");
    if !is_named {
        fleet.all_defaults_sound(notes)?;
    }
    let folders = Folders::of(&fleet.definitions);
    let folder = folders.choose(args, world, notes).ok_or(Failure::Input)?;
    fleet.sound_defaults(&folder, notes)?;
    if !folders.has(&folder) {
        let own = folder::of_cluster(&folder, args.namespace.as_deref(), &fleet.definitions, notes);
        if let Some(text) = own? {
            let path = format!("{folder}/{DEFAULTS}");
            fleet.input.sources.add(&path, text.as_str());
            files.insert(path, text);
            fleet.definitions = definitions::parse(&fleet.input, &mut Notes::new());
        }
    }
    Ok(folder)
}

/// The metadata and the spec that the definition needs, because its folder does not set them.
fn write(
    args: &ClusterArgs,
    inherited: &Inherited,
    definitions: &Definitions,
    mut spec: Mapping,
    class: impl FnOnce() -> String,
) -> (Mapping, Mapping) {
    let mut metadata = mapping([("name", args.name.as_str().into())]);
    let namespace = inherited.unless_inherited(&["metadata", "namespace"], args.namespace.as_deref(), || {
        Some("default".to_owned())
    });
    metadata.set_some("namespace", namespace);
    let management = folder::management(definitions, inherited, args.management_cluster.as_deref());
    spec.set_some("managementCluster", management);
    if inherited.at(&["spec", "controlPlane", "replicas"]).is_none() {
        spec.set("controlPlane", mapping([("replicas", 1.into())]));
    }
    if inherited.at(&["spec", "nodePools"]).is_none() {
        let pool = mapping([("name", "md-0".into()), ("class", class().into()), ("replicas", 1.into())]);
        spec.set("nodePools", vec![pool.into()]);
    }
    if !inherited.has_pod_network() {
        spec.set("network", folder::networks(None, None));
    }
    (metadata, spec)
}

/// The folders of clusters, and the namespaces of their clusters.
struct Folders {
    namespaces: BTreeMap<String, BTreeSet<String>>,
}

impl Folders {
    fn of(definitions: &Definitions) -> Self {
        let mut namespaces: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for layer in &definitions.clusters {
            let Some((folder, _)) = layer.source.path.rsplit_once('/') else { continue };
            let merged = definitions::merged(definitions, layer);
            let namespace = merged.at(&["metadata", "namespace"]).and_then(Node::as_str).map(str::to_owned);
            namespaces.entry(folder.to_owned()).or_default().extend(namespace);
        }
        // A folder with defaults is a candidate only if no other such folder, or cluster, is below it.
        for folder in definitions.defaults.keys() {
            let inside = format!("{folder}/");
            let is_around =
                namespaces.keys().chain(definitions.defaults.keys()).any(|one| one.starts_with(&inside));
            if !is_around {
                let inherited = Inherited::of(definitions, folder);
                let namespace = inherited.text(&["metadata", "namespace"]).map(str::to_owned);
                namespaces.entry(folder.clone()).or_default().extend(namespace);
            }
        }
        Self { namespaces }
    }

    /// Whether anything is defined in or below a folder.
    fn has(&self, folder: &str) -> bool {
        let inside = format!("{folder}/");
        self.namespaces.keys().any(|one| one == folder || one.starts_with(&inside))
    }

    fn choose(&self, args: &ClusterArgs, world: &Workspace, notes: &mut Notes) -> Option<String> {
        if let Some(given) = &args.folder {
            return folder::below_clusters(given, world, notes);
        }
        if world.here().starts_with("clusters/") {
            return folder::below_clusters(".", world, notes);
        }
        let mut meant: Vec<_> = self.namespaces.iter().collect();
        if let Some(namespace) = &args.namespace {
            meant.retain(|(_, all)| all.contains(namespace));
        }
        let one = |(folder, namespaces): &(&String, &BTreeSet<String>)| {
            let all: Vec<_> = namespaces.iter().map(String::as_str).collect();
            format!("`--folder {}` (namespace {})", shell_word(folder), all.join(", "))
        };
        let listed =
            |all: &[(&String, &BTreeSet<String>)]| all.iter().map(one).collect::<Vec<_>>().join(", ");
        match (meant.as_slice(), &args.namespace) {
            ([(folder, _)], _) => return Some((*folder).clone()),
            ([], None) => return Some("clusters".to_owned()),
            ([], Some(namespace)) => {
                let all: Vec<_> = self.namespaces.iter().collect();
                let message = format!("no folder has clusters in the namespace `{namespace}`");
                let note = notes.error("missing-value", None, message);
                note.hint(format!("use `--folder clusters/{namespace}` to start one"));
                if !all.is_empty() {
                    note.hint(format!("available: {}", listed(&all)));
                }
            }
            (several, _) => {
                notes
                    .error("missing-value", None, "cannot tell which folder the cluster belongs in")
                    .hint(format!("name one: {}", listed(several)))
                    .hint("or run this command in that folder");
            }
        }
        None
    }
}

/// The management cluster, namespace and name of a cluster, for messages and for `new pool`.
pub(super) fn identity(merged: &Node) -> Option<[&str; 3]> {
    let text = |path: &[&str]| merged.at(path).and_then(Node::as_str);
    Some([
        text(&["spec", "managementCluster"])?,
        text(&["metadata", "namespace"])?,
        text(&["metadata", "name"])?,
    ])
}

/// Finds a cluster of the fleet by its name.
pub(super) fn called<'a>(
    name: &str,
    fleet: &'a Fleet,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<(&'a definitions::Layer, Node), Failure> {
    let Fleet { definitions, input, .. } = fleet;
    let all: Vec<_> =
        definitions.clusters.iter().map(|layer| (layer, definitions::merged(definitions, layer))).collect();
    let whole = |merged: &Node| identity(merged).map(|parts| parts.join("/"));
    let names = |merged: &Node| whole(merged).is_some_and(|whole| is_called(&whole, name));
    let known: BTreeSet<String> =
        all.iter().filter_map(|(_, merged)| Some(identity(merged)?[2].to_owned())).collect();
    let meant: Vec<_> = all.into_iter().filter(|(_, merged)| names(merged)).collect();
    match meant.as_slice() {
        [(layer, merged)] => return Ok((*layer, merged.clone())),
        [] => {
            if !fleet.blame(name, world, notes)? {
                note_unknown(name, known.iter().map(String::as_str), notes);
            }
        }
        _ => {
            let note = notes.error("several-clusters", None, format!("there are several clusters `{name}`"));
            let all = meant.iter().filter_map(|(_, merged)| Some(format!("`{}`", whole(merged)?)));
            note.hint(format!("use one of {}", all.collect::<Vec<_>>().join(", ")));
            for (layer, _) in &meant {
                if let Some(place) = input.sources.place(layer.node.origin) {
                    note.related("one of them", place);
                }
            }
        }
    }
    Err(Failure::Input)
}
