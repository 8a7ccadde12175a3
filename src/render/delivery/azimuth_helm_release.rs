//! The addon provider of Azimuth (`StackHPC`): a `HelmRelease` for the chart of an addon, and Manifests. The provider
//! evaluates values and manifests as Jinja templates, and waits only for the cluster itself.

use super::{
    super::{ComposedField, Drawn, Installs, Limit, Object, Provenance, Target},
    Delivery,
    addon::{self, Addon},
    capabilities::{Capabilities, Order},
    provenance, resource_set,
    text::{literal, read},
};
use crate::{
    model::{Engine, Stage},
    note::{Notes, Severity},
    plan::{ClusterPlan, HelmPlan, ManifestsPlan, installer_name},
    tree::TreePath,
    yaml::{Mapping, Node, Path},
};

const API_VERSION: &str = "addons.stackhpc.com/v1alpha1";
/// The maximum length of the name of a Helm release.
const NAME_LIMIT: usize = 53;

/// Delivery as `HelmReleases` and Manifests of Azimuth's addon provider.
pub(super) static DELIVERY: Delivery = Delivery {
    capabilities: Capabilities {
        actor: "the addon provider of Azimuth",
        object: "a HelmRelease of Azimuth",
        charts: true,
        manifests: true,
        // It would evaluate the Secret as a template, and append to lists where Helm replaces them.
        values_from: false,
        registries: false,
        digests: false,
        order: Order::Stages,
        release: true,
        manifests_stay: false,
        largest_values: None,
    },
    draw,
    installer,
    list,
    apis: &["addons.stackhpc.com/"],
    kinds: &[("addons.stackhpc.com", "HelmRelease"), ("addons.stackhpc.com", "Manifests")],
    uninstalls: "its CustomResourceDefinitions stay, with all objects of these kinds",
    installs: "HelmRelease",
    sign: "",
    values,
    values_at: &["spec", "valuesSources", "", "template"],
    provenance: fields,
    limits,
    registration: |_| None,
};

fn draw(plan: &ClusterPlan, part: &TreePath, drawn: &mut Drawn, notes: &mut Notes) {
    for addon in addon::all(plan, drawn) {
        let file = |what: &str| part.join("addons").join(&format!("{}{what}.yaml", addon.name()));
        if let Some(helm) = &addon.plan.helm
            && let Some(values) = addon.values(notes)
        {
            let at = Path::of(&["spec", "valuesSources"]).item(0).key("template");
            addon.inlay(&file(""), at, &values, drawn);
            let object = of_chart(&addon, helm, &values);
            let object = drawn.add(file(""), &plan.cluster.file, Target::Management, object);
            object.of_addon(addon.name(), Installs::Chart).kept = helm.protected;
        }
        if let Some(manifests) = &addon.plan.manifests {
            let file = file(".manifests");
            let before = drawn.embedded.len();
            let at = Path::of(&["spec", "manifestSources"]).item(0).key("template");
            let text = addon.documents(&file, at, drawn, notes);
            check_manifests(&addon, &drawn.embedded[before..], notes);
            let object = of_manifests(&addon, manifests, &text);
            let object = drawn.add(file, &plan.cluster.file, Target::Management, object);
            object.of_addon(addon.name(), Installs::Manifests).kept = manifests.protected;
        }
    }
}

fn installer(plan: &ClusterPlan, addon: &str) -> (String, String) {
    let planned = plan.addons.iter().find(|one| one.frozen.addon.name.as_str() == addon);
    let name = installer_name(&plan.cluster, addon);
    let kind = match planned {
        Some(one) if one.helm.is_none() => "manifests",
        _ => "helmreleases",
    };
    (plan.cluster.namespace.to_string(), format!("{kind}.addons.stackhpc.com/{name}"))
}

fn list(plan: &ClusterPlan) -> String {
    let (name, namespace) = (&plan.cluster.name, &plan.cluster.namespace);
    format!(
        "kubectl --namespace {namespace} get helmreleases.addons.stackhpc.com,manifests.addons.stackhpc.com --selector cluster.x-k8s.io/cluster-name={name} --output custom-columns=NAME:.metadata.name,PAUSED:.spec.paused"
    )
}

