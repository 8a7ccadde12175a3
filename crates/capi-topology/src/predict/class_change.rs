//! The effects that a change of class may have on any of its Clusters.
//!
//! Three questions are asked, and every rule about fields is the one that also judges real Clusters:
//!
//! 1. What happens to a Cluster that sets nothing itself? It has one pool for each class of workers, and its class has no
//!    patches, so that none of them hides a change of a template. The forecast is [`forecast::of_change`]. If such a
//!    Cluster gets stuck once the class has its patches, this counts, too.
//! 2. Which templates does a changed patch select? Values decide what a patch writes, so any field of them may change
//!    ([`machine_rollouts::worst`]). A patch that reads a changed default, or the name of the class, counts as changed.
//! 3. Which values of variables may be refused?
//!
//! The result is the worst that can happen to a Cluster. Some may turn out to be unaffected.
//!
//! ```
//! use capi_topology::{Settings, SharedClass, TopologyPart, import::ClassFiles, predict::MeaningKind};
//! use capi_topology::predict::class_change::{ClassState, of_any_cluster};
//! use serde_json::{Value, json};
//!
//! fn class(name: &str, kubeadm: Value) -> SharedClass {
//!     let object = |group: &str, kind: &str, spec: Value| json!({
//!         "apiVersion": format!("{group}cluster.x-k8s.io/v1beta2"), "kind": kind,
//!         "metadata": { "name": name, "namespace": "default" }, "spec": spec,
//!     });
//!     let reference = |group: &str, kind: &str| json!({
//!         "apiVersion": format!("{group}cluster.x-k8s.io/v1beta2"), "kind": kind, "name": name,
//!     });
//!     let template = |spec: Value| json!({ "template": { "spec": spec } });
//!     SharedClass::from(ClassFiles::new(vec![
//!         object("", "ClusterClass", json!({
//!             "infrastructure": { "templateRef": reference("infrastructure.", "DockerClusterTemplate") },
//!             "controlPlane": {
//!                 "templateRef": reference("controlplane.", "KubeadmControlPlaneTemplate"),
//!                 "machineInfrastructure": { "templateRef": reference("infrastructure.", "DockerMachineTemplate") },
//!             },
//!         })),
//!         object("infrastructure.", "DockerClusterTemplate", template(json!({}))),
//!         object("infrastructure.", "DockerMachineTemplate", template(json!({}))),
//!         object("controlplane.", "KubeadmControlPlaneTemplate", template(json!({ "kubeadmConfigSpec": kubeadm }))),
//!     ]))
//! }
//!
//! let before = class("small-v1", json!({ "verbosity": 1 }));
//! let after = class("small-v2", json!({ "verbosity": 4 }));
//! let settings = Settings::new("1.14").expect("a version");
//!
//! let [before, after] = [&before, &after].map(|class| ClassState::new(class, "v1.35.0"));
//! let forecast = of_any_cluster(before, after, &settings);
//!
//! let effect = forecast.effects.first().expect("the templates differ");
//! assert_eq!((&effect.part, effect.kind), (&TopologyPart::ControlPlane, MeaningKind::Rollout));
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

pub use super::class_effect::{Cause, ClassEffect};
use super::field::Field;
use super::forecast;
use super::meaning::{Meaning, MeaningKind};
use super::rules::machine_rollouts;
use super::shared::SharedClass;
use super::side::Side;
use super::verdict::Verdict;
use super::{Settings, variable_change};
use crate::class::{Blueprint, Template, WorkerClass};
use crate::contract::{CLONED_FROM_KIND, CLONED_FROM_NAME};
use crate::import::ClassFiles;
use crate::patches::json_patch::Source;
use crate::patches::selector::Holder;
use crate::patches::{Parsed, Patch, PatchDefinition};
use crate::role::{Pool, PoolKind, PoolObject, Role, TopologyPart};
use crate::variables::lookup;
use k8s_schema::value::{list, map, present, remove, text};

/// A class, and the Kubernetes version of the Clusters that use it.
#[derive(Debug, Clone, Copy)]
pub struct ClassState<'a> {
    class: &'a SharedClass,
    version: &'a str,
}

impl<'a> ClassState<'a> {
    /// Creates a state from a class and the version of its Clusters, such as `v1.35.2`.
    pub fn new(class: &'a SharedClass, version: &'a str) -> Self {
        Self { class, version }
    }

