//! Translates Go's regular expression syntax into that of the `regex` crate.

use std::fmt::Write as _;

use super::error::{Outcome, exec, limit, unsupported};
use super::re2_class;

/// Go's limit for counted repetitions, individually and for the product of nested ones.
const MAX_REPEAT: u64 = 1000;
/// The deepest nesting of groups.
const MAX_DEPTH: usize = 200;

/// A translated expression.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) pattern: String,
    /// The names of the groups. The first group is the whole match.
    pub(super) names: Vec<Option<String>>,
    /// The approximate number of states needed for matching.
    pub(super) size: u64,
}

/// The preceding element, to which a repetition would apply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Flags,
    Atom,
    Repeat,
}

/// The cost of a part of the expression.
#[derive(Clone, Copy, Default)]
struct Weight {
    /// The states of this part and of everything before it in its group.
    size: u64,
    /// The largest product of nested counts.
    repeats: u64,
}

/// The translator of one expression.
pub(super) struct Translator<'p> {
    pub(super) pattern: &'p str,
    pub(super) at: usize,
    pub(super) out: String,
    names: Vec<Option<String>>,
    groups: Vec<Weight>,
    total: Weight,
    atom: Weight,
    /// The largest product of nested counts before the current atom.
    before: u64,
    last: Last,
}

/// Translates an expression, and refuses what Go refuses.
pub(super) fn translate(pattern: &str) -> Outcome<Translated> {
    let mut translator = Translator {
        pattern,
        at: 0,
        out: String::with_capacity(pattern.len() + 16),
        names: vec![None],
        groups: Vec::new(),
        total: Weight::default(),
        atom: Weight::default(),
        before: 0,
        last: Last::Nothing,
    };
    while translator.peek().is_some() {
        translator.step()?;
    }
    if !translator.groups.is_empty() {
        return translator.fail("missing closing )");
    }
    Ok(Translated { pattern: translator.out, names: translator.names, size: translator.total.size })
}

impl<'p> Translator<'p> {
    pub(super) fn fail<T>(&self, what: &str) -> Outcome<T> {
        Err(exec(format!("error parsing regexp: {what}: `{}`", self.pattern)))
    }

