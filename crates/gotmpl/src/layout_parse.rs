//! Parses times in the format of a Go layout.

use super::clock::{Civil, DAYS, MONTHS, Time, Zone, days_before, days_in, is_leap};
use super::layout::{LayoutElement, Offset, next_part};

/// The parts of a time parsed so far.
#[derive(Default)]
struct Draft {
    civil: Civil,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    nanos: u32,
    /// Whether `PM` was read (`Some(true)`) or `AM`; none if neither was.
    afternoon: Option<bool>,
    utc: bool,
    offset: Option<i64>,
    zone_name: Option<String>,
}

/// `time.ParseInLocation` with UTC as the location.
pub(super) fn parse(layout: &[u8], value: &[u8]) -> Option<Time> {
    let mut draft = Draft::default();
    let (mut layout, mut value) = (layout, value);
    loop {
        let (literal, part, tail) = next_part(layout);
        value = skip(value, literal)?;
        let Some(part) = part else { break };
        layout = tail;
        value = draft.read(part, value, layout)?;
    }
    if !value.is_empty() {
        return None;
    }
    draft.finish()
}

/// Skips literal text in a value. A run of blanks counts as one.
fn skip<'v>(value: &'v [u8], literal: &[u8]) -> Option<&'v [u8]> {
    let (mut value, mut literal) = (value, literal);
    while let Some((first, rest)) = literal.split_first() {
        if *first == b' ' {
            if value.first().is_some_and(|found| *found != b' ') {
                return None;
            }
            literal = trim_blanks(literal);
            value = trim_blanks(value);
            continue;
        }
        value = value.strip_prefix(&[*first])?;
        literal = rest;
    }
    Some(value)
}

fn trim_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| **byte == b' ').count();
    text.get(blanks..).unwrap_or_default()
}

/// Parses a number of one or two digits, or of exactly two if `fixed`.
fn two_digits(value: &[u8], fixed: bool) -> Option<(i64, &[u8])> {
    digits(value, 2, fixed)
}

fn digits(value: &[u8], most: usize, fixed: bool) -> Option<(i64, &[u8])> {
    let count = value.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 || fixed && count < most {
        return None;
    }
    let (number, rest) = value.split_at(count);
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, rest))
}

/// The index of the name at the start of a value, ignoring case.
fn look_up<'v>(names: &[&str], short: bool, value: &'v [u8]) -> Option<(i64, &'v [u8])> {
    for (index, name) in names.iter().enumerate() {
        let name = if short { name.get(..3)? } else { name };
        if value.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes())) {
            return Some((i64::try_from(index).ok()?, value.get(name.len()..)?));
        }
    }
    None
}

