//! Numbers and quoted strings in Go syntax.

/// A number in every type that can represent it.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub(super) text: Box<str>,
    pub(super) int: Option<i64>,
    pub(super) uint: Option<u64>,
    pub(super) float: Option<f64>,
}

/// Parses a number constant. The error is a message.
pub(super) fn number(text: &str) -> Result<Number, String> {
    if text.ends_with('i') && !text.starts_with('\'') {
        return Err(format!("complex number {text} is not supported"));
    }
    let uint = parse_uint(text, 0);
    let int = parse_int(text, 0);
    // Go's parser refuses -0 as an unsigned number, but its value is zero.
    let uint = if int == Some(0) { Some(0) } else { uint };
    let mut number = Number { text: text.into(), int, uint, float: None };
    #[expect(clippy::cast_precision_loss, reason = "Go converts the constant the same way")]
    if let Some(int) = int {
        number.float = Some(int as f64);
    } else if let Some(uint) = uint {
        number.float = Some(uint as f64);
    } else if let Some(float) = parse_float(text) {
        if !text.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {text:?}"));
        }
        number.float = Some(float);
        number.int = whole_int(float);
        number.uint = whole_uint(float);
    }
    if number.float.is_none() {
        return Err(format!("illegal number syntax: {text:?}"));
    }
    Ok(number)
}

/// Parses a character constant such as `'a'`.
#[expect(clippy::cast_precision_loss, reason = "a character is far below 2^53")]
pub(super) fn character(text: &str) -> Result<Number, String> {
    let malformed = || format!("malformed character constant: {text}");
    let body = text.strip_prefix('\'').ok_or_else(malformed)?;
    let body = body.strip_suffix('\'').ok_or_else(malformed)?;
    let mut bytes = Vec::new();
    let (value, rest) = escaped(body, '\'', &mut bytes).ok_or_else(malformed)?;
    if !rest.is_empty() {
        return Err(malformed());
    }
    let value = i64::from(value);
    Ok(Number {
        text: text.into(),
        int: Some(value),
        uint: u64::try_from(value).ok(),
        float: Some(value as f64),
    })
}

/// `strconv.Unquote` for text in double or back quotes.
pub(super) fn unquote(text: &str) -> Option<Vec<u8>> {
    if let Some(raw) = text.strip_prefix('`') {
        return Some(raw.strip_suffix('`')?.replace('\r', "").into_bytes());
    }
    let mut rest = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (_, tail) = escaped(rest, '"', &mut bytes)?;
        rest = tail;
    }
    Some(bytes)
}

/// Appends one unescaped character of quoted text to `bytes`. Returns its code and the rest of the text.
fn escaped<'s>(text: &'s str, quote: char, bytes: &mut Vec<u8>) -> Option<(u32, &'s str)> {
    let mut chars = text.chars();
    let first = chars.next()?;
    if first == quote || first == '\n' {
        return None;
    }
    if first != '\\' {
        push(bytes, first);
        return Some((u32::from(first), chars.as_str()));
    }
    let kind = chars.next()?;
    let rest = chars.as_str();
    let simple = match kind {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        '\\' => b'\\',
        '"' if quote == '"' => b'"',
        '\'' if quote == '\'' => b'\'',
        'x' => return byte(rest, 2, 16, bytes),
        '0'..='7' => return byte(text.get(1..)?, 3, 8, bytes),
        'u' => return unicode(rest, 4, bytes),
        'U' => return unicode(rest, 8, bytes),
        _ => return None,
    };
    bytes.push(simple);
    Some((u32::from(simple), rest))
}

fn byte<'s>(text: &'s str, digits: usize, radix: u32, bytes: &mut Vec<u8>) -> Option<(u32, &'s str)> {
    let value = radix_number(text.get(..digits)?, radix)?;
    bytes.push(u8::try_from(value).ok()?);
    Some((value, text.get(digits..)?))
}

fn unicode<'s>(text: &'s str, digits: usize, bytes: &mut Vec<u8>) -> Option<(u32, &'s str)> {
    let value = radix_number(text.get(..digits)?, 16)?;
    push(bytes, char::from_u32(value)?);
    Some((value, text.get(digits..)?))
}

fn radix_number(digits: &str, radix: u32) -> Option<u32> {
    let plain = digits.chars().all(|digit| digit.is_digit(radix));
    if plain { u32::from_str_radix(digits, radix).ok() } else { None }
}

fn push(bytes: &mut Vec<u8>, found: char) {
    let mut buffer = [0; 4];
    bytes.extend_from_slice(found.encode_utf8(&mut buffer).as_bytes());
}

