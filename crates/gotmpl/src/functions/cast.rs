//! `spf13/cast`: converts values of any type for sprig's arithmetic.

use super::super::literal::{parse_float, parse_int};
use super::super::value::Value;

/// `cast.ToInt64`. Anything that is not a number becomes zero.
#[expect(clippy::cast_possible_wrap, reason = "Go converts uint64 the same way")]
pub(super) fn int64(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(_, number) => *number,
        Value::Uint(_, number) => *number as i64,
        Value::Float(number) => float_to_int(*number),
        Value::Bool(flag) => i64::from(*flag),
        Value::Str(text) => std::str::from_utf8(text.bytes())
            .ok()
            .and_then(|text| parse_int(&without_fraction(text), 0))
            .unwrap_or(0),
        _ => 0,
    }
}

/// `cast.ToFloat64`
#[expect(clippy::cast_precision_loss, reason = "Go converts integers the same way")]
pub(super) fn float64(value: &Value<'_>) -> f64 {
    match value {
        Value::Int(_, number) => *number as f64,
        Value::Uint(_, number) => *number as f64,
        Value::Float(number) => *number,
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        Value::Str(text) => std::str::from_utf8(text.bytes()).ok().and_then(parse_float).unwrap_or(0.0),
        _ => 0.0,
    }
}

/// Go's conversion on amd64: numbers out of range become the smallest one.
#[expect(clippy::cast_possible_truncation, reason = "checked before")]
pub(super) fn float_to_int(number: f64) -> i64 {
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    if fits { number as i64 } else { i64::MIN }
}

/// Removes the fraction of a decimal number; other texts stay unchanged.
fn without_fraction(text: &str) -> std::borrow::Cow<'_, str> {
    let Some((whole, fraction)) = text.split_once('.') else { return text.into() };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    if !digits(unsigned) || !digits(fraction) {
        return text.into();
    }
    if unsigned.is_empty() { format!("{whole}0").into() } else { whole.into() }
}
