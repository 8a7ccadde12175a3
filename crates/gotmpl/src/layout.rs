//! Go's time layouts, which describe a format by example.

use super::clock::{Civil, DAYS, MONTHS, Time};

/// An element of a layout that stands for a part of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayoutElement {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    ZoneName,
    Offset(Offset),
    /// Fractional digits of a second: their number, whether trailing zeros are kept, and the separator.
    Fraction(usize, bool, u8),
}

/// The format of an offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset {
    /// Whether UTC is written as `Z`.
    pub(super) z: bool,
    pub(super) colons: bool,
    pub(super) minutes: bool,
    pub(super) seconds: bool,
}

#[expect(clippy::fn_params_excessive_bools, reason = "only for the table below")]
const fn offset(z: bool, colons: bool, minutes: bool, seconds: bool) -> LayoutElement {
    LayoutElement::Offset(Offset { z, colons, minutes, seconds })
}

/// The fixed elements. Longer ones come before their prefixes.
const PARTS: [(&[u8], LayoutElement); 33] = [
    (b"January", LayoutElement::LongMonth),
    (b"Jan", LayoutElement::Month),
    (b"Monday", LayoutElement::LongWeekday),
    (b"Mon", LayoutElement::Weekday),
    (b"MST", LayoutElement::ZoneName),
    (b"002", LayoutElement::ZeroYearDay),
    (b"01", LayoutElement::ZeroMonth),
    (b"02", LayoutElement::ZeroDay),
    (b"03", LayoutElement::ZeroHour12),
    (b"04", LayoutElement::ZeroMinute),
    (b"05", LayoutElement::ZeroSecond),
    (b"06", LayoutElement::Year),
    (b"15", LayoutElement::Hour),
    (b"1", LayoutElement::NumMonth),
    (b"2006", LayoutElement::LongYear),
    (b"2", LayoutElement::Day),
    (b"__2", LayoutElement::UnderYearDay),
    (b"_2", LayoutElement::UnderDay),
    (b"3", LayoutElement::Hour12),
    (b"4", LayoutElement::Minute),
    (b"5", LayoutElement::Second),
    (b"PM", LayoutElement::UpperPm),
    (b"pm", LayoutElement::LowerPm),
    (b"-070000", offset(false, false, true, true)),
    (b"-07:00:00", offset(false, true, true, true)),
    (b"-0700", offset(false, false, true, false)),
    (b"-07:00", offset(false, true, true, false)),
    (b"-07", offset(false, false, false, false)),
    (b"Z070000", offset(true, false, true, true)),
    (b"Z07:00:00", offset(true, true, true, true)),
    (b"Z0700", offset(true, false, true, false)),
    (b"Z07:00", offset(true, true, true, false)),
    (b"Z07", offset(true, false, false, false)),
];

/// The literal text before the next element, that element, and the rest of the layout.
pub(super) fn next_part(layout: &[u8]) -> (&[u8], Option<LayoutElement>, &[u8]) {
    for at in 0..layout.len() {
        let (literal, rest) = layout.split_at(at);
        if rest.starts_with(b"_2006") {
            let (literal, rest) = layout.split_at(at + 1);
            return (literal, Some(LayoutElement::LongYear), rest.get(4..).unwrap_or_default());
        }
        if let Some((part, len)) = fraction(rest).or_else(|| fixed(rest)) {
            return (literal, Some(part), rest.get(len..).unwrap_or_default());
        }
    }
    (layout, None, b"")
}

fn fixed(rest: &[u8]) -> Option<(LayoutElement, usize)> {
    let (text, part) = PARTS.iter().find(|(text, part)| {
        let after = rest.get(text.len()).copied().unwrap_or(0);
        let word =
            matches!(part, LayoutElement::Month | LayoutElement::Weekday) && after.is_ascii_lowercase();
        rest.starts_with(text) && !word
    })?;
    Some((*part, text.len()))
}

fn fraction(rest: &[u8]) -> Option<(LayoutElement, usize)> {
    let (separator, digits) = rest.split_first()?;
    if !matches!(separator, b'.' | b',') {
        return None;
    }
    let digit = *digits.first().filter(|digit| matches!(digit, b'0' | b'9'))?;
    let count = digits.iter().take_while(|found| **found == digit).count();
    if digits.get(count).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some((LayoutElement::Fraction(count, digit == b'0', *separator), count + 1))
}