/// `strconv.ParseInt`. Base 0 takes the base from the prefix and allows underscores.
pub(super) fn parse_int(text: &str, base: u32) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'+' => (false, text.get(1..)?),
        b'-' => (true, text.get(1..)?),
        _ => (false, text),
    };
    let value = parse_uint(digits, base)?;
    if negative { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// `strconv.ParseUint`
pub(super) fn parse_uint(text: &str, base: u32) -> Option<u64> {
    if base != 0 {
        return digits(text, base);
    }
    let lower = text.as_bytes().get(1).map(u8::to_ascii_lowercase);
    let (base, skip) = match (text.as_bytes().first()?, lower) {
        (b'0', Some(b'x')) => (16, 2),
        (b'0', Some(b'b')) => (2, 2),
        (b'0', Some(b'o')) => (8, 2),
        (b'0', Some(_)) => (8, 1),
        _ => (10, 0),
    };
    if text.contains('_') && !underscores_fit(text) {
        return None;
    }
    digits(&text.get(skip..)?.replace('_', ""), base)
}

fn digits(text: &str, base: u32) -> Option<u64> {
    if text.is_empty() || !text.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    u64::from_str_radix(text, base).ok()
}

/// Whether underscores occur only between digits or after a base prefix.
fn underscores_fit(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let bytes = text.as_bytes();
    let lower = bytes.get(1).map(u8::to_ascii_lowercase);
    let prefixed = bytes.first() == Some(&b'0') && matches!(lower, Some(b'b' | b'o' | b'x'));
    let hex = prefixed && lower == Some(b'x');
    let mut last = if prefixed { '0' } else { '^' };
    for found in text.chars().skip(if prefixed { 2 } else { 0 }) {
        if found.is_ascii_digit() || hex && found.is_ascii_hexdigit() {
            last = '0';
        } else if found == '_' {
            if last != '0' {
                return false;
            }
            last = '_';
        } else {
            if last == '_' {
                return false;
            }
            last = '!';
        }
    }
    last != '_'
}

/// `strconv.ParseFloat` with 64 bits; none if the number is out of range.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let hex = unsigned.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x"));
    if text.contains('_') {
        return if underscores_fit(text) { parse_float(&text.replace('_', "")) } else { None };
    }
    if hex {
        let value = hex_float(unsigned.get(2..)?)?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    let lower = unsigned.to_ascii_lowercase();
    match lower.as_str() {
        "nan" if unsigned.len() == text.len() => return Some(f64::NAN),
        "inf" | "infinity" if text.starts_with('-') => return Some(f64::NEG_INFINITY),
        "inf" | "infinity" => return Some(f64::INFINITY),
        _ => {}
    }
    let plain = |found: char| found.is_ascii_digit() || ".eE+-".contains(found);
    if !text.chars().all(plain) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(value)
}

/// Parses the part of a hexadecimal float after `0x`. The exponent is mandatory.
fn hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let mut exponent: i64 =
        exponent.parse().unwrap_or(if exponent.starts_with('-') { -100_000 } else { 100_000 });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value: u128 = 0;
    let mut sticky = false;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = digit.to_digit(16)?;
        if index >= whole.len() {
            exponent = exponent.saturating_sub(4);
        }
        if value >> 100 == 0 {
            value = value << 4 | u128::from(digit);
        } else {
            sticky |= digit != 0;
            exponent = exponent.saturating_add(4);
        }
    }
    scaled(value | u128::from(sticky), exponent)
}

/// `value * 2^exponent`, rounded only once.
#[expect(clippy::cast_precision_loss, reason = "rounding is what is asked for")]
fn scaled(value: u128, exponent: i64) -> Option<f64> {
    if value == 0 {
        return Some(0.0);
    }
    let exponent = i32::try_from(exponent).ok()?;
    let bits = i32::try_from(128 - value.leading_zeros()).ok()?;
    let lost = (-1074 - exponent).max(bits - 53);
    if lost > 127 {
        return Some(0.0);
    }
    let (kept, exponent) = if lost > 0 {
        let half = 1_u128 << (lost - 1);
        let rest = value & ((1_u128 << lost) - 1);
        let kept = value >> lost;
        let up = rest > half || rest == half && kept & 1 == 1;
        (kept + u128::from(up), exponent + lost)
    } else {
        (value, exponent)
    };
    let half = exponent / 2;
    let result = kept as f64 * 2_f64.powi(half) * 2_f64.powi(exponent - half);
    result.is_finite().then_some(result)
}

/// The float as an integer, if it is whole.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "checked by converting back"
)]
fn whole_int(float: f64) -> Option<i64> {
    let int = float as i64;
    (int as f64 == float && float < 9.3e18).then_some(int)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "checked by converting back"
)]
fn whole_uint(float: f64) -> Option<u64> {
    let uint = float as u64;
    (uint as f64 == float && float >= 0.0).then_some(uint)
}
