//! Argo CD: one Application for the chart of an addon, which holds its values, and one for its manifests.

use super::{
    super::{Drawn, argocd::Source},
    Delivery,
    addon::Addon,
    applications,
    capabilities::Capabilities,
    instead,
};
use crate::{
    note::Notes,
    yaml::{Mapping, Node, emit},
};

/// Delivery as Applications of Argo CD with one source.
pub(super) static DELIVERY: Delivery = Delivery {
    capabilities: Capabilities { largest_values: Some(LARGEST_VALUES), ..applications::CAPABILITIES },
    draw: |plan, part, drawn, notes| applications::draw(plan, part, source, drawn, notes),
    installer: applications::installer,
    list: applications::list,
    apis: &["argoproj.io/"],
    kinds: &[],
    uninstalls: applications::DEFINITIONS_GO,
    installs: "Application",
    sign: "\n    helm:\n",
    values,
    values_at: &["spec", "source", "helm", "valuesObject"],
    // The engine knows where the fields of all Applications come from.
    provenance: |_, _| None,
    limits: applications::limits,
    registration: |plan| Some(applications::registration(plan)),
};

/// The largest values of a chart in an Application, in bytes. During a sync, an Application holds them five times, and their
/// keys once more for each writer (`managedFields`). With 200 kB in short values, the API server drops these; with 300 kB, it
/// refuses the object.
const LARGEST_VALUES: usize = 100_000;

fn source(addon: &Addon<'_>, mut chart: Mapping, values: Node, _: &mut Drawn, notes: &mut Notes) -> Source {
    check_size(addon, &values, notes);
    if !values.is_empty_collection() {
        applications::set_parameter(&mut chart, "valuesObject", values);
    }
    Source::Chart(chart)
}

fn check_size(addon: &Addon<'_>, values: &Node, notes: &mut Notes) {
    let mut text = String::new();
    emit(values, &mut text);
    if text.len() > LARGEST_VALUES {
        let message = format!(
            "the values of `{}` have {} bytes, but an Application of Argo CD can have at most {LARGEST_VALUES}: it keeps five copies of them",
            addon.name(),
            text.len()
        );
        let more = instead(addon.cluster, |other| other.largest_values.is_none() && other.charts);
        let note = notes
            .error("delivery", addon.cluster.cluster.origin, message)
            .hint("move large files into a ConfigMap of the addon's manifests");
        if let Some((name, _)) = more {
            note.hint(format!("or use a delivery without this limit: `addonDelivery: {name}`"));
        }
    }
}

fn values(object: &Node) -> Option<Node> {
    let helm = object.at(&["spec", "source", "helm"])?;
    Some(helm.get("valuesObject").cloned().unwrap_or_else(|| Mapping::new().into()))
}
