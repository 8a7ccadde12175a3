//! Operations on releases: listing them, cutting the next ones, and importing those of other repositories.

use super::{Failure, Understood, draw_parts::draw_for_messages, understand_sound};
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

/// Lists all releases of a world with their users, skipping definitions with errors. Errors in the objects to generate are
/// not looked for.
pub fn release_list(
    world: &dyn World,
    notes: &mut Notes,
) -> Result<(release::ReleaseList, LeftOut), Failure> {
    let (understood, left) = understand_sound(world, notes)?;
    let Understood { input, definitions, model, releases, .. } = &understood;
    Ok((release::release_list(definitions, model, releases, &input.sources), left))
}

/// Determines what to release: every requested stack and minor, with its next release if its content differs from the last
/// one. The new releases are checked like those that clusters use.
pub fn cut(
    world: &dyn World,
    request: &release::CutRequest,
    notes: &mut Notes,
) -> Result<Vec<release::CutOutcome>, Failure> {
    let (understood, left) = understand_sound(world, notes)?;
    left.only_other_stacks(request.stack.as_ref(), notes)?;
    let Understood { input, definitions, model, resolution, releases } = &understood;
    let predict = |from: &Release, to: &Release| release::RebaseForecast {
        classes: rebase::class_forecasts(&model.fleet.management_clusters, from, to),
        rebases: rebase::rebases(model, releases, from, to),
    };
    // Other errors of clusters don't matter, because clusters may be waiting for these releases. But a lock whose digest
    // differs from that of a release would carry over into the next release.
    let mut planned = Notes::new();
    plan::plan(model, releases, &mut planned).ok();
    understood.locate(&mut planned);
    planned.iter().filter(|note| note.code == plan::CONTRADICTS).for_each(|note| notes.push(note.clone()));
    let stacks: Vec<_> = resolution.stacks(model).collect();
    let considered = release::cut(&stacks, releases, request, definitions, &predict, notes);
    understood.locate(notes);
    let cuts: Vec<&Release> = considered.iter().filter_map(|one| Some(&one.cut.as_ref()?.release)).collect();
    let is_cut = |head: &Release| {
        cuts.iter().any(|cut| (&cut.stack, &cut.kubernetes) == (&head.stack, &head.kubernetes))
    };
    let others = releases.shared_heads().map(AsRef::as_ref).filter(|head| !is_cut(head));
    let classes = check::Classes::unused(cuts.iter().copied(), others, &model.allowed(), &model.fleet);
    for release in cuts {
        notes.append(draw_for_messages(render::PartSubject::Release(release), &classes, input));
    }
    Ok(notes.halt(considered)?)
}

/// Imports releases from other repositories, verified like numbered releases. Clusters may have errors, because they may be
/// waiting for these releases.
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
            notes.append(draw_for_messages(render::PartSubject::Release(release), &classes, &input));
        }
    }
    Ok((notes.halt(taken)?, lock))
}
