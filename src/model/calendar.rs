//! Maintenance windows and freezes: whether steps may be proposed now, and if not, when.

use chrono::{
    DateTime, Datelike as _, Days, NaiveDate, NaiveTime, Offset as _, TimeDelta, TimeZone as _, Utc, Weekday,
};
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
    /// Why no step is taken then.
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

/// The month and day of two Mondays, far from any change of the clocks.
const WEEKS: [(u32, u32); 2] = [(1, 12), (7, 6)];

/// The number of days to search ahead for an opening.
const DAYS: u64 = 400;

impl Calendar {
    /// Why no step may be proposed at a moment; none if steps may be proposed.
    pub fn closed(&self, now: DateTime<Utc>) -> Option<Closed> {
        if self.is_open(now) {
            return None;
        }
        let freeze = freeze(self, now.with_timezone(&self.zone).date_naive());
        Some(Closed { freeze: freeze.map(str::to_owned), until: opening(self, now) })
    }

    /// Whether some minute of a week is in the windows of both. Freezes do not count.
    pub fn overlaps(&self, other: &Self) -> bool {
        let is_in = |calendar: &Self, moment: DateTime<Utc>| {
            let local = moment.with_timezone(&calendar.zone);
            calendar.windows.is_empty() || calendar.windows.iter().any(|one| contains(one, &local))
        };
        // Time zones change their clocks at different dates, so a week in winter differs from one in summer.
        WEEKS.into_iter().any(|(month, day)| {
            let begin = Utc.with_ymd_and_hms(2026, month, day, 0, 0, 0).single();
            let minutes =
                (0..7 * 24 * 60).filter_map(|minute| begin?.checked_add_signed(TimeDelta::minutes(minute)));
            minutes.into_iter().any(|moment| is_in(self, moment) && is_in(other, moment))
        })
    }

