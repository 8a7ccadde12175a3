//! `stackloom topology`.

mod applier;
mod choice;
mod files;
mod network;
mod published;

pub(super) use files::objects_of;

use std::{borrow::Cow, path::PathBuf};

use choice::Choice;
use serde_json::{Map, Value as Json, json};

use super::{
    Done, Exit, Global, Printer,
    cluster::{self, ClusterName},
    input_or_world,
};
use crate::{
    check,
    compare::{self, ClassCache, WrittenCluster},
    definition::{Model, closest},
    generate::{self, Failure, Understood},
    model::{Cluster, is_called},
    note::{Notes, Place},
    partial::LeftOut,
    plan::ClusterPlan,
    render,
    topology::{
        By, Forecast, Meaning, Opaque, Refusal,
        import::Unread,
        predict::{
            forecast,
            report::{self, Fields},
        },
    },
    world::Input,
    yaml::{self, Node, Origin, from_json, trail},
};

/// Show what Cluster API makes of a cluster, or what a change to it would do
///
/// By default, computes the objects that Cluster API's topology controller would create. Text output lists
/// them; `--format yaml` prints them as manifests. Never contacts a cluster.
///
/// With --release or --against, shows what a change means for the infrastructure, the control plane and each
/// pool: nothing, labels only, in place, scale, rollout (how many machines, and what happens at the same
/// time), upgrade (with its steps), create, delete, rejected, stuck, or not known and why.
///
/// In the output, #1 and #2 stand for random parts of names: #1 was drawn when the cluster was created, #2 is
/// drawn for the change. With --from, needs no fleet: give any Cluster, its ClusterClass and the templates
/// that the class names.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The cluster: NAME, or NAMESPACE/NAME if several have the name
    #[arg(required_unless_present = "from", conflicts_with = "from")]
    cluster: Option<String>,
    /// Show what moving the cluster to this release would do
    #[arg(long, value_name = "RELEASE", conflicts_with_all = ["against", "from"])]
    release: Option<String>,
    /// Show what the definitions change, compared with generated/ of this git revision
    #[arg(long, value_name = "REV", conflicts_with = "from")]
    against: Option<String>,
    /// Files with Clusters, `ClusterClasses` and templates, as `kubectl get -o yaml` writes them; `-` is
    /// standard input
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Files like those of --from, for the state before the change: what runs now, with its class and
    /// templates
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "from")]
    before: Vec<PathBuf>,
    /// Who applies the Clusters of --from over those of --before: `flux`, `kubectl`, `kubectl-server-side`,
    /// `argocd`, `argocd-server-side`, or the name of a field manager; by default whoever applied the live
    /// Cluster before
    #[arg(long, value_name = "WHO", requires = "before")]
    applied_by: Option<String>,
    /// The version of Cluster API, with --from
    #[arg(long, value_name = "VERSION", requires = "from", default_value = "1.14")]
    cluster_api: String,
    /// Feature gates of Cluster API's controllers, with --from; `ClusterTopology` is on by default
    #[arg(
        long,
        value_name = "GATE=true,…",
        requires = "from",
        default_value = "",
        hide_default_value = true
    )]
    feature_gates: String,
}

const EXAMPLES: &str = "\
Examples:
  stackloom topology dev-2                               # list the objects that Cluster API would create
  stackloom topology dev-2 --format yaml                 # the same, as manifests
  stackloom topology team-a/dev-2 --against origin/main  # show what merging this would do
  stackloom topology dev-2 --release docker-scs-1-36     # show what another release would do
  stackloom topology --from cluster.yaml class.yaml      # no fleet needed
  stackloom topology --from class.yaml cluster.yaml --feature-gates RuntimeSDK=true
  stackloom topology --before live.yaml templates.yaml --from cluster.yaml class-v2.yaml
  stackloom topology --before live.yaml templates.yaml --from cluster.yaml --applied-by flux

To export what runs for --before, use the first two commands below: one exports Clusters with
their classes, the other the templates. The managed fields of a Cluster show which values Cluster
API filled in. What --before lacks counts as not known; it is not taken from --from. While Cluster
API still reconciles a Cluster, use the third command, which exports everything that runs.
  kubectl get clusters,clusterclasses -A -o yaml --show-managed-fields > live.yaml
  kubectl get -A -o yaml --show-managed-fields > templates.yaml \\
    \"$(kubectl api-resources -o name |
        grep 'templates\\..*cluster\\.x-k8s\\.io$' | paste -sd, -)\"
  kubectl get cluster-api -A -o yaml --show-managed-fields > all.yaml