impl Draft {
    fn read<'v>(&mut self, part: LayoutElement, value: &'v [u8], layout: &[u8]) -> Option<&'v [u8]> {
        let within =
            |pair: (i64, &'v [u8]), range: std::ops::Range<i64>| range.contains(&pair.0).then_some(pair);
        let civil = &mut self.civil;
        let (field, (number, rest)): (&mut i64, _) = match part {
            LayoutElement::LongMonth
            | LayoutElement::Month
            | LayoutElement::NumMonth
            | LayoutElement::ZeroMonth
            | LayoutElement::LongWeekday
            | LayoutElement::Weekday
            | LayoutElement::Day
            | LayoutElement::UnderDay
            | LayoutElement::ZeroDay => return self.read_date(part, value),
            LayoutElement::UnderYearDay | LayoutElement::ZeroYearDay => {
                return self.read_year_day(part, value);
            }
            LayoutElement::Hour => (&mut civil.hour, within(two_digits(value, false)?, 0..24)?),
            LayoutElement::Hour12 => (&mut civil.hour, within(two_digits(value, false)?, 0..13)?),
            LayoutElement::ZeroHour12 => (&mut civil.hour, within(two_digits(value, true)?, 0..13)?),
            LayoutElement::Minute => (&mut civil.minute, within(two_digits(value, false)?, 0..60)?),
            LayoutElement::ZeroMinute => (&mut civil.minute, within(two_digits(value, true)?, 0..60)?),
            LayoutElement::Second | LayoutElement::ZeroSecond => {
                let fixed = part == LayoutElement::ZeroSecond;
                let (second, rest) = within(two_digits(value, fixed)?, 0..60)?;
                civil.second = second;
                return self.implied_fraction(rest, layout);
            }
            LayoutElement::LongYear => (&mut civil.year, digits(value, 4, true)?),
            LayoutElement::Year => {
                let (year, rest) = two_digits(value, true)?;
                (&mut civil.year, (if year >= 69 { year + 1900 } else { year + 2000 }, rest))
            }
            LayoutElement::UpperPm => return self.read_half(value, b"AM", b"PM"),
            LayoutElement::LowerPm => return self.read_half(value, b"am", b"pm"),
            LayoutElement::ZoneName => return self.read_zone(value),
            LayoutElement::Offset(kind) => return self.read_offset(kind, value),
            LayoutElement::Fraction(count, true, _) => {
                return self.read_fraction(value, count + 1);
            }
            LayoutElement::Fraction(_, false, _) => {
                let count = fraction_len(value);
                return if count == 0 { Some(value) } else { self.read_fraction(value, count) };
            }
        };
        *field = number;
        Some(rest)
    }

    /// Parses a month, weekday or day of the month.
    fn read_date<'v>(&mut self, part: LayoutElement, value: &'v [u8]) -> Option<&'v [u8]> {
        match part {
            LayoutElement::LongMonth | LayoutElement::Month => {
                let (index, rest) = look_up(&MONTHS, part == LayoutElement::Month, value)?;
                self.month = Some(index + 1);
                Some(rest)
            }
            LayoutElement::NumMonth | LayoutElement::ZeroMonth => {
                let (month, rest) = two_digits(value, part == LayoutElement::ZeroMonth)?;
                self.month = Some(month).filter(|month| (1..=12).contains(month));
                self.month.map(|_| rest)
            }
            LayoutElement::LongWeekday | LayoutElement::Weekday => {
                Some(look_up(&DAYS, part == LayoutElement::Weekday, value)?.1)
            }
            _ => {
                let padded = value.strip_prefix(b" ").filter(|_| part == LayoutElement::UnderDay);
                let (day, rest) = two_digits(padded.unwrap_or(value), part == LayoutElement::ZeroDay)?;
                self.day = Some(day);
                Some(rest)
            }
        }
    }

    fn read_year_day<'v>(&mut self, part: LayoutElement, value: &'v [u8]) -> Option<&'v [u8]> {
        let fixed = part == LayoutElement::ZeroYearDay;
        let blanks = value.iter().take(2).take_while(|byte| **byte == b' ').count();
        let value = if fixed { value } else { value.get(blanks..)? };
        let (day, rest) = digits(value, 3, fixed)?;
        self.year_day = Some(day);
        Some(rest)
    }

    fn read_half<'v>(&mut self, value: &'v [u8], am: &[u8], pm: &[u8]) -> Option<&'v [u8]> {
        let (half, rest) = value.split_at_checked(2)?;
        if half != am && half != pm {
            return None;
        }
        // A later `AM` does not override an earlier `PM`.
        self.afternoon = Some(half == pm || self.afternoon == Some(true));
        Some(rest)
    }

    /// Parses fractional seconds that the layout does not name.
    fn implied_fraction<'v>(&mut self, value: &'v [u8], layout: &[u8]) -> Option<&'v [u8]> {
        let count = fraction_len(value);
        let named = matches!(next_part(layout).1, Some(LayoutElement::Fraction(..)));
        if count == 0 || named { Some(value) } else { self.read_fraction(value, count) }
    }

    /// Parses a separator and digits of `len` bytes in total.
    fn read_fraction<'v>(&mut self, value: &'v [u8], len: usize) -> Option<&'v [u8]> {
        let (text, rest) = value.split_at_checked(len)?;
        let (separator, digits) = text.split_first()?;
        if !matches!(separator, b'.' | b',') {
            return None;
        }
        let digits = digits.get(..digits.len().min(9))?;
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let text = format!("{:0<9}", std::str::from_utf8(digits).ok()?);
        self.nanos = text.parse().ok()?;
        Some(rest)
    }

    fn read_offset<'v>(&mut self, kind: Offset, value: &'v [u8]) -> Option<&'v [u8]> {
        if let Some(rest) = value.strip_prefix(b"Z").filter(|_| kind.z) {
            self.utc = true;
            return Some(rest);
        }
        let (sign, mut rest) = value.split_first()?;
        let mut numbers = [0; 3];
        let wanted = [(true, 24), (kind.minutes, 60), (kind.seconds, 60)];
        for (index, (slot, (present, most))) in numbers.iter_mut().zip(wanted).enumerate() {
            if !present {
                continue;
            }
            if index > 0 && kind.colons {
                rest = rest.strip_prefix(b":")?;
            }
            let (number, tail) = two_digits(rest, true)?;
            if number > most {
                return None;
            }
            *slot = number;
            rest = tail;
        }
        let [hours, minutes, seconds] = numbers;
        let offset = (hours * 60 + minutes) * 60 + seconds;
        self.offset = Some(match sign {
            b'+' => offset,
            b'-' => -offset,
            _ => return None,
        });
        Some(rest)
    }

    fn read_zone<'v>(&mut self, value: &'v [u8]) -> Option<&'v [u8]> {
        if let Some(rest) = value.strip_prefix(b"UTC") {
            self.utc = true;
            return Some(rest);
        }
        let (name, rest) = value.split_at_checked(zone_len(value)?)?;
        self.zone_name = Some(String::from_utf8_lossy(name).into_owned());
        Some(rest)
    }

    fn finish(mut self) -> Option<Time> {
        match self.afternoon {
            Some(true) if self.civil.hour < 12 => self.civil.hour += 12,
            Some(false) if self.civil.hour == 12 => self.civil.hour = 0,
            _ => {}
        }
        let year = self.civil.year;
        let (mut month, mut day) = (self.month, self.day);
        if let Some(year_day) = self.year_day {
            let (from_month, from_day) = date_in_year(year, year_day)?;
            if month.is_some_and(|month| month != from_month) || day.is_some_and(|day| day != from_day) {
                return None;
            }
            (month, day) = (Some(from_month), Some(from_day));
        }
        let (month, day) = (month.unwrap_or(1), day.unwrap_or(1));
        if day < 1 || day > days_in(year, month) {
            return None;
        }
        let days = days_before(year, month, day);
        let clock = (self.civil.hour * 60 + self.civil.minute) * 60 + self.civil.second;
        let nanos = self.nanos;
        let (offset, zone) = self.zone();
        Some(Time { seconds: days * 86_400 + clock - offset, nanos, zone })
    }

    /// The offset from UTC in seconds, and the zone.
    fn zone(self) -> (i64, Zone) {
        let name = self.zone_name.unwrap_or_default();
        match self.offset {
            _ if self.utc => (0, Zone::Utc),
            Some(0) | None if name.is_empty() => (0, Zone::Utc),
            Some(offset) => (offset, Zone::Fixed(name, offset)),
            None => {
                let hours = name.strip_prefix("GMT").and_then(|hours| hours.parse::<i64>().ok());
                let offset = hours.unwrap_or(0) * 3600;
                (offset, Zone::Fixed(name, offset))
            }
        }
    }
}

