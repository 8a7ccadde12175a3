//! Formats integers and floats for the verbs of `fmt`, and implements `strconv.FormatFloat`.

use super::super::error::Outcome;
use super::super::value::Value;
use super::{Printer, quote};

/// More digits than any `float64` has; the rest are zeros.
const MAX_DIGITS: usize = 1100;

impl<'a> Printer<'_, 'a> {
    pub(super) fn integer(
        &mut self,
        value: &Value<'a>,
        number: u64,
        negative: bool,
        signed: bool,
        verb: char,
    ) -> Outcome<()> {
        match verb {
            'v' if self.flags.sharp_v && !signed => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                let result = self.digits(&format!("{number:x}"), negative, "0x", number == 0);
                self.flags.sharp = sharp;
                result
            }
            'v' | 'd' => self.digits(&number.to_string(), negative, "", number == 0),
            'b' => self.digits(&format!("{number:b}"), negative, "0b", number == 0),
            'o' => self.digits(&format!("{number:o}"), negative, "0", number == 0),
            'O' => {
                let sharp = std::mem::replace(&mut self.flags.sharp, false);
                let result = self.digits(&format!("{number:o}"), negative, "0o", number == 0);
                self.flags.sharp = sharp;
                result
            }
            'x' => self.digits(&format!("{number:x}"), negative, "0x", number == 0),
            'X' => self.digits(&format!("{number:X}"), negative, "0X", number == 0),
            'c' | 'q' => {
                let code = if negative { None } else { u32::try_from(number).ok() };
                let found = code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
                let mut buffer = [0; 4];
                let text = found.encode_utf8(&mut buffer).as_bytes();
                if verb == 'c' {
                    return self.pad(text);
                }
                let quoted = quote::quoted(text, b'\'', self.flags.plus);
                self.pad(&quoted)
            }
            'U' => {
                let bits = if negative { number.wrapping_neg() } else { number };
                let precision = self.flags.precision.unwrap_or(4).max(4);
                self.cx.charge(precision as u64)?;
                let mut text = format!("U+{bits:0precision$X}");
                let found = u32::try_from(bits).ok().and_then(char::from_u32);
                if let (true, Some(found)) = (self.flags.sharp, found)
                    && super::super::unicode::is_print(found)
                {
                    text.extend([' ', '\'', found, '\'']);
                }
                self.pad_blank(text.as_bytes())
            }
            _ => self.bad_verb(value, verb),
        }
    }

    fn digits(&mut self, digits: &str, negative: bool, prefix: &str, is_zero: bool) -> Outcome<()> {
        let flags = self.flags;
        let signed = negative || flags.plus || flags.space;
        let precision = match (flags.precision, flags.width) {
            (Some(0), _) if is_zero => {
                let zero = std::mem::replace(&mut self.flags.zero, false);
                let result = self.padding(flags.width.unwrap_or(0));
                self.flags.zero = zero;
                return result;
            }
            (Some(precision), _) => precision,
            (None, Some(width)) if flags.zero && !flags.minus => width.saturating_sub(usize::from(signed)),
            (None, _) => 0,
        };
        self.cx.charge(precision as u64)?;
        let mut text = String::with_capacity(precision.max(digits.len()) + 3);
        if negative {
            text.push('-');
        } else if flags.plus {
            text.push('+');
        } else if flags.space {
            text.push(' ');
        }
        let zeros = precision.saturating_sub(digits.len());
        let body = format!("{}{digits}", "0".repeat(zeros));
        let octal = prefix == "0" && body.starts_with('0');
        if prefix == "0o" || flags.sharp && !octal {
            text.push_str(prefix);
        }
        text.push_str(&body);
        self.pad_blank(text.as_bytes())
    }

    pub(super) fn float(&mut self, value: &Value<'a>, number: f64, verb: char) -> Outcome<()> {
        let (format, default) = match verb {
            'v' => ('g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => (verb, None),
            'f' | 'e' | 'E' => (verb, Some(6)),
            'F' => ('f', Some(6)),
            _ => return self.bad_verb(value, verb),
        };
        let flags = self.flags;
        let precision = flags.precision.or(default);
        self.cx.charge(precision.unwrap_or(0) as u64)?;
        let mut text = float_text(number.abs(), format, precision);
        let negative = number.is_sign_negative() && !number.is_nan();
        let sign = if negative {
            "-"
        } else if flags.plus {
            "+"
        } else if flags.space {
            " "
        } else {
            ""
        };
        if !number.is_finite() {
            let sign = if number.is_infinite() && sign.is_empty() { "+" } else { sign };
            let body = text.trim_start_matches('+');
            return self.pad_blank(format!("{sign}{body}").as_bytes());
        }
        if flags.sharp && format != 'b' {
            text = with_point(&text, format, precision);
        }
        let width = flags.width.unwrap_or(0);
        if !sign.is_empty() && flags.zero && !flags.minus && width > text.len() + 1 {
            self.out.extend_from_slice(sign.as_bytes());
            self.padding(width - text.len() - 1)?;
            self.out.extend_from_slice(text.as_bytes());
            return self.settle();
        }
        self.pad(format!("{sign}{text}").as_bytes())
    }
}

