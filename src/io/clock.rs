//! Which day is today. Only commands that get no date as an argument ask for it.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{model::Date, note::Fault};

/// Today, in UTC.
pub fn today() -> Result<Date, Fault> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
    let date = seconds.and_then(|seconds| i64::try_from(seconds).ok()).and_then(Date::of_unix_time);
    date.ok_or_else(|| {
        Fault::new("the clock of this machine is wrong").hint("set it, or give the day with `--today`")
    })
}
