//! Conversions between types, durations and timestamps, like cel-go.

use std::sync::Arc;

use chrono::{DateTime, Datelike as _, FixedOffset, TimeDelta, Timelike as _};
use gotmpl::time::parse_duration;
use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, IdedExpr, Value};

use super::functions::{Outcome, failed, not_known, string};

/// A function that extracts one part of a timestamp.
type Part = fn(&DateTime<FixedOffset>) -> i64;

/// The accessors for parts of a timestamp.
const PARTS: [(&str, Part); 10] = [
    ("getFullYear", |time| i64::from(time.year())),
    ("getMonth", |time| i64::from(time.month0())),
    ("getDayOfYear", |time| i64::from(time.ordinal0())),
    ("getDayOfMonth", |time| i64::from(time.day0())),
    ("getDate", |time| i64::from(time.day())),
    ("getDayOfWeek", |time| i64::from(time.weekday().num_days_from_sunday())),
    ("getHours", |time| i64::from(time.hour())),
    ("getMinutes", |time| i64::from(time.minute())),
    ("getSeconds", |time| i64::from(time.second())),
    ("getMilliseconds", |time| i64::from(time.timestamp_subsec_millis())),
];
/// The valid range of timestamps in Unix seconds: the years 1 to 9999.
const TIMES: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

pub(super) fn register(context: &mut Context<'_>) {
    add_functions!(context, {
        "@string" => to_string,
        "@format" => format_text,
        "bool" => to_bool,
        "bytes" => to_bytes,
        "int" => to_int,
        "uint" => to_uint,
        "double" => to_double,
        "duration" => to_duration,
        "timestamp" => to_timestamp,
    });
    for (name, part) in PARTS {
        context.add_function(name, move |This(value): This<Value>, Arguments(arguments): Arguments| {
            part_of(name, part, &value, arguments.first())
        });
    }
}

fn wrong(name: &str) -> ExecutionError {
    failed(name, "type conversion error")
}

/// `string(…)`. Only network addresses and the like are delegated to `kube-cel`.
fn to_string(ftx: &FunctionContext<'_, '_>, This(value): This<Value>) -> Outcome {
    Ok(string(match value {
        Value::String(_) => return Ok(value),
        Value::Int(whole) => whole.to_string(),
        Value::UInt(whole) => whole.to_string(),
        Value::Float(number) => float_text(number),
        Value::Bool(flag) => flag.to_string(),
        Value::Bytes(bytes) => {
            String::from_utf8(bytes.to_vec()).map_err(|_| failed("string", "invalid UTF-8 in bytes"))?
        }
        Value::Duration(duration) => {
            let nanos = duration.num_nanoseconds().ok_or_else(|| wrong("string"))?;
            format!("{}s", seconds(nanos))
        }
        Value::Timestamp(time) => time_text(&time),
        Value::Opaque(_) => return theirs(ftx, "string", value, Vec::new()),
        _ => return Err(wrong("string")),
    }))
}

/// Calls a `kube-cel` function that one of ours overrides.
fn theirs(ftx: &FunctionContext<'_, '_>, name: &str, this: Value, arguments: Vec<Value>) -> Outcome {
    let mut scope = ftx.ptx.new_inner_scope();
    let ident = |name: &str| IdedExpr { id: 0, expr: Expr::Ident(name.to_owned()) };
    scope.add_variable_from_value("@this", this);
    let args = arguments.into_iter().map(|argument| {
        scope.add_variable_from_value("@argument", argument);
        ident("@argument")
    });
    let args = args.collect();
    let target = Some(Box::new(ident("@this")));
    let call = CallExpr { func_name: name.to_owned(), target, args };
    Value::resolve(&IdedExpr { id: 0, expr: Expr::Call(call) }, &scope)
}

