//! `stackloom topology --from`: judges Clusters from any files, without a fleet.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use k8s_schema::value::{get, text};
use serde_json::Value as Json;

use super::{Answer, Args, applier, created, network, nothing_runs, report_unread, tell};
use crate::{
    cli::{Global, cluster::ClusterName},
    compare,
    definition::{CLUSTER_API, closest},
    generate::Failure,
    io::disk,
    note::{Notes, Place},
    topology::{
        Catalog, Gates, Refusal, Settings, Side, Stage,
        import::{
            Applied, Applier, ApplyException, Claim, ClassFiles, Imported, Objects, asked_class, identity,
        },
        predict::{adoption, create, forecast, one_by_one},
    },
};

/// Judges Clusters from files, before and after a change.
pub(super) fn of_files(args: &Args, global: &Global, notes: &mut Notes) -> Result<Vec<Answer>, Failure> {
    let settings = settings(args, notes)?;
    let named = |files: &[PathBuf]| files.iter().map(|file| global.path(file)).collect::<Vec<_>>();
    let mut after = objects_of(&named(&args.from), Objects::default(), notes)?;
    not_applied(&after, notes);
    let applier = applier(args, notes)?;
    let mut before = objects_of(&named(&args.before), Objects::applied_by(applier.clone()), notes)?;
    in_one_namespace(&mut after, &mut before, notes);
    notes.halt(())?;
    spared(&mut after, &before, applier.as_ref(), notes);
    ignored(&before, notes);
    first_apply(args, &before, notes);
    // The running state consists only of the files given for it: new files never replace a missing object. Only
    // `CustomResourceDefinition`s are taken from them.
    let now = after.over(&before);
    let before = before.defined_by(&after);
    let all = compare::all_running(&before);
    let (mut answers, mut judged) = (Vec::new(), BTreeSet::new());
    let files = Files { after: &after, before: &before, now: &now, all: &all, applier: applier.as_ref() };
    for managed in now.clusters() {
        let (namespace, name) = identity(&managed.object);
        if judged.insert(format!("{namespace}/{name}")) {
            answers.extend(files.answer(managed, !args.before.is_empty(), &settings, notes));
        }
    }
    alone(&now, &judged, answers.is_empty(), notes);
    unused(&after, &before, (&now, &all), &settings, notes);
    Ok(answers)
}

/// The given files, and the states derived from them.
struct Files<'a> {
    /// The objects that are yet to be applied.
    after: &'a Objects,
    /// The running objects.
    before: &'a Objects,
    /// The running objects once all files are applied.
    now: &'a Objects,
    /// All running Clusters.
    all: &'a Arc<[Json]>,
    applier: Option<&'a Applier>,
}

impl Files<'_> {
    /// Predicts the change of a Cluster; None if that is impossible, which is reported.
    fn answer(
        &self,
        managed: &Imported,
        compares: bool,
        settings: &Settings,
        notes: &mut Notes,
    ) -> Option<Answer> {
        let Self { after, before, now, all, applier } = *self;
        let (namespace, name) = identity(&managed.object);
        // Of the new and the running Cluster, one may lack a class.
        let (written, there) = (after.any_cluster(namespace, name), before.any_cluster(namespace, name));
        let cluster = written.unwrap_or(managed);
        let side = side(cluster, managed, now, notes)?.with_written(written.is_some());
        let running = before.cluster(namespace, name).map(|one| (one, what_runs(one, before, all, notes)));
        let caveat = running.as_ref().and_then(|(one, running)| unseen(running, one));
        let taken = applier.is_none() && running.as_ref().is_some_and(|(_, running)| is_known(running));
        let compared = there.map(|there| {
            let words = if there.applied.is_live() { "the live Cluster" } else { "the files before" };
            format!("compared with {words}")
        });
        if let Some(before) = there {
            let place = |_: &str| Some(Place { line: cluster.line, ..Place::file(&*cluster.file) });
            network::note_changed((&before.object, &side.cluster), before.applied.is_live(), place, notes);
        }
        let (compared, forecast) = match (&running, there) {
            (Some((_, running)), _) => {
                let applied = running.applied.clone().or_applied_by(applier, &running.cluster);
                let running = running.clone().with_applied(applied);
                let left = left(&running.cluster, &side.cluster, now);
                (compared, one_by_one::of_files(&running, &side, left.as_ref(), settings))
            }
            (None, Some(there)) => (compared, Ok(forecast::of_unmanaged(&there.object, &side, settings))),
            (None, None) => {
                let mut forecast = forecast::of_new(&side, settings);
                created(&mut forecast, compares);
                (compares.then(|| "which is new".to_owned()), Ok(forecast))
            }
        };
        match forecast {
            Ok(forecast) => {
                let faults = forecast.faults.iter();
                faults
                    .for_each(|fault| tell(fault, "", Some(place(fault, &side.class, cluster, now)), notes));
                let cluster = ClusterName::outside(namespace, name);
                let caveat = caveat.map(Cow::Borrowed);
                Some(Answer { cluster, compared, forecast, caveat, taken })
            }
            Err(faults) => {
                let (asking, running) = running?;
                nothing_runs(&faults, |fault| Some(place(fault, &running.class, asking, before)), notes);
                None
            }
        }
    }
}

