//! The current day and time. Only commands that get neither as an argument ask for them.

use std::{
    env,
    time::{SystemTime, UNIX_EPOCH},
};

use chrono::{DateTime, Utc};

use crate::{model::Date, note::Fault};

/// Environment variable that sets the day, so that a pipeline gives the same result whenever it runs.
const TODAY: &str = "STACKLOOM_TODAY";

/// Environment variable that sets the time, for the same reason.
const NOW: &str = "STACKLOOM_NOW";

/// The current time, in UTC.
pub fn now() -> Result<DateTime<Utc>, Fault> {
    let Some(text) = env::var_os(NOW).filter(|text| !text.is_empty()) else {
        return Ok(SystemTime::now().into());
    };
    let text = text.to_string_lossy();
    DateTime::parse_from_rfc3339(&text).map(|time| time.to_utc()).map_err(|_| {
        Fault::new(format!("{NOW} is `{text}`, which is not a time"))
            .hint("write it as 2026-11-23T09:00:00Z, or unset it")
    })
}

/// The current day, in UTC: that of the time, if only that is set.
pub fn today() -> Result<Date, Fault> {
    if let Some(text) = env::var_os(TODAY).filter(|text| !text.is_empty()) {
        let text = text.to_string_lossy();
        let wrong = || Fault::new(format!("{TODAY} is `{text}`, which is not a date"));
        return Date::parse(&text).ok_or_else(|| wrong().hint("write it as YYYY-MM-DD, or unset it"));
    }
    if env::var_os(NOW).is_some_and(|text| !text.is_empty()) {
        return Ok(Date::from(now()?.date_naive()));
    }
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
    let date = seconds.and_then(|seconds| i64::try_from(seconds).ok()).and_then(Date::of_unix_time);
    date.ok_or_else(|| {
        Fault::new("the clock of this machine is wrong").hint("set it, or give the day with `--today`")
    })
}