/// `format`, delegated to `kube-cel`. The result is unknown for `%e` and `%E`, for values other than texts, booleans and
/// finite numbers, and for fractions in a format that contains `%s`.
fn format_text(ftx: &FunctionContext<'_, '_>, This(form): This<Arc<String>>, values: Value) -> Outcome {
    let Value::List(items) = &values else { return Err(failed("format", "no such overload")) };
    let verbs: Vec<char> = form
        .split('%')
        .skip(1)
        .filter_map(|verb| {
            verb.trim_start_matches(['.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).chars().next()
        })
        .collect();
    let plain = |value: &Value| match value {
        Value::String(text) => !text.starts_with('\0'),
        Value::Int(_) | Value::UInt(_) | Value::Bool(_) => true,
        Value::Float(number) => number.is_finite() && !verbs.contains(&'s'),
        _ => false,
    };
    if verbs.iter().any(|verb| matches!(verb, 'e' | 'E')) || !items.iter().all(plain) {
        return Err(not_known("`format` with a value whose text form is uncertain"));
    }
    theirs(ftx, "format", Value::String(form), vec![values])
}

/// `Duration.Seconds` of Go, which adds two floats.
#[expect(clippy::cast_precision_loss, reason = "as Go does")]
fn seconds(nanos: i64) -> f64 {
    (nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000) as f64 / 1e9
}

/// Go's `%g`.
fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => number.to_string(),
    }
}

/// `time.RFC3339Nano`
fn time_text(time: &DateTime<FixedOffset>) -> String {
    let day = format!("{:04}-{:02}-{:02}", time.year(), time.month(), time.day());
    let clock = format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second());
    let fraction = match time.nanosecond() {
        0 => String::new(),
        nanos => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
    };
    let zone = match time.offset().local_minus_utc() / 60 {
        0 => "Z".to_owned(),
        minutes => {
            let sign = if minutes < 0 { '-' } else { '+' };
            format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
        }
    };
    format!("{day}T{clock}{fraction}{zone}")
}

fn to_bool(value: Value) -> Outcome {
    match &value {
        Value::Bool(_) => Ok(value),
        Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(wrong("bool")),
        },
        _ => Err(wrong("bool")),
    }
}

