//! Restricts the kinds of objects in each folder.

use super::{
    Check, Finder, Rule,
    kustomize_folder::{self, FolderObject},
    metadata::{self, KUSTOMIZE, is_kind},
    secret_scan::{self, Tree},
};
use crate::{
    model::is_cluster_wide,
    note::Place,
    plan::ClusterPlan,
    release::{Release, TEMPLATE_GROUPS, TEMPLATE_KINDS, Where, brought, full_kind, group_of},
    render::{Drawn, applying_groups, refused_beside, selecting_kinds},
    yaml::Node,
};

pub(super) static RULE: Rule = Rule {
    name: "allowed-kind",
    docs: "A folder brings an object of a kind that is not allowed there. Otherwise a stack could silently bring objects \
           into the management cluster that run code, grant rights or apply other objects. `stack.yaml` or the definition \
           can allow kinds beyond the table in docs/checks.md by name.",
    check: Check::Objects(check),
};

/// The same rule for templates, whether or not a cluster renders them.
pub(super) static OF_STACK: Rule = Rule { check: Check::Release(check_stack), ..RULE };
/// The same rule for a `.d` folder.
pub(super) static OF_CLUSTER: Rule = Rule { check: Check::Cluster(check_beside), ..RULE };

/// Namespaced kinds that do more in the management cluster than configure their own namespace, with what they do. An empty kind
/// stands for all kinds of the group.
const ACTING: [(&str, &str, &str); 21] = [
    ("", "Pod", RUNS),
    ("", "ReplicationController", RUNS),
    ("apps", "DaemonSet", RUNS),
    ("apps", "Deployment", RUNS),
    ("apps", "ReplicaSet", RUNS),
    ("apps", "StatefulSet", RUNS),
    ("authorization.openshift.io", "", GRANTS),
    ("batch", "CronJob", RUNS),
    ("batch", "Job", RUNS),
    ("clusterctl.cluster.x-k8s.io", "", INSTALLS),
    ("fleet.cattle.io", "", APPLIES),
    ("helm.cattle.io", "", APPLIES),
    ("kubevirt.io", "", RUNS),
    ("kyverno.io", "", APPLIES),
    ("operator.cluster.x-k8s.io", "", APPLIES),
    ("operators.coreos.com", "", APPLIES),
    ("pkg.crossplane.io", "", APPLIES),
    ("rbac.authorization.k8s.io", "Role", GRANTS),
    ("rbac.authorization.k8s.io", "RoleBinding", GRANTS),
    ("serving.knative.dev", "", RUNS),
    ("tekton.dev", "", RUNS),
];
const RUNS: &str = "it runs programs there";
const GRANTS: &str = "it grants rights there";
const IDENTIFIES: &str = "it gets a token of a ServiceAccount, which never expires";
const APPLIES: &str = "it applies other objects there, which nothing checks";

const INSTALLS: &str = "clusterctl takes it for an installed provider";
const REACHES: &str = "it can select other clusters of the namespace, too";

/// The type of Secrets that Kubernetes fills with the token of a `ServiceAccount`.
const TOKEN: &str = "kubernetes.io/service-account-token";

/// What a kind does beyond configuring its namespace.
fn acts(group: &str, kind: &str) -> Option<&'static str> {
    if applying_groups().any(|one| one == group) {
        return Some(APPLIES);
    }
    let mut fitting = ACTING.iter().filter(|one| one.0 == group && (one.1 == kind || one.1.is_empty()));
    fitting.next().map(|(.., does)| *does)
}

/// Whether a folder may contain a kind, according to docs/checks.md.
pub(super) fn is_allowed(place: Where, group: &str, kind: &str) -> bool {
    let of_groups = TEMPLATE_GROUPS.iter().any(|one| group == *one || group.ends_with(&format!(".{one}")));
    match place {
        Where::Classes => {
            let class = (group, kind) == ("cluster.x-k8s.io", "ClusterClass");
            class || group.ends_with(".cluster.x-k8s.io") && kind.ends_with("Template")
        }
        // Clusters and classes from a stack would bypass all checks of those that the program draws.
        Where::Namespace | Where::Cluster => {
            let own = matches!((group, kind), ("cluster.x-k8s.io", "Cluster" | "ClusterClass"));
            let other = is_cluster_wide(group, kind) || acts(group, kind).is_some();
            TEMPLATE_KINDS.contains(&(group, kind)) || of_groups && !own && !other
        }
        Where::Workload => true,
    }
}

/// The folder that a source belongs to; none for the program's own objects.
fn place_of(source: &str) -> Option<Where> {
    let folder = |name: &str| source.starts_with(name);
    match () {
        () if folder("namespace/") => Some(Where::Namespace),
        () if folder("cluster/") => Some(Where::Cluster),
        () => None,
    }
}

fn words(place: Where) -> &'static str {
    match place {
        Where::Classes => "`cluster-class/`",
        Where::Namespace => "`namespace/`",
        Where::Cluster => "`cluster/`",
        Where::Workload => "`manifests/`",
    }
}

