//! Which day is today, and what time it is. Only commands that get neither as an argument ask for it.

use std::{
    env,
    time::{SystemTime, UNIX_EPOCH},
};

use chrono::{DateTime, Utc};

use crate::{model::Date, note::Fault};

/// Names the day, so that a pipeline says the same whenever it runs.
const TODAY: &str = "STACKLOOM_TODAY";

/// Names the moment, for the same reason.
const NOW: &str = "STACKLOOM_NOW";

/// Now, in UTC.
pub fn now() -> Result<DateTime<Utc>, Fault> {
    let Some(text) = env::var_os(NOW).filter(|text| !text.is_empty()) else {
        return Ok(SystemTime::now().into());
    };
    let text = text.to_string_lossy();
    DateTime::parse_from_rfc3339(&text).map(|time| time.to_utc()).map_err(|_| {
        Fault::new(format!("{NOW} is `{text}`, and that is no moment"))
            .hint("write it as 2026-11-23T09:00:00Z, or unset it")
    })
}

/// Today, in UTC.
pub fn today() -> Result<Date, Fault> {
    if let Some(text) = env::var_os(TODAY).filter(|text| !text.is_empty()) {
        let text = text.to_string_lossy();
        let wrong = || Fault::new(format!("{TODAY} is `{text}`, and that is no day"));
        return Date::parse(&text).ok_or_else(|| wrong().hint("write it as YYYY-MM-DD, or unset it"));
    }
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
    let date = seconds.and_then(|seconds| i64::try_from(seconds).ok()).and_then(Date::of_unix_time);
    date.ok_or_else(|| {
        Fault::new("the clock of this machine is wrong").hint("set it, or give the day with `--today`")
    })
}
