//! The date and duration functions of the hermetic set.

use std::rc::Rc;

use super::super::budget::Context;
use super::super::clock::{Time, Zone, days_before};
use super::super::error::{Outcome, exec, unsupported};
use super::super::literal::parse_int;
use super::super::time::{format_duration, parse_duration};
use super::super::value::{IntType, Value};
use super::super::{layout, layout_parse};
use super::args::{any, int, text};
use super::{Function, Type};

use Type::{Any, Int, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("toDate", &[Text, Text], to_date),
    Function::new("mustToDate", &[Text, Text], must_to_date),
    Function::new("mustDateModify", &[Text, Type::Time], modify),
    Function::new("must_date_modify", &[Text, Type::Time], modify),
    Function::new("unixEpoch", &[Type::Time], unix_epoch),
    Function::new("duration", &[Any], duration),
    Function::new("durationRound", &[Any], duration_round),
];

/// The supported methods of times. [`OTHER_METHODS`] are known but refused.
pub(in super::super) const METHODS: &[Function] = &[
    Function::new("Unix", &[], unix),
    Function::new("UnixMilli", &[], unix_milli),
    Function::new("UnixMicro", &[], unix_micro),
    Function::new("UnixNano", &[], unix_nano),
    Function::new("Year", &[], year),
    Function::new("Month", &[], month),
    Function::new("Day", &[], day),
    Function::new("Hour", &[], hour),
    Function::new("Minute", &[], minute),
    Function::new("Second", &[], second),
    Function::new("Nanosecond", &[], nanosecond),
    Function::new("YearDay", &[], year_day),
    Function::new("Weekday", &[], weekday),
    Function::new("IsZero", &[], is_zero),
    Function::new("Format", &[Text], format),
    Function::new("String", &[], string),
    Function::new("UTC", &[], utc),
    Function::new("AddDate", &[Int, Int, Int], add_date),
    Function::new("Equal", &[Type::Time], equal),
    Function::new("Before", &[Type::Time], before),
    Function::new("After", &[Type::Time], after),
    Function::new("Compare", &[Type::Time], compare),
];

/// Methods of `time.Time` that are not implemented here.
pub(in super::super) const OTHER_METHODS: &[&str] = &[
    "Add",
    "AppendBinary",
    "AppendFormat",
    "AppendText",
    "Clock",
    "Date",
    "GoString",
    "GobEncode",
    "ISOWeek",
    "In",
    "IsDST",
    "Local",
    "Location",
    "MarshalBinary",
    "MarshalJSON",
    "MarshalText",
    "Round",
    "Sub",
    "Truncate",
    "Zone",
    "ZoneBounds",
];

fn parsed<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Option<Time>> {
    let (layout, value) = (text(args, 0)?.bytes(), text(args, 1)?.bytes());
    // Every part of the layout scans the rest of it.
    let len = layout.len() as u64;
    cx.spend(1 + len.saturating_mul(len) / 16 + value.len() as u64)?;
    Ok(layout_parse::parse(layout, value))
}

fn to_date<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Time(Rc::new(parsed(cx, args)?.unwrap_or_else(Time::zero))))
}

fn must_to_date<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match parsed(cx, args)? {
        Some(time) => Ok(Value::Time(Rc::new(time))),
        None => Err(exec("parsing time: the value does not fit the layout")),
    }
}

fn time<'v>(args: &'v [Value<'_>], index: usize) -> Outcome<&'v Time> {
    match any(args, index) {
        Value::Time(time) => Ok(time),
        _ => Err(exec("expected time.Time")),
    }
}

fn modify<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let span = text(args, 0)?.lossy();
    match parse_duration(&span) {
        Some(nanos) => Ok(Value::Time(Rc::new(time(args, 1)?.plus(nanos)))),
        None => Err(exec(format!("time: invalid duration {span:?}"))),
    }
}

fn unix_epoch<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    cx.text(time(args, 0)?.seconds.to_string())
}

fn duration<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let seconds = match any(args, 0) {
        Value::Str(text) => {
            let text = text.lossy();
            match parse_int(&text, 10) {
                Some(seconds) => seconds,
                // If the number is out of range, Go uses the nearest limit.
                None => saturated(&text),
            }
        }
        Value::Int(IntType::Int64, seconds) => *seconds,
        _ => 0,
    };
    cx.text(format_duration(seconds.wrapping_mul(1_000_000_000)))
}

