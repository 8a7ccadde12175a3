//! What is done with releases instead of generating: list them, cut the next ones, take those of others.

use std::collections::BTreeSet;

use super::{Failure, Understood, understand_sound, weave::draw};
use crate::{
    check, definition,
    model::Lock,
    note::Notes,
    partial::LeftOut,
    plan, rebase,
    release::{self, Release},
    render,
    world::{LOCK, World},
    yaml::Source,
};

/// Every release of a world, and who uses it, as far as definitions are sound. Faults of what would be made of it are none
/// here.
pub fn release_list(
    world: &dyn World,
    notes: &mut Notes,
) -> Result<(release::ReleaseList, LeftOut), Failure> {
    let (understood, left) = understand_sound(world, notes)?;
    let Understood { input, definitions, model, releases } = &understood;
    notes.append_as_warnings(releases.refused_and_unused(&BTreeSet::new()));
    Ok((release::release_list(definitions, model, releases, &input.sources), left))
}

/// What is to be released of a world: every stack and minor that is asked for, and its next release if it has another
/// content than the last one. Releases are checked as those that clusters use.
pub fn cut(
    world: &dyn World,
    request: &release::Request,
    notes: &mut Notes,
) -> Result<Vec<release::Considered>, Failure> {
    let (understood, left) = understand_sound(world, notes)?;
    left.only_other_stacks(request.stack.as_ref(), notes)?;
    let resolution = understood.resolution(notes)?;
    let Understood { input, definitions, model, releases } = &understood;
    let predict = |from: &Release, to: &Release| rebase::rebases(model, releases, from, to);
    // Clusters may wait for what is cut here, so that other faults of theirs are none; a lock that says other bytes than a
    // release did would go on into the next one.
    let mut planned = Notes::new();
    plan::plan(model, releases, &mut planned).ok();
    understood.locate(&mut planned);
    planned.iter().filter(|note| note.code == plan::CONTRADICTS).for_each(|note| notes.push(note.clone()));
    let considered = release::cut(&resolution, releases, request, (definitions, input), &predict, notes);
    let cuts: Vec<&Release> = considered.iter().filter_map(|one| Some(&one.cut.as_ref()?.release)).collect();
    let is_cut = |head: &Release| {
        cuts.iter().any(|cut| (&cut.stack, &cut.kubernetes) == (&head.stack, &head.kubernetes))
    };
    let others = releases.shared_heads().map(AsRef::as_ref).filter(|head| !is_cut(head));
    let classes = check::Classes::unused(cuts.iter().copied(), others, &model.allowed(), &model.fleet);
    for release in cuts {
        notes.append(draw(render::Subject::Release(release), &classes, input).1);
    }
    Ok(notes.halt(considered)?)
}

/// What came from elsewhere, verified like a numbered release. Clusters may be at fault: they may be waiting for what is
/// taken here.
pub fn take(
    world: &dyn World,
    arrivals: &[release::Arrival],
    notes: &mut Notes,
) -> Result<(Vec<release::Taken>, Lock), Failure> {
    let mut input = world.read(notes)?;
    let read = |source: &Source| definition::read_lock(source, notes).ok_or_else(|| notes.halted());
    let lock = input.sources.at(LOCK).map(read).transpose()?.unwrap_or_default();
    let mut taken = Vec::new();
    for arrival in arrivals {
        taken.extend(release::take(arrival, &mut input, &lock, notes));
    }
    let classes = check::Classes::default();
    for one in &taken {
        if let release::Taken::New { release, .. } = one {
            notes.append(draw(render::Subject::Release(release), &classes, &input).1);
        }
    }
    Ok((notes.halt(taken)?, lock))
}
