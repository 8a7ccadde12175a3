//! Maintenance windows and freezes: whether steps may be proposed now, and if not, when.

use chrono::{DateTime, Datelike as _, Days, NaiveDate, NaiveTime, TimeZone as _, Utc, Weekday};
use chrono_tz::Tz;

use super::Date;

/// When steps may be proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// The time zone that determines when days begin.
    pub zone: Tz,
    /// The times when steps may be proposed; at any time if empty.
    pub windows: Vec<Window>,
    /// Days on which nothing is proposed.
    pub freezes: Vec<Freeze>,
}

/// A time window in each week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The days on which the window begins.
    pub days: Vec<Weekday>,
    /// The time at which it begins.
    pub from: NaiveTime,
    /// The time at which it ends, on the next day if it is not after `from`.
    pub to: NaiveTime,
}

/// A period in which nothing is proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// The reason.
    pub reason: String,
    /// The first day.
    pub first: Date,
    /// The last day.
    pub last: Date,
}

/// Why no step may be proposed at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The reason of a freeze; none if outside all maintenance windows.
    pub freeze: Option<String>,
    /// The next opening; none if it is too far off to say.
    pub until: Option<DateTime<Utc>>,
}

/// The number of days to search ahead for an opening.
const DAYS: u64 = 400;

impl Calendar {
    /// Why no step may be proposed at a moment; none if steps may be proposed.
    pub fn closed(&self, now: DateTime<Utc>) -> Option<Closed> {
        let local = now.with_timezone(&self.zone);
        let freeze = freeze(self, local.date_naive());
        let is_open = self.windows.is_empty() || self.windows.iter().any(|one| contains(one, &local));
        if freeze.is_none() && is_open {
            return None;
        }
        Some(Closed { freeze: freeze.map(str::to_owned), until: opening(self, now) })
    }

    /// A moment in the time zone, in words: `Sat 2026-11-28 22:00 CET`.
    pub fn local(&self, moment: DateTime<Utc>) -> String {
        moment.with_timezone(&self.zone).format("%a %F %H:%M %Z").to_string()
    }
}

/// The reason why a day is frozen, if it is.
fn freeze(calendar: &Calendar, day: NaiveDate) -> Option<&str> {
    let day = Date::from(day);
    let found = calendar.freezes.iter().find(|one| one.first <= day && day <= one.last);
    found.map(|one| one.reason.as_str())
}

fn contains(window: &Window, local: &DateTime<Tz>) -> bool {
    let (day, time) = (local.date_naive(), local.time());
    let begins = |day: NaiveDate| window.days.contains(&day.weekday());
    if window.from < window.to {
        return begins(day) && window.from <= time && time < window.to;
    }
    let yesterday = day.pred_opt().is_some_and(begins);
    begins(day) && window.from <= time || yesterday && time < window.to
}

/// The next moment at which steps may be proposed: the start of a window, or the end of a freeze within a window.
fn opening(calendar: &Calendar, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let today = now.with_timezone(&calendar.zone).date_naive();
    for ahead in 0..DAYS {
        let day = today.checked_add_days(Days::new(ahead))?;
        let mut starts: Vec<NaiveTime> = calendar.windows.iter().map(|window| window.from).collect();
        starts.push(NaiveTime::MIN);
        starts.sort_unstable();
        let moments = starts.into_iter().filter_map(|time| moment(calendar.zone, day, time));
        let is_open = |moment: &DateTime<Utc>| {
            let local = moment.with_timezone(&calendar.zone);
            let is_in =
                calendar.windows.is_empty() || calendar.windows.iter().any(|one| contains(one, &local));
            *moment > now && is_in && freeze(calendar, local.date_naive()).is_none()
        };
        if let Some(found) = moments.into_iter().find(is_open) {
            return Some(found);
        }
    }
    None
}

/// A time of a day. If clocks skip it, the first time after the gap is used; if clocks show it twice, the first.
fn moment(zone: Tz, day: NaiveDate, time: NaiveTime) -> Option<DateTime<Utc>> {
    let mut local = day.and_time(time);
    for _ in 0..=24 * 4 {
        if let Some(found) = zone.from_local_datetime(&local).earliest() {
            return Some(found.to_utc());
        }
        local += chrono::TimeDelta::minutes(15);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        DateTime::parse_from_rfc3339(text).unwrap().to_utc()
    }

    fn calendar(from: &str, to: &str, days: &[Weekday]) -> Calendar {
        let time = |text| NaiveTime::parse_from_str(text, "%H:%M").unwrap();
        let windows = vec![Window { days: days.to_vec(), from: time(from), to: time(to) }];
        Calendar { zone: chrono_tz::Europe::Berlin, windows, freezes: Vec::new() }
    }

    fn until(calendar: &Calendar, now: &str) -> Option<String> {
        calendar.closed(at(now)).map(|closed| closed.until.unwrap().to_rfc3339())
    }

    #[test]
    fn a_window_is_one_of_the_local_day() {
        let office = calendar("09:00", "15:00", &[Weekday::Mon, Weekday::Tue]);
        // A Monday in winter, one hour ahead of UTC.
        assert_eq!(until(&office, "2026-11-23T07:59:59Z").as_deref(), Some("2026-11-23T08:00:00+00:00"));
        assert_eq!(until(&office, "2026-11-23T08:00:00Z"), None);
        assert_eq!(until(&office, "2026-11-23T14:00:00Z").as_deref(), Some("2026-11-24T08:00:00+00:00"));
        assert_eq!(until(&office, "2026-11-24T14:00:00Z").as_deref(), Some("2026-11-30T08:00:00+00:00"));
        // In summer, two hours ahead.
        assert_eq!(until(&office, "2026-07-06T07:00:00Z"), None);
        let night = calendar("22:00", "04:00", &[Weekday::Sat]);
        assert_eq!(until(&night, "2026-11-29T02:59:00Z"), None);
        assert_eq!(until(&night, "2026-11-29T03:00:00Z").as_deref(), Some("2026-12-05T21:00:00+00:00"));
    }

    #[test]
    fn clocks_that_change_skip_and_repeat_hours() {
        // 02:30 does not exist on 2027-03-28, and occurs twice on 2026-10-25.
        let gap = calendar("02:30", "05:00", &[Weekday::Sun]);
        assert_eq!(until(&gap, "2027-03-28T00:00:00Z").as_deref(), Some("2027-03-28T01:00:00+00:00"));
        let fold = calendar("02:30", "02:45", &[Weekday::Sun]);
        assert_eq!(until(&fold, "2026-10-25T00:00:00Z").as_deref(), Some("2026-10-25T00:30:00+00:00"));
        assert_eq!(until(&fold, "2026-10-25T01:35:00Z"), None);
    }

    #[test]
    fn a_freeze_outranks_windows() {
        let mut all = calendar("09:00", "15:00", &[Weekday::Mon, Weekday::Tue, Weekday::Wed]);
        let day = |text| Date::parse(text).unwrap();
        all.freezes = vec![Freeze {
            reason: "Christmas".to_owned(),
            first: day("2026-12-18"),
            last: day("2027-01-06"),
        }];
        let found = all.closed(at("2026-12-21T10:00:00Z")).unwrap();
        assert_eq!(found.freeze.as_deref(), Some("Christmas"));
        assert_eq!(found.until, Some(at("2027-01-11T08:00:00Z")));
        all.windows.clear();
        assert_eq!(until(&all, "2027-01-06T22:59:00Z").as_deref(), Some("2027-01-06T23:00:00+00:00"));
        assert_eq!(until(&all, "2027-01-06T23:00:00Z"), None);
    }
}
