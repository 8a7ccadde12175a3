//! `stackloom secrets`.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::{
    Done, Exit, Global, Printer,
    cluster::{self, ClusterName},
    or_exit, table,
};
use crate::{
    compare::{self, ClassCache, Needs, WrittenCluster, is_made_by_cluster_api, refer},
    definition,
    generate::{self, Understood},
    model::{ClusterId, is_called},
    note::Notes,
    plan::{ClusterPlan, Plan},
    render::{self, Drawn, PartSubject, Target},
    world::Input,
    yaml::{self, Node, to_json},
};

/// List the Secrets that clusters need, what refers to them, and which files provide them
///
/// A cluster needs a Secret if one of its objects refers to it, or an object that Cluster API creates for it:
/// for the values of an addon, the identity of the infrastructure, or files of machines. The
/// column "referred to in" shows the lines of the definition that name it, or else those of the stack, the
/// release or the fleet.
///
/// A file provides a Secret if it is in the `.d` folder of a cluster in the same namespace and creates the
/// Secret: as a Secret, a `SealedSecret`, an `ExternalSecret` or with a kustomize generator. Secrets that
/// exist only in the management cluster are listed as not provided here.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom secrets\n  stackloom secrets prod-eu-1\n  stackloom secrets --format json | jq '.clusters[].secrets[] | select(.providedBy == [])'"
)]
pub(super) struct Args {
    /// Only the Secrets of this cluster, given as `name` or `namespace/name`
    #[arg(value_name = "CLUSTER")]
    cluster: Option<String>,
}

/// A line of a source: its path and its number.
type Line = (String, usize);

/// The Secrets that a cluster needs.
struct Needed {
    id: ClusterId,
    secrets: Needs,
    /// The lines that name each Secret: those of definitions, or else those of its stack or release.
    named: BTreeMap<String, BTreeSet<Line>>,
    /// Parts of the cluster whose needs are unknown before it runs.
    unknown: Vec<String>,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let read = generate::prepare_sound(&world, &mut notes);
    let (generate::Planned { fleet: understood, plan }, left) = match or_exit(read, printer, &notes)? {
        Ok(read) => read,
        Err(exit) => return Ok(exit),
    };
    let input = &understood.input;
    if args.cluster.as_ref().is_some_and(|name| left.blame(name, &mut notes)) {
        left.warn(&mut notes);
        printer.notes(&notes);
        printer.document(Exit::Input, &notes, json!({}));
        return Ok(Exit::Input);
    }
    left.warn(&mut notes);
    let is_meant = |plan: &&ClusterPlan| {
        args.cluster.as_ref().is_none_or(|name| is_called(&plan.cluster.full_name(), name))
    };
    let chosen: Vec<_> = plan.clusters.iter().filter(is_meant).collect();
    if let (Some(name), []) = (&args.cluster, chosen.as_slice()) {
        let names = plan.clusters.iter().map(|plan| plan.cluster.name.as_str());
        cluster::note_unknown(name, names, &mut notes);
        printer.notes(&notes);
        printer.document(Exit::Input, &notes, json!({}));
        return Ok(Exit::Input);
    }
    let namespaces = namespaces(&plan);
    let classes = ClassCache::default();
    let needed = chosen.par_iter().map(|plan| needed(plan, &understood, &namespaces, &classes));
    let needed: Vec<_> = needed.collect();
    let provided = provided(&plan, input);
    printer.notes(&notes);
    if needed.is_empty() && left.has_definitions() {
        printer.result("no cluster to list: definitions with errors were skipped");
    } else {
        report(&needed, &provided, printer);
    }
    let clusters: Vec<_> = needed.iter().map(|one| document(one, &provided)).collect();
    printer.document(Exit::Done, &notes, json!({ "clusters": clusters, "leftOut": left.document() }));
    Ok(Exit::Done)
}

/// A management cluster and one of its namespaces.
type Place = (String, String);

fn place(id: &ClusterId) -> Place {
    (id.management.to_string(), id.namespace.to_string())
}

