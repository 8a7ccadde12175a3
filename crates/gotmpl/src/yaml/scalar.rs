//! The meaning of plain scalars in go-yaml v2, and their JSON form according to `encoding/json`.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::super::format::{float32_text, json_float};
use super::super::literal::{parse_float, parse_int, parse_uint};

/// The prefix of the tags defined by YAML.
const CORE: &str = "tag:yaml.org,2002:";

/// A scalar with its Go type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Resolved<'s> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Cow<'s, str>),
    /// Text of type `!!timestamp`.
    Timestamp(&'s str),
}

/// Resolves a scalar without quotes and tag.
pub(super) fn resolve(text: &str) -> Resolved<'_> {
    let Some(first) = text.bytes().next() else { return Resolved::Null };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => match special(text).or_else(|| parse_float(text)) {
            Some(float) => Resolved::Float(float),
            None => Resolved::Text(text.into()),
        },
        b'+' | b'-' | b'0'..=b'9' => match special(text) {
            Some(float) => Resolved::Float(float),
            None => number(text),
        },
        _ => Resolved::Text(text.into()),
    }
}

fn word(text: &str) -> Resolved<'_> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Resolved::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Resolved::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Resolved::Null,
        _ => Resolved::Text(text.into()),
    }
}

fn special(text: &str) -> Option<f64> {
    Some(match text {
        ".nan" | ".NaN" | ".NAN" => f64::NAN,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => f64::INFINITY,
        "-.inf" | "-.Inf" | "-.INF" => f64::NEG_INFINITY,
        _ => return None,
    })
}

fn number(text: &str) -> Resolved<'_> {
    if is_timestamp(text) {
        return Resolved::Timestamp(text);
    }
    let plain = text.replace('_', "");
    if let Some(int) = parse_int(&plain, 0) {
        return Resolved::Int(int);
    }
    if let Some(uint) = parse_uint(&plain, 0) {
        return Resolved::Uint(uint);
    }
    if is_float(&plain)
        && let Some(float) = parse_float(&plain)
    {
        return Resolved::Float(float);
    }
    if let Some(digits) = plain.strip_prefix("0b") {
        if let Some(int) = parse_int(digits, 2) {
            return Resolved::Int(int);
        }
        if let Some(uint) = parse_uint(digits, 2) {
            return Resolved::Uint(uint);
        }
    } else if let Some(digits) = plain.strip_prefix("-0b")
        && let Some(int) = parse_int(&format!("-{digits}"), 2)
    {
        return Resolved::Int(int);
    }
    Resolved::Text(text.into())
}

/// Whether a text consists of digits with an optional fraction and exponent.
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let good_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let good_exponent = exponent.is_none_or(|exponent| {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !unsigned.is_empty() && digits(unsigned)
    });
    good_mantissa && good_exponent
}

/// Whether go-yaml considers a text a timestamp.
fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let year = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if year != 4 || bytes.get(4) != Some(&b'-') {
        return false;
    }
    // This only decides whether an explicit tag is valid. Without a tag, the scalar remains text.
    let mut fields = text.get(5..).unwrap_or_default().splitn(2, '-');
    let short =
        |field: &str| (1..=2).contains(&field.len()) && field.bytes().all(|byte| byte.is_ascii_digit());
    let month = fields.next().unwrap_or_default();
    let day = fields.next().unwrap_or_default();
    let day = day.split(['T', 't', ' ']).next().unwrap_or_default();
    short(month) && short(day)
}

/// Resolves a scalar with a tag other than `!`.
pub(super) fn resolve_tagged<'s>(tag: &str, text: &'s str) -> Result<Resolved<'s>, String> {
    let name = tag.strip_prefix(CORE).unwrap_or_default();
    let resolved = match name {
        "binary" => return binary(text),
        "bool" | "int" | "float" | "null" | "timestamp" => resolve(text),
        _ => return Ok(Resolved::Text(text.into())),
    };
    #[expect(clippy::cast_precision_loss, reason = "the tag asks for a float")]
    match (name, resolved) {
        ("float", Resolved::Int(int)) => Ok(Resolved::Float(int as f64)),
        ("bool", resolved @ Resolved::Bool(_))
        | ("int", resolved @ (Resolved::Int(_) | Resolved::Uint(_)))
        | ("float", resolved @ Resolved::Float(_))
        | ("null", resolved @ Resolved::Null)
        | ("timestamp", resolved @ Resolved::Timestamp(_)) => Ok(resolved),
        _ => Err(format!("cannot decode `{text}` as a !!{name}")),
    }
}

fn binary(text: &str) -> Result<Resolved<'_>, String> {
    match super::super::functions::base64_decode(text.as_bytes()) {
        Ok(bytes) => Ok(Resolved::Text(String::from_utf8_lossy(&bytes).into_owned().into())),
        Err(_) => Err("!!binary value contains invalid base64 data".to_owned()),
    }
}

/// The JSON value of a scalar; none for infinities and NaN.
pub(super) fn json(resolved: &Resolved<'_>) -> Option<Value> {
    Some(match resolved {
        Resolved::Null => Value::Null,
        Resolved::Bool(flag) => Value::Bool(*flag),
        Resolved::Int(int) => Value::from(*int),
        Resolved::Uint(uint) => Value::from(*uint),
        Resolved::Float(float) => Value::Number(json_number(*float)?),
        Resolved::Text(text) => Value::String(text.clone().into_owned()),
        Resolved::Timestamp(text) => Value::String((*text).to_owned()),
    })
}

/// The number that results from reading the JSON text of a float.
fn json_number(float: f64) -> Option<Number> {
    if !float.is_finite() {
        return None;
    }
    let text = json_float(float);
    if text != "-0" {
        if let Ok(uint) = text.parse::<u64>() {
            return Some(Number::from(uint));
        }
        if let Ok(int) = text.parse::<i64>() {
            return Some(Number::from(int));
        }
    }
    Number::from_f64(float)
}

/// The text of a scalar as a mapping key.
pub(super) fn key(resolved: &Resolved<'_>) -> Option<String> {
    Some(match resolved {
        Resolved::Text(text) => text.clone().into_owned(),
        Resolved::Timestamp(text) => (*text).to_owned(),
        Resolved::Int(int) => int.to_string(),
        Resolved::Bool(flag) => flag.to_string(),
        Resolved::Float(float) => float_key(*float),
        Resolved::Null | Resolved::Uint(_) => return None,
    })
}

fn float_key(float: f64) -> String {
    if float.is_nan() {
        ".nan".to_owned()
    } else {
        match float32_text(float).as_str() {
            "+Inf" => ".inf".to_owned(),
            "-Inf" => "-.inf".to_owned(),
            text => text.to_owned(),
        }
    }
}

/// The mapping key for an alias to an earlier scalar.
pub(super) fn key_of_json(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => match number.as_i64() {
            Some(int) => Some(int.to_string()),
            None => number.is_f64().then(|| number.as_f64().map(float_key)).flatten(),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
