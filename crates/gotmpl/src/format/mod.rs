//! Go's `fmt`: the text form of values.

mod number;
mod quote;
mod verbs;

use super::budget::Context;
use super::clock;
use super::error::{Outcome, limit, unsupported};
use super::value::{IntType, Str, Value};

pub(super) use number::{float_text, float32_text, json_float};
pub(super) use quote::quote;
pub(super) use verbs::printf;

/// The deepest value that can be printed. Only maps that contain themselves are nested deeper.
const MAX_DEPTH: usize = 150;

/// Prints one value as `fmt.Fprint` does.
pub(super) fn print<'a>(cx: &mut Context<'a>, out: &mut Vec<u8>, value: &Value<'a>) -> Outcome<()> {
    let mut printer = Printer::new(cx, std::mem::take(out));
    printer.argument(value, 'v')?;
    *out = printer.out;
    Ok(())
}

/// `fmt.Sprint`: adds blanks between operands if neither is a string.
pub(super) fn sprint<'a>(cx: &mut Context<'a>, values: &[Value<'a>]) -> Outcome<Vec<u8>> {
    let mut printer = Printer::new(cx, Vec::new());
    let mut after_text = true;
    for (index, value) in values.iter().enumerate() {
        let text = matches!(value, Value::Str(_));
        if index > 0 && !text && !after_text {
            printer.out.push(b' ');
        }
        printer.argument(value, 'v')?;
        after_text = text;
    }
    Ok(printer.out)
}

/// `fmt.Sprintln`
pub(super) fn sprintln<'a>(cx: &mut Context<'a>, values: &[Value<'a>]) -> Outcome<Vec<u8>> {
    let mut printer = Printer::new(cx, Vec::new());
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            printer.out.push(b' ');
        }
        printer.argument(value, 'v')?;
    }
    printer.out.push(b'\n');
    Ok(printer.out)
}

/// The text of a value: strings unchanged, everything else as printed.
pub(super) fn text<'a>(cx: &mut Context<'a>, value: &Value<'a>) -> Outcome<Str<'a>> {
    if let Value::Str(text) = value {
        return Ok(text.clone());
    }
    let mut out = Vec::new();
    print(cx, &mut out, value)?;
    Ok(Str::from(out))
}

/// The flags of one verb.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    plus: bool,
    minus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    sharp_v: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// Prints values with the flags of the current verb.
struct Printer<'p, 'a> {
    cx: &'p mut Context<'a>,
    out: Vec<u8>,
    paid: usize,
    flags: Flags,
}

impl<'p, 'a> Printer<'p, 'a> {
    fn new(cx: &'p mut Context<'a>, out: Vec<u8>) -> Printer<'p, 'a> {
        Printer { cx, paid: out.len(), out, flags: Flags::default() }
    }

    /// Charges for the output since the last call.
    fn settle(&mut self) -> Outcome<()> {
        let written = self.out.len().saturating_sub(self.paid);
        self.paid = self.out.len();
        self.cx.charge(written as u64)
    }

    fn padding(&mut self, count: usize) -> Outcome<()> {
        let fill = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
        self.cx.charge(count as u64)?;
        self.out.resize(self.out.len() + count, fill);
        Ok(())
    }

    /// Writes text padded to the requested width.
    fn pad(&mut self, bytes: &[u8]) -> Outcome<()> {
        let width = self.flags.width.unwrap_or(0);
        let missing = match width {
            0 => 0,
            _ => width.saturating_sub(super::unicode::count(bytes)),
        };
        if !self.flags.minus {
            self.padding(missing)?;
        }
        self.out.extend_from_slice(bytes);
        if self.flags.minus {
            self.padding(missing)?;
        }
        self.settle()
    }

    /// Writes text padded to the requested width, but never with zeros.
    fn pad_blank(&mut self, bytes: &[u8]) -> Outcome<()> {
        let zero = std::mem::replace(&mut self.flags.zero, false);
        let result = self.pad(bytes);
        self.flags.zero = zero;
        result
    }

    /// Prints one operand of a verb.
    fn argument(&mut self, value: &Value<'a>, verb: char) -> Outcome<()> {
        match (value, verb) {
            (Value::Invalid | Value::Nil, 'T' | 'v') => self.pad(b"<nil>"),
            (Value::Invalid | Value::Nil, _) => self.bad_verb(value, verb),
            (_, 'T') => self.text(value.type_name().as_bytes(), 's'),
            (
                Value::JsonList(_)
                | Value::List(_)
                | Value::JsonMap(_)
                | Value::Map(_)
                | Value::Version(_, true),
                'p',
            ) => Err(unsupported("%p prints an address of the controller's memory")),
            _ => self.value(value, verb, 0),
        }
    }