    fn is_open(&self, moment: DateTime<Utc>) -> bool {
        let local = moment.with_timezone(&self.zone);
        let is_in = self.windows.is_empty() || self.windows.iter().any(|one| contains(one, &local));
        is_in && freeze(self, local.date_naive()).is_none()
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

/// The next moment at which steps may be proposed: the start of a window, the end of a freeze within a window, or a change of
/// the clocks. A time that clocks show twice belongs to a window both times.
fn opening(calendar: &Calendar, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let is_open = |moment: &DateTime<Utc>| calendar.is_open(*moment);
    let mut begin = now;
    for _ in 0..DAYS {
        let end = begin.checked_add_days(Days::new(1))?;
        let is_here = |moment: &DateTime<Utc>| begin < *moment && *moment <= end;
        if let Some(found) = turns(calendar, begin, end).into_iter().filter(is_here).find(is_open) {
            return Some(found);
        }
        begin = end;
    }
    None
}

/// The moments in a period at which an opening can begin, in order. Some are outside of the period.
fn turns(calendar: &Calendar, begin: DateTime<Utc>, end: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let zone = calendar.zone;
    let day = |moment: DateTime<Utc>| moment.with_timezone(&zone).date_naive();
    let mut found: Vec<_> = clock_change(zone, begin, end).into_iter().collect();
    // Clocks that are set back repeat the end of a day after midnight.
    let (first, last) = (day(begin).pred_opt(), day(end).succ_opt());
    let days =
        first.into_iter().flat_map(|day: NaiveDate| day.iter_days()).take_while(|day| Some(*day) <= last);
    for day in days {
        let starts = calendar.windows.iter().map(|window| window.from);
        for time in starts.chain([NaiveTime::MIN]) {
            let twice = zone.from_local_datetime(&day.and_time(time));
            found.extend([twice.earliest(), twice.latest()].into_iter().flatten().map(|one| one.to_utc()));
        }
    }
    found.sort_unstable();
    found
}

/// The moment at which clocks change in a period, which is too short for two changes.
fn clock_change(zone: Tz, begin: DateTime<Utc>, end: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let offset = |second: i64| {
        let moment = DateTime::from_timestamp(second, 0)?;
        Some(zone.offset_from_utc_datetime(&moment.naive_utc()).fix())
    };
    let (mut before, mut after) = (begin.timestamp(), end.timestamp());
    let old = offset(before)?;
    if offset(after)? == old {
        return None;
    }
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if offset(middle)? == old { before = middle } else { after = middle }
    }
    DateTime::from_timestamp(after, 0)
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
        assert_eq!(until(&fold, "2026-10-25T00:45:00Z").as_deref(), Some("2026-10-25T01:30:00+00:00"));
        assert_eq!(until(&fold, "2026-10-25T01:35:00Z"), None);
        assert_eq!(until(&fold, "2026-10-25T01:45:00Z").as_deref(), Some("2026-11-01T01:30:00+00:00"));
        // Set back into a window that began before.
        let begun = calendar("01:30", "02:15", &[Weekday::Sun]);
        assert_eq!(until(&begun, "2026-10-25T00:15:00Z").as_deref(), Some("2026-10-25T01:00:00+00:00"));
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

    /// Clocks that change by 30 minutes, by two hours, one minute after midnight, at midnight, and skip a day.
    const CHANGES: [(Tz, &str); 14] = [
        (chrono_tz::Europe::Berlin, "2026-10-25"),
        (chrono_tz::Europe::Berlin, "2027-03-28"),
        (chrono_tz::Australia::Lord_Howe, "2027-04-04"),
        (chrono_tz::Australia::Lord_Howe, "2026-10-04"),
        (chrono_tz::Antarctica::Troll, "2026-10-25"),
        (chrono_tz::Antarctica::Troll, "2027-03-28"),
        (chrono_tz::America::St_Johns, "2010-11-07"),
        (chrono_tz::America::St_Johns, "2010-03-14"),
        (chrono_tz::America::Asuncion, "2023-03-26"),
        (chrono_tz::America::Asuncion, "2023-10-01"),
        (chrono_tz::America::Havana, "2026-11-01"),
        (chrono_tz::Pacific::Apia, "2011-12-30"),
        (chrono_tz::Pacific::Kwajalein, "1993-08-21"),
        (chrono_tz::Africa::Casablanca, "2026-02-15"),
    ];

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

        #[test]
        fn an_opening_is_the_first_open_minute(
            (zone, day) in proptest::sample::select(CHANGES.to_vec()),
            minute in 0_i64..(6 * 24 * 60),
            windows in proptest::collection::vec((0_u8..7, 0_u32..290, 0_u32..290), 0..3),
            near in proptest::bool::ANY,
            frozen in proptest::option::of((0_i64..6, 0_i64..3)),
        ) {
            // Times are multiples of five minutes; near the change, those of the first hours.
            let time = |five: u32| {
                let five = if near { five % 40 } else { five % 288 };
                NaiveTime::from_hms_opt(five / 12, five % 12 * 5, 0).unwrap()
            };
            let weekday = |day: u8| Weekday::try_from(day).unwrap();
            let window = |(day, from, to): (u8, u32, u32)| {
                Window { days: vec![weekday(day), weekday((day + 3) % 7)], from: time(from), to: time(to) }
            };
            let begin = at(&format!("{day}T00:00:00Z")) - chrono::TimeDelta::days(3);
            let date = |days: i64| Date::from((begin + chrono::TimeDelta::days(days)).date_naive());
            let freezes = frozen.map(|(first, more)| Freeze {
                reason: "a sale".to_owned(), first: date(first), last: date(first + more),
            });
            let calendar = Calendar {
                zone,
                windows: windows.into_iter().map(window).collect(),
                freezes: freezes.into_iter().collect(),
            };
            let now = begin + chrono::TimeDelta::minutes(minute);
            let minutes = (0..).map(|ahead| now + chrono::TimeDelta::minutes(ahead));
            let first = minutes.take(21 * 24 * 60).find(|one| calendar.is_open(*one));
            let told = calendar.closed(now).map_or(Some(now), |closed| closed.until);
            proptest::prop_assert_eq!(told, first);
        }
    }
}
