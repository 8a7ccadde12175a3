//! Excludes releases that the management cluster does not support yet.

use std::{collections::BTreeMap, sync::Arc};

use super::situation::{Constraint, ConstraintKind};
use crate::{model::ManagementCluster, release::Release, yaml::Origin};

/// Unmet requirements, each with the releases that have it.
#[derive(Default)]
struct Needs(BTreeMap<(String, String), Need>);

struct Need {
    releases: Vec<usize>,
    origin: Option<Origin>,
    way: String,
}

/// Adds unmet requirements of the next release to each move. A requirement that may or may not be met is not a constraint;
/// `check` warns about it.
pub(super) fn forbid(
    (line, start): (&[Arc<Release>], usize),
    management: &ManagementCluster,
    moves: &mut BTreeMap<(usize, usize), Vec<usize>>,
    constraints: &mut Vec<Constraint>,
) {
    for ((need, found), what) in all(line, start, management).0 {
        let at = constraints.len();
        let text = if need.is_empty() {
            found
        } else {
            let names: Vec<&str> = what.releases.iter().map(|one| line[*one].name.as_str()).collect();
            format!("{} {need}, but {found}", each(&names))
        };
        let lift = format!("the management cluster `{}`: {}", management.name, what.way);
        constraints.push(Constraint { kind: ConstraintKind::Requirement, text, origin: what.origin, lift });
        for ((_, to), broken) in moves.iter_mut() {
            if what.releases.contains(to) {
                broken.push(at);
            }
        }
    }
}

/// Whether a management cluster lacks what a release needs.
pub(super) fn are_unmet(release: &Release, management: &ManagementCluster) -> bool {
    release.unsupported(management).is_some() || release.unmet(management).iter().any(|one| !one.is_doubtful)
}

fn all(line: &[Arc<Release>], start: usize, management: &ManagementCluster) -> Needs {
    let mut needs = Needs::default();
    for (at, release) in line.iter().enumerate().filter(|(at, _)| *at != start) {
        if let Some(unsupported) = release.unsupported(management) {
            let text = format!("in `{}`, {}: {}", management.name, unsupported.message, unsupported.why);
            needs.add(at, (String::new(), text), Some(unsupported.origin), unsupported.way.to_owned());
        }
        for one in release.unmet(management).into_iter().filter(|one| !one.is_doubtful) {
            needs.add(at, (one.need, one.found), Some(one.origin), one.way);
        }
    }
    needs
}

impl Needs {
    fn add(&mut self, release: usize, key: (String, String), origin: Option<Origin>, way: String) {
        let need = self.0.entry(key).or_insert_with(|| Need { releases: Vec::new(), origin, way });
        need.releases.push(release);
    }
}

/// Releases as the subject of a sentence in the singular.
fn each(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("the release `{one}`"),
        [one, other] => format!("each of `{one}` and `{other}`"),
        [first, .., last] => format!("each of the {} releases from `{first}` to `{last}`", names.len()),
    }
}
