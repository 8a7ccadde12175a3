//! `stackloom new folder`: a folder for clusters, with its defaults.

use super::{Files, Made, definition, inherit::Inherited, mapping, origin};
use crate::{
    definition::{Definitions, Kind},
    generate::Failure,
    io::disk::Workspace,
    model::Label,
    note::Notes,
    yaml::{Mapping, Node},
};

/// The file of a folder's defaults.
pub(super) const DEFAULTS: &str = "_defaults.yaml";

/// Private networks, the defaults for new clusters.
const PODS: &str = "192.168.0.0/16";
const SERVICES: &str = "10.128.0.0/12";

/// Add a folder for clusters, with the defaults that they share
///
/// Writes a `_defaults.yaml` with what the parent folders do not set: a namespace, the management cluster and the networks
/// of pods and services. With --stack, --kubernetes or --release, it also sets what the clusters are made from.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom new folder clusters/team-b\n  stackloom new folder clusters/prod/eu-1 --namespace team-a --pods 10.64.0.0/12\n  stackloom new folder clusters/prod --release docker-scs-1-35-v2"
)]
pub(super) struct FolderArgs {
    /// The folder, below `clusters`
    #[arg(value_name = "FOLDER")]
    path: String,
    /// The namespace of its clusters; by default the name of the folder
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// The management cluster; by default the first one in stackloom.yaml
    #[arg(long, value_name = "MANAGEMENT_CLUSTER")]
    management_cluster: Option<String>,
    /// The pod network, in CIDR notation
    #[arg(long, value_name = "CIDR")]
    pods: Option<String>,
    /// The service network, in CIDR notation
    #[arg(long, value_name = "CIDR")]
    services: Option<String>,
    #[command(flatten)]
    origin: origin::OriginArgs,
}

pub(super) fn make(args: &FolderArgs, world: &Workspace, notes: &mut Notes) -> Result<Made, Failure> {
    let (input, definitions) = super::read(world, notes)?;
    let Some(folder) = below_clusters(&args.path, world, notes) else { return Err(Failure::Input) };
    let inherited = Inherited::of(&definitions, &folder);
    let mut spec = if args.origin.is_empty() {
        Mapping::new()
    } else {
        let sources = origin::Origins { args: &args.origin, definitions: &definitions, input: &input };
        sources.choose(&inherited, notes).ok_or(Failure::Input)?.spec(&inherited)
    };
    let (metadata, rest) = defaults(args, &folder, &definitions, &inherited);
    rest.iter().for_each(|entry| spec.insert(entry.key.clone(), entry.value.clone()));
    let text = text(&folder, metadata, spec);
    let named = folder.strip_prefix("clusters/").unwrap_or(&folder);
    let talk = vec![format!("next: stackloom new cluster {}-1 --folder {}", last(named), args.path)];
    Ok(Made { files: Files::from([(format!("{folder}/{DEFAULTS}"), text)]), talk, ..Made::default() })
}

/// The defaults of a folder that a new cluster brings with it.
pub(super) fn of_cluster(folder: &str, namespace: Option<&str>, definitions: &Definitions) -> Option<String> {
    let args = FolderArgs { namespace: namespace.map(str::to_owned), ..FolderArgs::default() };
    let (metadata, spec) = defaults(&args, folder, definitions, &Inherited::of(definitions, folder));
    (!(metadata.is_empty() && spec.is_empty())).then(|| text(folder, metadata, spec))
}

/// The networks that a cluster needs to become ready.
pub(super) fn networks(pods: Option<&str>, services: Option<&str>) -> Mapping {
    let list = |cidr: &str| Node::from(vec![Node::from(cidr)]);
    mapping([("pods", list(pods.unwrap_or(PODS))), ("services", list(services.unwrap_or(SERVICES)))])
}

/// What the folders around a folder do not say.
fn defaults(
    args: &FolderArgs,
    folder: &str,
    definitions: &Definitions,
    inherited: &Inherited,
) -> (Mapping, Mapping) {
    let (mut metadata, mut spec) = (Mapping::new(), Mapping::new());
    let own_name = || Label::new(last(folder)).ok().map(|_| last(folder).to_owned());
    let namespace = || own_name().filter(|_| folder != "clusters").or_else(|| Some("default".to_owned()));
    metadata.set_some(
        "namespace",
        inherited.unless_said(&["metadata", "namespace"], args.namespace.as_deref(), namespace),
    );
    spec.set_some(
        "managementCluster",
        management(definitions, inherited, args.management_cluster.as_deref()),
    );
    if args.pods.is_some() || args.services.is_some() || !inherited.has_pod_network() {
        spec.set("network", networks(args.pods.as_deref(), args.services.as_deref()));
    }
    (metadata, spec)
}

/// The management cluster that the folder does not say.
pub(super) fn management(
    definitions: &Definitions,
    inherited: &Inherited,
    asked: Option<&str>,
) -> Option<String> {
    let first = || {
        let fleet = definitions.fleet.as_ref()?;
        fleet.value.spec.management_clusters.first().map(|first| first.name.clone())
    };
    inherited.unless_said(&["spec", "managementCluster"], asked, first)
}

fn text(folder: &str, metadata: Mapping, spec: Mapping) -> String {
    definition(Kind::ClusterDefaults, folder.matches('/').count() + 1, metadata, spec)
}

fn last(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

/// A folder that was named where the user stands, from the root of the fleet; it must be one of definitions.
pub(super) fn below_clusters(given: &str, world: &Workspace, notes: &mut Notes) -> Option<String> {
    let path = world.path(given);
    let is_folder = |path: &String| {
        let mut parts = path.split('/');
        let taken = |part: &str| matches!(part.rsplit_once('.'), Some((_, "d" | "yaml" | "yml")));
        parts.next() == Some("clusters")
            && !parts
                .any(|part| part.is_empty() || part.starts_with('.') || taken(part) || part == "clusters")
    };
    if let Some(folder) = path.as_ref().filter(|path| is_folder(path)) {
        return Some(folder.clone());
    }
    let named = path.as_deref().unwrap_or(given);
    let note = notes.error("wrong-value", None, format!("`{named}` is not a folder below `clusters`"));
    note.hint("clusters are defined in `clusters/**`");
    match world.here() {
        "" => note.hint(format!("did you mean `clusters/{}`?", given.trim_matches('/'))),
        here => note.hint(format!("paths are relative to the current folder, `{here}`")),
    };
    None
}
