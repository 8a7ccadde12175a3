//! `stackloom argocd`.

use serde_json::{Map, json};

use super::{Exit, Printer};
use crate::{
    note::Notes,
    render::argocd_health::{SCRIPTS, TESTED_WITH, config_map, helm_values},
};

/// Print the configuration that Argo CD needs to apply a fleet
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Health(HealthArgs),
}

/// Print health scripts for the objects of a fleet, to add to the ConfigMap `argocd-cm`
///
/// Argo CD starts a sync wave once the objects of the previous wave are Healthy, and fails a sync if an
/// object is Degraded. It has no health checks for cluster classes, control planes, Applications or OpenStack
/// images. Its own checks of Clusters and of Flux objects miss changes that are still in progress.
///
/// Reads no fleet. Install the scripts once in each Argo CD instance, and again after you upgrade stackloom.
/// A patch leaves all other keys of the ConfigMap alone; `kubectl apply` can remove keys that an earlier
/// apply added.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom argocd health | kubectl patch configmap argocd-cm --namespace argocd --type merge --patch-file /dev/stdin\n  stackloom argocd health --as helm-values > health.yaml && helm upgrade argocd argo/argo-cd -n argocd --reuse-values -f health.yaml"
)]
struct HealthArgs {
    /// The output form
    #[arg(long = "as", value_enum, value_name = "FORM", default_value = "config-map")]
    form: Form,
    /// The namespace of the ConfigMap
    #[arg(long, value_name = "NAMESPACE", default_value = "argocd")]
    namespace: String,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Form {
    /// The ConfigMap `argocd-cm` with the scripts alone, for `kubectl patch`
    ConfigMap,
    /// Values of the Helm chart argo-cd
    HelmValues,
}

pub(super) fn run(args: &Args, printer: &Printer) -> Exit {
    let Command::Health(args) = &args.command;
    health(args, printer);
    Exit::Done
}

fn health(args: &HealthArgs, printer: &Printer) {
    if printer.is_document() {
        let scripts: Vec<_> = SCRIPTS
            .iter()
            .map(|script| json!({ "group": script.group, "kind": script.kind, "key": script.key(), "script": script.text() }))
            .collect();
        let tested: Map<_, _> =
            TESTED_WITH.iter().map(|(name, version)| ((*name).to_owned(), (*version).into())).collect();
        printer.document(Exit::Done, &Notes::new(), json!({ "scripts": scripts, "testedWith": tested }));
        return;
    }
    printer.data(&match args.form {
        Form::ConfigMap => config_map(&args.namespace),
        Form::HelmValues => helm_values(),
    });
}
