//! Durations and points in time in the formats of Go's `time` package.
//!
//! ```
//! use gotmpl::time::{format_duration, parse_duration, utc_seconds};
//!
//! let nanos = parse_duration("90m").expect("a duration");
//! assert_eq!(format_duration(nanos), "1h30m0s");
//! assert_eq!(utc_seconds("2026-03-01T01:30:00.9+02:00").as_deref(), Some("2026-02-28T23:30:00Z"));
//! ```

use super::clock::{Time, Zone};
use super::layout_parse;

/// Formats a duration, given in nanoseconds, like `time.Duration.String`.
pub fn format_duration(nanos: i64) -> String {
    let size = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    let (unit, scale) = match size {
        0 => return "0s".to_owned(),
        1..1_000 => ("ns", 1),
        1_000..1_000_000 => ("µs", 1_000),
        1_000_000..1_000_000_000 => ("ms", 1_000_000),
        _ => ("s", 1_000_000_000),
    };
    let (whole, fraction) = (size / scale, size % scale);
    let digits = scale.ilog10() as usize;
    let fraction = match fraction {
        0 => String::new(),
        _ => format!(".{fraction:0digits$}").trim_end_matches('0').to_owned(),
    };
    if unit != "s" {
        return format!("{sign}{whole}{fraction}{unit}");
    }
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{sign}{hours}h{minutes}m{seconds}{fraction}s")
    } else if minutes > 0 {
        format!("{sign}{minutes}m{seconds}{fraction}s")
    } else {
        format!("{sign}{seconds}{fraction}s")
    }
}

/// Parses a time and formats it like `metav1.Time`: in UTC, with whole seconds. None if it cannot be parsed.
///
/// Source: `UnmarshalJSON` and `MarshalJSON` of `k8s.io/apimachinery/pkg/apis/meta/v1/time.go`.
pub fn utc_seconds(text: &str) -> Option<String> {
    let read = layout_parse::parse(b"2006-01-02T15:04:05Z07:00", text.as_bytes())?;
    Time { nanos: 0, zone: Zone::Utc, ..read }.rfc3339()
}

/// Parses a duration into nanoseconds, like `time.ParseDuration`. `None` if Go reports an error.
pub fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (nanos, tail) = component(rest)?;
        total = total.checked_add(nanos).filter(|total| *total <= 1 << 63)?;
        rest = tail;
    }
    if negative { 0_i64.checked_sub_unsigned(total) } else { i64::try_from(total).ok() }
}

/// Parses one number with its unit. Returns its nanoseconds and the rest of the text.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go computes fractions in floats too"
)]
fn component(text: &str) -> Option<(u64, &str)> {
    let digits_end = |text: &str| text.find(|found: char| !found.is_ascii_digit());
    let (whole, rest) = text.split_at(digits_end(text).unwrap_or(text.len()));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits_end(rest).unwrap_or(rest.len())),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|found: char| found == '.' || found.is_ascii_digit());
    let (unit, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let unit: u64 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole.checked_mul(unit).filter(|nanos| *nanos <= 1 << 63)?;
    let kept = fraction.get(..fraction.len().min(18)).unwrap_or_default();
    if let Ok(value @ 1..) = kept.parse::<u64>() {
        let scale = 10_f64.powi(i32::try_from(kept.len()).ok()?);
        nanos = nanos.checked_add((value as f64 * (unit as f64 / scale)) as u64)?;
    }
    Some((nanos, rest))
}
