//! `stackloom new folder`: creates a folder for clusters, with its defaults.

use super::{Additions, Files, definition, inherit::Inherited, mapping, origin, shell_word};
use crate::{
    definition::{DefinitionKind, Definitions},
    generate::Failure,
    io::disk::Workspace,
    model::Label,
    note::Notes,
    yaml::{Mapping, Node},
};

/// The file name of a folder's defaults.
pub(super) const DEFAULTS: &str = "_defaults.yaml";

/// The default networks of new clusters, from private ranges.
const PODS: &str = "192.168.0.0/16";
const SERVICES: &str = "10.128.0.0/12";

/// Add a folder for clusters, with the defaults that they share
///
/// Writes a `_defaults.yaml` with what the parent folders do not set: a namespace, the management cluster,
/// and the pod and service networks.
///
/// With --stack, --kubernetes or --release, also sets what the clusters are made from. The options that you
/// leave out default to the only stack, the newest supported minor and the newest numbered release. Without
/// all three, sets none of them.
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

impl FolderArgs {
    fn options(&self) -> Vec<(&'static str, String)> {
        let mut options = self.origin.options();
        let own = [
            ("--namespace", &self.namespace),
            ("--management-cluster", &self.management_cluster),
            ("--pods", &self.pods),
            ("--services", &self.services),
        ];
        options.extend(own.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
        options
    }
}

pub(super) fn make(args: &FolderArgs, world: &Workspace, notes: &mut Notes) -> Result<Additions, Failure> {
    let fleet = super::read(world, notes)?;
    let Some(folder) = below_clusters(&args.path, world, notes) else { return Err(Failure::Input) };
    fleet.sound_defaults(&folder, notes)?;
    let (input, definitions) = (&fleet.input, &fleet.definitions);
    let inherited = Inherited::of(definitions, &folder);
    let mut spec = if args.origin.is_empty() {
        Mapping::new()
    } else {
        let sources = origin::Origins { args: &args.origin, definitions, input };
        sources.choose(&inherited, notes).ok_or(Failure::Input)?.spec(&inherited)
    };
    let (metadata, rest) = defaults(args, &folder, definitions, &inherited, notes).ok_or(Failure::Input)?;
    let namespace = metadata.get("namespace").and_then(Node::as_str);
    let namespace = namespace.or_else(|| inherited.text(&["metadata", "namespace"])).unwrap_or_default();
    let first = Label::new(last(&folder)).map_or(namespace, |_| last(&folder));
    let next = format!("next: stackloom new cluster {first}-1 --folder {}", shell_word(&args.path));
    rest.iter().for_each(|entry| spec.insert(entry.key.clone(), entry.value.clone()));
    let text = text(&folder, metadata, spec);
    Ok(Additions {
        files: Files::from([(format!("{folder}/{DEFAULTS}"), text)]),
        talk: vec![next],
        options: args.options(),
        ..Additions::default()
    })
}

/// The defaults of a folder that is created for a new cluster. `None` if they would be empty.
pub(super) fn of_cluster(
    folder: &str,
    namespace: Option<&str>,
    definitions: &Definitions,
    notes: &mut Notes,
) -> Result<Option<String>, Failure> {
    let args = FolderArgs { namespace: namespace.map(str::to_owned), ..FolderArgs::default() };
    let (metadata, spec) = defaults(&args, folder, definitions, &Inherited::of(definitions, folder), notes)
        .ok_or(Failure::Input)?;
    Ok((!(metadata.is_empty() && spec.is_empty())).then(|| text(folder, metadata, spec)))
}

/// The networks that a cluster needs to become ready.
pub(super) fn networks(pods: Option<&str>, services: Option<&str>) -> Mapping {
    let list = |cidr: &str| Node::from(vec![Node::from(cidr)]);
    mapping([("pods", list(pods.unwrap_or(PODS))), ("services", list(services.unwrap_or(SERVICES)))])
}

/// The defaults that a folder does not inherit. `None` if no namespace is given and the folder's name cannot be one.
fn defaults(
    args: &FolderArgs,
    folder: &str,
    definitions: &Definitions,
    inherited: &Inherited,
    notes: &mut Notes,
) -> Option<(Mapping, Mapping)> {
    let (mut metadata, mut spec) = (Mapping::new(), Mapping::new());
    let own = if folder == "clusters" { "default" } else { last(folder) };
    let namespace = || Some(own.to_owned());
    let namespace =
        inherited.unless_inherited(&["metadata", "namespace"], args.namespace.as_deref(), namespace);
    if let (None, Some(Err(fault))) = (&args.namespace, namespace.as_deref().map(Label::new)) {
        notes
            .error("missing-value", None, format!("`{own}` cannot be the name of a namespace: {fault}"))
            .hint("name the namespace with `--namespace`, or choose another folder");
        return None;
    }
    metadata.set_some("namespace", namespace);
    spec.set_some(
        "managementCluster",
        management(definitions, inherited, args.management_cluster.as_deref()),
    );
    if args.pods.is_some() || args.services.is_some() || !inherited.has_pod_network() {
        spec.set("network", networks(args.pods.as_deref(), args.services.as_deref()));
    }
    Some((metadata, spec))
}

/// The management cluster to set, unless the folder already sets it.
pub(super) fn management(
    definitions: &Definitions,
    inherited: &Inherited,
    asked: Option<&str>,
) -> Option<String> {
    let first = || {
        let fleet = definitions.fleet.as_ref()?;
        fleet.value.spec.management_clusters.first().map(|first| first.name.clone())
    };
    inherited.unless_inherited(&["spec", "managementCluster"], asked, first)
}

fn text(folder: &str, metadata: Mapping, spec: Mapping) -> String {
    definition(DefinitionKind::ClusterDefaults, folder.matches('/').count() + 1, metadata, spec)
}

fn last(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

/// Resolves a folder that the user names, relative to the current folder or, as in messages, to the fleet's root.
pub(super) fn below_clusters(given: &str, world: &Workspace, notes: &mut Notes) -> Option<String> {
    let here = world.path(given);
    let from_root = || Some(given.trim_start_matches("./").trim_end_matches('/').to_owned());
    if let Some(folder) = here.clone().filter(|path| fault(path).is_none()) {
        return Some(folder);
    }
    if let Some(folder) = from_root().filter(|path| !path.contains("..") && fault(path).is_none()) {
        return Some(folder);
    }
    let Some(path) = here else {
        notes
            .error("wrong-value", None, format!("`{given}` is outside of the fleet"))
            .hint("name a folder below `clusters/` of this fleet");
        return None;
    };
    let why = fault(&path).unwrap_or_default();
    let note = notes.error("wrong-value", None, format!("`{path}` cannot be a folder of clusters: {why}"));
    let meant = format!("clusters/{path}");
    if fault(&meant).is_none() {
        note.hint(format!("did you mean `{meant}`?"));
    } else {
        note.hint("choose a folder below `clusters/`, such as `clusters/prod`");
    }
    if !world.here().is_empty() {
        note.hint(format!(
            "paths are relative to the current folder, `{}`, or to the fleet's root",
            world.here()
        ));
    }
    None
}

/// The reason that clusters cannot be defined in a folder.
fn fault(path: &str) -> Option<String> {
    let Some(inside) = path.strip_prefix("clusters").filter(|rest| rest.is_empty() || rest.starts_with('/'))
    else {
        return Some("it is not below `clusters/`".to_owned());
    };
    inside.split('/').skip(1).find_map(|part| match part.rsplit_once('.') {
        Some((_, "d")) => Some(format!("`{part}` is read as the folder of objects beside a cluster")),
        Some((_, "yaml" | "yml")) => Some(format!("`{part}` has the name of a file")),
        _ if part.is_empty() => Some("a part of it has no name".to_owned()),
        _ if part.starts_with('.') => Some(format!("`{part}` is hidden, and is not read")),
        _ if part == "clusters" => Some("it contains `clusters` twice".to_owned()),
        _ => None,
    })
}
