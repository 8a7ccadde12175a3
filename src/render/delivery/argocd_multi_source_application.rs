//! Argo CD: one Application for the chart of an addon, with its values in a file of the fleet's repository, and one for its
//! manifests. Argo CD copies the sources of an Application into its status, but no file that they name, so values of any size fit.
//!
//! Each change of the chart or its values gives the file another name. Argo CD reads the file as soon as it is in git, but the
//! Application, and with it the version of the chart, only once its wave has come. With one name for all, it would install the new
//! values before their wave, and with the old chart. So it installs nothing until then: the file that the Application names is gone.

use super::{
    super::{
        Drawn, Limit,
        argocd::{Source, in_repository},
    },
    Delivery,
    addon::Addon,
    applications,
};
use crate::{
    note::{Notes, Severity},
    plan::ClusterPlan,
    yaml::{Mapping, Node, Path},
};

/// Delivery as Applications of Argo CD with two sources.
pub(super) static DELIVERY: Delivery = Delivery {
    capabilities: applications::CAPABILITIES,
    draw: |plan, part, drawn, notes| applications::draw(plan, part, source, drawn, notes),
    installer: applications::installer,
    list: applications::list,
    apis: &["argoproj.io/"],
    kinds: &[],
    uninstalls: applications::HOOKS_NEED_VALUES,
    installs: "Application",
    sign: "\n  sources:\n",
    // They are in a file of their own.
    values: |_| None,
    // Their file: its name changes with them.
    values_at: &["spec", "sources", "", "helm", "valueFiles"],
    // The engine knows where the fields of all Applications come from.
    provenance: |_, _| None,
    limits,
    registration: |plan| Some(applications::registration(plan)),
};

/// The name of the repository among the sources of an Application.
const REPOSITORY: &str = "values";

fn source(addon: &Addon<'_>, mut chart: Mapping, values: Node, drawn: &mut Drawn, _: &mut Notes) -> Source {
    // The name of the file changes with each of the values.
    let at = Path::of(&["spec", "sources"]).item(0).key("helm").key("valueFiles").item(0);
    drawn.inlay(&applications::chart_file(addon), at, [&values]);
    let file = addon.values_file(&chart, values, drawn);
    let path = in_repository(&addon.cluster.cluster.management, file.as_str());
    // A missing file must be an error, so there is no `ignoreMissingValueFiles`.
    applications::set_parameter(&mut chart, "valueFiles", vec![Node::from(format!("${REPOSITORY}/{path}"))]);
    Source::ChartBeside { chart, repository: REPOSITORY }
}

/// Characters with a meaning in the path of a values file. Argo CD replaces or expands `$`, `*`, `?` and `[`. Helm ends the path at
/// `,` or `"`, and reads `%` as an escape of a URL. In `manifest-generate-paths`, `;` ends a path, and `\\` is special, too.
///
/// Source: `getResolvedValueFiles` in `reposerver/repository/repository.go` of Argo CD 3.5.1; the flag `--values` of Helm.
const SPECIAL: [char; 10] = ['$', '%', '*', '?', '[', ']', ',', '"', ';', '\\'];

fn limits(plan: &ClusterPlan) -> Vec<Limit> {
    let management = &plan.cluster.management;
    let mut limits = applications::limits(plan);
    if let Some(special) = management.folder.chars().find(|c| SPECIAL.contains(c)) {
        limits.push(Limit {
            severity: Severity::Error,
            origin: management.provided.origin,
            message: format!(
                "Argo CD cannot read values from a file below `{}`: in its path, `{special}` has a meaning",
                management.folder
            ),
            hints: vec![
                "move the fleet to a folder without that character, or choose another `addonDelivery`"
                    .to_owned(),
            ],
        });
    }
    limits
}