/// The settings of the management cluster, from the arguments.
fn settings(args: &Args, notes: &mut Notes) -> Result<Settings, Failure> {
    let text = args.cluster_api.trim_start_matches('v');
    let minor: Vec<&str> = text.splitn(3, '.').take(2).collect();
    let known = CLUSTER_API.contains(&minor.join(".").as_str());
    let Some(settings) = Settings::new(&args.cluster_api).filter(|_| known) else {
        notes
            .error("cluster-api", None, format!("Cluster API `{}` is not supported", args.cluster_api))
            .hint(format!("use one of {}: write it as `1.14`", CLUSTER_API.join(", ")));
        return Err(Failure::from(notes.halted()));
    };
    match Gates::parse(&args.feature_gates) {
        Ok(gates) => Ok(settings.with_gates(gates)),
        Err(part) => {
            let name = part.split('=').next().unwrap_or_default();
            let note =
                notes.error("feature-gates", None, format!("`{part}` is not a feature gate of Cluster API"));
            match closest(name, Gates::names()).filter(|one| *one != name) {
                Some(similar) => note.hint(format!("did you mean `{similar}=true`?")),
                None => note.hint(
                    "write gates as Cluster API's managers take them: `RuntimeSDK=true,MachineTaintPropagation=true`",
                ),
            };
            Err(Failure::from(notes.halted()))
        }
    }
}

/// The manager that applies the files, if the arguments name it.
fn applier(args: &Args, notes: &mut Notes) -> Result<Option<Applier>, Failure> {
    let Some(word) = args.applied_by.as_deref() else { return Ok(None) };
    let named = applier::named(word);
    if named.is_none() {
        notes.error("applied-by", None, format!("`{word}` is not a valid field manager name")).hint(format!(
            "write {}, or a manager's name as `managedFields` has it",
            applier::words().join(", ")
        ));
    }
    notes.halt(())?;
    Ok(named)
}

/// Warns if the named manager has applied nothing of a live Cluster, so that nothing would be removed. This may be its first
/// apply, or its name may be wrong.
fn first_apply(args: &Args, before: &Objects, notes: &mut Notes) {
    let Some(word) = args.applied_by.as_deref() else { return };
    for cluster in before.clusters() {
        let Applied::Known(claims) = &cluster.applied else { continue };
        let is_first = |claim: &Claim| {
            matches!(claim.by, Applier::ServerSide(_)) && get(&claim.part, &["spec"]).is_none()
        };
        if !claims.iter().all(is_first) {
            continue;
        }
        let (namespace, name) = identity(&cluster.object);
        let note = notes.warning(
            "topology",
            Place { line: cluster.line, ..Place::file(&*cluster.file) },
            format!("`{word}` has not applied any field of the live Cluster {namespace}/{name} yet: its first apply removes nothing"),
        );
        match closest(&word.to_lowercase(), applier::words().into_iter()).filter(|one| *one != word) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None => note.hint("see `metadata.managedFields` of the live Cluster for the managers that did"),
        };
    }
}

