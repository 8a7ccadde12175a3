//! The day from which warnings count: an argument, or the current day. Nothing else depends on it.

use crate::{io::clock, model::Date, note::Fault};

/// The day that warnings count from.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Today {
    /// The day that counts as today for end-of-life dates and holds, as YYYY-MM-DD [default: today, in UTC,
    /// or `STACKLOOM_TODAY`]
    #[arg(long = "today", value_name = "DATE", value_parser = date)]
    given: Option<Date>,
}

impl Today {
    /// The given day, or the current one.
    pub(super) fn day(self) -> Result<Date, Fault> {
        self.given.map_or_else(clock::today, Ok)
    }
}

/// Parses a day.
pub(super) fn date(text: &str) -> Result<Date, String> {
    Date::parse(text).ok_or_else(|| "write it as YYYY-MM-DD".to_owned())
}
