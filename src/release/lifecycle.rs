//! How long a Kubernetes minor of a stack remains usable: its maturity according to the stack, and the end of its patches.
//!
//! The current day is an argument, and affects only warnings.

use std::{collections::BTreeMap, sync::Arc};

use super::{Release, list};
use crate::{
    definition::{Definitions, KubernetesRelease, Maturity},
    model::{Date, KubernetesVersion, Minor, StackId},
    note::{Diagnostic, Notes, Place},
};

/// The number of days before the end of life when warnings begin.
pub const AHEAD: u32 = 90;

/// The support status of a Kubernetes minor of a stack.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    pub stack: StackId,
    /// The Kubernetes minor that this is about.
    pub minor: Minor,
    /// The maturity that the stack declares; none if the stack does not serve the minor.
    pub maturity: Option<Maturity>,
    /// The day on which patches end.
    pub end_of_life: Option<Date>,
    /// The entry of the minor in the stack.
    place: Option<Place>,
}

/// The state of a minor at or near its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Expired,
    Ended(Date),
    Ends(Date, i64),
    Deprecated,
}

impl Lifecycle {
    /// Looks up the support status of a minor.
    pub fn of(definitions: &Definitions, stack: &StackId, minor: Minor) -> Self {
        let (maturity, end_of_life) = list::served_minor(definitions, stack, minor);
        let end_of_life = end_of_life.as_deref().and_then(Date::parse);
        let place = place(definitions, stack, minor);
        Self { stack: stack.clone(), minor, maturity, end_of_life, place }
    }

    fn ending(&self, today: Date) -> Option<Ending> {
        let left = self.end_of_life.map(|date| (date, today.days_until(date)));
        match (self.maturity, left) {
            (Some(Maturity::Expired), _) => Some(Ending::Expired),
            (_, Some((date, ..0))) => Some(Ending::Ended(date)),
            (_, Some((date, days))) if days <= i64::from(AHEAD) => Some(Ending::Ends(date, days)),
            (Some(Maturity::Deprecated), _) => Some(Ending::Deprecated),
            _ => None,
        }
    }

    /// Reports whether patches end soon or have ended, or the stack has deprecated or given up the minor.
    pub fn needs_attention(&self, today: Date) -> bool {
        self.ending(today).is_some()
    }

    /// Warns if the minor should no longer be used, or only for a short time.
    pub fn warn<'n>(&self, today: Date, notes: &'n mut Notes) -> Option<&'n mut Diagnostic> {
        let Self { stack, minor, .. } = self;
        let (code, message) = match self.ending(today)? {
            Ending::Expired => (
                "expired",
                format!("the stack `{stack}` no longer maintains Kubernetes {minor}: `maturity: expired`"),
            ),
            Ending::Ended(date) => {
                ("end-of-life", format!("Kubernetes {minor} of `{stack}` has had no patches since {date}"))
            }
            Ending::Ends(date, 0) => (
                "end-of-life",
                format!("Kubernetes {minor} of `{stack}` gets its last patches today, {date}"),
            ),
            Ending::Ends(date, 1) => (
                "end-of-life",
                format!("Kubernetes {minor} of `{stack}` gets patches for 1 more day, until {date}"),
            ),
            Ending::Ends(date, days) => (
                "end-of-life",
                format!("Kubernetes {minor} of `{stack}` gets patches for {days} more days, until {date}"),
            ),
            Ending::Deprecated => ("deprecated", format!("Kubernetes {minor} of `{stack}` is deprecated")),
        };
        Some(notes.warning(code, self.place.clone(), message))
    }
}

/// The support status of the minors of several releases.
pub fn lifecycles<'a>(
    definitions: &Definitions,
    releases: impl IntoIterator<Item = &'a Arc<Release>>,
) -> BTreeMap<(StackId, Minor), Lifecycle> {
    let mut known = BTreeMap::new();
    for release in releases {
        let (stack, minor) = (&release.stack, release.kubernetes.minor());
        let key = (stack.clone(), minor);
        known.entry(key).or_insert_with(|| Lifecycle::of(definitions, stack, minor));
    }
    known
}

/// The line of the stack definition that declares a minor.
fn place(definitions: &Definitions, stack: &StackId, minor: Minor) -> Option<Place> {
    let written = &definitions.stacks.get(&stack.to_string())?.stack;
    let of = |one: &KubernetesRelease| {
        KubernetesVersion::parse(&one.version).is_ok_and(|version| version.minor() == minor)
    };
    let at = written.value.spec.kubernetes.iter().position(of)?;
    let entry = written.node.at(&["spec", "kubernetes"])?.as_sequence()?.get(at)?;
    let node = entry.get("version").unwrap_or(entry);
    Some(written.source.word(node.origin.offset as usize))
}