/// Gives each Cluster without a namespace that of its counterpart on the other side, and reports it.
fn in_one_namespace(after: &mut Objects, before: &mut Objects, notes: &mut Notes) {
    for (open, side) in after
        .take_namespaces_from(before)
        .into_iter()
        .map(|one| (one, "--before"))
        .chain(before.take_namespaces_from(after).into_iter().map(|one| (one, "--from")))
    {
        let place = Place { line: open.line, ..Place::file(&*open.file) };
        let (name, all) = (&open.name, open.namespaces.join(", "));
        if open.namespaces.len() == 1 {
            let message = format!(
                "the Cluster {name} has no namespace: it is assumed to be the one of {side} in {all}"
            );
            notes.warning("topology", place, message).hint("set `metadata.namespace` if it is another one");
        } else {
            let message = format!(
                "the Cluster {name} has no namespace, and {side} has a Cluster of this name in each of {all}"
            );
            notes.error("topology", place, message).hint("set `metadata.namespace`");
        }
    }
}

/// Drops new objects that their applier would not write, labels the others, and warns about those that it skips or recreates.
fn spared(after: &mut Objects, before: &Objects, by: Option<&Applier>, notes: &mut Notes) {
    let mut warn = |one: &ApplyException, message: String| {
        let place = Place { line: one.line, ..Place::file(&*one.file) };
        notes
            .warning("topology", place, message)
            .hint("if something else applies it, name that with `--applied-by`");
    };
    for one in after.take_skipped(before, by) {
        warn(&one, format!("{} does not write {}: it asks for `{}`", one.applier, one.name, one.asks));
    }
    after.label_as_applied(before, by);
    for one in after.recreated_if_refused(before, by) {
        let message = format!(
            "{} asks for `{}`: if a change is refused because a field is immutable, {} deletes and recreates the \
             object, which is not predicted here",
            one.name, one.asks, one.applier
        );
        warn(&one, message);
    }
}

/// Reports objects that Cluster API creates: they are not applied from files. Fails if no other objects are left.
fn not_applied(after: &Objects, notes: &mut Notes) {
    if !after.counts() && notes.errors() == 0 {
        notes
            .error(
                "topology",
                None,
                "the files of --from contain no Cluster, no ClusterClass and no template of one",
            )
            .hint("pass the objects that are applied: `stackloom topology --help` has examples");
    }
    let made = after.made();
    if !made.is_empty() {
        let message = format!(
            "objects that Cluster API made are ignored, because they are not applied from files: {}",
            counted(made)
        );
        notes.warning("topology", None, message).hint("pass what runs with --before");
    }
}

fn counted(kinds: BTreeMap<String, usize>) -> String {
    let all: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    all.join(", ")
}

/// Warns about running objects that are not compared.
fn ignored(before: &Objects, notes: &mut Notes) {
    let kinds = before.ignored();
    if kinds.is_empty() {
        return;
    }
    let message = format!("objects that Cluster API made are not compared: {}", counted(kinds));
    notes.warning("topology", None, message).hint(
        "they are computed from the Cluster and its class; of what runs, this uses versions, templates and what decides \
         how machines are replaced, and with `kubectl get -o yaml --show-managed-fields` everything that Cluster API's \
         topology controller wrote",
    );
}

/// What the comparison cannot see with this input.
fn unseen(running: &Side, cluster: &Imported) -> Option<&'static str> {
    match running.applied {
        Applied::File => Some(
            "values that Cluster API filled in for earlier classes are not seen: pass the live Cluster with --before",
        ),
        Applied::Known(_) => None,
        Applied::Unknown if !cluster.managers.is_empty() => Some(
            "no manager in managedFields applied the class or version of the live Cluster: name the manager with --applied-by",
        ),
        Applied::Unknown => Some(
            "the live Cluster does not show who wrote its values: export it with `kubectl get -o yaml --show-managed-fields`",
        ),
    }
}