/// The length of a separator with its digits, or zero.
fn fraction_len(value: &[u8]) -> usize {
    match value.split_first() {
        Some((b'.' | b',', digits)) => match digits.iter().take_while(|byte| byte.is_ascii_digit()).count() {
            0 => 0,
            count => count + 1,
        },
        _ => 0,
    }
}

/// The length of a zone abbreviation.
fn zone_len(value: &[u8]) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with(b"ChST") || value.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(rest) = value.strip_prefix(b"GMT") {
        return Some(3 + signed_len(rest));
    }
    if matches!(value.first(), Some(b'+' | b'-')) {
        return Some(signed_len(value)).filter(|len| *len > 0);
    }
    let capitals = value.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count();
    let fits = match capitals {
        3 => true,
        4 => value.get(3) == Some(&b'T') || value.starts_with(b"WITA"),
        5 => value.get(4) == Some(&b'T'),
        _ => false,
    };
    fits.then_some(capitals)
}

/// The length of a signed number of hours, or zero.
fn signed_len(value: &[u8]) -> usize {
    let Some((b'+' | b'-', rest)) = value.split_first() else { return 0 };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = rest.get(..count).and_then(|digits| std::str::from_utf8(digits).ok());
    match number.and_then(|number| number.parse::<u64>().ok()) {
        Some(0..=23) => count + 1,
        _ => 0,
    }
}

/// The month and day of a day of the year.
fn date_in_year(year: i64, year_day: i64) -> Option<(i64, i64)> {
    let last = if is_leap(year) { 366 } else { 365 };
    if !(1..=last).contains(&year_day) {
        return None;
    }
    let mut day = year_day;
    for month in 1..=12 {
        let len = days_in(year, month);
        if day <= len {
            return Some((month, day));
        }
        day -= len;
    }
    None
}
