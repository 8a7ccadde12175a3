//! Argo CD: one Application for the chart of an addon, with its values in a file of the fleet's repository, and one for its
//! manifests. Argo CD copies the sources of an Application into its status, but no file that they name, so values of any size fit.
//!
//! The name of the file contains the version of the chart. Argo CD reads the file as soon as a commit changes it, but the version
//! only once the Application itself is applied. With one name for all versions, it would install the old chart with the new values in
//! between. So it installs nothing then: the file of the old version is gone.

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
    yaml::{Mapping, Node},
};

/// Delivery as Applications of Argo CD with two sources.
pub(super) static DELIVERY: Delivery = Delivery {
    capabilities: applications::CAPABILITIES,
    draw: |plan, part, drawn, notes| applications::draw(plan, part, source, drawn, notes),
    installer: applications::installer,
    list: applications::list,
    apis: &["argoproj.io/"],
    kinds: &[],
    rests: applications::rests,
    installs: "Application",
    sign: "\n  sources:\n",
    // They are in a file of their own.
    values: |_| None,
    values_at: &[],
    // The engine knows where the fields of all Applications come from.
    provenance: |_, _| None,
    limits,
    registration: |plan| Some(applications::registration(plan)),
};

/// The name of the repository among the sources of an Application.
const REPOSITORY: &str = "values";

fn source(addon: &Addon<'_>, mut chart: Mapping, values: Node, drawn: &mut Drawn, _: &mut Notes) -> Source {
    let file = addon.values_file(values, drawn);
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
