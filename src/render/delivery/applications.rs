//! Applications of Argo CD for addons: what the deliveries share that write them. An Application for the chart of an addon, and one
//! for its manifests, apply to the workload cluster, under its registered name.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        AppliedFolder, Drawn, Installs, Limit, Object,
        argocd::{
            Application, HOOKS, NAMES_SETTING, Source, addons_name, chart_address, is_excluded, labels,
            name_in, registry, whole_cluster,
        },
        engine::RegisteredName,
        folders::cluster_folder,
    },
    addon::{self, Addon},
    capabilities::{Capabilities, Order, listed},
};
use crate::{
    model::{Engine, Label, Registration},
    note::{Notes, Severity},
    plan::{
        AddonContent, AddonPlan, ChartHost, ChartSource, ClusterPart, ClusterPlan, HelmPlan, Unit,
        contents_before,
    },
    release::group_of,
    tree::TreePath,
    yaml::{Mapping, Node},
};

/// What an Application supports, whatever its sources.
pub(super) const CAPABILITIES: Capabilities = Capabilities {
    actor: "Argo CD",
    object: "an Application of Argo CD",
    charts: true,
    manifests: true,
    values_from: false,
    registries: true,
    digests: true,
    order: Order::Applied,
    release: true,
    manifests_stay: false,
    largest_values: None,
};

/// What to know before a chart is uninstalled.
pub(super) const DEFINITIONS_GO: &str =
    "the CustomResourceDefinitions of its chart are deleted, too, and with them all objects of these kinds";

/// What to know before a chart is uninstalled whose values are in a file.
pub(super) const HOOKS_NEED_VALUES: &str = "the CustomResourceDefinitions of its chart are deleted, too, and with them all objects of these kinds; if its chart has `pre-delete` or `post-delete` hooks, they do not run, and the deletion may hang: see \"Hooks at deletion\" in docs/deliveries.md";

/// The name of the cluster that the text of an Application names.
pub(in crate::render) fn registered_cluster(text: &str) -> Option<RegisteredName> {
    let mut destination = text.lines().skip_while(|line| *line != "  destination:").skip(1);
    let name = destination.next()?.strip_prefix("    name: ")?.to_owned();
    Some(RegisteredName { name, setting: NAMES_SETTING })
}

