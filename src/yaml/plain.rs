//! The meaning of plain scalars, and the cases in which YAML readers disagree.

use super::Value;

/// The meaning of a plain scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    /// The same value for every reader.
    Value(Value),
    /// Different values for different readers. The text completes "`x` is …".
    Ambiguous(&'static str),
}

/// Resolves a plain scalar according to what YAML 1.1 and 1.2 readers agree on.
///
/// Dates and `12:30` are strings, as in Kubernetes' own reader. The emitter quotes them for other readers.
pub fn resolve_plain(text: &str) -> Plain {
    let string = || Plain::Value(Value::String(text.into()));
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Plain::Value(Value::Null),
        "true" | "True" | "TRUE" => return Plain::Value(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Plain::Value(Value::Bool(false)),
        _ => {}
    }
    if is_word_of_1_1(text) {
        return Plain::Ambiguous("a boolean for Kubernetes and a string for YAML 1.2");
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return string();
    }
    if matches!(unsigned, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Plain::Ambiguous("a number that JSON cannot hold");
    }
    number(text, unsigned).unwrap_or_else(string)
}

/// The next step for an ambiguous scalar.
pub fn unambiguous(text: &str) -> String {
    let plain = match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" => "`true`",
        "n" | "no" | "off" => "`false`",
        _ => "the value in its plain form",
    };
    format!("write \"{text}\" if you mean text, or {plain}")
}

/// The booleans of YAML 1.1 other than `true` and `false`, as go-yaml v2 reads them.
fn is_word_of_1_1(text: &str) -> bool {
    matches!(
        text,
        "y" | "Y"
            | "yes"
            | "Yes"
            | "YES"
            | "on"
            | "On"
            | "ON"
            | "n"
            | "N"
            | "no"
            | "No"
            | "NO"
            | "off"
            | "Off"
            | "OFF"
    )
}

fn number(text: &str, unsigned: &str) -> Option<Plain> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let lower = unsigned.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return hex_number(text, hex);
    }
    for (prefix, radix) in [("0o", 8), ("0b", 2)] {
        let body = lower.strip_prefix(prefix).map(|body| body.replace('_', ""));
        if body.is_some_and(|body| !body.is_empty() && body.chars().all(|c| c.is_digit(radix))) {
            return Some(Plain::Ambiguous("a number for some YAML readers and a string for others"));
        }
    }
    if unsigned.contains('_') && is_number_shaped(&unsigned.replace('_', "")) {
        return Some(Plain::Ambiguous("a number for some YAML readers and a string for others"));
    }
    if digits(unsigned) {
        if unsigned.len() > 1 && unsigned.starts_with('0') {
            return Some(Plain::Ambiguous(
                "an octal number for some YAML readers and a decimal one for others",
            ));
        }
        let parsed = text.parse::<i64>();
        return Some(parsed.map_or(Plain::Ambiguous("a number that does not fit 64 bits"), |n| {
            Plain::Value(Value::Int(n))
        }));
    }
    if is_number_shaped(unsigned) {
        let number: f64 = text.parse().ok()?;
        let finite = number.is_finite().then_some(Plain::Value(Value::Float(number)));
        return Some(finite.unwrap_or(Plain::Ambiguous("a number that is too large")));
    }
    None
}

fn hex_number(text: &str, hex: &str) -> Option<Plain> {
    if hex.is_empty() || !hex.bytes().all(|b| b.is_ascii_hexdigit() || b == b'_') {
        return None;
    }
    let value = i64::from_str_radix(hex, 16).ok().filter(|_| text.starts_with("0x"));
    Some(value.map_or(Plain::Ambiguous("a number for some YAML readers and a string for others"), |n| {
        Plain::Value(Value::Int(n))
    }))
}

/// Matches `12`, `1.5`, `.5`, `1.`, `1e3` and `1.5E-3`: digits with at most one point and an exponent.
fn is_number_shaped(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let whole_exponent = |exponent: &str| {
        let body = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !body.is_empty() && body.bytes().all(|b| b.is_ascii_digit())
    };
    let points = mantissa.bytes().filter(|b| *b == b'.').count();
    let has_digit = mantissa.bytes().any(|b| b.is_ascii_digit());
    points <= 1
        && has_digit
        && mantissa.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && exponent.is_none_or(whole_exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match resolve_plain(text) {
            Plain::Value(value) => format!("{value:?}"),
            Plain::Ambiguous(_) => "ambiguous".to_owned(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn what_readers_agree_on_is_a_value_and_the_rest_is_ambiguous() {
        for text in [
            "y",
            "No",
            "ON",
            "012",
            "-07",
            "1_000",
            "0o17",
            "0b11",
            "0X1f",
            "-0x1f",
            ".inf",
            "99999999999999999999",
        ] {
            check(text, "ambiguous");
        }
        check("1.35.10", "String(\"1.35.10\")");
        check("12:30", "String(\"12:30\")");
        check("2026-10-27", "String(\"2026-10-27\")");
        check("1.30", "Float(1.3)");
        check("0x1f", "Int(31)");
        check("-12", "Int(-12)");
        check("1e3", "Float(1000.0)");
        check("1e", "String(\"1e\")");
        check("yes!", "String(\"yes!\")");
        check("~", "Null");
    }
}
