//! The reviews and labels of a proposal.

use std::collections::BTreeSet;

use crate::{
    io::forge::{ForgeRepository, NotAsked},
    note::{Fault, Notes},
    pull_request::{self, ReviewsAndLabels},
    report::Report,
};

/// The maximum number of people and teams that are asked for a review. GitHub takes no more.
const REVIEWERS: usize = 15;

/// The reviews of the owners of all clusters that change, and the labels that the repository has for such a request.
/// Owners beyond the maximum are left out with a warning.
pub(super) fn of(
    forge: &ForgeRepository<'_>,
    made: &Report,
    is_rollout: bool,
    notes: &mut Notes,
) -> ReviewsAndLabels {
    let reviewers = pull_request::handles(made.clusters.iter().flat_map(|one| &one.owners));
    if reviewers.len() > REVIEWERS {
        let count = reviewers.len();
        notes
            .warning(
                "not-asked",
                None,
                format!(
                    "only the first {REVIEWERS} of {count} owners, by name, are asked for a review: a request accepts no more"
                ),
            )
            .hint("select fewer clusters, or make teams their owners");
    }
    let kind = if is_rollout { "rollout" } else { "upgrade" };
    let risk = made.clusters.iter().map(|one| one.risk).max().unwrap_or_default();
    let wanted = [kind, risk.as_str()].map(|word| format!("stackloom/{word}"));
    let labels = forge.labels().into_iter().filter(|label| wanted.contains(label)).collect();
    ReviewsAndLabels { reviewers: reviewers.into_iter().take(REVIEWERS).collect(), labels }
}

/// Asks for reviews and sets labels. What the forge does not do is a warning; what it does not answer is asked again by the
/// next run. Returns the people and teams who were not asked.
pub(super) fn ask(
    forge: &ForgeRepository<'_>,
    number: u64,
    (new, old): (&ReviewsAndLabels, &[String]),
    (title, body): (&str, &str),
    notes: &mut Notes,
) -> Result<BTreeSet<String>, Fault> {
    match forge.ask(number, new, old) {
        Ok(NotAsked { reviewers, reasons }) => {
            for why in reasons {
                notes.warning("not-asked", None, why);
            }
            forge.update(number, title, body)?;
            Ok(reviewers)
        }
        Err(fault) => {
            notes.warning("not-asked", None, fault.to_string()).hint("the next run asks again");
            Ok(new.reviewers.clone())
        }
    }
}