Exit codes: 0 done, 1 the API server, a webhook or the controller would refuse it, or the input has errors";

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let mut notes = Notes::new();
    let answers = if args.from.is_empty() {
        of_fleet(args, global, printer, &mut notes)
    } else {
        files::of_files(args, global, &mut notes)
    };
    let answers = match answers {
        Ok(answers) => answers,
        Err(failure) => {
            let exit = input_or_world(failure)?;
            printer.notes(&notes);
            printer.document(exit, &notes, json!({ "clusters": [] }));
            return Ok(exit);
        }
    };
    for verdict in answers.iter().flat_map(|one| &one.forecast.verdicts) {
        // A change that a controller refuses half-way was already reported as a fault; here a provider refuses it.
        if verdict.meaning == Meaning::Wedged && notes.errors() == 0 {
            let what = verdict.subject.in_words();
            let reasons: Vec<String> = verdict.reasons.iter().map(ToString::to_string).collect();
            let message = format!("the {what} would be stuck half-way: {}", reasons.join(", "));
            notes.error("topology", None, message).hint(format!("the rule is in {}", verdict.source));
        }
    }
    let exit = if notes.errors() > 0 { Exit::Input } else { Exit::Done };
    if printer.is_yaml() && answers.iter().all(|one| one.compared.is_none()) {
        printer.tell(&notes);
        for answer in &answers {
            printer.data(&answer.manifests());
        }
        return Ok(exit);
    }
    printer.notes(&notes);
    answers.iter().flat_map(|one| one.lines(printer.is_verbose())).for_each(|line| printer.result(&line));
    if !args.from.is_empty() && answers.iter().any(Answer::is_open) {
        printer.talk(TO_KNOW_MORE);
    }
    if answers.is_empty() && exit == Exit::Done {
        printer.result("no errors found; there is no Cluster to compute objects for");
    }
    let clusters: Vec<Json> = answers.iter().map(Answer::document).collect();
    printer.document(exit, &notes, json!({ "clusters": clusters }));
    Ok(exit)
}

/// The result for one cluster.
struct Answer {
    cluster: ClusterName,
    /// What it was compared with, in words.
    compared: Option<String>,
    forecast: Forecast,
    /// What the comparison could not see.
    caveat: Option<Cow<'static, str>>,
    /// Whether the manager that applies the new Cluster was derived from the live one.
    taken: bool,
}

/// A hint on the input that would resolve unknowns.
const TO_KNOW_MORE: &str = "to know more, pass everything that runs with --before (`kubectl get cluster-api -A -o yaml \
    --show-managed-fields`), and name who applies the files with --applied-by";

impl Answer {
    /// Whether a part of the change is unknown.
    fn is_open(&self) -> bool {
        self.compared.is_some()
            && (!self.forecast.opaque.is_empty()
                || self.forecast.verdicts.iter().any(|one| one.meaning == Meaning::Opaque))
    }

    fn lines(&self, all: bool) -> Vec<String> {
        let forecast = &self.forecast;
        let Some(compared) = &self.compared else { return self.list() };
        let fields = if all { Fields::All } else { Fields::First("-v names all") };
        let mut lines = vec![format!("{}, {compared}", self.cluster)];
        lines.extend(report::lines(forecast, fields));
        let is_compared = forecast.change.is_some() || !forecast.opaque.is_empty();
        let taken = (self.taken && is_compared)
            .then_some("if something else applies the files, name it with --applied-by");
        lines.extend(self.caveat.as_deref().into_iter().chain(taken).map(|note| format!("note: {note}")));
        lines
    }

    /// Lists the objects, one per line.
    fn list(&self) -> Vec<String> {
        let objects = self.forecast.desired.as_ref().map(|desired| desired.objects()).unwrap_or_default();
        let mut lines = vec![match objects.len() {
            0 => format!("{}: its objects cannot be computed", self.cluster),
            count => format!("{}: {count} objects", self.cluster),
        }];
        let objects: Vec<_> = objects.into_iter().map(|(role, object)| (role.to_string(), object)).collect();
        let width = objects.iter().map(|(role, _)| role.chars().count()).max().unwrap_or(0);
        for (role, object) in objects {
            let text = |path: &str| object.pointer(path).and_then(Json::as_str).unwrap_or_default();
            lines.push(format!("  {role:width$}  {} {}", text("/kind"), text("/metadata/name")));
        }
        lines.extend(
            self.forecast.opaque.iter().map(|one| format!("  not known: {}: {}", one.role, one.reason)),
        );
        lines.extend(self.forecast.notes.iter().map(|note| format!("  note: {note}")));
        lines
    }