    fn object(&self) -> &'a Value {
        let is_class = |one: &&Value| text(one, &["kind"]) == "ClusterClass";
        self.class.objects.iter().find(is_class).unwrap_or(&Value::Null)
    }

    fn name(&self) -> &'a str {
        text(self.object(), &["metadata", "name"])
    }

    /// The classes of workers of a kind, by name.
    fn workers(&self, kind: PoolKind) -> BTreeMap<&'a str, &'a Value> {
        let all = list(self.object(), &["spec", "workers", kind.list()]);
        all.iter().map(|one| (text(one, &["class"]), one)).collect()
    }
}

/// The effects of a change of class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassForecast {
    /// What may happen to the parts of a Cluster. If there is nothing, only names change.
    pub effects: Vec<ClassEffect>,
    /// Variables that are gone: Clusters that set one are refused.
    pub removed: BTreeSet<String>,
    /// Variables whose defaults change. The effects hold what the class does with them.
    pub defaults: BTreeSet<String>,
}

/// Forecasts what happens to any Cluster that moves from one class to another.
pub fn of_any_cluster(before: ClassState<'_>, after: ClassState<'_>, settings: &Settings) -> ClassForecast {
    let mut forecast = ClassForecast::default();
    forecast.settings(before, after);
    forecast.workers(before, after);
    for refused in after.class.refused(settings.gates).iter() {
        forecast.add(TopologyPart::Cluster, MeaningKind::Rejected, refused.to_string());
    }
    forecast.effects.extend(of_sample(before, after, settings));
    let variables = variable_change::of(before.object(), after.object());
    forecast.effects.extend(variables.effects);
    forecast.removed = variables.removed;
    forecast.defaults = variables.defaults;
    forecast.effects.extend(of_patches(before, after, &forecast.defaults, settings));
    forecast.unread();
    forecast.finish();
    forecast
}

impl ClassForecast {
    fn add(&mut self, part: TopologyPart, kind: MeaningKind, why: impl Into<String>) {
        self.effects.push(ClassEffect::new(part, kind, why));
    }

    /// Adds the defaults that no patch reads.
    fn unread(&mut self) {
        for variable in self.defaults.clone() {
            let cause = Cause::Class(of_default(&variable));
            if !self.effects.iter().any(|one| one.cause == cause) {
                self.add(
                    TopologyPart::Cluster,
                    MeaningKind::InPlace,
                    format!("{}, which no patch reads", of_default(&variable)),
                );
            }
        }
    }

    /// Sorts the effects. What changes in place is not listed if the same cause does more.
    fn finish(&mut self) {
        let does_more = |one: &&ClassEffect| one.kind != MeaningKind::InPlace;
        let causes: BTreeSet<Cause> =
            self.effects.iter().filter(does_more).map(|one| one.cause.clone()).collect();
        self.effects.retain(|one| one.kind != MeaningKind::InPlace || !causes.contains(&one.cause));
        self.effects.sort();
        self.effects.dedup();
    }

    /// Fields of the class that no rule knows.
    fn settings(&mut self, before: ClassState<'_>, after: ClassState<'_>) {
        const KNOWN: [&str; 5] = ["controlPlane", "infrastructure", "patches", "variables", "workers"];
        let fields = [before, after].map(|one| map(one.object(), &["spec"]));
        let names: BTreeSet<&String> = fields.into_iter().flatten().flat_map(|own| own.keys()).collect();
        for name in names.into_iter().filter(|name| !KNOWN.contains(&name.as_str())) {
            let [old, new] = [before, after].map(|one| present(one.object(), &["spec", name]));
            if old != new {
                self.add(TopologyPart::Cluster, MeaningKind::Opaque, format!("the class' `{name}` changes"));
            }
        }
    }

    fn workers(&mut self, before: ClassState<'_>, after: ClassState<'_>) {
        for kind in PoolKind::ALL {
            let (old, new) = (before.workers(kind), after.workers(kind));
            for class in old.keys().filter(|class| !new.contains_key(*class)) {
                let why = format!("the class of workers `{class}` is gone: clusters that use it are refused");
                self.add(TopologyPart::pool(kind, class), MeaningKind::Rejected, why);
            }
            for class in new.keys().filter(|class| !old.contains_key(*class)) {
                let why = format!("the class of workers `{class}` is new");
                self.add(TopologyPart::pool(kind, class), MeaningKind::InPlace, why);
            }
        }
    }
}

