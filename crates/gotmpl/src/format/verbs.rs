//! `fmt.Sprintf`: parses the format and prints each operand with its flags.

use super::super::budget::Context;
use super::super::error::Outcome;
use super::super::unicode;
use super::super::value::Value;
use super::{Flags, Printer};

/// Widths and precisions above this are refused.
const MAX_NUMBER: usize = 1_000_000;

/// Formats operands as `fmt.Sprintf` does, including its error markers.
pub(in super::super) fn printf<'a>(
    cx: &mut Context<'a>,
    format: &[u8],
    values: &[Value<'a>],
) -> Outcome<Vec<u8>> {
    let printer = Printer::new(cx, Vec::with_capacity(format.len()));
    let mut formatter =
        Formatter { printer, format, values, at: 0, next: 0, reordered: false, good_index: true };
    formatter.run()?;
    Ok(formatter.printer.out)
}

struct Formatter<'p, 'a, 'f> {
    printer: Printer<'p, 'a>,
    format: &'f [u8],
    values: &'f [Value<'a>],
    at: usize,
    next: usize,
    reordered: bool,
    good_index: bool,
}

impl Formatter<'_, '_, '_> {
    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    fn write(&mut self, text: &str) {
        self.printer.out.extend_from_slice(text.as_bytes());
    }

    fn run(&mut self) -> Outcome<()> {
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'%' {
                self.printer.cx.spend(1)?;
                self.verb()?;
            } else {
                self.printer.out.push(byte);
            }
        }
        self.printer.settle()?;
        if !self.reordered && self.next < self.values.len() {
            self.extra()?;
        }
        Ok(())
    }

    fn extra(&mut self) -> Outcome<()> {
        self.printer.flags = Flags::default();
        self.write("%!(EXTRA ");
        let values = self.values;
        for (index, value) in values.iter().skip(self.next).enumerate() {
            if index > 0 {
                self.write(", ");
            }
            if value.is_nil() {
                self.write("<nil>");
            } else {
                self.write(value.type_name());
                self.write("=");
                self.printer.argument(value, 'v')?;
            }
        }
        self.write(")");
        Ok(())
    }

    fn verb(&mut self) -> Outcome<()> {
        self.good_index = true;
        self.flags();
        let mut indexed = self.index();
        if self.peek() == Some(b'*') {
            self.at += 1;
            self.star_width();
            indexed = false;
        } else {
            self.printer.flags.width = self.number();
            if indexed && self.printer.flags.width.is_some() {
                self.good_index = false;
            }
        }
        if self.peek() == Some(b'.') && self.at + 1 < self.format.len() {
            self.at += 1;
            if indexed {
                self.good_index = false;
            }
            indexed = self.index();
            if self.peek() == Some(b'*') {
                self.at += 1;
                self.star_precision();
                indexed = false;
            } else {
                self.printer.flags.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !indexed {
            self.index();
        }
        let rest = self.format.get(self.at..).unwrap_or_default();
        let Some((verb, len, _)) = unicode::decode(rest) else {
            self.write("%!(NOVERB)");
            return Ok(());
        };
        self.at += len;
        let values = self.values;
        let operand = values.get(self.next);
        match (verb, operand) {
            ('%', _) => self.write("%"),
            _ if !self.good_index => self.write(&format!("%!{verb}(BADINDEX)")),
            (_, None) => self.write(&format!("%!{verb}(MISSING)")),
            (_, Some(operand)) => {
                let flags = &mut self.printer.flags;
                if matches!(verb, 'v' | 'w') {
                    flags.sharp_v = std::mem::take(&mut flags.sharp);
                    flags.plus = false;
                }
                self.next += 1;
                if verb == 'w' {
                    return self.printer.bad_verb(operand, 'w');
                }
                return self.printer.argument(operand, verb);
            }
        }
        Ok(())
    }

    fn flags(&mut self) {
        let mut flags = Flags::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => break,
            }
            self.at += 1;
        }
        self.printer.flags = flags;
    }

    /// Parses `[n]`, which selects the next operand. Reports whether it was present.
    fn index(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let rest = self.format.get(self.at..).unwrap_or_default();
        let close = rest.iter().position(|byte| *byte == b']');
        let Some(close) = close.filter(|_| rest.len() >= 3) else {
            self.at += 1;
            self.good_index = false;
            return false;
        };
        let text = rest.get(1..close).unwrap_or_default();
        self.at += close + 1;
        match digits(text) {
            Some((index, len)) if len == text.len() => {
                match index.checked_sub(1).filter(|index| *index < self.values.len()) {
                    Some(index) => self.next = index,
                    None => self.good_index = false,
                }
                true
            }
            _ => {
                self.good_index = false;
                false
            }
        }
    }

    /// Parses a number in the format. A number that is too large consumes the rest of the format.
    fn number(&mut self) -> Option<usize> {
        let rest = self.format.get(self.at..).unwrap_or_default();
        if !rest.first().is_some_and(u8::is_ascii_digit) {
            return None;
        }
        if let Some((number, len)) = digits(rest) {
            self.at += len;
            return Some(number);
        }
        self.at = self.format.len();
        None
    }

    /// Reads a width or precision from an operand.
    fn star(&mut self) -> Option<i64> {
        let value = self.values.get(self.next)?;
        self.next += 1;
        let number = match value {
            Value::Int(_, number) => *number,
            Value::Uint(_, number) => i64::try_from(*number).ok()?,
            _ => return None,
        };
        (number.unsigned_abs() <= MAX_NUMBER as u64).then_some(number)
    }

    fn star_width(&mut self) {
        let width = self.star();
        if width.is_none() {
            self.write("%!(BADWIDTH)");
        }
        let flags = &mut self.printer.flags;
        if width.is_some_and(|width| width < 0) {
            flags.minus = true;
            flags.zero = false;
        }
        flags.width = width.and_then(|width| usize::try_from(width.unsigned_abs()).ok());
    }

    fn star_precision(&mut self) {
        let precision = self.star().and_then(|number| usize::try_from(number).ok());
        if precision.is_none() {
            self.write("%!(BADPREC)");
        }
        self.printer.flags.precision = precision;
    }
}

/// The leading number of a text and its length, unless it is too large.
fn digits(text: &[u8]) -> Option<(usize, usize)> {
    let mut number = 0_usize;
    let mut len = 0;
    for byte in text.iter().take_while(|byte| byte.is_ascii_digit()) {
        if number > MAX_NUMBER {
            return None;
        }
        number = number * 10 + usize::from(byte - b'0');
        len += 1;
    }
    (len > 0).then_some((number, len))
}
