//! The day for warnings and holds, and the time for maintenance windows: an argument, or the current one.

use chrono::{DateTime, Utc};

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

    /// The given day; otherwise the day of a given time, or the current one.
    pub(super) fn day_at(self, now: Option<Now>) -> Result<Date, Fault> {
        let of_time = now.and_then(|one| one.now).map(|now| Date::from(now.date_naive()));
        self.given.or(of_time).map_or_else(clock::today, Ok)
    }
}

/// The time for maintenance windows.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Now {
    /// The time that counts as now, as 2026-11-23T09:00:00Z [default: now, or `STACKLOOM_NOW`]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    now: Option<DateTime<Utc>>,
}

impl Now {
    /// The given time, or the current one.
    pub(super) fn moment(self) -> Result<DateTime<Utc>, Fault> {
        self.now.map_or_else(clock::now, Ok)
    }
}

fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    let read = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc());
    read.map_err(|_| "write it as 2026-11-23T09:00:00Z".to_owned())
}

/// Parses a day.
pub(super) fn date(text: &str) -> Result<Date, String> {
    Date::parse(text).ok_or_else(|| "not a day of the calendar; write it as YYYY-MM-DD".to_owned())
}