fn values(object: &Node) -> Option<Node> {
    let sources = object.at(&["spec", "valuesSources"]).and_then(Node::as_sequence);
    match sources.and_then(|sources| sources.first()?.get("template")?.as_str()) {
        Some(text) => read(text),
        None => Some(Mapping::new().into()),
    }
}

/// The fields that both kinds share.
fn object(addon: &Addon<'_>, kind: &str, paused: bool) -> (Mapping, Mapping) {
    let cluster = &addon.cluster.cluster;
    let mut spec = Mapping::new();
    spec.set("bootstrap", addon.plan.frozen.addon.stage == Stage::Bootstrap);
    spec.set("clusterName", cluster.name.as_str());
    if paused || cluster.management.standby {
        spec.set("paused", true);
    }
    let mut root = Mapping::new();
    root.set("apiVersion", API_VERSION);
    root.set("kind", kind);
    let name = installer_name(cluster, addon.name());
    root.set("metadata", resource_set::metadata(cluster, &name, false));
    (root, spec)
}

/// A source with a text. Jinja strips the final line break.
fn source(text: &str) -> Vec<Node> {
    let mut source = Mapping::new();
    source.set("template", format!("{text}\n"));
    vec![source.into()]
}

fn of_chart(addon: &Addon<'_>, helm: &HelmPlan, values: &Node) -> Mapping {
    let frozen = &addon.plan.frozen.addon;
    let (mut root, mut spec) = object(addon, "HelmRelease", helm.suspended);
    let mut chart = Mapping::new();
    chart.set("name", helm.chart.chart.as_str());
    chart.set("repo", helm.chart.repository.as_str());
    chart.set("version", helm.chart.version.to_string());
    spec.set("chart", chart);
    spec.set("releaseName", frozen.release_name.as_str());
    spec.set("targetNamespace", frozen.release_namespace.as_str());
    if !values.is_empty_collection() {
        spec.set("valuesSources", source(&literal(values)));
    }
    root.set("spec", spec);
    root
}

fn of_manifests(addon: &Addon<'_>, manifests: &ManifestsPlan, text: &str) -> Mapping {
    let (mut root, mut spec) = object(addon, "Manifests", manifests.suspended);
    spec.set("manifestSources", source(text));
    spec.set("releaseName", manifests_release(addon.name()));
    // Other deliveries use the same namespace for objects that have none.
    spec.set("targetNamespace", "default");
    root.set("spec", spec);
    root
}

/// Manifests become a Helm release of their own, with a name that no chart has.
fn manifests_release(addon: &str) -> String {
    format!("stackloom-{addon}")
}

/// Warns of infrastructure for which the provider installs nothing. It is a fault of the provider, which later versions may not
/// have.
///
/// Source: `init_metadata` in `capi_addons/models/v1alpha1/base.py` reads the identity of the cloud even if there is none.
fn without_identity(plan: &ClusterPlan) -> Option<Limit> {
    const IDENTITY: &str = "identityRef";
    let has_external_patches = |class: &Node| {
        let patches = class.at(&["spec", "patches"]).and_then(Node::as_sequence).unwrap_or_default();
        patches.iter().any(|patch| patch.get("external").is_some())
    };
    let class = plan.release.objects.iter().find(|one| kind(one) == "ClusterClass")?;
    let reference = class.at(&["spec", "infrastructure", "templateRef"])?;
    let name_of = |node: &Node| node.get("name").and_then(Node::as_str).map(str::to_owned);
    let is_template = |one: &&Node| {
        kind(one) == kind(reference) && one.get("metadata").and_then(name_of) == name_of(reference)
    };
    let template = plan.release.objects.iter().find(is_template)?;
    if has_external_patches(class) || mentions(template, IDENTITY) || mentions(class, IDENTITY) {
        return None;
    }
    Some(Limit {
        severity: Severity::Warning,
        origin: template.origin,
        message: format!(
            "the addon provider of Azimuth installs nothing if the infrastructure has no `{IDENTITY}`, and {} has none",
            kind(template)
        ),
        hints: vec![
            "choose another `addonDelivery`, or a version of the provider that needs none".to_owned(),
        ],
    })
}

fn kind(object: &Node) -> &str {
    object.get("kind").and_then(Node::as_str).unwrap_or_default()
}

