//! The upgrade plan: the versions that the control plane and the workers go through.
//!
//! Source: `exp/topology/desiredstate/upgrade_plan.go`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::version::{Order, Version};

/// Maximum number of minor versions that workers may lag behind.
const SKEW: u64 = 3;

/// The versions of an upgrade, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpgradePath {
    /// Versions of the control plane.
    pub control_plane: Vec<String>,
    /// Versions of the workers.
    pub workers: Vec<String>,
}

/// The start and the end of an upgrade.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span<'a> {
    /// The version that the topology asks for.
    pub desired: &'a str,
    /// The control plane's version.
    pub control_plane: &'a str,
    /// The lowest version of a worker; none without workers.
    pub workers: Option<&'a str>,
}

/// Plans an upgrade; `versions` are those that the class lists, if any.
pub(crate) fn plan(span: Span<'_>, versions: &[String]) -> Result<UpgradePath, String> {
    let desired = read(span.desired)?;
    let control_plane = read(span.control_plane)?;
    let workers = span.workers.map(read).transpose()?;
    let arrived = |version: &Version| version.to_string() == desired.to_string();
    if arrived(&control_plane) && workers.as_ref().is_none_or(arrived) {
        return Ok(UpgradePath::default());
    }
    let steps = if arrived(&control_plane) {
        Vec::new()
    } else if versions.is_empty() {
        one_minor(span, &desired, &control_plane)?
    } else {
        from_class(versions, &desired, &control_plane)?
    };
    let minors = check_control_plane(span, &steps, &desired, &control_plane)?;
    let workers = match workers {
        Some(version) if !same(&version, &desired) => plan_workers(span, &steps, &desired, version, &minors)?,
        _ => Vec::new(),
    };
    Ok(UpgradePath { control_plane: steps, workers })
}

fn read(text: &str) -> Result<Version, String> {
    Version::tolerant(text).ok_or_else(|| format!("failed to parse version {text}"))
}

fn same(left: &Version, right: &Version) -> bool {
    left.compare_builds(right) == Order::Known(Ordering::Equal)
}

fn one_minor(span: Span<'_>, desired: &Version, control_plane: &Version) -> Result<Vec<String>, String> {
    if desired.minor > control_plane.minor + 1 {
        let Span { desired, control_plane, .. } = span;
        return Err(format!("cannot compute an upgrade plan from {control_plane} to {desired}"));
    }
    Ok(vec![span.desired.to_owned()])
}

/// Selects the last version of every minor version on the way.
fn from_class(
    versions: &[String],
    desired: &Version,
    control_plane: &Version,
) -> Result<Vec<String>, String> {
    let mut on_the_way = Vec::new();
    for text in versions {
        let version = read(text)?;
        if version.compare(control_plane) != Ordering::Greater {
            continue;
        }
        if version.compare_builds(desired) == Order::Known(Ordering::Greater) {
            break;
        }
        on_the_way.push((text.clone(), version.clone()));
        if version.to_string() == desired.to_string() {
            break;
        }
    }
    let mut steps: Vec<String> = Vec::new();
    let mut minor = control_plane.minor;
    if minor == desired.minor
        && let Some((first, _)) = on_the_way.first()
    {
        steps.push(first.clone());
    }
    for (text, version) in on_the_way {
        if version.minor > minor {
            steps.push(text.clone());
        }
        if version.minor == minor
            && let Some(last) = steps.last_mut()
        {
            *last = text;
        }
        minor = version.minor;
    }
    Ok(steps)
}

/// Checks the control plane's steps, and returns the version of each minor.
fn check_control_plane(
    span: Span<'_>,
    steps: &[String],
    desired: &Version,
    control_plane: &Version,
) -> Result<BTreeMap<u64, String>, String> {
    let mut minors = BTreeMap::from([(control_plane.minor, span.control_plane.to_owned())]);
    if same(control_plane, desired) {
        return match steps {
            [] => Ok(minors),
            _ => Err("invalid ControlPlane upgrade plan: control plane is already at the \
                      desired version"
                .to_owned()),
        };
    }
    let mut current = control_plane.clone();
    for (at, text) in steps.iter().enumerate() {
        let version = read(text)?;
        if !version.exceeds(&current) {
            return Err(format!(
                "invalid ControlPlane upgrade plan: item {at}; version {text} must be greater \
                 than v{current}"
            ));
        }
        if version.minor != current.minor && version.minor != current.minor + 1 {
            return Err(format!(
                "invalid ControlPlane upgrade plan: item {at}; expecting a version with minor \
                 {} or {}, found version {text}",
                current.minor,
                current.minor + 1
            ));
        }
        minors.insert(version.minor, text.clone());
        current = version;
    }
    if same(&current, desired) {
        Ok(minors)
    } else {
        Err(format!(
            "invalid ControlPlane upgrade plan: control plane upgrade plan must end with \
             version {}, ends with v{current} instead",
            span.desired
        ))
    }
}

fn plan_workers(
    span: Span<'_>,
    steps: &[String],
    desired: &Version,
    lowest: Version,
    minors: &BTreeMap<u64, String>,
) -> Result<Vec<String>, String> {
    let mut workers: Vec<String> = Vec::new();
    for ahead in (SKEW..desired.minor.saturating_sub(lowest.minor)).step_by(3) {
        let minor = lowest.minor + ahead;
        let version = minors
            .get(&minor)
            .ok_or_else(|| format!("invalid upgrade plan; unable to identify version for minor {minor}"))?;
        workers.push(version.clone());
    }
    if workers.last().is_none_or(|last| last != span.desired) {
        workers.push(span.desired.to_owned());
    }
    check_workers(span, steps, desired, lowest, &workers)?;
    Ok(workers)
}

fn check_workers(
    span: Span<'_>,
    steps: &[String],
    desired: &Version,
    lowest: Version,
    workers: &[String],
) -> Result<(), String> {
    let place = |text: &str| {
        if text == span.control_plane {
            return Some(-1);
        }
        let at = steps.iter().position(|step| step == text)?;
        i64::try_from(at).ok()
    };
    let mut current = lowest;
    for (at, text) in workers.iter().enumerate() {
        let version = read(text)?;
        let wrong = |why: String| format!("invalid workers upgrade plan, item {at}; {why}");
        match version.compare_builds(&current) {
            Order::Known(Ordering::Greater) => {}
            Order::Known(_) => {
                return Err(wrong(format!("version {text} must be greater than v{current}")));
            }
            Order::Unknown => {
                let (target, from) = (place(text), place(&format!("v{current}")));
                let (Some(target), Some(from)) = (target, from) else {
                    return Err(wrong(format!("failed to determine version {text} order")));
                };
                if target < from {
                    return Err(wrong(format!("version {text} must be before v{current}")));
                }
            }
        }
        if version.minor.saturating_sub(current.minor) > SKEW {
            return Err(wrong(format!(
                "workers cannot go from minor {} to minor {}, an intermediate step is required",
                current.minor, version.minor
            )));
        }
        current = version;
    }
    if same(&current, desired) {
        Ok(())
    } else {
        Err(format!(
            "invalid workers upgrade plan; workers upgrade plan must end with version {}",
            span.desired
        ))
    }
}