    fn value(&mut self, value: &Value<'a>, verb: char, depth: usize) -> Outcome<()> {
        self.cx.spend(1)?;
        if depth > MAX_DEPTH {
            return Err(limit("a value is nested too deeply to be printed"));
        }
        match value {
            Value::Invalid | Value::Nil => {
                let text: &[u8] = if self.flags.sharp_v { b"interface {}(nil)" } else { b"<nil>" };
                self.out.extend_from_slice(text);
                self.settle()
            }
            Value::Bool(flag) if matches!(verb, 't' | 'v') => {
                self.pad(if *flag { b"true" } else { b"false" })
            }
            Value::Int(kind, number) => match named_number(*kind, *number) {
                Some(name) if "vsxXq".contains(verb) && !self.flags.sharp_v => {
                    self.text(name.as_bytes(), verb)
                }
                _ => {
                    let negative = *number < 0;
                    self.integer(value, number.unsigned_abs(), negative, true, verb)
                }
            },
            Value::Uint(_, number) => self.integer(value, *number, false, false, verb),
            Value::Float(number) => self.float(value, *number, verb),
            Value::Str(text) => self.text(text.bytes(), verb),
            Value::JsonList(_) | Value::List(_) => self.list(value, verb, depth),
            Value::JsonMap(_) | Value::Map(_) => self.map(value, verb, depth),
            Value::Version(version, _) if "vsxXq".contains(verb) && !self.flags.sharp_v => {
                self.text(version.to_string().as_bytes(), verb)
            }
            Value::Time(time) if "vsxXq".contains(verb) && !self.flags.sharp_v => {
                self.text(time.to_string().as_bytes(), verb)
            }
            Value::Version(..) | Value::Time(_) => {
                let kind = value.type_name();
                Err(unsupported(format!("%{verb} of a {kind} prints its private fields")))
            }
            Value::Bool(_) => self.bad_verb(value, verb),
        }
    }

    fn list(&mut self, value: &Value<'a>, verb: char, depth: usize) -> Outcome<()> {
        let sharp = self.flags.sharp_v;
        if sharp {
            self.out.extend_from_slice(value.type_name().as_bytes());
            if matches!(value, Value::List(list) if list.nil) {
                self.out.extend_from_slice(b"(nil)");
                return Ok(());
            }
        }
        self.out.push(if sharp { b'{' } else { b'[' });
        for index in 0..value.list_len().unwrap_or(0) {
            if index > 0 {
                self.out.extend_from_slice(if sharp { b", " } else { b" " });
            }
            if let Some(item) = value.item(index) {
                self.value(&item, verb, depth + 1)?;
            }
        }
        self.out.push(if sharp { b'}' } else { b']' });
        self.settle()
    }

    fn map(&mut self, value: &Value<'a>, verb: char, depth: usize) -> Outcome<()> {
        let sharp = self.flags.sharp_v;
        if sharp {
            self.out.extend_from_slice(value.type_name().as_bytes());
            if matches!(value, Value::Map(map) if map.nil) {
                self.out.extend_from_slice(b"(nil)");
                return Ok(());
            }
        }
        self.out.extend_from_slice(if sharp { b"{" } else { b"map[" });
        for (index, (key, item)) in value.entries(self.cx)?.into_iter().enumerate() {
            if index > 0 {
                self.out.extend_from_slice(if sharp { b", " } else { b" " });
            }
            self.text(key.bytes(), verb)?;
            self.out.push(b':');
            self.value(&item, verb, depth + 1)?;
        }
        self.out.push(if sharp { b'}' } else { b']' });
        self.settle()
    }

    fn text(&mut self, text: &[u8], verb: char) -> Outcome<()> {
        match verb {
            'v' if self.flags.sharp_v => self.quoted(text),
            'v' | 's' => {
                let text = self.truncated(text);
                self.pad(text)
            }
            'x' => self.hex_text(text, b"0123456789abcdefx"),
            'X' => self.hex_text(text, b"0123456789ABCDEFX"),
            'q' => self.quoted(text),
            _ => self.bad_verb(&Value::Str(Str::from(text.to_vec())), verb),
        }
    }

    /// Shortens a text to the precision.
    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(precision) = self.flags.precision else { return text };
        let mut end = 0;
        for _ in 0..precision {
            let Some((_, len, _)) = super::unicode::decode(text.get(end..).unwrap_or_default()) else {
                break;
            };
            end += len;
        }
        text.get(..end).unwrap_or(text)
    }

    fn quoted(&mut self, text: &[u8]) -> Outcome<()> {
        let text = self.truncated(text);
        let quoted = if self.flags.sharp && quote::can_backquote(text) {
            [b"`", text, b"`"].concat()
        } else {
            quote::quoted(text, b'"', self.flags.plus)
        };
        self.pad(&quoted)
    }

    fn hex_text(&mut self, text: &[u8], digits: &[u8; 17]) -> Outcome<()> {
        let len = self.flags.precision.map_or(text.len(), |limit| limit.min(text.len()));
        let [.., mark] = *digits;
        let mut hex = Vec::with_capacity(len * 2 + 2);
        for (index, byte) in text.iter().take(len).enumerate() {
            if index > 0 && self.flags.space {
                hex.push(b' ');
            }
            if self.flags.sharp && (index == 0 || self.flags.space) {
                hex.extend_from_slice(&[b'0', mark]);
            }
            for digit in [byte >> 4, byte & 15] {
                hex.push(digits.get(usize::from(digit)).copied().unwrap_or(b'0'));
            }
        }
        self.pad(&hex)
    }

    /// Reports a verb that does not fit its operand.
    fn bad_verb(&mut self, value: &Value<'a>, verb: char) -> Outcome<()> {
        let mut buffer = [0; 4];
        self.out.extend_from_slice(b"%!");
        self.out.extend_from_slice(verb.encode_utf8(&mut buffer).as_bytes());
        self.out.push(b'(');
        if value.is_nil() {
            self.out.extend_from_slice(b"<nil>");
        } else {
            self.out.extend_from_slice(value.type_name().as_bytes());
            self.out.push(b'=');
            self.argument(value, 'v')?;
        }
        self.out.push(b')');
        self.settle()
    }
}

/// The name of a number if its type is one of the integer types that print as words.
fn named_number(kind: IntType, number: i64) -> Option<String> {
    match kind {
        IntType::Month => Some(clock::month_name(number)),
        IntType::Weekday => Some(clock::weekday_name(number)),
        IntType::Int | IntType::Int64 => None,
    }
}
