//! Lowers addons: those in a stack's folder, and those frozen in a release.

use super::{addon_version, check_address, holds_credential, label, place_at, range};
use crate::{
    definition::{self as written, parse::Written},
    model::{Addon, Chart, Label, MinorStep, Requirement, Stage, ValuesFrom, ValuesSource, address},
    note::{Notes, Place},
    yaml::Origin,
};

/// The fields of an addon, from either kind of definition.
pub(super) struct AddonFields<'a> {
    pub name: &'a str,
    /// Whether the addon comes from the current sources and not from a release.
    pub fresh: bool,
    pub chart: Option<&'a written::Chart>,
    pub versions: &'a [written::AddonVersion],
    pub upgrade: Option<&'a written::AddonUpgrade>,
    pub release_name: Option<&'a str>,
    pub release_namespace: Option<&'a str>,
    pub stage: written::Stage,
    pub depends_on: &'a [String],
    pub enabled: bool,
    pub values_from: &'a [written::ValuesFrom],
}

impl<'a> AddonFields<'a> {
    /// Takes the fields from `addon.yaml`.
    pub(super) fn by_addon(name: &'a str, spec: &'a written::AddonSpec) -> Self {
        Self {
            name,
            fresh: true,
            chart: spec.chart.as_ref(),
            versions: spec.versions.as_deref().unwrap_or_default(),
            upgrade: spec.upgrade.as_ref(),
            release_name: spec.release.as_ref().and_then(|release| release.name.as_deref()),
            release_namespace: spec.release.as_ref().and_then(|release| release.namespace.as_deref()),
            stage: spec.stage.unwrap_or(written::Stage::Default),
            depends_on: spec.depends_on.as_deref().unwrap_or_default(),
            enabled: spec.enabled.unwrap_or(true),
            values_from: spec.values_from.as_deref().unwrap_or_default(),
        }
    }

    /// Takes the fields from `release.yaml`.
    pub(super) fn by_release(name: &'a str, frozen: &'a written::FrozenAddon) -> Self {
        Self {
            name,
            fresh: false,
            chart: frozen.chart.as_ref(),
            versions: frozen.versions.as_deref().unwrap_or_default(),
            upgrade: frozen.upgrade.as_ref(),
            release_name: frozen.release.name.as_deref(),
            release_namespace: frozen.release.namespace.as_deref(),
            stage: frozen.stage,
            depends_on: frozen.depends_on.as_deref().unwrap_or_default(),
            enabled: frozen.enabled,
            values_from: frozen.values_from.as_deref().unwrap_or_default(),
        }
    }
}

/// Lowers an addon. `base` is the path of its content in `written`.
pub(super) fn lower<T>(
    fields: &AddonFields<'_>,
    written: &Written<T>,
    base: &[&str],
    notes: &mut Notes,
) -> Option<Addon> {
    let at = |path: &[&str]| place_at(written, &[base, path].concat());
    let name = label(fields.name, "the addon", Some(at(&[])), notes)?;
    let matrix = matrix(fields, written, base, notes);
    if let Some(chart) = fields.chart {
        check_chart(chart, fields.fresh, &at, notes);
    }
    if fields.chart.is_some() && fields.versions.is_empty() {
        notes
            .error("no-versions", at(&["chart"]), format!("the addon `{name}` has a chart but no versions"))
            .hint("add `versions: [{ version: …, kubernetes: \">=1.32 <1.37\" }]`");
    }
    let release_name = fields.release_name.unwrap_or(fields.name);
    let release_namespace = fields.release_namespace.unwrap_or("kube-system");
    let release_name = label(release_name, "the Helm release", Some(at(&["release", "name"])), notes);
    let release_namespace =
        label(release_namespace, "the namespace", Some(at(&["release", "namespace"])), notes);
    let release_name = release_name.and_then(|release| helm_name(release, &at, notes));
    let mut depends_on: Vec<Label> = Vec::new();
    for (index, other) in fields.depends_on.iter().enumerate() {
        let place = at(&["dependsOn", &index.to_string()]);
        depends_on.extend(label(other, "the addon", Some(place), notes));
    }
    depends_on.sort();
    depends_on.dedup();
    let values_from = values_from(fields, written, base, notes)?;
    Some(Addon {
        name,
        chart: fields.chart.map(|chart| Chart {
            repository: chart.repository.trim_end_matches('/').to_owned(),
            name: chart.name.clone(),
        }),
        matrix: matrix?,
        max_minor_step: fields
            .upgrade
            .and_then(|upgrade| upgrade.max_minor_step)
            .and_then(|step| step.try_into().ok())
            .map(|minors| MinorStep {
                minors,
                origin: origin_at(written, &[base, &["upgrade", "maxMinorStep"]].concat()),
            }),
        release_name: release_name?,
        release_namespace: release_namespace?,
        stage: match fields.stage {
            written::Stage::Bootstrap => Stage::Bootstrap,
            written::Stage::Default => Stage::Default,
        },
        depends_on,
        enabled: fields.enabled,
        values_from,
    })
}

/// Checks where a chart comes from. Only credentials are refused in a frozen addon: a release stays readable even if checks
/// become stricter.
fn check_chart(chart: &written::Chart, is_fresh: bool, at: &dyn Fn(&[&str]) -> Place, notes: &mut Notes) {
    let place = at(&["chart", "repository"]);
    if holds_credential(&chart.repository) {
        notes
            .error("secret", Place { source: String::new(), ..place }, "the address holds a credential")
            .hint("remove it from the address: many people can read the tree");
        return;
    }
    if !is_fresh {
        return;
    }
    check_address(address::CHARTS, &chart.repository, "wrong-address", place.clone(), notes);
    if let Some(folder) = chart.repository.strip_suffix("/index.yaml") {
        notes
            .error("wrong-address", place, "this is the index of a repository, not the repository")
            .hint(format!("write `{folder}`: Helm adds `index.yaml` itself"));
    } else if let Some((folder, archive)) = archive(&chart.repository) {
        notes
            .error("wrong-address", place, format!("`{archive}` is the archive of a chart, not a repository"))
            .hint(format!(
                "write the address of the repository, such as `{folder}`: Helm finds the archive in the index"
            ));
    }
    check_chart_name(chart, at(&["chart", "name"]), notes);
}