/// Whether the export of a Cluster shows who applied it.
fn is_known(running: &Side) -> bool {
    matches!(&running.applied, Applied::Known(claims) if !claims.is_empty())
}

/// The place of a refusal: the start of the class's object that it concerns, otherwise of the judged object.
fn place(fault: &Refusal, class: &ClassFiles, asking: &Imported, objects: &Objects) -> Place {
    let named = class.labelled(&fault.object).and_then(|object| objects.source(object)).unwrap_or(asking);
    Place { line: named.line, ..Place::file(&*named.file) }
}

/// Warns about Clusters without a class, and fails if the files contain no class at all and no Cluster with one.
fn alone(objects: &Objects, judged: &BTreeSet<String>, no_cluster: bool, notes: &mut Notes) {
    for cluster in objects.unmanaged() {
        let (namespace, name) = identity(&cluster.object);
        if judged.contains(&format!("{namespace}/{name}")) {
            continue;
        }
        let message = format!("the Cluster {name} has no `spec.topology`: no class makes its objects");
        notes.warning("topology", Place::file(&*cluster.file), message);
    }
    if no_cluster && notes.errors() == 0 && objects.classes().next().is_none() {
        notes
            .error("topology", None, "there is no Cluster with a class among the files")
            .hint("pass a Cluster with `spec.topology`, its ClusterClass and the templates that it names");
    }
}

/// Judges new or changed classes that no Cluster in the files uses. A class counts as changed if one of its templates is
/// written. An existing class is judged as a change, any other as new.
fn unused(
    after: &Objects,
    before: &Objects,
    (now, running): (&Objects, &[Json]),
    settings: &Settings,
    notes: &mut Notes,
) {
    let mut clusters = now.clusters();
    clusters.dedup_by_key(|one| identity(&one.object));
    let mut judged: Vec<Json> =
        clusters.iter().filter_map(|one| now.class_of(&one.object)?.objects.into_iter().next()).collect();
    for class in now.classes() {
        if judged.iter().any(|one| is_same_class(one, &class.object)) {
            continue;
        }
        judged.push(class.object.clone());
        let files = now.files_of(&class.object);
        if !files.objects.iter().any(|object| after.source(object).is_some()) {
            continue;
        }
        let there = before.classes().find(|one| is_same_class(&one.object, &class.object));
        let there = there.map(|one| before.files_of(&one.object).objects).unwrap_or_default();
        let unowned = adoption::refused(&files.objects, &there);
        let catalog = Catalog::new(there).with_gates(settings.gates);
        let partial = !files.missing.is_empty();
        let faults = create::apply_classes(&files.objects, &catalog, running);
        let faults = faults.iter().filter(|one| !(partial && one.stage == Stage::ClassReconcile));
        for fault in faults.chain(&unowned) {
            tell(fault, "", Some(place(fault, &files, class, now)), notes);
        }
    }
}

/// Whether two objects are the same class: a file may omit the namespace.
fn is_same_class(one: &Json, other: &Json) -> bool {
    let of = |class, field| text(class, &["metadata", field]);
    let (here, there) = (of(one, "namespace"), of(other, "namespace"));
    of(one, "name") == of(other, "name") && (here == there || here.is_empty() || there.is_empty())
}

pub(in crate::cli) fn objects_of(
    files: &[PathBuf],
    mut objects: Objects,
    notes: &mut Notes,
) -> Result<Objects, Failure> {
    for file in files {
        let path = file.display().to_string();
        if let Err(unread) = objects.read(&path, &disk::named(file)?) {
            report_unread(&unread, &path, notes);
        }
    }
    for (one, other) in objects.duplicates() {
        let place = Place { line: other.line, ..Place::file(&*other.file) };
        let kind = text(&other.object, &["kind"]);
        let (first, name) = (format!("{}:{}", one.file, one.line), identity(&other.object).1);
        notes.error("topology", place, format!("{kind} {name} is here, too, but differs from {first}")).hint(
            "pass only one of them: `kubectl apply` would keep the last one, and of two exports the newer one counts",
        );
    }
    for one in objects.refused() {
        let place = Place { line: one.line, ..Place::file(&*one.file) };
        one.refused.iter().for_each(|fault| tell(fault, "", Some(place.clone()), notes));
    }
    Ok(objects)
}

