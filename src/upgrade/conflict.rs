//! Explains why there is no plan: the smallest set of constraints that rules out every plan.
//!
//! Removing constraints never makes a plan impossible. A set therefore rules out every plan if, and only if, it contains a
//! member of each set of constraints whose lifting makes a plan possible. These sets are found one by one. The answer is the
//! smallest set with a member of each, as soon as it alone rules out every plan.

use std::collections::BTreeSet;

use super::{
    plan::broken,
    release_path::{NotFound, search},
    situation::{ConstraintKind, Kept, Situation},
};

/// The search gives up after finding this many sets whose lifting makes a plan possible.
const SETS: usize = 300;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The constraints, each of which is necessary.
    pub constraints: Vec<Blocking>,
}

/// A constraint that rules out every plan, together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocking {
    /// Its index.
    pub constraint: usize,
    /// Whether lifting this constraint alone makes a plan possible; none if it cannot be lifted, or if that depends on a
    /// release that does not exist.
    pub is_enough: Option<bool>,
}

/// The smallest set of constraints that rules out every plan; none if there is no plan even without constraints.
pub fn conflict(situation: &Situation) -> Result<Option<Conflict>, NotFound> {
    let mut ways_out: Vec<BTreeSet<usize>> = Vec::new();
    for _ in 0..SETS {
        let candidate = smallest_hitting(&ways_out);
        match search(situation, &situation.only(&candidate), None) {
            Err(NotFound::Impossible) if candidate.is_empty() => return Ok(None),
            Err(NotFound::Impossible) => return Ok(Some(reported(situation, &candidate)?)),
            Err(NotFound::TooMany) => return Err(NotFound::TooMany),
            Ok(found) => {
                ways_out.push(way_out(situation, &candidate, &broken(situation, &found))?);
            }
        }
    }
    Err(NotFound::TooMany)
}

fn reported(situation: &Situation, constraints: &[usize]) -> Result<Conflict, NotFound> {
    let one = |constraint: &usize| {
        let mut kept = situation.all();
        kept.0[*constraint] = false;
        let can_be_lifted = !situation.constraints[*constraint].kind.is_law();
        let is_known = can_be_lifted && !lacks_release(situation, *constraint);
        let is_enough = is_known.then(|| is_possible(situation, &kept)).transpose()?;
        Ok(Blocking { constraint: *constraint, is_enough })
    };
    Ok(Conflict { constraints: constraints.iter().map(one).collect::<Result<_, _>>()? })
}

/// Whether a constraint is that a minor has no release, and the situation has none to put in its place.
fn lacks_release(situation: &Situation, constraint: usize) -> bool {
    let is_adjacent =
        |(from, to): &(usize, usize)| situation.minor(*to).minor <= situation.minor(*from).minor + 1;
    let mut moves = situation.moves.iter().filter(|(_, broken)| broken.contains(&constraint));
    situation.constraints[constraint].kind == ConstraintKind::MissingRelease
        && !moves.any(|(ends, _)| is_adjacent(ends))
}

fn is_possible(situation: &Situation, kept: &Kept) -> Result<bool, NotFound> {
    match search(situation, kept, None) {
        Ok(_) => Ok(true),
        Err(NotFound::Impossible) => Ok(false),
        Err(NotFound::TooMany) => Err(NotFound::TooMany),
    }
}

/// A minimal set of constraints to lift to make a plan possible, among those that a given plan breaks.
fn way_out(
    situation: &Situation,
    candidate: &[usize],
    broken: &BTreeSet<usize>,
) -> Result<BTreeSet<usize>, NotFound> {
    let mut kept = situation.all();
    for one in broken {
        kept.0[*one] = false;
    }
    let mut lifted = broken.clone();
    for one in broken.iter().filter(|one| !candidate.contains(one)) {
        kept.0[*one] = true;
        if is_possible(situation, &kept)? {
            lifted.remove(one);
        } else {
            kept.0[*one] = false;
        }
    }
    Ok(lifted)
}

/// The smallest set with a member of each of `sets`; the first in order if there are several.
fn smallest_hitting(sets: &[BTreeSet<usize>]) -> Vec<usize> {
    let mut size = 0;
    loop {
        let mut chosen = Vec::new();
        if hit(sets, size, &mut chosen) {
            chosen.sort_unstable();
            return chosen;
        }
        size += 1;
    }
}

fn hit(sets: &[BTreeSet<usize>], room: usize, chosen: &mut Vec<usize>) -> bool {
    let Some(missed) = sets.iter().find(|set| !chosen.iter().any(|one| set.contains(one))) else {
        return true;
    };
    if room == 0 {
        return false;
    }
    for one in missed {
        chosen.push(*one);
        if hit(sets, room - 1, chosen) {
            return true;
        }
        chosen.pop();
    }
    false
}