/// Makes the source of an Application for a chart, given the chart in Argo CD's format with the name of its release, and its values.
pub(super) type MakeSource = fn(&Addon<'_>, Mapping, Node, &mut Drawn, &mut Notes) -> Source;

/// Draws the Applications of all addons of a cluster.
pub(super) fn draw(
    plan: &ClusterPlan,
    part: &TreePath,
    source: MakeSource,
    drawn: &mut Drawn,
    notes: &mut Notes,
) {
    let waves = waves(plan);
    let file = |name: &str| part.join("addons").join(name);
    for addon in addon::all(plan, drawn) {
        let name = addon.name();
        if let Some(helm) = &addon.plan.helm {
            check_address(&addon, helm, notes);
            let Some(values) = addon.values(notes) else { continue };
            drawn.values.extend(addon.chart_values(Some(values.clone())));
            let source = source(&addon, chart(&addon, helm), values, drawn, notes);
            let mut application = of_chart(&addon, helm, source);
            application.wave = waves.get(&AddonContent::Chart(name)).copied();
            let object = application.object();
            let added = drawn.add_engines(chart_file(&addon), &plan.cluster.file, object);
            added.of_addon(name, Installs::Chart).with(application.purpose()).kept = helm.protected;
        }
        if let Some(manifests) = &addon.plan.manifests {
            let before = drawn.objects.len();
            let folder = addon.manifests(part, drawn, notes);
            check_manifests(&addon, &drawn.objects[before..], notes);
            let application = Application {
                source: Source::Folder { folder: folder.as_str().to_owned(), built: false, plugin: None },
                automated: !manifests.suspended,
                // On standby, another engine may take over the folder. Pruning must then leave the addon installed.
                cascade: !manifests.orphan && !plan.cluster.management.standby,
                wave: waves.get(&AddonContent::Manifests(name)).copied(),
                ..of_addon(plan, name, &manifests_name(plan, name), &Label::new("default").expect("a label"))
            };
            let file = file(&format!("{name}.manifests.yaml"));
            let added = drawn.add_engines(file, &plan.cluster.file, application.object());
            let added = added.of_addon(name, Installs::Manifests).with(application.purpose());
            added.kept = manifests.protected;
        }
    }
}

/// Refuses a chart whose address is a pattern in the project for addons, which then does not permit the chart.
fn check_address(addon: &Addon<'_>, helm: &HelmPlan, notes: &mut Notes) {
    let address = chart_address(&helm.chart);
    let special = Engine::ArgoCd.special_in_addresses();
    let Some(found) = address.chars().find(|c| special.contains(c)) else { return };
    let message = format!(
        "Argo CD does not take the address of the chart of `{}`, `{address}`, as it is: in its projects, `{found}` has a meaning",
        addon.name()
    );
    notes.error("delivery", listed(addon.cluster, addon.plan), message).hint(
        "use a name for the host, and a path without that character; `mirrors` can replace the address",
    );
}

/// Refuses manifests that Argo CD takes for hooks, and names those that it leaves out.
fn check_manifests(addon: &Addon<'_>, objects: &[Object], notes: &mut Notes) {
    for object in objects {
        let text = |path: &[&str]| object.node.at(path).and_then(Node::as_str).unwrap_or_default();
        let (group, kind) = (group_of(text(&["apiVersion"])), text(&["kind"]));
        let what = format!("{kind} `{}` of the addon `{}`", text(&["metadata", "name"]), addon.name());
        let annotations = object.node.at(&["metadata", "annotations"]).and_then(Node::as_mapping);
        for hook in HOOKS.iter().filter_map(|name| annotations.and_then(|all| all.entry(name))) {
            // Argo CD knows that these are none.
            if hook.value.as_str() == Some("crd-install") {
                continue;
            }
            let message = format!(
                "{what} has the annotation `{}`: Argo CD takes it for a hook, which it deletes and creates anew at a sync, or never applies",
                hook.key.name
            );
            notes
                .error("delivery", hook.key.origin, message)
                .hint("remove the annotation, or choose another `addonDelivery` for this cluster");
        }
        if is_excluded(group, kind) {
            let place = object.node.get("kind").unwrap_or(&object.node).origin;
            let message =
                format!("{what} is of a kind that Argo CD leaves out, unless its settings say otherwise");
            notes
                .warning("delivery", place, message)
                .hint("change `resource.exclusions` in `argocd-cm`, or choose another `addonDelivery` for this cluster");
        }
    }
}

/// The file of the Application for an addon's chart.
pub(super) fn chart_file(addon: &Addon<'_>) -> TreePath {
    cluster_folder(addon.cluster).join("addons").join(&format!("{}.yaml", addon.name()))
}

/// The Application that installs an addon: its namespace, and its name for `kubectl`.
pub(super) fn installer(plan: &ClusterPlan, addon: &str) -> (String, String) {
    let management = &plan.cluster.management;
    let planned = plan.addons.iter().find(|one| one.frozen.addon.name.as_str() == addon);
    let name = match planned {
        Some(one) if one.helm.is_none() => manifests_name(plan, addon),
        _ => chart_name(plan, addon),
    };
    let object = format!("applications.argoproj.io/{}", name_in(management, &name));
    (management.argocd.namespace.to_string(), object)
}

/// The command that lists the Applications of a cluster's addons, with their suspension.
pub(super) fn list(plan: &ClusterPlan) -> String {
    let labels = labels(plan);
    let text = |entry: &crate::yaml::Entry| {
        format!("{}={}", entry.key.name, entry.value.as_str().unwrap_or_default())
    };
    format!(
        "kubectl --namespace {} get applications.argoproj.io --selector {} --output custom-columns=NAME:.metadata.name,AUTOMATED:.spec.syncPolicy.automated",
        plan.cluster.management.argocd.namespace,
        labels.iter().map(text).collect::<Vec<_>>().join(",")
    )
}

/// The unit of an addon. Its manifests, and its chart beside them, are each an Application.
fn unit(plan: &ClusterPlan, addon: &str) -> Unit {
    Unit::cluster(&plan.cluster, ClusterPart::Manifests { addon: addon.to_owned() })
}

fn chart_name(plan: &ClusterPlan, addon: &str) -> String {
    unit(plan, addon).name()
}

fn manifests_name(plan: &ClusterPlan, addon: &str) -> String {
    // Names of addons contain no dots, so no chart can have this name.
    chart_name(plan, &format!("{addon}.manifests"))
}

/// An Application for the workload cluster.
fn of_addon<'a>(plan: &'a ClusterPlan, addon: &str, name: &str, namespace: &Label) -> Application<'a> {
    let cluster = &plan.cluster;
    let management = &cluster.management;
    let names = &management.argocd.cluster_names;
    let registered = names.of(management.name.as_str(), cluster.namespace.as_str(), cluster.name.as_str());
    Application {
        name: name_in(management, name),
        project: name_in(management, &addons_name(cluster.namespace.as_str())),
        in_tenant_project: true,
        labels: labels(plan),
        watches: Some(whole_cluster(plan)),
        destination: ("name", registered),
        ..Application::new(management, AppliedFolder::Unit(unit(plan, addon)), "", namespace)
    }
}