/// A Cluster with its class; reports a missing one.
fn side(cluster: &Imported, managed: &Imported, objects: &Objects, notes: &mut Notes) -> Option<Side> {
    let Some(class) = objects.class_of(&managed.object) else {
        no_class(managed, objects, notes);
        return None;
    };
    let hint = "without them, only the class and the Cluster are checked";
    report_missing(&class, cluster, ("the class names objects that are not among the files", hint), notes);
    Some(Side::imported(cluster, class, objects))
}

/// Reports a missing class, and the namespaces that have a class of this name.
fn no_class(cluster: &Imported, objects: &Objects, notes: &mut Notes) {
    let (_, name) = asked_class(&cluster.object);
    let message = format!("{} is not among the files", class_in_words(cluster));
    let others = objects.classes().filter(|one| text(&one.object, &["metadata", "name"]) == name);
    let elsewhere: BTreeSet<&str> = others.map(|one| text(&one.object, &["metadata", "namespace"])).collect();
    let note = notes.error("no-class", Place::file(&*cluster.file), message);
    if elsewhere.is_empty() {
        note.hint("export it with `kubectl get clusterclasses -A -o yaml`");
    } else {
        let all: Vec<_> = elsewhere.into_iter().map(|one| format!("`{one}`")).collect();
        note.hint(format!(
            "a class with this name is in {}: to use it, set `spec.topology.classRef.namespace`",
            all.join(" and in ")
        ));
    }
}

/// The class that a Cluster moves away from, in its state after the change.
fn left(running: &Json, new: &Json, now: &Objects) -> Option<ClassFiles> {
    if asked_class(running) == asked_class(new) { None } else { now.class_of(running) }
}

/// Names the class that a Cluster refers to, with its namespace if it is given.
fn class_in_words(cluster: &Imported) -> String {
    match asked_class(&cluster.object) {
        ("", name) => format!("the ClusterClass `{name}`"),
        (namespace, name) => format!("the ClusterClass `{name}` of namespace `{namespace}`"),
    }
}

/// The label of a missing class in the list of missing objects.
fn missing_class(cluster: &Imported) -> String {
    match asked_class(&cluster.object) {
        ("", name) => format!("ClusterClass/{name}"),
        (namespace, name) => format!("ClusterClass/{name} of namespace {namespace}"),
    }
}

/// A running Cluster with its class. Parts of the class that were not given are reported, and never guessed.
fn what_runs(cluster: &Imported, before: &Objects, all: &Arc<[Json]>, notes: &mut Notes) -> Side {
    let class =
        before.class_of(&cluster.object).unwrap_or_else(|| ClassFiles::absent(missing_class(cluster)));
    let hint = "unless everything that runs is given, only the class and the Cluster are checked";
    report_missing(&class, cluster, ("what the class made is unknown, because --before lacks", hint), notes);
    let side = Side::imported(cluster, class, before);
    let observed = side.observed.clone().beside(Arc::clone(all));
    side.with_observed(observed)
}

fn report_missing(class: &ClassFiles, cluster: &Imported, (message, hint): (&str, &str), notes: &mut Notes) {
    if class.missing.is_empty() {
        return;
    }
    let kinds: BTreeSet<&str> =
        class.missing.iter().filter_map(|label| Some(label.split_once('/')?.0)).collect();
    let kinds: Vec<&str> = kinds.into_iter().collect();
    let message = format!("{message}: {}", class.missing.join(", "));
    notes
        .warning("topology", Place::file(&*cluster.file), message)
        .hint(format!("{hint}; export what is missing with `kubectl get {} -A -o yaml`", kinds.join(",")));
}