/// `strconv.FormatFloat`. Without a precision, it writes the fewest digits that identify the number.
pub(in super::super) fn float_text(number: f64, format: char, precision: Option<usize>) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-Inf" } else { "+Inf" }.to_owned();
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let number = number.abs();
    let body = match format {
        'f' => match precision {
            Some(precision) => fixed(number, precision),
            None => format!("{number}"),
        },
        'e' => exponential(number, precision, 'e'),
        'E' => exponential(number, precision, 'E'),
        'g' => general(number, precision, 'e'),
        'G' => general(number, precision, 'E'),
        'b' => binary(number),
        'x' => hexadecimal(number, precision, false),
        _ => hexadecimal(number, precision, true),
    };
    format!("{sign}{body}")
}

/// `strconv.FormatFloat(number, 'g', -1, 32)` for a finite number.
#[expect(clippy::cast_possible_truncation, reason = "the loss is what Go does here too")]
pub(in super::super) fn float32_text(number: f64) -> String {
    let narrow = number as f32;
    if narrow.is_infinite() {
        return if narrow < 0.0 { "-Inf" } else { "+Inf" }.to_owned();
    }
    let sign = if narrow.is_sign_negative() { "-" } else { "" };
    let (digits, exponent) = split_digits(&format!("{:e}", narrow.abs()));
    format!("{sign}{}", short(&digits, exponent, None, 'e'))
}

fn fixed(number: f64, precision: usize) -> String {
    let kept = precision.min(MAX_DIGITS);
    let text = format!("{number:.kept$}");
    format!("{text}{}", "0".repeat(precision - kept))
}

/// The digits of a number without their trailing zeros, and the exponent of the first one.
fn digits_of(number: f64, count: Option<usize>) -> (String, i32) {
    let text = match count {
        Some(count) => {
            let after = count.saturating_sub(1).min(MAX_DIGITS);
            format!("{number:.after$e}")
        }
        None => format!("{number:e}"),
    };
    split_digits(&text)
}

/// The digits and the exponent of Rust's `d.ddde-d` format.
fn split_digits(text: &str) -> (String, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits = mantissa.replace('.', "");
    (digits.trim_end_matches('0').to_owned(), exponent.parse().unwrap_or(0))
}

fn exponential(number: f64, precision: Option<usize>, mark: char) -> String {
    let (digits, exponent) = digits_of(number, precision.map(|precision| precision + 1));
    let wanted = precision.unwrap_or(digits.len().saturating_sub(1));
    spelled(&digits, wanted, exponent, mark)
}

/// Formats `d.ddde±dd` with this many digits after the point.
fn spelled(digits: &str, after: usize, exponent: i32, mark: char) -> String {
    let first = digits.get(..1).unwrap_or("0");
    let rest = digits.get(1..).unwrap_or_default();
    let zeros = "0".repeat(after.saturating_sub(rest.len()));
    let point = if after > 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    let exponent = exponent.abs();
    format!("{first}{point}{rest}{zeros}{mark}{sign}{exponent:02}")
}

fn general(number: f64, precision: Option<usize>, mark: char) -> String {
    let precision = precision.map(|precision| precision.max(1));
    let (digits, exponent) = digits_of(number, precision);
    short(&digits, exponent, precision, mark)
}