/// The Secrets that the shared objects of each namespace refer to.
fn namespaces(plan: &Plan) -> BTreeMap<Place, Needs> {
    let one = |namespace: &crate::plan::NamespacePlan| {
        let drawn = render::draw(PartSubject::Namespace(namespace), &mut Notes::new());
        let mut needs = Needs::new();
        for object in &drawn.objects {
            refer(&to_json(&object.node), namespace.name.as_str(), &mut needs);
        }
        ((namespace.management.name.to_string(), namespace.name.to_string()), needs)
    };
    plan.namespaces.iter().map(one).collect()
}

fn needed(
    plan: &ClusterPlan,
    fleet: &Understood,
    namespaces: &BTreeMap<Place, Needs>,
    classes: &ClassCache,
) -> Needed {
    let id = plan.cluster.id();
    let namespace = id.namespace.as_str();
    // A release without templates for namespaces does not need the Secrets of those from other releases.
    let shared = namespaces.get(&place(&id)).filter(|_| !plan.release.namespace.is_empty());
    let mut secrets = shared.cloned().unwrap_or_default();
    let drawn = render::draw(PartSubject::Cluster(plan), &mut Notes::new());
    for object in drawn.objects.iter().filter(|object| object.target == Target::Management) {
        refer(&to_json(&object.node), namespace, &mut secrets);
    }
    let mut unknown = Vec::new();
    if let Some(node) = drawn.cluster() {
        let (desired, opaque) = compare::desired(WrittenCluster::drawn(plan, node, classes));
        let objects = desired.as_ref().map(|desired| desired.objects()).unwrap_or_default();
        for object in objects.values() {
            refer(object, namespace, &mut secrets);
        }
        if desired.is_none() {
            unknown.push("the objects that Cluster API creates for it".to_owned());
        }
        unknown.extend(opaque.iter().map(|one| format!("{}: {}", one.role, one.reason)));
    }
    secrets.retain(|(_, name), _| !is_made_by_cluster_api(&plan.cluster.name, name));
    let named = lines_that_name(&secrets, plan, &drawn, fleet);
    Needed { id, secrets, named, unknown }
}

/// The lines that name Secrets: those of the cluster's definition and defaults, or else those of its stack or
/// release, or of the fleet.
fn lines_that_name(
    secrets: &Needs,
    plan: &ClusterPlan,
    drawn: &Drawn,
    fleet: &Understood,
) -> BTreeMap<String, BTreeSet<Line>> {
    let definitions = &fleet.definitions;
    let layer = definitions.clusters.binary_search_by(|layer| (*layer.source.path).cmp(&plan.cluster.file));
    let merged = layer.ok().map(|at| definition::merged(definitions, &definitions.clusters[at]));
    let own = merged.as_ref().and_then(|merged| merged.get("spec"));
    let of_fleet = definitions.fleet.as_ref().map(|fleet| &fleet.node);
    let objects = drawn.objects.iter().map(|object| &object.node).chain(&plan.release.objects);
    let lines = |name: &String| {
        let in_any = |nodes: &mut dyn Iterator<Item = &Node>| {
            let mut lines = BTreeSet::new();
            nodes.for_each(|node| collect(node, name, &fleet.input, &mut lines));
            Some(lines).filter(|lines| !lines.is_empty())
        };
        let lines = in_any(&mut own.into_iter()).or_else(|| in_any(&mut objects.clone()));
        let lines = lines.or_else(|| in_any(&mut of_fleet.into_iter()));
        (name.clone(), lines.unwrap_or_default())
    };
    secrets.keys().map(|(_, name)| lines(name)).collect()
}

/// Collects the lines where a text is written.
fn collect(node: &Node, text: &str, input: &Input, found: &mut BTreeSet<Line>) {
    if node.as_str() == Some(text) {
        found.extend(input.sources.place(node.origin).map(|place| (place.file, place.line)));
    }
    let entries = node.as_mapping().into_iter().flat_map(|mapping| mapping.iter().map(|entry| &entry.value));
    let entries = entries.chain(node.as_sequence().into_iter().flatten());
    entries.for_each(|node| collect(node, text, input, found));
}