/// The chart of an addon in Argo CD's format, with the name of its release.
fn chart(addon: &Addon<'_>, helm: &HelmPlan) -> Mapping {
    let mut parameters = Mapping::new();
    parameters.set("releaseName", addon.plan.frozen.addon.release_name.as_str());
    let mut source = chart_source(&helm.chart);
    source.set("helm", parameters);
    source
}

/// Sets a parameter with which Argo CD renders the chart.
pub(super) fn set_parameter(chart: &mut Mapping, key: &str, value: impl Into<Node>) {
    let helm =
        chart.get_mut("helm").and_then(Node::as_mapping_mut).expect("a chart has the name of its release");
    helm.set(key, value);
}

fn of_chart<'a>(addon: &Addon<'a>, helm: &HelmPlan, source: Source) -> Application<'a> {
    let frozen = &addon.plan.frozen.addon;
    Application {
        source,
        automated: !helm.suspended,
        cascade: !helm.protected && !helm.suspended && !addon.cluster.cluster.management.standby,
        creates_namespace: true,
        ..of_addon(
            addon.cluster,
            addon.name(),
            &chart_name(addon.cluster, addon.name()),
            &frozen.release_namespace,
        )
    }
}

/// A chart in Argo CD's format. In a registry it is an artifact, referenced by its digest if the lock has one.
fn chart_source(chart: &ChartSource) -> Mapping {
    let mut source = Mapping::new();
    source.set("repoURL", chart_address(chart));
    match chart.host() {
        ChartHost::Repository => {
            source.set("chart", chart.chart.as_str());
            source.set("targetRevision", chart.version.to_string());
        }
        ChartHost::Registry => {
            source.set("path", ".");
            let revision = match &chart.digest {
                Some(pin) => Node::from(pin.digest.as_str()).with_origin(pin.origin),
                None => Node::from(chart.version.tag()),
            };
            source.set("targetRevision", revision);
        }
    }
    source
}

/// Where the cluster must be registered, and under which name.
pub(super) fn registration(plan: &ClusterPlan) -> (String, String) {
    (registry(&plan.cluster.management), registered_name(plan))
}

/// The label that makes capi2argo-cluster-operator ignore a Cluster.
const IGNORED: &str = "ignore-cluster.capi-to-argocd";

/// The patterns of the names that capi2argo-cluster-operator can give to clusters.
const NAMES_OF_CAPI2ARGO: [&str; 2] = ["{cluster}", "{namespace}-{cluster}"];

/// The longest name of a cluster whose kubeconfig Secret, `<cluster>-kubeconfig`, still fits a label's value.
const LONGEST_NAME: usize = 63 - "-kubeconfig".len();

/// Why capi2argo-cluster-operator registers no cluster of this name, and what to do (`controllers/argo_cluster.go` at 1.5.0).
fn unregistrable(name: &str) -> Option<(&'static str, &'static str)> {
    if name.len() > LONGEST_NAME {
        let why = "it writes the name of the kubeconfig Secret into a label, which holds 63 characters";
        return Some((why, "a name has at most 52 characters with this operator"));
    }
    let why = "it ignores Secrets whose names end in `-user-kubeconfig`";
    name.ends_with("-user").then_some((why, "choose a name that does not end in `-user`"))
}

