//! Calendar days. The current day is an input.

use std::fmt;

use chrono::{DateTime, Days, NaiveDate};

/// A calendar day, such as 2027-02-28.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(NaiveDate);

impl Date {
    /// Parses `YYYY-MM-DD` and no other form.
    pub fn parse(text: &str) -> Option<Self> {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().map(Self)?;
        // The library also accepts `2027-2-28`.
        (text.len() == 10 && date.to_string() == text && !text.starts_with("0000")).then_some(date)
    }

    /// The day, in UTC, of a Unix time in seconds.
    pub fn of_unix_time(seconds: i64) -> Option<Self> {
        DateTime::from_timestamp(seconds, 0).map(|time| Self(time.date_naive()))
    }

    /// The day this many days later, or none if the calendar ends before that.
    pub fn after_days(self, days: u32) -> Option<Self> {
        self.0.checked_add_days(Days::new(u64::from(days))).map(Self)
    }

    /// The number of days until `other`; negative if `other` is earlier.
    pub fn days_until(self, other: Self) -> i64 {
        other.0.signed_duration_since(self.0).num_days()
    }
}

impl From<NaiveDate> for Date {
    fn from(date: NaiveDate) -> Self {
        Self(date)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_a_day_of_the_calendar() {
        for text in ["2026-11-23", "2028-02-29", "0001-01-01"] {
            assert_eq!(Date::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "2026-2-03",
            "2026-13-01",
            "2027-02-29",
            "0000-01-01",
            "+2026-01-1",
            "2026-11-23 ",
            "-001-01-01",
        ] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
        let date = Date::parse("2026-11-23").unwrap();
        assert_eq!(date.after_days(97).unwrap().to_string(), "2027-02-28");
        let later = Date::parse("2027-02-28").unwrap();
        assert_eq!((date.days_until(later), later.days_until(date)), (97, -97));
        assert_eq!(Date::of_unix_time(1_795_478_399).unwrap(), date);
    }
}
