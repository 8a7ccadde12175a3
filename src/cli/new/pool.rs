//! `stackloom new pool`.

use super::{
    Additions, cluster,
    inherit::Inherited,
    mapping,
    origin::{OriginArgs, Origins},
};
use crate::{
    definition::closest,
    edit::{self, Locator},
    generate::Failure,
    io::disk::Workspace,
    model::Label,
    note::Notes,
    yaml::Node,
};

/// Add a node pool to a cluster
///
/// Adds the pool to the end of `nodePools` in the definition of the cluster and leaves the rest of the file unchanged.
/// `stackloom remove CLUSTER --pool NAME` removes a pool.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom new pool dev-1 md-1\n  stackloom new pool team-a/prod-eu-1 gpu --class gpu-worker --replicas 3 --failure-domain az1\n  stackloom new pool dev-1 burst --autoscale 0-10"
)]
pub(super) struct PoolArgs {
    /// The cluster, as `name`, `namespace/name` or `management-cluster/namespace/name`
    #[arg(value_name = "CLUSTER")]
    cluster: String,
    /// The name of the pool; renaming it later replaces its machines
    #[arg(value_name = "NAME")]
    name: String,
    /// The worker class; by default the only one of the release, or `default-worker`
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// The number of machines
    #[arg(long, value_name = "COUNT", conflicts_with = "autoscale")]
    replicas: Option<u32>,
    /// Let the cluster autoscaler choose the number of machines within these bounds
    #[arg(long, value_name = "MIN-MAX")]
    autoscale: Option<String>,
    /// The failure domain of its machines
    #[arg(long, value_name = "DOMAIN")]
    failure_domain: Option<String>,
}

impl PoolArgs {
    fn options(&self) -> Vec<(&'static str, String)> {
        let own = [
            ("--class", self.class.clone()),
            ("--replicas", self.replicas.map(|count| count.to_string())),
            ("--autoscale", self.autoscale.clone()),
            ("--failure-domain", self.failure_domain.clone()),
        ];
        own.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

pub(super) fn make(args: &PoolArgs, world: &Workspace, notes: &mut Notes) -> Result<Additions, Failure> {
    let fleet = super::read(world, notes)?;
    let (layer, merged) = cluster::called(&args.cluster, &fleet, world, notes)?;
    let (input, definitions) = (&fleet.input, &fleet.definitions);
    fleet.sound_defaults(layer.source.path.rsplit_once('/').map_or("", |(folder, _)| folder), notes)?;
    if let Err(fault) = Label::new(&args.name) {
        notes
            .error("wrong-name", None, format!("`{}` cannot be the name of a pool: {fault}", args.name))
            .hint("use lower-case letters, digits and dashes");
        return Err(Failure::Input);
    }
    let origins = Origins { args: &OriginArgs::default(), definitions, input };
    let origin = origins.choose(&Inherited::merged(merged.clone()), notes).ok_or(Failure::Input)?;
    let known = origin.worker_classes(input);
    let class = match &args.class {
        Some(class) => class.clone(),
        None => origin.usual_class(input),
    };
    if !known.is_empty() && !known.contains(&class) {
        let message = format!("the release of `{}` has no worker class `{class}`", args.cluster);
        let note = notes.error("unknown-class", None, message);
        match closest(&class, known.iter().map(String::as_str)) {
            Some(similar) => note.hint(format!("did you mean `--class {similar}`?")),
            None => note.hint(format!("its classes are {}", known.join(", "))),
        };
        return Err(Failure::Input);
    }
    let pool = pool(args, &class, notes).ok_or(Failure::Input)?;
    let path = ["spec", "nodePools"];
    let pools = |node: &Node| node.at(&path).and_then(Node::as_sequence).map(<[Node]>::to_vec);
    let is_called = |one: &Node| one.get("name").and_then(Node::as_str) == Some(&args.name);
    let steps = path.map(Locator::Key);
    let edit = match (pools(&layer.node), pools(&merged)) {
        (_, Some(all)) if all.iter().any(is_called) => {
            let place = all.iter().find(|one| is_called(one)).and_then(|one| input.sources.place(one.origin));
            notes
                .error("exists", place, format!("`{}` already has a pool `{}`", args.cluster, args.name))
                .hint("choose another name, or edit its definition");
            None
        }
        (Some(own), _) if !own.is_empty() => edit::append(&layer.source, &steps, &pool, notes),
        (None, Some(all)) if !all.is_empty() => {
            let place = merged.at(&path).and_then(|node| input.sources.place(node.origin));
            notes
                .error(
                    "inherited",
                    place,
                    format!(
                        "`{}` inherits its pools from its folder, and a list in its definition would replace them",
                        args.cluster
                    ),
                )
                .hint("add the pool here for all clusters of the folder")
                .hint(format!("for this cluster alone, copy the list to {} first", layer.source.path));
            None
        }
        _ => edit::set(&layer.source, &steps, &vec![pool].into(), notes),
    };
    let text = edit.ok_or(Failure::Input)?.apply(&layer.source.text);
    let talk = vec![
        format!("the pool {} of class {class}; {}", args.name, origin.words()),
        "next: stackloom generate --commit --all".to_owned(),
    ];
    Ok(Additions {
        edited: Some((layer.source.path.to_string(), text)),
        talk,
        options: args.options(),
        ..Additions::default()
    })
}

fn pool(args: &PoolArgs, class: &str, notes: &mut Notes) -> Option<Node> {
    let mut pool = mapping([("name", args.name.as_str().into()), ("class", class.into())]);
    match &args.autoscale {
        None => pool.set("replicas", i64::from(args.replicas.unwrap_or(1))),
        Some(bounds) => {
            let read = bounds.split_once('-').and_then(|(min, max)| {
                Some((min.parse::<u32>().ok()?, max.parse::<u32>().ok()?)).filter(|(min, max)| min <= max)
            });
            let Some((min, max)) = read else {
                notes
                    .error("wrong-value", None, format!("`{bounds}` is not a valid range"))
                    .hint("write it as <min>-<max>, such as 1-5");
                return None;
            };
            pool.set("autoscale", mapping([("min", i64::from(min).into()), ("max", i64::from(max).into())]));
        }
    }
    pool.set_some("failureDomain", args.failure_domain.as_deref());
    Some(pool.into())
}