    fn manifests(&self) -> String {
        let unknown =
            |one: &Opaque| format!("# not known: {}: {}\n", one.role, one.reason.replace('\n', " "));
        let mut text: String = self.forecast.opaque.iter().map(unknown).collect();
        for (role, object) in self.forecast.desired.iter().flat_map(|desired| desired.objects()) {
            text.extend(["---\n# ", &role.to_string(), " of ", &self.cluster.to_string(), "\n"]);
            yaml::emit(&from_json(object, Origin::NOWHERE), &mut text);
        }
        text
    }

    fn document(&self) -> Json {
        let mut document = Map::new();
        document.insert("cluster".to_owned(), json!(self.cluster));
        document.insert("compared".to_owned(), json!(self.compared));
        document.insert("caveat".to_owned(), json!(self.caveat));
        document.extend(report::document(&self.forecast));
        Json::Object(document)
    }
}

/// A cluster of the fleet, as currently defined.
struct Now<'a> {
    input: &'a Input,
    plan: ClusterPlan,
    node: Node,
    /// The choice of its release.
    choice: Option<Choice>,
}

impl Now<'_> {
    fn written(&self) -> WrittenCluster {
        WrittenCluster::drawn(&self.plan, &self.node, &ClassCache::default())
    }

    /// The place of a refused field: in the definition, or in the templates of the stack.
    fn place(&self, fault: &Refusal) -> Option<Place> {
        if let Some(choice) = self.choice.as_ref().filter(|_| choice::is_of_release(fault)) {
            return choice.place(fault, self.plan.release.is_head(), self.input);
        }
        let is_named = |object: &&Node| {
            let text = |path: &[&str]| object.at(path).and_then(Node::as_str).unwrap_or_default();
            fault.object == format!("{}/{}", text(&["kind"]), text(&["metadata", "name"]))
        };
        let mut objects = std::iter::once(&self.node).chain(&self.plan.release.objects);
        let object = objects.find(is_named).unwrap_or(&self.node);
        self.field(object, fault.error.path())
    }

    fn field(&self, object: &Node, path: &str) -> Option<Place> {
        let sources = &self.input.sources;
        let found = trail(object, path);
        let place = found.iter().rev().find_map(|(_, node)| sources.place(node.origin));
        place.or_else(|| sources.place(self.plan.cluster.origin))
    }

    fn tell(&self, faults: &[Refusal], notes: &mut Notes) {
        for fault in faults {
            let choice = self.choice.as_ref().filter(|_| choice::is_of_release(fault));
            let option = choice.map(Choice::option).unwrap_or_default();
            tell(fault, &option, self.place(fault), notes);
        }
    }
}

fn tell(fault: &Refusal, option: &str, place: Option<Place>, notes: &mut Notes) {
    let who = match fault.by {
        By::Schema | By::ServerSideApply => "the API server refuses it because of the schema of its kind",
        By::WebhookDefault | By::WebhookValidate => "a webhook of Cluster API refuses it when it is written",
        By::Topology => {
            "the API server accepts it, but Cluster API's controller stops here and does nothing with it"
        }
    };
    let hint = match fault.gate() {
        Some(gate) => format!("{who}; if the gate is on, pass `--from … --feature-gates {gate}=true`"),
        None => who.to_owned(),
    };
    notes.error("topology", place, format!("{option}{fault}")).hint(hint);
}

/// Reports errors in the state before the change.
fn nothing_runs(faults: &[Refusal], place: impl Fn(&Refusal) -> Option<Place>, notes: &mut Notes) {
    for fault in faults {
        let message = format!("the state before the change has an error: {fault}");
        notes
            .error("topology", place(fault), message)
            .hint("a change can only be compared with a state without errors: choose another one");
    }
}

