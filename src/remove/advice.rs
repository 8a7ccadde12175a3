//! Describes the effect of a step, and what to wait for before the next one.

use super::{Reached, RemovalTarget};
use crate::{
    model::{Companion, PoolKind},
    plan::{ClusterPart, ClusterPlan},
    render,
};

/// Advice for someone who takes a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The effect of the step, once applied.
    pub effect: String,
    /// What to wait for before the next step; empty after the last.
    pub wait: Vec<String>,
    /// Further information and actions.
    pub beside: Vec<String>,
}

impl Advice {
    pub(super) fn new(plan: &ClusterPlan, leaver: &RemovalTarget, reached: Reached) -> Self {
        let mut advice = match leaver {
            RemovalTarget::Cluster => cluster(plan, reached),
            RemovalTarget::Pool(name) => pool(plan, name, reached),
            RemovalTarget::Addon(name) => addon(plan, name, reached),
        };
        if let Some((parts, deletes)) = applied(plan, leaver, reached) {
            advice.beside.extend(render::by_hand(plan, parts, deletes));
        }
        advice
    }
}

/// The parts of the cluster that the engine applies for a step, none of them for the cluster as a whole, and whether it deletes
/// objects. None if the step does not change the generated files.
fn applied(
    plan: &ClusterPlan,
    leaver: &RemovalTarget,
    reached: Reached,
) -> Option<(&'static [ClusterPart], bool)> {
    Some(match (leaver, reached) {
        (RemovalTarget::Cluster, Reached::Detached) => (&[ClusterPart::Cluster, ClusterPart::Addons], false),
        (RemovalTarget::Cluster, Reached::Deleted) => (&[ClusterPart::Cluster], true),
        (RemovalTarget::Cluster, Reached::Gone) => (&[], true),
        (RemovalTarget::Pool(_), Reached::Detached | Reached::Deleted) => (&[ClusterPart::Cluster], false),
        (RemovalTarget::Addon(_), Reached::Detached) => (&[ClusterPart::Addons], false),
        (RemovalTarget::Addon(_), Reached::Deleted) => (&[ClusterPart::Addons], true),
        (RemovalTarget::Addon(name), Reached::Gone) if takes_one_step(plan, name) => {
            (&[ClusterPart::Addons], true)
        }
        (RemovalTarget::Pool(_) | RemovalTarget::Addon(_), Reached::Gone) => return None,
    })
}

/// Whether an addon is still installed, and leaves at once, because nodes do not need it.
fn takes_one_step(plan: &ClusterPlan, name: &str) -> bool {
    let planned = plan.addons.iter().find(|addon| addon.frozen.addon.name.as_str() == name);
    planned.is_some_and(|addon| !addon.helm.as_ref().is_some_and(|helm| helm.protected))
}

fn texts(texts: &[String]) -> Vec<String> {
    texts.to_vec()
}

fn cluster(plan: &ClusterPlan, reached: Reached) -> Advice {
    let (name, namespace) = (&plan.cluster.name, &plan.cluster.namespace);
    match reached {
        Reached::Detached => Advice {
            effect: "git may delete the cluster from now on; its addons are suspended, so that nothing is \
                     uninstalled from it; it keeps running"
                .to_owned(),
            wait: texts(&[
                format!(
                    "kubectl --namespace {namespace} wait cluster/{name} --for=jsonpath='{{.metadata.annotations.stackloom\\.dev/removal}}'"
                ),
                render::list_installers(plan),
            ]),
            beside: texts(
                &["to keep the cluster after all, remove `removal` from the definition".to_owned()],
            ),
        },
        Reached::Deleted => Advice {
            effect: format!(
                "the Cluster is deleted with its machines and its infrastructure; its namespace, its credentials and \
                 its {} stay for as long as that takes",
                render::appliers(&plan.cluster.management)
            ),
            wait: texts(&[format!(
                "kubectl --namespace {namespace} wait cluster/{name} --for=delete --timeout=1h"
            )]),
            beside: texts(&["this cannot be undone".to_owned()]),
        },
        Reached::Gone => {
            let mut beside = Vec::new();
            if let Some(Companion { folder, .. }) = &plan.cluster.companion {
                beside.push(format!("delete `{folder}` in the same commit: it is yours, and the engine no longer applies it; the objects applied from it are deleted, unless they are protected"));
            }
            beside.push(format!("the Namespace `{namespace}` and the ClusterClass stay in the management cluster: git deletes neither"));
            let effect = format!(
                "the rest of the cluster is deleted: its {}, the objects that install its addons, and the objects of its `.d` folder",
                render::appliers(&plan.cluster.management)
            );
            Advice { effect, wait: Vec::new(), beside }
        }
    }
}

fn pool(plan: &ClusterPlan, name: &str, reached: Reached) -> Advice {
    let (cluster, namespace) = (&plan.cluster.name, &plan.cluster.namespace);
    let kind = plan.cluster.node_pools.iter().find(|pool| pool.name.as_str() == name).map(|pool| pool.kind);
    let (label, objects) = match kind {
        Some(PoolKind::MachinePool) => ("pool-name", "machinepools"),
        _ => ("deployment-name", "machinedeployments"),
    };
    let selector =
        format!("cluster.x-k8s.io/cluster-name={cluster},topology.cluster.x-k8s.io/{label}={name}");
    let gone = |what: &str| {
        texts(&[format!(
            "kubectl --namespace {namespace} wait {what} --selector {selector} --for=delete --timeout=1h"
        )])
    };
    match reached {
        Reached::Detached => Advice {
            effect: "the pool scales to zero: its machines are drained and deleted; the autoscaler leaves it alone"
                .to_owned(),
            wait: gone("machines"),
            beside: texts(&["to have its machines back, remove `removal` from the pool".to_owned()]),
        },
        Reached::Deleted => Advice {
            effect: "the pool goes from the Cluster".to_owned(),
            wait: gone(objects),
            beside: Vec::new(),
        },
        Reached::Gone => Advice {
            effect: "the definition no longer mentions the pool; the generated files do not change".to_owned(),
            wait: Vec::new(),
            beside: Vec::new(),
        },
    }
}

fn addon(plan: &ClusterPlan, name: &str, reached: Reached) -> Advice {
    let (home, object) = render::installer(plan, name);
    match reached {
        Reached::Detached => Advice {
            effect: format!("git may uninstall `{name}` from now on; it keeps running"),
            wait: texts(&[format!(
                "kubectl --namespace {home} get {object} --output jsonpath='{{.metadata.annotations}}'   # until it no longer mentions `{}`",
                render::sign_of_protection(plan.cluster.management.engine)
            )]),
            beside: texts(&[
                "nodes need this addon before they are ready: have its replacement in place".to_owned()
            ]),
        },
        Reached::Deleted => Advice {
            effect: format!("`{name}` is uninstalled from the cluster, which runs"),
            wait: texts(&[format!("kubectl --namespace {home} wait {object} --for=delete --timeout=10m")]),
            beside: render::on_uninstalling_addon(plan, name),
        },
        Reached::Gone if takes_one_step(plan, name) => Advice {
            effect: format!(
                "`{name}` is uninstalled from the cluster: nodes do not need this addon, so one step is enough"
            ),
            wait: Vec::new(),
            beside: render::on_uninstalling_addon(plan, name),
        },
        Reached::Gone => Advice {
            effect: format!("`{name}` is off permanently; the generated files do not change"),
            wait: Vec::new(),
            beside: Vec::new(),
        },
    }
}