/// Reasons why the cluster may not be registered in Argo CD.
pub(super) fn limits(plan: &ClusterPlan) -> Vec<Limit> {
    let cluster = &plan.cluster;
    let management = &cluster.management;
    let limit = |severity, origin, message: String, hint: String| Limit {
        severity,
        origin,
        message,
        hints: vec![hint, "docs/argocd-health.md describes how workload clusters are registered".to_owned()],
    };
    let at = management.provided.origin;
    match management.argocd.registration {
        Some(Registration::Other) => Vec::new(),
        None => vec![limit(
            Severity::Warning,
            at,
            format!(
                "nothing says what registers the workload clusters of `{}` in Argo CD: their addons wait for that",
                management.name
            ),
            "set `argocd.registration` to `capi2argo`, or to `other` for a policy or program of your own"
                .to_owned(),
        )],
        Some(Registration::Capi2argo) => {
            let mut limits = Vec::new();
            let names = management.argocd.cluster_names.as_str();
            if !NAMES_OF_CAPI2ARGO.contains(&names) {
                limits.push(limit(
                    Severity::Error,
                    at,
                    format!("capi2argo-cluster-operator registers no cluster of `{}` as `{names}`", management.name),
                    "set `argocd.clusterNames` to `{namespace}-{cluster}` (`namespacedNamesEnabled: true`) or to `{cluster}`"
                        .to_owned(),
                ));
            }
            if !management.argocd.destination.is_own() {
                limits.push(limit(
                    Severity::Warning,
                    at,
                    format!(
                        "capi2argo-cluster-operator writes Secrets into the cluster it runs in, and the Argo CD of `{}` may run in another",
                        management.name
                    ),
                    "copy the Secrets to the hub, and set `argocd.registration: other`".to_owned(),
                ));
            }
            if let Some((why, hint)) = unregistrable(cluster.name.as_str()) {
                limits.push(limit(
                    Severity::Error,
                    cluster.origin,
                    format!("capi2argo-cluster-operator cannot register {}: {why}", cluster.full_name()),
                    hint.to_owned(),
                ));
            }
            if let Some(label) = cluster.labels.get(IGNORED) {
                limits.push(limit(
                    Severity::Error,
                    label.origin,
                    format!(
                        "the label `{IGNORED}` keeps {} from being registered in Argo CD",
                        cluster.full_name()
                    ),
                    "remove the label, or set `addonDelivery` for this cluster".to_owned(),
                ));
            }
            limits
        }
    }
}

/// The name under which a workload cluster is registered with Argo CD.
fn registered_name(plan: &ClusterPlan) -> String {
    let cluster = &plan.cluster;
    let names = &cluster.management.argocd.cluster_names;
    names.of(cluster.management.name.as_str(), cluster.namespace.as_str(), cluster.name.as_str())
}

/// The sync wave of each Application: the one after the latest of its predecessors.
fn waves(plan: &ClusterPlan) -> BTreeMap<AddonContent<'_>, usize> {
    let before = before(plan);
    let mut after: BTreeMap<AddonContent<'_>, Vec<AddonContent<'_>>> = BTreeMap::new();
    let mut missing: BTreeMap<AddonContent<'_>, usize> = BTreeMap::new();
    for (one, others) in &before {
        missing.insert(*one, others.len());
        for other in others {
            after.entry(*other).or_default().push(*one);
        }
    }
    let mut waves: BTreeMap<AddonContent<'_>, usize> = BTreeMap::new();
    let mut ready: Vec<_> = missing.iter().filter(|(_, count)| **count == 0).map(|(one, _)| *one).collect();
    while let Some(one) = ready.pop() {
        let wave = *waves.entry(one).or_insert(0);
        for other in after.get(&one).into_iter().flatten() {
            let entry = waves.entry(*other).or_insert(0);
            *entry = (*entry).max(wave + 1);
            if let Some(count) = missing.get_mut(other) {
                *count -= 1;
                if *count == 0 {
                    ready.push(*other);
                }
            }
        }
    }
    waves
}

/// The predecessors of each Application.
fn before(plan: &ClusterPlan) -> BTreeMap<AddonContent<'_>, BTreeSet<AddonContent<'_>>> {
    let parts = plan.addons.iter().flat_map(AddonPlan::contents);
    parts.map(|part| (part, contents_before(&plan.addons, part).into_iter().collect())).collect()
}