/// Formats digits for `%g`: with an exponent only if the number is very small or large.
fn short(digits: &str, exponent: i32, precision: Option<usize>, mark: char) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let point = if digits.is_empty() { 0 } else { exponent + 1 };
    let threshold = match precision {
        None => 6,
        Some(precision) => {
            let precision = i32::try_from(precision).unwrap_or(i32::MAX);
            if precision > count && count >= point { count } else { precision }
        }
    };
    if point - 1 < -4 || point > threshold {
        return spelled(digits, digits.len().saturating_sub(1), point - 1, mark);
    }
    plain(digits, point)
}

/// Formats digits with a decimal point at position `point`.
fn plain(digits: &str, point: i32) -> String {
    let Ok(whole) = usize::try_from(point) else {
        let zeros = usize::try_from(-point).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    if whole == 0 {
        return if digits.is_empty() { "0".to_owned() } else { format!("0.{digits}") };
    }
    match digits.get(whole..) {
        Some(fraction) if !fraction.is_empty() => {
            format!("{}.{fraction}", digits.get(..whole).unwrap_or_default())
        }
        _ => format!("{digits}{}", "0".repeat(whole.saturating_sub(digits.len()))),
    }
}

/// The mantissa of a positive number as an integer, and its exponent.
fn parts(number: f64) -> (u64, i32) {
    let bits = number.to_bits();
    let exponent = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0);
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) }
}

fn binary(number: f64) -> String {
    let (mantissa, exponent) = parts(number);
    format!("{mantissa}p{exponent:+}")
}

fn hexadecimal(number: f64, precision: Option<usize>, upper: bool) -> String {
    let (mut mantissa, mut exponent) = parts(number);
    if mantissa == 0 {
        exponent = 0;
    } else {
        let shift = mantissa.leading_zeros() - 3;
        mantissa <<= shift;
        exponent += 60 - i32::try_from(shift).unwrap_or(0);
    }
    if let Some(precision) = precision.filter(|precision| *precision < 15) {
        let dropped = 60 - precision * 4;
        let half = 1_u64 << (dropped - 1);
        let rest = mantissa & ((1 << dropped) - 1);
        mantissa >>= dropped;
        mantissa += u64::from(rest > half || rest == half && mantissa & 1 == 1);
        mantissa <<= dropped;
        if mantissa >> 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let digits = format!("{:015x}", mantissa & ((1 << 60) - 1));
    let fraction = match precision {
        None => digits.trim_end_matches('0').to_owned(),
        Some(precision) => {
            let kept = digits.get(..precision.min(15)).unwrap_or_default();
            format!("{kept}{}", "0".repeat(precision.saturating_sub(15)))
        }
    };
    let point = if fraction.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    let text = format!("0x{}{point}{fraction}p{sign}{:02}", mantissa >> 60, exponent.abs());
    if upper { text.to_uppercase() } else { text }
}

/// Formats a number for the `#` flag: with a point and its trailing zeros.
fn with_point(text: &str, format: char, precision: Option<usize>) -> String {
    let mut missing = match format {
        'g' | 'G' | 'x' => i64::try_from(precision.unwrap_or(6)).unwrap_or(0),
        _ => 0,
    };
    let marks: &[char] = if matches!(format, 'x' | 'X') { &['p', 'P'] } else { &['e', 'E'] };
    let (body, tail) = text.split_at(text.find(marks).unwrap_or(text.len()));
    let mut significant = false;
    for found in body.chars().filter(|found| *found != '.') {
        significant |= found != '0';
        missing -= i64::from(significant);
    }
    let mut out = body.to_owned();
    if !body.contains('.') {
        if body == "0" {
            missing -= 1;
        }
        out.push('.');
    }
    out.push_str(&"0".repeat(usize::try_from(missing).unwrap_or(0)));
    out.push_str(tail);
    out
}

/// Formats a finite number as `encoding/json` does.
pub(in super::super) fn json_float(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = float_text(number, 'e', None);
        // Remove the zero of one-digit exponents.
        return match text.split_once("e-0") {
            Some((mantissa, digit)) => format!("{mantissa}e-{digit}"),
            None => text,
        };
    }
    float_text(number, 'f', None)
}