fn of_fleet(
    args: &Args,
    global: &Global,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<Vec<Answer>, Failure> {
    let world = crate::cli::fleet(global, printer)?;
    let (understood, left) = generate::understand_sound(&world, notes)?;
    let cluster = chosen(args.cluster.as_deref().unwrap_or_default(), &understood.model, &left, notes);
    left.warn(notes);
    let cluster = cluster.map_err(|()| Failure::Input)?.clone();
    let mut now = drawn(cluster.clone(), &understood, notes)?;
    now.choice = Choice::of(&cluster, &understood.definitions);
    let mut caveat = None;
    let (compared, forecast) = if let Some(release) = &args.release {
        let after = rebased(release, &cluster, &understood, notes)?;
        let words = format!("moved from {} to {}", now.plan.release.name, after.plan.release.name);
        (Some(words), compare(now.written(), &after, notes)?)
    } else if let Some(revision) = &args.against {
        let before = published::before(&cluster, revision, (&understood, &left), &world, notes)?;
        caveat = before.as_ref().and_then(|before| before.caveat(&cluster, &now.node)).map(Cow::Owned);
        let forecast = match &before {
            Some(before) if before.is_same_cluster(&cluster, &now.node) => {
                compare(before.written.clone(), &now, notes)?
            }
            _ => new(&now, true, notes),
        };
        (Some(published::in_words(before.as_ref(), &cluster, revision)), forecast)
    } else {
        (None, new(&now, false, notes))
    };
    Ok(vec![Answer { cluster: ClusterName::from(&cluster), compared, forecast, caveat, taken: false }])
}

/// Finds the cluster with a name.
fn chosen<'a>(name: &str, model: &'a Model, left: &LeftOut, notes: &mut Notes) -> Result<&'a Cluster, ()> {
    let all = || model.clusters.iter();
    let meant: Vec<_> = all().filter(|one| is_called(&one.full_name(), name)).collect();
    match meant.as_slice() {
        [one] => return Ok(one),
        [] if left.blame(name, notes) => {}
        [] => {
            let names: Vec<String> =
                all().flat_map(|one| [one.name.to_string(), one.id().to_string()]).collect();
            cluster::note_unknown(name, names.iter().map(String::as_str), notes);
        }
        several => cluster::note_several(name, several.iter().copied(), notes),
    }
    Err(())
}

/// Draws a cluster as it would be written.
fn drawn<'a>(cluster: Cluster, fleet: &'a Understood, notes: &mut Notes) -> Result<Now<'a>, Failure> {
    let input = &fleet.input;
    let plan = fleet.planned_alone(cluster, notes)?;
    let classes = check::Classes::read(&plan);
    let Some(own) = plan.clusters.into_iter().next() else { return Err(Failure::from(notes.halted())) };
    let texts = check::Texts::from(input);
    if own.release.is_head() {
        check::release(&own.release, &classes, texts, notes);
    }
    let drawn = render::draw(render::PartSubject::Cluster(&own), notes);
    check::cluster(&own, &drawn, &classes, texts, notes);
    fleet.locate(notes);
    let objects = drawn.objects;
    notes.halt(())?;
    let is_cluster = |node: &Node| node.get("kind").and_then(Node::as_str) == Some("Cluster");
    let node = objects.into_iter().map(|object| object.node).find(is_cluster);
    Ok(Now { input, node: node.expect("every cluster is drawn with its Cluster"), plan: own, choice: None })
}

fn rebased<'a>(
    name: &str,
    cluster: &Cluster,
    fleet: &'a Understood,
    notes: &mut Notes,
) -> Result<Now<'a>, Failure> {
    let releases = &fleet.releases;
    let Some(release) = releases.find(name) else {
        if releases.note_refused(name, None, notes) {
            return Err(Failure::from(notes.halted()));
        }
        let note = notes.error("unknown-release", None, format!("there is no release `{name}`"));
        match closest(name, releases.names().into_iter()) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None => note.hint(format!("available: {}", releases.names().join(", "))),
        };
        note.hint("the head of a stack is named by its stack and minor, such as `docker-scs-1-35`");
        return Err(Failure::from(notes.halted()));
    };
    let moved = drawn(Cluster { release, ..cluster.clone() }, fleet, notes)?;
    Ok(Now { choice: Some(Choice::Option(name.to_owned())), ..moved })
}

fn report_unread(unread: &Unread, path: &str, notes: &mut Notes) {
    let place = Place { line: unread.line, ..Place::file(path) };
    notes.error("unreadable", place, &*unread.message).hint(unread.hint);
}

fn compare(before: WrittenCluster, after: &Now<'_>, notes: &mut Notes) -> Result<Forecast, Failure> {
    let written = after.written();
    let clusters = (before.cluster.clone(), written.cluster.clone());
    match compare::forecast(before, written) {
        Ok(forecast) => {
            let place = |path: &str| after.field(&after.node, path);
            network::note_changed((&clusters.0, &clusters.1), false, place, notes);
            after.tell(&forecast.faults, notes);
            Ok(forecast)
        }
        Err(faults) => {
            nothing_runs(&faults, |_| None, notes);
            Err(Failure::from(notes.halted()))
        }
    }
}

fn new(now: &Now<'_>, compared: bool, notes: &mut Notes) -> Forecast {
    let forecast = if compared { compare::created(now.written()) } else { compare::made(now.written()) };
    now.tell(&forecast.faults, notes);
    forecast
}

fn created(forecast: &mut Forecast, compared: bool) {
    if let (true, Some(desired)) = (compared && forecast.faults.is_empty(), &forecast.desired) {
        forecast.verdicts = forecast::of_all_parts(desired, &Meaning::Create);
    }
}