/// The effects of patches that write something else, or may do so.
fn of_patches(
    before: ClassState<'_>,
    after: ClassState<'_>,
    defaults: &BTreeSet<String>,
    settings: &Settings,
) -> Vec<ClassEffect> {
    let class = [before, after].map(|one| one.class.catalog(settings.gates).blueprint(&sample(one, &[])));
    let [Some(Ok(old)), Some(Ok(new))] = class else {
        // The effects on the sample have the reason.
        return Vec::new();
    };
    let inputs = Inputs::new(before, after, defaults);
    let is_moved = is_reordered(&old, &new);
    let names: BTreeSet<&str> = old.patches.iter().chain(&new.patches).map(|one| one.name.as_str()).collect();
    let mut effects = Vec::new();
    for name in names {
        let [was, is] = [&old, &new].map(|class| class.patches.iter().find(|one| one.name == name));
        let whys = if written(&old.class, name) != written(&new.class, name) {
            vec![format!("the patch `{name}`")]
        } else if is_moved {
            vec![format!("the patch `{name}`, as the order of patches changes")]
        } else {
            is.map(|patch| inputs.read_by(patch)).unwrap_or_default()
        };
        if [was, is].into_iter().flatten().any(|patch| patch.external) {
            let why = format!("the patch `{name}`: a runtime extension decides what it writes");
            effects.push(ClassEffect::new(TopologyPart::Cluster, MeaningKind::Opaque, why));
            continue;
        }
        if is.is_some_and(looks_into_names) {
            let why =
                format!("the patch `{name}`, which computes something from a name with random characters");
            effects.push(ClassEffect::new(TopologyPart::Cluster, MeaningKind::Opaque, why));
        }
        let roles =
            [(was, &old), (is, &new)].into_iter().filter_map(|(patch, class)| Some(selected(patch?, class)));
        let roles: BTreeSet<Role> = roles.flatten().filter(|role| is_shared(role, &old, &new)).collect();
        for why in whys {
            effects.push(ClassEffect::new(TopologyPart::Cluster, MeaningKind::InPlace, why.clone()));
            let kind = |role: &Role| machine_rollouts::worst(role, control_plane_kind(&new));
            effects.extend(roles.iter().map(|role| ClassEffect::new(role.part(), kind(role), why.clone())));
        }
    }
    effects
}

fn control_plane_kind(class: &Blueprint) -> &str {
    class.control_plane.kind().strip_suffix("Template").unwrap_or_default()
}

/// A Cluster of a class that sets nothing itself, with these pools.
fn sample(state: ClassState<'_>, pools: &[(PoolKind, &str)]) -> Value {
    // The schema refuses an empty list, and `workers` without any list.
    let mut workers = json!({});
    for (kind, class) in pools {
        let pool = json!({ "class": class, "name": class, "replicas": 3 });
        match workers[kind.list()].as_array_mut() {
            Some(listed) => listed.push(pool),
            None => workers[kind.list()] = json!([pool]),
        }
    }
    let mut cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": { "name": "any", "namespace": "default" },
        "spec": { "topology": {
            "classRef": { "name": state.name() }, "version": state.version,
            "controlPlane": { "replicas": 3 },
        } },
    });
    if !pools.is_empty() {
        cluster["spec"]["topology"]["workers"] = workers;
    }
    cluster
}

/// The class without what depends on values.
fn without_patches(class: &SharedClass) -> SharedClass {
    let mut objects = class.objects.clone();
    for object in &mut objects {
        if text(object, &["kind"]) == "ClusterClass" {
            remove(object, &["spec", "patches"]);
            remove(object, &["spec", "variables"]);
        }
    }
    SharedClass::from(ClassFiles { objects, missing: class.missing.clone() })
}