fn saturated(text: &str) -> i64 {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return 0;
    }
    if text.starts_with('-') { i64::MIN } else { i64::MAX }
}

fn duration_round<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let nanos = match any(args, 0) {
        Value::Str(text) => parse_duration(&text.lossy()).unwrap_or(0),
        Value::Int(IntType::Int64, nanos) => *nanos,
        Value::Time(_) => {
            return Err(unsupported("durationRound of a time depends on the clock"));
        }
        _ => 0,
    };
    let seconds = 1_000_000_000;
    let units = [
        (365 * 86_400 * seconds, "y"),
        (30 * 86_400 * seconds, "mo"),
        (86_400 * seconds, "d"),
        (3_600 * seconds, "h"),
        (60 * seconds, "m"),
        (seconds, "s"),
    ];
    let size = nanos.unsigned_abs();
    let text = units
        .into_iter()
        .find(|(unit, _)| size > *unit)
        .map_or_else(|| "0s".to_owned(), |(unit, name)| format!("{}{name}", size / unit));
    cx.text(text)
}

fn unix<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int64(time(args, 0)?.seconds))
}

/// The time since the Unix epoch, with this many units per second.
fn scaled<'a>(args: &[Value<'a>], per_second: i64) -> Outcome<Value<'a>> {
    let time = time(args, 0)?;
    let rest = i64::from(time.nanos) / (1_000_000_000 / per_second);
    Ok(Value::int64(time.seconds.wrapping_mul(per_second).wrapping_add(rest)))
}

fn unix_milli<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    scaled(args, 1_000)
}

fn unix_micro<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    scaled(args, 1_000_000)
}

fn unix_nano<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    scaled(args, 1_000_000_000)
}

fn year<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int(time(args, 0)?.civil().year))
}

fn month<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Int(IntType::Month, time(args, 0)?.civil().month))
}

fn day<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int(time(args, 0)?.civil().day))
}

fn hour<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int(time(args, 0)?.civil().hour))
}

fn minute<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int(time(args, 0)?.civil().minute))
}

fn second<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int(time(args, 0)?.civil().second))
}

fn nanosecond<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int(i64::from(time(args, 0)?.nanos)))
}

fn year_day<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int(time(args, 0)?.civil().year_day))
}

fn weekday<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Int(IntType::Weekday, time(args, 0)?.civil().weekday))
}

fn is_zero<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(time(args, 0)?.is_zero()))
}

fn format<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let layout = text(args, 1)?.bytes();
    cx.charge(layout.len() as u64 * 8)?;
    let shown = layout::format(time(args, 0)?, layout);
    cx.text(shown)
}

fn string<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    cx.text(time(args, 0)?.to_string())
}

fn utc<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Time(Rc::new(Time { zone: Zone::Utc, ..time(args, 0)?.clone() })))
}

fn add_date<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (time, years, months, days) = (time(args, 0)?, int(args, 1)?, int(args, 2)?, int(args, 3)?);
    let far = 1_000_000;
    if [years, months, days].iter().any(|count| count.abs() > far) {
        return Err(unsupported("AddDate over thousands of years is not supported"));
    }
    let civil = time.civil();
    let day = days_before(civil.year + years, civil.month + months, 1) + civil.day - 1 + days;
    let clock = (civil.hour * 60 + civil.minute) * 60 + civil.second;
    let seconds = day * 86_400 + clock - time.offset();
    Ok(Value::Time(Rc::new(Time { seconds, ..time.clone() })))
}

fn instant(time: &Time) -> (i64, u32) {
    (time.seconds, time.nanos)
}

fn equal<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(instant(time(args, 0)?) == instant(time(args, 1)?)))
}

fn before<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(instant(time(args, 0)?) < instant(time(args, 1)?)))
}

fn after<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(instant(time(args, 0)?) > instant(time(args, 1)?)))
}

fn compare<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let order = instant(time(args, 0)?).cmp(&instant(time(args, 1)?));
    Ok(Value::int(order as i64))
}