fn check(drawn: &Drawn, finder: &mut Finder<'_>) {
    let frozen = drawn.frozen.iter().map(|object| (Some(Where::Classes), object));
    let objects = drawn.objects.iter().map(|object| (place_of(&object.source), &object.node));
    for (place, object) in objects.chain(frozen) {
        let Some(place) = place else { continue };
        let text = |key| object.get(key).and_then(Node::as_str).unwrap_or_default();
        let (group, kind) = (group_of(text("apiVersion")), text("kind"));
        let is_secret = (group, kind) == ("", "Secret");
        // Values that are not objects are reported by another rule.
        let does = acts(group, kind).or((is_secret && text("type") == TOKEN).then_some(IDENTIFIES));
        let is_refused = does == Some(IDENTIFIES) || !is_allowed(place, group, kind);
        if is_kind(kind) && metadata::is_no_object(object).is_none() && is_refused {
            let node = object.get("kind").unwrap_or(object);
            let made = || Place::file(format!("generated ({})", words(place)));
            let place_of_kind = finder.texts.sources.place(node.origin).unwrap_or_else(made);
            tell(words(place), &full_kind(kind, group), does, place_of_kind, finder);
        }
    }
}

/// Checks templates as well: one that renders nothing today may render an object tomorrow.
fn check_stack(release: &Release, finder: &mut Finder<'_>) {
    for one in
        brought(release).into_iter().filter(|one| matches!(one.place, Where::Namespace | Where::Cluster))
    {
        let computed = one.kind.contains("${{") || one.group.contains("${{");
        let other = !is_kind(&one.kind) || one.kind.ends_with("List") || one.group == KUSTOMIZE;
        if !computed && (other || is_allowed(one.place, &one.group, &one.kind)) {
            continue;
        }
        let minor = release.kubernetes.minor().dashed();
        let paths = [format!("{minor}/{}", one.path), one.path.clone()];
        let folder = format!("stacks/{}", release.stack);
        let source = paths.iter().find_map(|path| finder.texts.sources.at(&format!("{folder}/{path}")));
        let Some(source) = source else { continue };
        let at = source.text.match_indices("kind:").find(|(at, _)| {
            source.text[at + "kind:".len()..]
                .trim_start()
                .trim_start_matches(['"', '\''])
                .starts_with(&one.kind)
        });
        let at = at.map_or(0, |(at, word)| at + word.len() + 1);
        if computed {
            finder
                .notes
                .error(RULE.name, source.word(at), format!("the kind of an object of {} is an expression", words(one.place)))
                .hint("write it out: the kinds that a stack brings into the management cluster must be known before a cluster uses it");
        } else {
            let does = acts(&one.group, &one.kind);
            tell(words(one.place), &one.full_kind(), does, source.word(at), finder);
        }
    }
}

fn tell(folder: &str, kind: &str, does: Option<&str>, place: Place, finder: &mut Finder<'_>) {
    let name = format!("{}{kind}", secret_scan::KIND);
    let (allowed, hint) = secret_scan::allowed(finder, &place.file, &name);
    if allowed {
        return;
    }
    let why = does.map(|does| format!(": {does}")).unwrap_or_default();
    let message = format!("{folder} may not bring {kind} into the management cluster{why}");
    // A numbered release is already cut and cannot be changed.
    let note = if place.file.starts_with("generated/releases/") {
        finder.notes.warning(RULE.name, place, message)
    } else {
        finder.notes.error(RULE.name, place, message)
    };
    note.hint("docs/checks.md lists the kinds for each folder; objects for workload clusters belong in an addon's `manifests/`");
    if let Some(hint) = hint {
        note.hint(hint);
    }
}

/// The objects in a `.d` folder must belong to one cluster and one namespace.
fn check_beside(plan: &ClusterPlan, _cluster: &Node, finder: &mut Finder<'_>) {
    let texts = finder.texts;
    for source in texts.beside.below(&kustomize_folder::folder(&plan.cluster.file)) {
        for object in kustomize_folder::objects(source) {
            // A Cluster of the same name would be applied twice, and one without a definition is not managed.
            let is_generated =
                object.group == "cluster.x-k8s.io" && matches!(&*object.kind, "Cluster" | "ClusterClass");
            let holds_token = object.group.is_empty()
                && object.kind == "Secret"
                && object.node.word("type").as_deref() == Some(TOKEN);
            let does = acts(&object.group, &object.kind)
                .or(holds_token.then_some(IDENTIFIES))
                .or_else(|| reaches_others(&object, plan).then_some(REACHES));
            if is_generated || does.is_some() || is_cluster_wide(&object.group, &object.kind) {
                let kind = full_kind(&object.kind, &object.group);
                if let Some(why) = refused_beside(&plan.cluster, &object.group, &object.kind) {
                    let message = format!("{kind} cannot be beside {}: {why}", plan.cluster.full_name());
                    let place = Place { source: String::new(), ..object.place };
                    finder
                        .notes
                        .error(RULE.name, place, message)
                        .hint("keep it elsewhere, and apply it apart from the fleet");
                    continue;
                }
                tell("a `.d` folder", &kind, does, Place { source: String::new(), ..object.place }, finder);
            }
        }
    }
}

/// Whether an object installs addons in other clusters, too. It selects clusters by their labels, and only a label whose value
/// is the cluster's name selects this one alone.
fn reaches_others(object: &FolderObject, plan: &ClusterPlan) -> bool {
    let selector = object.node.child("spec").and_then(|spec| spec.child("clusterSelector"));
    let labels = selector.and_then(|selector| selector.child("matchLabels"));
    let name = plan.cluster.name.as_str();
    let mut values = labels.into_iter().flat_map(Tree::entries).map(|(_, value)| value);
    let is_own = values.any(|value| value.text().as_deref() == Some(name));
    selecting_kinds().any(|kind| kind == (&*object.group, &*object.kind)) && !is_own
}