/// The effects on a Cluster that sets nothing itself.
fn of_sample(before: ClassState<'_>, after: ClassState<'_>, settings: &Settings) -> Vec<ClassEffect> {
    let both = |kind: PoolKind| {
        let new = after.workers(kind);
        let old = before.workers(kind).into_keys();
        old.filter(move |class| new.contains_key(class)).map(move |class| (kind, class))
    };
    let pools: Vec<_> = PoolKind::ALL.into_iter().flat_map(both).collect();
    let judge = |classes: [SharedClass; 2]| {
        let [old, new] = classes;
        let (old, new) = (Side::new(sample(before, &pools), old), Side::new(sample(after, &pools), new));
        let forecast = forecast::of_change(&old, &new, settings)?;
        Ok::<Vec<_>, Vec<_>>(forecast.verdicts.iter().filter_map(of_verdict).collect())
    };
    let mut effects =
        judge([before, after].map(|one| without_patches(one.class))).unwrap_or_else(|refused| {
            let why = refused.first().map(ToString::to_string).unwrap_or_default();
            let why = format!("the class before the change cannot be evaluated: {why}");
            vec![ClassEffect::new(TopologyPart::Cluster, MeaningKind::Opaque, why)]
        });
    // With its patches, a class may get stuck. Whether it takes a Cluster that sets nothing is another question.
    let patched = judge([before, after].map(|one| one.class.clone())).unwrap_or_default();
    effects.extend(patched.into_iter().filter(|one| one.kind == MeaningKind::Wedged));
    effects
}

/// The number of fields that a reason names; further ones are only counted.
const FIELDS: usize = 3;

fn of_verdict(verdict: &Verdict) -> Option<ClassEffect> {
    let fields: BTreeSet<String> = verdict.fields.iter().filter_map(own_field).collect();
    let kind = match verdict.meaning.kind() {
        MeaningKind::NoChange => return None,
        MeaningKind::MetadataOnly if fields.is_empty() => return None,
        MeaningKind::MetadataOnly => MeaningKind::InPlace,
        kind => kind,
    };
    let part = verdict.subject.clone();
    if let Meaning::Upgrade { from, to, .. } = &verdict.meaning {
        let [from, to] = [from, to].map(|version| version.strip_prefix('v').unwrap_or(version));
        return Some(ClassEffect::new(part, kind, format!("Kubernetes {from} → {to}")));
    }
    let mut why: Vec<String> = fields.iter().take(FIELDS).cloned().collect();
    if fields.len() > FIELDS {
        why.push(format!("{} more fields", fields.len() - FIELDS));
    }
    let mut why = why.join(", ");
    let is_plain = matches!(kind, MeaningKind::InPlace | MeaningKind::Rollout);
    if let Some(reason) = verdict.reasons.first().filter(|_| !is_plain || fields.is_empty()) {
        why = if why.is_empty() { reason.to_string() } else { format!("{why}: {reason}") };
    }
    Some(ClassEffect { part, kind, cause: Cause::Fields(why) })
}

/// A field without what differs for every class: the names of objects, and where they were copied from.
fn own_field(field: &Field) -> Option<String> {
    match field {
        Field::Refused(path) => Some(path.clone()),
        Field::Changed { path, .. } => match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] | ["metadata", "name"] | ["metadata", "annotations", CLONED_FROM_KIND | CLONED_FROM_NAME] => {
                None
            }
            [.., reference, "name"] if reference.ends_with("Ref") => None,
            path => Some(path.join(".")),
        },
    }
}

fn of_default(variable: &str) -> String {
    format!("the default of the variable `{variable}`")
}

/// What templates of patches can read that differs between the two classes.
struct Inputs<'a> {
    builtin: [Value; 2],
    defaults: &'a BTreeSet<String>,
    markers: [Value; 2],
}

impl<'a> Inputs<'a> {
    fn new(before: ClassState<'_>, after: ClassState<'_>, defaults: &'a BTreeSet<String>) -> Self {
        let builtin = |state: ClassState<'_>| {
            let (name, version) = (state.name(), state.version);
            json!({
                "cluster": { "topology": { "version": version, "class": name, "classRef": { "name": name } } },
                "controlPlane": { "version": version },
                "machineDeployment": { "version": version },
                "machinePool": { "version": version },
            })
        };
        let markers = ["before", "after"].map(|marker| json!(marker));
        Self { builtin: [before, after].map(builtin), defaults, markers }
    }

    /// The reasons why a patch that is the same may write something else.
    fn read_by(&self, patch: &Patch) -> Vec<String> {
        let name = &patch.name;
        let default = |variable: &String| {
            let data = [0, 1].map(|side| BTreeMap::from([(variable.as_str(), &self.markers[side])]));
            differs(patch, &data).then(|| of_default(variable))
        };
        let mut whys: Vec<String> = self.defaults.iter().filter_map(default).collect();
        let data = [0, 1].map(|side| BTreeMap::from([("builtin", &self.builtin[side])]));
        if differs(patch, &data) {
            whys.push(format!("the patch `{name}`, which reads the name or the version of the class"));
        }
        whys
    }
}