    pub(super) fn rest(&self) -> &'p str {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let found = self.peek()?;
        self.at += found.len_utf8();
        Some(found)
    }

    pub(super) fn accept(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn atom(&mut self, size: u64) {
        self.atom = Weight { size, repeats: 1 };
        self.before = self.total.repeats;
        self.total.size = self.total.size.saturating_add(size);
        self.total.repeats = self.total.repeats.max(1);
        self.last = Last::Atom;
    }

    /// Writes a literal character.
    pub(super) fn literal(&mut self, found: char) {
        if found.is_ascii_alphanumeric() || !found.is_ascii() {
            self.out.push(found);
        } else {
            // Writing to a string cannot fail.
            write!(self.out, "\\x{:02x}", u32::from(found)).unwrap_or_default();
        }
    }

    fn step(&mut self) -> Outcome<()> {
        let Some(found) = self.next() else { return Ok(()) };
        match found {
            '(' => self.open()?,
            ')' => self.close()?,
            '|' => {
                self.out.push('|');
                self.last = Last::Nothing;
            }
            '^' | '$' | '.' => {
                write!(self.out, "(?:{found})").unwrap_or_default();
                self.atom(4);
            }
            '[' => {
                re2_class::class(self)?;
                self.atom(8);
            }
            '*' | '+' | '?' => {
                self.out.push(found);
                self.repeat(1)?;
            }
            '{' => {
                if let Some((text, count)) = self.counts()? {
                    self.out.push_str(&text);
                    self.repeat(count)?;
                } else {
                    self.literal('{');
                    self.atom(1);
                }
            }
            '\\' => self.escape()?,
            _ => {
                self.literal(found);
                self.atom(1);
            }
        }
        Ok(())
    }

    fn open(&mut self) -> Outcome<()> {
        if self.groups.len() >= MAX_DEPTH {
            return Err(limit("a regular expression is nested too deeply"));
        }
        if self.accept("?P<") || self.accept("?<") {
            let Some(end) = self.rest().find('>') else {
                return self.fail("invalid named capture");
            };
            let name = self.rest().get(..end).unwrap_or_default().to_owned();
            let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty() || !name.bytes().all(word) {
                return self.fail("invalid named capture");
            }
            self.at += end + 1;
            self.names.push(Some(name));
            self.out.push('(');
        } else if self.accept("?") {
            return self.flags();
        } else {
            self.names.push(None);
            self.out.push('(');
        }
        self.enter();
        Ok(())
    }

    fn enter(&mut self) {
        self.groups.push(std::mem::take(&mut self.total));
        self.last = Last::Nothing;
    }

    fn flags(&mut self) -> Outcome<()> {
        let mut flags = String::new();
        let mut negative = false;
        let mut seen = false;
        loop {
            match self.next() {
                Some(flag @ ('i' | 'm' | 's' | 'U')) => {
                    flags.push(flag);
                    seen = true;
                }
                Some('-') if !negative => {
                    negative = true;
                    seen = false;
                    flags.push('-');
                }
                Some(':') if seen || !negative => {
                    write!(self.out, "(?{flags}:").unwrap_or_default();
                    self.enter();
                    return Ok(());
                }
                Some(')') if seen || !negative => {
                    if !flags.is_empty() {
                        write!(self.out, "(?{flags})").unwrap_or_default();
                    }
                    self.last = match self.last {
                        Last::Nothing => Last::Nothing,
                        _ => Last::Flags,
                    };
                    return Ok(());
                }
                _ => return self.fail("invalid or unsupported Perl syntax"),
            }
        }
    }

    fn close(&mut self) -> Outcome<()> {
        let Some(outer) = self.groups.pop() else { return self.fail("unexpected )") };
        self.out.push(')');
        self.atom = Weight { size: self.total.size + 2, ..self.total };
        self.before = outer.repeats;
        self.total = Weight {
            size: outer.size.saturating_add(self.atom.size),
            repeats: outer.repeats.max(self.atom.repeats),
        };
        self.last = Last::Atom;
        Ok(())
    }

    /// Parses `{n}`, `{n,}` or `{n,m}`. Anything else is a literal brace.
    fn counts(&mut self) -> Outcome<Option<(String, u64)>> {
        let Some(end) = self.rest().find('}') else { return Ok(None) };
        let body = self.rest().get(..end).unwrap_or_default();
        let (low, high) = match body.split_once(',') {
            Some((low, high)) => (low, high),
            None => (body, body),
        };
        let is_number = |text: &str| {
            let padded = text.len() > 1 && text.starts_with('0');
            !text.is_empty() && !padded && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_number(low) || !(high.is_empty() || is_number(high)) {
            return Ok(None);
        }
        let number = |text: &str| text.parse().unwrap_or(u64::MAX);
        let (least, most) = (number(low), if high.is_empty() { 0 } else { number(high) });
        if least > MAX_REPEAT || most > MAX_REPEAT || !high.is_empty() && least > most {
            return self.fail("invalid repeat count");
        }
        self.at += end + 1;
        let count = if high.is_empty() { least.max(1) } else { most };
        Ok(Some((format!("{{{body}}}"), count)))
    }

    /// Accounts for a repetition that was just written, and consumes an optional question mark.
    fn repeat(&mut self, count: u64) -> Outcome<()> {
        match self.last {
            Last::Nothing => return self.fail("missing argument to repetition operator"),
            Last::Repeat => return self.fail("invalid nested repetition operator"),
            Last::Flags => {
                return Err(unsupported("a repetition after flags in a regular expression is not supported"));
            }
            Last::Atom => {}
        }
        if self.accept("?") {
            self.out.push('?');
        }
        let factor = count.max(1);
        let repeats = self.atom.repeats.max(1).saturating_mul(factor);
        if count >= 2 && repeats > MAX_REPEAT {
            return self.fail("invalid repeat count");
        }
        let added = self.atom.size.saturating_mul(factor - 1).saturating_add(1);
        self.total.size = self.total.size.saturating_add(added);
        // An atom repeated 0 times does not count.
        self.total.repeats = if count == 0 { self.before } else { self.total.repeats.max(repeats) };
        self.last = Last::Repeat;
        Ok(())
    }

    fn escape(&mut self) -> Outcome<()> {
        let Some(kind) = self.peek() else {
            return self.fail("trailing backslash at end of expression");
        };
        let fixed = match kind {
            'A' => "(?:\\A)",
            'z' => "(?:\\z)",
            'b' => "(?-u:\\b)",
            'B' => "(?-u:\\B)",
            'd' => "[0-9]",
            'D' => "[^0-9]",
            's' => "[\\t\\n\\x0c\\r\\x20]",
            'S' => "[^\\t\\n\\x0c\\r\\x20]",
            'w' => "[0-9A-Za-z_]",
            'W' => "[^0-9A-Za-z_]",
            'Q' => {
                self.at += 1;
                self.quoted();
                return Ok(());
            }
            'p' | 'P' => {
                self.at += 1;
                let class = re2_class::property(self, kind == 'P')?;
                self.out.push_str(&class);
                self.atom(16);
                return Ok(());
            }
            _ => {
                let found = re2_class::escaped_char(self)?;
                self.literal(found);
                self.atom(1);
                return Ok(());
            }
        };
        self.at += 1;
        self.out.push_str(fixed);
        self.atom(4);
        Ok(())
    }

    /// Parses `\Q…\E`, in which every character is literal.
    fn quoted(&mut self) {
        let rest = self.rest();
        let (text, len) = match rest.find("\\E") {
            Some(end) => (rest.get(..end).unwrap_or_default(), end + 2),
            None => (rest, rest.len()),
        };
        for found in text.chars() {
            self.literal(found);
            self.atom(1);
        }
        self.at += len;
    }
}
