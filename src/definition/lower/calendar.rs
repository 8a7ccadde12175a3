//! Lowers maintenance windows, of rollouts and of clusters.

use chrono::{NaiveTime, Weekday};
use chrono_tz::Tz;

use crate::{
    definition as written,
    model::{Calendar, Window},
    note::{Notes, Place},
};

/// Finds the place of a value by its path, relative to the map that contains `timeZone` and `windows`.
type Find<'a> = &'a dyn Fn(&[&str]) -> Option<Place>;

/// Lowers windows and their time zone; none if the time zone does not exist.
pub(super) fn lower(
    zone: Option<&str>,
    windows: &[written::Window],
    place: Find<'_>,
    notes: &mut Notes,
) -> Option<Calendar> {
    let name = zone.unwrap_or("UTC");
    let zone: Option<Tz> = name.parse().ok();
    if zone.is_none() {
        notes
            .error("wrong-time-zone", place(&["timeZone"]), format!("there is no time zone `{name}`"))
            .hint("write a name of the IANA database, such as `Europe/Berlin`");
    }
    let windows = windows.iter().enumerate().filter_map(|(at, one)| window(at, one, place, notes)).collect();
    Some(Calendar { zone: zone?, windows, freezes: Vec::new() })
}

fn window(at: usize, window: &written::Window, place: Find<'_>, notes: &mut Notes) -> Option<Window> {
    let mut time = |key: &str, text: &str| {
        let time = NaiveTime::parse_from_str(text, "%H:%M").ok().filter(|_| text.len() == 5);
        if time.is_none() {
            notes
                .error(
                    "wrong-time",
                    place(&["windows", &at.to_string(), key]),
                    format!("`{text}` is not a time of day"),
                )
                .hint("write it as \"09:00\", in quotes");
        }
        time
    };
    let (from, to) = (time("from", &window.from), time("to", &window.to));
    let day = |day: &written::Day| match day {
        written::Day::Mon => Weekday::Mon,
        written::Day::Tue => Weekday::Tue,
        written::Day::Wed => Weekday::Wed,
        written::Day::Thu => Weekday::Thu,
        written::Day::Fri => Weekday::Fri,
        written::Day::Sat => Weekday::Sat,
        written::Day::Sun => Weekday::Sun,
    };
    let all = || (0..7).filter_map(|day: u8| Weekday::try_from(day).ok()).collect();
    let days = window.days.as_ref().map_or_else(all, |days| days.iter().map(day).collect());
    Some(Window { days, from: from?, to: to? })
}