/// Reports whether what a patch writes cannot be known, as Cluster API chooses the names that it looks into.
fn looks_into_names(patch: &Patch) -> bool {
    let operations = patch.definitions.iter().flat_map(|one| &one.operations);
    patch.enabled_if.iter().any(|one| one.looks_into_names)
        || operations
            .into_iter()
            .any(|one| matches!(&one.value, Source::Template(one) if one.looks_into_names))
}

/// Reports whether a patch may render differently for two sets of variables.
fn differs(patch: &Patch, data: &[BTreeMap<&str, &Value>; 2]) -> bool {
    let template = |parsed: &Parsed| {
        let reads = parsed.template.as_ref().ok().and_then(gotmpl::Template::reads);
        // A template without known reads may use its data as a whole.
        reads.is_none_or(|reads| {
            let [old, new] = data.each_ref().map(|data| reads.look_up(|name| data.get(name).copied()));
            !old.eq(new)
        })
    };
    let operations = patch.definitions.iter().flat_map(|one| &one.operations);
    patch.enabled_if.iter().any(template)
        || operations.into_iter().any(|operation| match &operation.value {
            Source::Literal(_) | Source::Wrong(_) => false,
            Source::Template(parsed) => template(parsed),
            Source::Variable(path) => {
                let [old, new] = data.each_ref().map(|data| read(path, data));
                old != new
            }
        })
}

/// What a path into variables finds. Inside a marker, it finds the marker.
fn read(path: &str, data: &BTreeMap<&str, &Value>) -> Option<Value> {
    let name = path.split(['.', '[']).next().unwrap_or_default();
    let value = *data.get(name)?;
    if value.is_string() { Some(value.clone()) } else { lookup(|name| data.get(name).copied(), path).ok() }
}

/// A patch as written, without its description.
fn written(class: &Value, name: &str) -> Option<Value> {
    let mut patch =
        list(class, &["spec", "patches"]).iter().find(|one| text(one, &["name"]) == name)?.clone();
    remove(&mut patch, &["description"]);
    Some(patch)
}

/// Reports whether the patches that both classes share are in a different order. A later patch overrides an earlier one.
fn is_reordered(old: &Blueprint, new: &Blueprint) -> bool {
    let common = |class: &Blueprint, other: &Blueprint| {
        let is_common = |name: &String| other.patches.iter().any(|one| one.name == *name);
        class.patches.iter().map(|one| one.name.clone()).filter(is_common).collect::<Vec<_>>()
    };
    common(old, new) != common(new, old)
}

/// The roles whose templates a patch selects.
fn selected(patch: &Patch, class: &Blueprint) -> Vec<Role> {
    let selects = |template: &Template, holder: Holder<'_>| {
        let matches =
            |one: &PatchDefinition| one.selector.matches(template.api_version(), template.kind(), holder);
        patch.definitions.iter().any(matches)
    };
    let mut roles = Vec::new();
    if selects(&class.infrastructure, Holder::InfrastructureCluster) {
        roles.push(Role::Infrastructure);
    }
    if selects(&class.control_plane, Holder::ControlPlane) {
        roles.push(Role::ControlPlane);
    }
    if class.machine.as_ref().is_some_and(|machine| selects(machine, Holder::ControlPlane)) {
        roles.push(Role::ControlPlaneMachines);
    }
    for kind in PoolKind::ALL {
        for (name, WorkerClass { bootstrap, infrastructure, .. }) in class.workers(kind) {
            let holder = match kind {
                PoolKind::MachineDeployment => Holder::MachineDeployment(name),
                PoolKind::MachinePool => Holder::MachinePool(name),
            };
            let of = |object| Pool::new(kind, name).role(object);
            if selects(bootstrap, holder) {
                roles.push(of(PoolObject::Bootstrap));
            }
            if selects(infrastructure, holder) {
                roles.push(of(PoolObject::Infrastructure));
            }
        }
    }
    roles
}

/// Reports whether Clusters can have the object in both classes. No pool uses a class of workers that is new.
fn is_shared(role: &Role, old: &Blueprint, new: &Blueprint) -> bool {
    let Role::Pool(pool, _) = role else { return true };
    [old, new].iter().all(|class| class.workers(pool.kind).contains_key(&pool.name))
}
