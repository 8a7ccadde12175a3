//! Points in time and durations, as Go's `time` stores and prints them.
//!
//! The local zone is UTC, as in the controller's image.

use std::fmt;

use super::layout;

/// A `time.Time` without a monotonic reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Time {
    /// Seconds since 1 January 1970 UTC.
    pub(super) seconds: i64,
    pub(super) nanos: u32,
    pub(super) zone: Zone,
}

/// The zone in which a time is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Zone {
    /// UTC, which is also the local zone.
    Utc,
    /// A fixed offset in seconds east of UTC, with a name that may be empty.
    Fixed(String, i64),
}

/// The first second of the year 1, which is Go's zero time.
const ZERO_SECONDS: i64 = -62_135_596_800;
const DAY: i64 = 86_400;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A calendar date and a time of day.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) weekday: i64,
    pub(super) year_day: i64,
}

impl Time {
    /// `time.Time{}`
    pub(super) fn zero() -> Time {
        Time { seconds: ZERO_SECONDS, nanos: 0, zone: Zone::Utc }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.seconds == ZERO_SECONDS && self.nanos == 0
    }

    pub(super) fn offset(&self) -> i64 {
        match &self.zone {
            Zone::Utc => 0,
            Zone::Fixed(_, offset) => *offset,
        }
    }

    pub(super) fn zone_name(&self) -> &str {
        match &self.zone {
            Zone::Utc => "UTC",
            Zone::Fixed(name, _) => name,
        }
    }

    /// The date and time of day in its own zone.
    pub(super) fn civil(&self) -> Civil {
        let local = self.seconds.saturating_add(self.offset());
        let (days, clock) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        Civil {
            year,
            month,
            day,
            hour: clock / 3600,
            minute: clock / 60 % 60,
            second: clock % 60,
            weekday: (days + 4).rem_euclid(7),
            year_day: days - days_before(year, 1, 1) + 1,
        }
    }

    /// The time this many nanoseconds later.
    pub(super) fn plus(&self, nanos: i64) -> Time {
        let total = i64::from(self.nanos) + nanos.rem_euclid(1_000_000_000);
        let seconds = nanos.div_euclid(1_000_000_000) + total / 1_000_000_000;
        Time {
            seconds: self.seconds.wrapping_add(seconds),
            nanos: u32::try_from(total % 1_000_000_000).unwrap_or(0),
            zone: self.zone.clone(),
        }
    }

    /// The form used in JSON; none for years outside 0 to 9999, or for offsets of a day or more.
    pub(super) fn rfc3339(&self) -> Option<String> {
        let year = self.civil().year;
        let text = layout::format(self, b"2006-01-02T15:04:05.999999999Z07:00");
        let whole_hours = self.offset().abs() < DAY;
        ((0..10_000).contains(&year) && whole_hours).then(|| String::from_utf8_lossy(&text).into_owned())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = layout::format(self, b"2006-01-02 15:04:05.999999999 -0700 MST");
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The number of days of a month.
pub(super) fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The number of days from 1 January 1970 to a date. The month may be outside 1 to 12.
pub(super) fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    // If years start in March, the leap day comes last.
    let shifted = if month > 2 { year } else { year - 1 };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let month_index = (month + 9) % 12;
    let day_of_year = (153 * month_index + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The year, month and day for a number of days since 1 January 1970.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// `time.Month.String`
pub(super) fn month_name(month: i64) -> String {
    let index = usize::try_from(month - 1).unwrap_or(usize::MAX);
    MONTHS.get(index).map_or_else(|| format!("%!Month({month})"), |name| (*name).to_owned())
}

/// `time.Weekday.String`
pub(super) fn weekday_name(day: i64) -> String {
    let index = usize::try_from(day).unwrap_or(usize::MAX);
    DAYS.get(index).map_or_else(|| format!("%!Weekday({day})"), |name| (*name).to_owned())
}
