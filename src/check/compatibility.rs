//! Finds addons on a Kubernetes version that their documentation does not list, or that their chart does not support.

use super::{Check, Finder, Rule};
use crate::{
    knowledge::{self, Fit, KnownComponent},
    model::{Addon, AddonVersion, Digest, KubernetesVersion},
    plan::{AddonPlan, ClusterPlan},
    release::Release,
    resolve::{Versions, excluded_by_chart},
    yaml::{Node, Origin},
};

pub(super) static RULE: Rule = Rule {
    name: "compatibility",
    docs: "An addon runs with a Kubernetes version that its own documentation does not list for this version of the \
           addon. It may work, but its project does not test it, so this is a warning. If the chart's own `kubeVersion` rules it \
           out, Helm refuses to install it, so that is an error. Every built-in row has a public source. A fleet can \
           override the rows in stackloom.yaml.",
    check: Check::Cluster(check),
};

/// The same rule for the charts that a release pins, whether or not a cluster uses it.
pub(super) static OF_STACK: Rule = Rule { check: Check::Release(check_release), ..RULE };

fn check_release(release: &Release, finder: &mut Finder<'_>) {
    for addon in &release.addons {
        let Some(version) = &addon.version else { continue };
        let Some(digest) = addon.locked.get(version).and_then(|locked| locked.values.as_ref()) else {
            continue;
        };
        let listed = addon.addon.row(version);
        let origin = listed.and_then(|row| row.version_origin.written()).unwrap_or(Origin::NOWHERE);
        refuse_chart(&addon.addon, version, digest, (&release.kubernetes, origin), finder);
    }
}

fn check(plan: &ClusterPlan, _drawn: &Node, finder: &mut Finder<'_>) {
    for addon in &plan.addons {
        check_chart(plan, addon, finder);
        let chart = addon.frozen.addon.chart.as_ref().filter(|_| addon.helm.is_some());
        let component = chart.and_then(knowledge::installed_by);
        if let (Some(component), Some(version)) = (component, &addon.version) {
            judge(plan, addon, component, version, finder);
        }
    }
}

/// Checks the chart's own `kubeVersion`, if the lock contains the chart.
fn check_chart(plan: &ClusterPlan, addon: &AddonPlan, finder: &mut Finder<'_>) {
    let (Some(helm), Some(version)) = (&addon.helm, &addon.version) else { return };
    let Some((digest, _)) = &helm.described else { return };
    let at = (&plan.release.kubernetes, origin(plan, addon, version));
    refuse_chart(&addon.frozen.addon, version, digest, at, finder);
}

/// Refuses a chart whose own `kubeVersion` rules a Kubernetes version out.
fn refuse_chart(
    addon: &Addon,
    version: &AddonVersion,
    digest: &Digest,
    (kubernetes, origin): (&KubernetesVersion, Origin),
    finder: &mut Finder<'_>,
) {
    let (Some(chart), Some(known)) = (&addon.chart, finder.classes.charts.known(digest, finder.texts)) else {
        return;
    };
    let Some(range) = excluded_by_chart(known.kube_version().cloned(), kubernetes) else { return };
    let message = format!(
        "Helm refuses the chart `{}` {version} with Kubernetes {kubernetes}: its `kubeVersion` is {range}",
        chart.name
    );
    finder.notes.error("compatibility", origin, message).hint(format!(
        "choose another version of {}, and correct the `kubernetes` range of this one in `addon.yaml`",
        addon.name
    ));
}

fn judge(
    plan: &ClusterPlan,
    addon: &AddonPlan,
    component: &'static KnownComponent,
    version: &AddonVersion,
    finder: &mut Finder<'_>,
) {
    let kubernetes = &plan.release.kubernetes;
    let assumptions = &plan.cluster.management.assumptions;
    let fit = |version: &AddonVersion| component.fit(version.as_semver(), true, kubernetes, assumptions);
    let (name, minor) = (&addon.frozen.addon.name, kubernetes.minor());
    let place = origin(plan, addon, version);
    let found = fit(version);
    // An entry replaces what is known of the version.
    let known = match &found {
        Fit::Unlisted(row) => format!("{} || {minor}", row.kubernetes),
        Fit::Since(row, _) => row.kubernetes.to_string(),
        Fit::Assumed(_) | Fit::Fits => minor.to_string(),
    };
    let warn = |finder: &mut Finder<'_>, message: String| {
        let note = finder.notes.warning("compatibility", place, message);
        let versions = Versions::new(&addon.frozen.addon, kubernetes, &plan.release.compatibility);
        match versions.allowed().find(|row| matches!(fit(&row.version), Fit::Fits)) {
            Some(row) => note.hint(format!("move {name} to {}, which the release lists", row.version)),
            None => note
                .hint(format!("add a version of {name} to the matrix that is made for Kubernetes {minor}")),
        };
        note.hint(format!(
            "if you know that it works, say so in stackloom.yaml: `compatibility: [{{ component: {}, versions: \"{version}\", kubernetes: \"{known}\", reason: … }}]`",
            component.name
        ));
    };
    let Some(message) = found.doubt(component, &version.to_string(), minor) else { return };
    match found {
        Fit::Assumed(assumption) => {
            let note = finder.notes.warning("compatibility", assumption.origin, message);
            note.hint(format!("move {name} to a version that is, or change the entry in `compatibility`"));
        }
        _ => warn(finder, message),
    }
}

/// The place that selects the version: the cluster, otherwise the stack, otherwise the release.
fn origin(plan: &ClusterPlan, addon: &AddonPlan, version: &AddonVersion) -> Origin {
    let choice = plan.cluster.addons.get(addon.frozen.addon.name.as_str());
    if let Some((_, origin)) = choice.and_then(|choice| choice.version.as_ref()) {
        return *origin;
    }
    let listed = addon.frozen.addon.row(version);
    let listed = listed.and_then(|row| row.version_origin.written());
    listed.unwrap_or(plan.cluster.release_origin)
}