/// Splits the address of a chart's archive into its folder and its name.
fn archive(address: &str) -> Option<(&str, &str)> {
    let (folder, name) = address.rsplit_once('/')?;
    let is_archive = [".tgz", ".tar.gz"].iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
    (is_archive && folder.contains("://") && !address.starts_with("oci://")).then_some((folder, name))
}

/// Checks the name of a chart in its repository. In a registry it is a path that only leads downwards; the index of a
/// repository has names of one word.
fn check_chart_name(chart: &written::Chart, place: Place, notes: &mut Notes) {
    let is_registry = chart.repository.starts_with("oci://");
    let part = |part: &str| {
        let ends = |c: char| c.is_ascii_alphanumeric();
        let inside = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        part.starts_with(ends) && part.ends_with(ends) && part.chars().all(inside)
    };
    let parts = chart.name.split('/').count();
    let lower = !is_registry || !chart.name.contains(|c: char| c.is_ascii_uppercase());
    let sound = chart.name.split('/').all(part) && !chart.name.contains("..") && lower;
    if sound && (is_registry || parts == 1) {
        return;
    }
    let note = notes.error(
        "wrong-address",
        place,
        format!("`{}` is not a valid chart name", chart.name.escape_debug()),
    );
    match chart.name.rsplit_once('/') {
        Some((_, name)) if sound => note.hint(format!(
            "write `{name}`: only names in a registry (`oci://…`) have several parts, and `helm search repo` shows the local name of a repository first"
        )),
        _ => note.hint(
            "write the name as `helm search repo` or the registry shows it; names in a registry are lower-case",
        ),
    };
}

/// Limits the name of a Helm release to 53 characters, like Helm, which appends suffixes.
fn helm_name(name: Label, at: &dyn Fn(&[&str]) -> Place, notes: &mut Notes) -> Option<Label> {
    const HELM_LIMIT: usize = 53;
    if name.as_str().len() > HELM_LIMIT {
        notes
            .error(
                "wrong-name",
                at(&["release", "name"]),
                format!("the Helm release `{name}` has more than {HELM_LIMIT} characters"),
            )
            .hint("set a shorter `release.name`");
        return None;
    }
    Some(name)
}

fn matrix<T>(
    fields: &AddonFields<'_>,
    written: &Written<T>,
    base: &[&str],
    notes: &mut Notes,
) -> Option<Vec<Requirement>> {
    let at = |path: &[&str]| place_at(written, &[base, path].concat());
    let mut rows: Vec<Requirement> = Vec::new();
    let mut sound = true;
    for (index, row) in fields.versions.iter().enumerate() {
        let index = index.to_string();
        let version = addon_version(&row.version, at(&["versions", &index, "version"]), notes);
        let kubernetes = range(&row.kubernetes, at(&["versions", &index, "kubernetes"]), notes);
        let (Some(version), Some(kubernetes)) = (version, kubernetes) else {
            sound = false;
            continue;
        };
        if rows.iter().any(|other| other.version.is_same(&version)) {
            notes
                .error(
                    "duplicate",
                    at(&["versions", &index, "version"]),
                    format!("version {version} appears twice in the matrix"),
                )
                .hint("join the two ranges with `||`");
        }
        let origin = |key| origin_at(written, &[base, &["versions", &index, key]].concat());
        let (version_origin, kubernetes_origin) = (origin("version"), origin("kubernetes"));
        rows.push(Requirement { version, kubernetes, version_origin, kubernetes_origin });
    }
    rows.sort_by(|a, b| b.version.cmp(&a.version));
    sound.then_some(rows)
}

fn values_from<T>(
    fields: &AddonFields<'_>,
    written: &Written<T>,
    base: &[&str],
    notes: &mut Notes,
) -> Option<Vec<ValuesFrom>> {
    let mut all = Vec::new();
    for (index, from) in fields.values_from.iter().enumerate() {
        let index = index.to_string();
        let path = [base, &["valuesFrom", &index]].concat();
        let (kind, name, field) = match (&from.secret, &from.config_map) {
            (Some(secret), None) => (ValuesSource::Secret, secret, "secret"),
            (None, Some(config_map)) => (ValuesSource::ConfigMap, config_map, "configMap"),
            _ => {
                notes
                    .error(
                        "values-from",
                        place_at(written, &path),
                        "values can come from a `secret` or from a `configMap`, but not from both",
                    )
                    .hint("name one of them");
                return None;
            }
        };
        all.push(ValuesFrom {
            kind,
            name: name.clone(),
            origin: origin_at(written, &[path.as_slice(), &[field]].concat()),
            key: from.key.clone().unwrap_or_else(|| "values.yaml".to_owned()),
            path: from.path.clone(),
            optional: from.optional.unwrap_or(false),
        });
    }
    Some(all)
}

pub(super) fn origin_at<T>(written: &Written<T>, path: &[&str]) -> Origin {
    let mut node = &written.node;
    for name in path {
        let next = match name.parse::<usize>() {
            Ok(at) => node.as_sequence().and_then(|items| items.get(at)),
            Err(_) => node.get(name),
        };
        node = next.unwrap_or(node);
    }
    node.origin
}