/// The files that create Secrets, by the place and name of the Secret.
fn provided(plan: &Plan, input: &Input) -> BTreeMap<(Place, String), BTreeSet<String>> {
    let mut provided: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for plan in &plan.clusters {
        let Some(companion) = &plan.cluster.companion else { continue };
        let id = plan.cluster.id();
        for source in input.beside.below(&companion.folder) {
            let documents = yaml::read_raw(source, &mut Notes::new()).unwrap_or_default();
            let objects =
                documents.iter().filter_map(|one| Node::from_raw(&one.root, source, &mut Notes::new()));
            for (namespace, name) in objects.flat_map(|object| makes(&to_json(&object))) {
                let namespace = namespace.unwrap_or_else(|| id.namespace.to_string());
                let at = (id.management.to_string(), namespace);
                provided.entry((at, name)).or_default().insert(source.path.to_string());
            }
        }
    }
    provided
}

/// The Secrets that an object in a `.d` folder creates, each with its namespace if it names one.
fn makes(object: &Json) -> Vec<(Option<String>, String)> {
    let text = |path: &str| object.pointer(path).and_then(Json::as_str).map(str::to_owned);
    let (namespace, own) = (text("/metadata/namespace"), text("/metadata/name"));
    let name = match object["kind"].as_str() {
        Some("Secret") => own,
        Some("SealedSecret") => text("/spec/template/metadata/name").or(own),
        Some("ExternalSecret") => text("/spec/target/name").or(own),
        Some("Kustomization") => {
            let generators = object["secretGenerator"].as_array().into_iter().flatten();
            let made = generators.filter_map(|one| {
                Some((one["namespace"].as_str().map(str::to_owned), one["name"].as_str()?.to_owned()))
            });
            return made.collect();
        }
        _ => None,
    };
    name.map(|name| (namespace, name)).into_iter().collect()
}

fn files<'a>(
    id: &ClusterId,
    (namespace, name): &(String, String),
    provided: &'a BTreeMap<(Place, String), BTreeSet<String>>,
) -> Vec<&'a str> {
    let place = (id.management.to_string(), namespace.clone());
    provided.get(&(place, name.clone())).into_iter().flatten().map(String::as_str).collect()
}

fn report(needed: &[Needed], provided: &BTreeMap<(Place, String), BTreeSet<String>>, printer: &Printer) {
    let (mut rows, mut missing) = (Vec::new(), None);
    for one in needed {
        for (secret, who) in &one.secrets {
            let files = files(&one.id, secret, provided);
            let name = format!("{}/{}", secret.0, secret.1);
            let by = if files.is_empty() {
                missing.get_or_insert_with(|| name.clone());
                "not provided here".to_owned()
            } else {
                files.join(", ")
            };
            let lines: BTreeSet<_> =
                one.named[&secret.1].iter().map(|(file, line)| format!("{file}:{line}")).collect();
            rows.push(vec![one.id.to_string(), name, by, several(&lines), several(who)]);
        }
    }
    if rows.is_empty() {
        printer.result("no Secret is needed");
    } else {
        let titles = ["cluster", "secret", "provided by", "referred to in", "needed by"];
        rows.insert(0, titles.map(str::to_owned).to_vec());
        for line in &table::lines(&rows) {
            printer.result(line);
        }
    }
    if let Some(missing) = missing {
        printer.talk(&format!(
            "to provide {missing}, put an encrypted Secret, a SealedSecret or an ExternalSecret of this name and namespace into the cluster's `.d` folder, \
             beside its definition (README.md, “Credentials”); or create it in the management cluster yourself"
        ));
    }
    for one in needed {
        one.unknown.iter().for_each(|what| printer.talk(&format!("{}: unknown: {what}", one.id)));
    }
}

/// Shortens a list of names; documents contain all of them.
fn several(names: &BTreeSet<String>) -> String {
    const SHOWN: usize = 3;
    let some = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{some}, and {} more", names.len() - SHOWN) } else { some }
}

fn document(one: &Needed, provided: &BTreeMap<(Place, String), BTreeSet<String>>) -> Json {
    let secret = |(secret, who): (&(String, String), &BTreeSet<String>)| {
        let (namespace, name) = secret;
        let lines = one.named[name].iter().map(|(file, line)| json!({ "file": file, "line": line }));
        json!({
            "namespace": namespace,
            "name": name,
            "neededBy": who,
            "referredToIn": lines.collect::<Vec<_>>(),
            "providedBy": files(&one.id, secret, provided),
        })
    };
    json!({
        "cluster": ClusterName::from(&one.id),
        "secrets": one.secrets.iter().map(secret).collect::<Vec<_>>(),
        "unknown": one.unknown,
    })
}