/// Whether a key or a text in a node contains a word.
fn mentions(node: &Node, word: &str) -> bool {
    if let Some(text) = node.as_str() {
        return text.contains(word);
    }
    let mut entries = node.as_mapping().into_iter().flat_map(Mapping::iter);
    node.as_sequence().unwrap_or_default().iter().any(|item| mentions(item, word))
        || entries.any(|one| one.key.name.contains(word) || mentions(&one.value, word))
}

/// Reports what the provider, or the CRDs of its objects, do not accept.
fn limits(plan: &ClusterPlan) -> Vec<Limit> {
    let mut limits: Vec<_> = without_identity(plan).into_iter().collect();
    for addon in &plan.addons {
        let frozen = &addon.frozen.addon;
        let origin = frozen.matrix.first().map_or(plan.cluster.origin, |row| row.version_origin);
        if plan.cluster.management.engine == Engine::ArgoCd {
            limits.push(Limit {
                severity: Severity::Warning,
                origin,
                message: format!(
                    "`{}` stays installed when it leaves git: the addon provider of Azimuth lets the Cluster own its objects, and Argo CD prunes nothing that has an owner",
                    frozen.name
                ),
                hints: vec!["then delete the object by hand".to_owned()],
            });
        }
        let mut refuse = |what: String, hint: &str| {
            limits.push(Limit {
                severity: Severity::Error,
                origin,
                message: format!("{what}, which a HelmRelease of Azimuth does not take"),
                hints: vec![hint.to_owned()],
            });
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if let Some(helm) = addon.helm.as_ref().filter(|helm| !helm.chart.chart.chars().all(plain)) {
            refuse(
                format!("the chart of `{}` is called `{}`", frozen.name, helm.chart.chart),
                "it takes lower-case letters, digits and dashes: choose another `addonDelivery`",
            );
        }
        let release = manifests_release(frozen.name.as_str());
        if addon.manifests.is_some() && release.len() > NAME_LIMIT {
            refuse(
                format!("the manifests of `{}` would be the Helm release `{release}`", frozen.name),
                "give the addon a shorter name: Helm takes at most 53 characters",
            );
        }
    }
    limits
}

/// Refuses objects that the provider's chart would change or treat specially.
fn check_manifests(addon: &Addon<'_>, objects: &[Object], notes: &mut Notes) {
    for object in objects {
        let kind = kind(&object.node);
        let name = object.node.at(&["metadata", "name"]).and_then(Node::as_str).unwrap_or_default();
        let annotations = object.node.at(&["metadata", "annotations"]).and_then(Node::as_mapping);
        let hook =
            annotations.into_iter().flat_map(Mapping::iter).find(|one| one.key.name.starts_with("helm.sh/"));
        let why = if let Some(hook) = hook {
            format!("has the annotation `{}`, and the provider applies manifests with Helm", hook.key.name)
        } else if kind == "CustomResourceDefinition" && mentions(&object.node, "{{") {
            "holds `{{`, which the provider writes as `{{ \"{{\" }}` there".to_owned()
        } else {
            continue;
        };
        let place = object.node.origin;
        notes
            .error("delivery", place, format!("{kind} `{name}` of the addon `{}` {why}", addon.name()))
            .hint(
                "choose another `addonDelivery` for this cluster: see docs/deliveries.md for what each can do",
            );
    }
}

fn fields<'a>(_field: &ComposedField<'a>, names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    Some(match names {
        ["spec", "bootstrap"] => vec![Provenance::Addon(&["stage"])],
        ["spec", "paused"] => vec![Provenance::Suspension],
        ["spec", "chart", "name"] => vec![Provenance::Addon(&["chart", "name"])],
        ["spec", "chart", "repo"] => vec![Provenance::AddonRepository],
        ["spec", "chart", "version"] => vec![Provenance::AddonVersion, Provenance::ReleaseChoice],
        ["spec", "releaseName"] => vec![Provenance::Addon(&["release", "name"])],
        ["spec", "targetNamespace"] => vec![Provenance::Addon(&["release", "namespace"])],
        ["spec", "valuesSources", ..] => vec![Provenance::AddonValues],
        _ => return provenance::common(names),
    })
}