fn to_bytes(value: Value) -> Outcome {
    match value {
        Value::Bytes(_) => Ok(value),
        Value::String(text) => Ok(Value::Bytes(Arc::new(text.as_bytes().to_vec()))),
        _ => Err(wrong("bytes")),
    }
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

#[expect(clippy::cast_possible_truncation, reason = "within bounds")]
fn to_int(value: Value) -> Outcome {
    let whole = match &value {
        Value::Int(_) => return Ok(value),
        Value::UInt(whole) => i64::try_from(*whole).ok(),
        Value::Float(number) if *number > -TWO_TO_63 && *number < TWO_TO_63 => Some(*number as i64),
        Value::String(text) => text.parse().ok(),
        Value::Timestamp(time) => Some(time.timestamp()),
        Value::Duration(duration) => duration.num_nanoseconds(),
        _ => None,
    };
    whole.map(Value::Int).ok_or_else(|| wrong("int"))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within bounds")]
fn to_uint(value: Value) -> Outcome {
    let whole = match &value {
        Value::UInt(_) => return Ok(value),
        Value::Int(whole) => u64::try_from(*whole).ok(),
        Value::Float(number) if *number >= 0.0 && *number < 2.0 * TWO_TO_63 => Some(*number as u64),
        Value::String(text) if !text.starts_with('+') => text.parse().ok(),
        _ => None,
    };
    whole.map(Value::UInt).ok_or_else(|| wrong("uint"))
}

#[expect(clippy::cast_precision_loss, reason = "as Go does")]
fn to_double(value: Value) -> Outcome {
    match &value {
        Value::Float(_) => Ok(value),
        Value::Int(whole) => Ok(Value::Float(*whole as f64)),
        Value::UInt(whole) => Ok(Value::Float(*whole as f64)),
        Value::String(text) => match text.parse::<f64>() {
            Ok(number) if number.is_infinite() && text.contains(|found: char| found.is_ascii_digit()) => {
                Err(wrong("double"))
            }
            Ok(number) => Ok(Value::Float(number)),
            Err(_) if text.contains(['x', 'X']) => Err(not_known("a hexadecimal number")),
            Err(_) => Err(wrong("double")),
        },
        _ => Err(wrong("double")),
    }
}

fn to_duration(value: Value) -> Outcome {
    match &value {
        Value::Duration(_) => Ok(value),
        Value::String(text) => duration_of(text).ok_or_else(|| wrong("duration")),
        _ => Err(wrong("duration")),
    }
}

fn to_timestamp(value: Value) -> Outcome {
    match &value {
        Value::Timestamp(_) => Ok(value),
        Value::Int(seconds) if TIMES.contains(seconds) => DateTime::from_timestamp(*seconds, 0)
            .map(|time| Value::Timestamp(time.fixed_offset()))
            .ok_or_else(|| wrong("timestamp")),
        Value::String(text) => match timestamp_of(text) {
            Some(time) => Ok(time),
            None if is_lax_time(text) => Err(not_known("a time in a nonstandard form")),
            None => Err(wrong("timestamp")),
        },
        _ => Err(wrong("timestamp")),
    }
}

/// Parses a duration like Go.
pub(crate) fn duration_of(text: &str) -> Option<Value> {
    parse_duration(text).map(|nanos| Value::Duration(TimeDelta::nanoseconds(nanos)))
}

/// Parses a timestamp like Go, keeping its zone.
pub(crate) fn timestamp_of(text: &str) -> Option<Value> {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let (head, tail) = text.as_bytes().split_at_checked(FORM.len())?;
    let fits = head.iter().zip(FORM).all(|(found, form)| match form {
        b'0' => found.is_ascii_digit(),
        _ => found == form,
    });
    let leap = head.ends_with(b"60");
    if !fits || leap || tail.ends_with(b"z") {
        return None;
    }
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    TIMES.contains(&time.timestamp()).then_some(Value::Timestamp(time))
}

/// Whether a timestamp uses a notation that only Go accepts: one-digit hours, or a comma before the fraction.
pub(crate) fn is_lax_time(text: &str) -> bool {
    let one_digit = text.split_once('T').is_some_and(|(_, clock)| clock.find(':') == Some(1));
    one_digit || text.contains(',')
}

/// A part of a timestamp in a zone, or of a duration.
fn part_of(name: &str, part: Part, value: &Value, zone: Option<&Value>) -> Outcome {
    match (value, zone) {
        (Value::Timestamp(time), None) => Ok(Value::Int(part(&time.to_utc().fixed_offset()))),
        (Value::Timestamp(time), Some(Value::String(zone))) => {
            Ok(Value::Int(part(&time.with_timezone(&offset(name, zone)?))))
        }
        (Value::Duration(duration), None) => Ok(Value::Int(match name {
            "getHours" => duration.num_hours(),
            "getMinutes" => duration.num_minutes(),
            "getSeconds" => duration.num_seconds(),
            "getMilliseconds" => duration.num_milliseconds(),
            _ => return Err(failed(name, "no such overload")),
        })),
        _ => Err(failed(name, "no such overload")),
    }
}

/// Parses a zone. Only offsets and UTC are supported, because names need a time zone database.
fn offset(name: &str, zone: &str) -> Result<FixedOffset, ExecutionError> {
    let unknown = || not_known("the name of a time zone");
    let Some((hours, minutes)) = zone.split_once(':') else {
        return if matches!(zone, "" | "UTC") {
            FixedOffset::east_opt(0).ok_or_else(unknown)
        } else {
            Err(unknown())
        };
    };
    let (Ok(hours), Ok(minutes)) = (hours.parse::<i32>(), minutes.parse::<i32>()) else {
        return Err(failed(name, "invalid time zone"));
    };
    if !(0..60).contains(&minutes) {
        return Err(failed(name, "timezone offset minutes out of range"));
    }
    let minutes = if zone.starts_with('-') { -minutes } else { minutes };
    let seconds = hours.checked_mul(3600).and_then(|hours| hours.checked_add(minutes * 60));
    seconds.and_then(FixedOffset::east_opt).ok_or_else(unknown)
}