/// `time.Time.Format`
pub(super) fn format(time: &Time, layout: &[u8]) -> Vec<u8> {
    let civil = time.civil();
    let mut out = Vec::with_capacity(layout.len() + 10);
    let mut rest = layout;
    while !rest.is_empty() {
        let (literal, part, tail) = next_part(rest);
        out.extend_from_slice(literal);
        rest = tail;
        if let Some(part) = part {
            out.extend_from_slice(shown(time, &civil, part).as_bytes());
        }
    }
    out
}

fn name(names: &[&'static str], index: i64, short: bool) -> String {
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    let name = names.get(index).copied().unwrap_or_default();
    if short { name.get(..3).unwrap_or(name) } else { name }.to_owned()
}

fn shown(time: &Time, civil: &Civil, part: LayoutElement) -> String {
    let twelve = if civil.hour % 12 == 0 { 12 } else { civil.hour % 12 };
    match part {
        LayoutElement::LongMonth => name(&MONTHS, civil.month - 1, false),
        LayoutElement::Month => name(&MONTHS, civil.month - 1, true),
        LayoutElement::NumMonth => civil.month.to_string(),
        LayoutElement::ZeroMonth => format!("{:02}", civil.month),
        LayoutElement::LongWeekday => name(&DAYS, civil.weekday, false),
        LayoutElement::Weekday => name(&DAYS, civil.weekday, true),
        LayoutElement::Day => civil.day.to_string(),
        LayoutElement::UnderDay => format!("{:2}", civil.day),
        LayoutElement::ZeroDay => format!("{:02}", civil.day),
        LayoutElement::UnderYearDay => format!("{:3}", civil.year_day),
        LayoutElement::ZeroYearDay => format!("{:03}", civil.year_day),
        LayoutElement::Hour => format!("{:02}", civil.hour),
        LayoutElement::Hour12 => twelve.to_string(),
        LayoutElement::ZeroHour12 => format!("{twelve:02}"),
        LayoutElement::Minute => civil.minute.to_string(),
        LayoutElement::ZeroMinute => format!("{:02}", civil.minute),
        LayoutElement::Second => civil.second.to_string(),
        LayoutElement::ZeroSecond => format!("{:02}", civil.second),
        LayoutElement::LongYear if civil.year < 0 => format!("-{:04}", -civil.year),
        LayoutElement::LongYear => format!("{:04}", civil.year),
        LayoutElement::Year => format!("{:02}", civil.year.abs() % 100),
        LayoutElement::UpperPm => if civil.hour >= 12 { "PM" } else { "AM" }.to_owned(),
        LayoutElement::LowerPm => if civil.hour >= 12 { "pm" } else { "am" }.to_owned(),
        LayoutElement::ZoneName if time.zone_name().is_empty() => {
            shown_offset(time.offset(), Offset { z: false, colons: false, minutes: true, seconds: false })
        }
        LayoutElement::ZoneName => time.zone_name().to_owned(),
        LayoutElement::Offset(kind) => shown_offset(time.offset(), kind),
        LayoutElement::Fraction(count, keeps_zeros, separator) => {
            shown_fraction(time.nanos, count, keeps_zeros, char::from(separator))
        }
    }
}

fn shown_fraction(nanos: u32, count: usize, keeps_zeros: bool, separator: char) -> String {
    let digits = format!("{nanos:09}");
    let digits = digits.get(..count.min(9)).unwrap_or(&digits);
    let zeros = "0".repeat(count.saturating_sub(9).min(4096));
    if keeps_zeros {
        return format!("{separator}{digits}{zeros}");
    }
    match digits.trim_end_matches('0') {
        "" => String::new(),
        digits => format!("{separator}{digits}"),
    }
}

fn shown_offset(seconds: i64, kind: Offset) -> String {
    if seconds == 0 && kind.z {
        return "Z".to_owned();
    }
    let minutes = seconds / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let colon = if kind.colons { ":" } else { "" };
    let mut text = format!("{sign}{:02}", minutes.abs() / 60);
    if kind.minutes {
        text = format!("{text}{colon}{:02}", minutes.abs() % 60);
    }
    if kind.seconds {
        text = format!("{text}{colon}{:02}", seconds.abs() % 60);
    }
    text
}
