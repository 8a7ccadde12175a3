//! Splits a template into tokens by the rules of Go's `text/template`.

use super::error::{Outcome, syntax};
use super::token::{Keyword, Token, TokenKind};
use super::unicode;

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// The lexer of one template.
pub(super) struct Lexer<'s> {
    source: &'s str,
    pos: usize,
    line: usize,
    parens: usize,
    inside: bool,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Lexer<'s> {
        Lexer { source, pos: 0, line: 1, parens: 0, inside: false }
    }

    /// The next token. At the end, it keeps returning the end token.
    pub(super) fn next(&mut self) -> Outcome<Token<'s>> {
        if self.inside { self.inside_action() } else { self.text() }
    }

    fn rest(&self) -> &'s str {
        self.source.get(self.pos..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Consumes `len` bytes as a token.
    fn take(&mut self, kind: TokenKind, len: usize) -> Token<'s> {
        let text = self.rest().get(..len).unwrap_or_default();
        let token = Token { kind, text, line: self.line };
        self.skip(len);
        token
    }

    fn skip(&mut self, len: usize) {
        let text = self.rest().get(..len).unwrap_or_default();
        self.line += text.bytes().filter(|byte| *byte == b'\n').count();
        self.pos += text.len();
    }

    fn fail<T>(&self, message: impl Into<String>) -> Outcome<T> {
        Err(syntax(message, self.line))
    }

    fn text(&mut self) -> Outcome<Token<'s>> {
        loop {
            let rest = self.rest();
            let Some(start) = rest.find("{{") else {
                let kind = if rest.is_empty() { TokenKind::End } else { TokenKind::Text };
                return Ok(self.take(kind, rest.len()));
            };
            let after = rest.get(start + 2..).unwrap_or_default();
            let trims = after.starts_with('-') && after.get(1..).is_some_and(|tail| tail.starts_with(SPACES));
            if start > 0 {
                let text = rest.get(..start).unwrap_or_default();
                let kept = if trims { text.trim_end_matches(SPACES) } else { text };
                if !kept.is_empty() {
                    let token = self.take(TokenKind::Text, kept.len());
                    self.skip(text.len() - kept.len());
                    return Ok(token);
                }
                self.skip(text.len());
            }
            let marker = if trims { 2 } else { 0 };
            if after.get(marker..).is_some_and(|tail| tail.starts_with("/*")) {
                self.comment(2 + marker)?;
                continue;
            }
            let token = self.take(TokenKind::Left, 2);
            self.skip(marker);
            self.inside = true;
            self.parens = 0;
            return Ok(token);
        }
    }

    fn comment(&mut self, before: usize) -> Outcome<()> {
        self.skip(before);
        let rest = self.rest();
        let Some(end) = rest.get(2..).and_then(|body| body.find("*/")) else {
            return self.fail("unclosed comment");
        };
        self.skip(end + 4);
        match self.right_delimiter() {
            None => self.fail("comment ends before closing delimiter"),
            Some(trims) => {
                self.close(trims);
                Ok(())
            }
        }
    }

    /// Whether an action ends here, and if so, whether it trims the text after it.
    fn right_delimiter(&self) -> Option<bool> {
        let rest = self.rest();
        if rest.starts_with("}}") {
            return Some(false);
        }
        let tail = rest.strip_prefix(SPACES)?;
        tail.starts_with("-}}").then_some(true)
    }

    fn close(&mut self, trims: bool) -> Token<'s> {
        if trims {
            self.skip(2);
        }
        let token = self.take(TokenKind::Right, 2);
        if trims {
            let rest = self.rest();
            self.skip(rest.len() - rest.trim_start_matches(SPACES).len());
        }
        self.inside = false;
        token
    }

    fn inside_action(&mut self) -> Outcome<Token<'s>> {
        if let Some(trims) = self.right_delimiter() {
            if self.parens > 0 {
                return self.fail("unclosed left paren");
            }
            return Ok(self.close(trims));
        }
        let Some(first) = self.peek() else { return self.fail("unclosed action") };
        match first {
            ' ' | '\t' | '\r' | '\n' => Ok(self.space()),
            '=' => Ok(self.take(TokenKind::Assign, 1)),
            ':' if self.rest().starts_with(":=") => Ok(self.take(TokenKind::Declare, 2)),
            ':' => self.fail("expected :="),
            '|' => Ok(self.take(TokenKind::Pipe, 1)),
            '"' => self.quoted('"', TokenKind::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', TokenKind::CharConstant, "unterminated character constant"),
            '`' => match self.rest().get(1..).and_then(|body| body.find('`')) {
                Some(end) => Ok(self.take(TokenKind::RawString, end + 2)),
                None => self.fail("unterminated raw quoted string"),
            },
            '$' => self.word(TokenKind::Variable),
            '.' if !self.rest().get(1..).is_some_and(|tail| tail.starts_with(digit)) => {
                self.word(TokenKind::Field)
            }
            '.' | '+' | '-' | '0'..='9' => self.number(),
            '(' => {
                self.parens += 1;
                Ok(self.take(TokenKind::LeftParen, 1))
            }
            ')' if self.parens == 0 => self.fail("unexpected right paren"),
            ')' => {
                self.parens -= 1;
                Ok(self.take(TokenKind::RightParen, 1))
            }
            _ if unicode::is_alphanumeric(first) => self.identifier(),
            ' '..='~' => Ok(self.take(TokenKind::Char, 1)),
            _ => self.fail(format!("unrecognized character in action: {first:?}")),
        }
    }

    /// Consumes blanks, but leaves the last one to a following trim marker.
    fn space(&mut self) -> Token<'s> {
        let rest = self.rest();
        let len = rest.len() - rest.trim_start_matches(SPACES).len();
        let marked = rest.get(len..).is_some_and(|tail| tail.starts_with("-}}"));
        self.take(TokenKind::Space, if marked { len - 1 } else { len })
    }

    fn quoted(&mut self, quote: char, kind: TokenKind, unterminated: &str) -> Outcome<Token<'s>> {
        let rest = self.rest();
        let mut chars = rest.char_indices().skip(1);
        while let Some((at, found)) = chars.next() {
            match found {
                '\\' if chars.next().is_some_and(|(_, escaped)| escaped != '\n') => {}
                '\\' | '\n' => break,
                _ if found == quote => return Ok(self.take(kind, at + 1)),
                _ => {}
            }
        }
        self.fail(unterminated)
    }

    /// Consumes a variable or a field; its first character determines which.
    fn word(&mut self, kind: TokenKind) -> Outcome<Token<'s>> {
        let len = self.word_len(1);
        self.check_end(len)?;
        let kind = if len == 1 && kind == TokenKind::Field { TokenKind::Dot } else { kind };
        Ok(self.take(kind, len))
    }

    fn identifier(&mut self) -> Outcome<Token<'s>> {
        let len = self.word_len(0);
        self.check_end(len)?;
        let word = self.rest().get(..len).unwrap_or_default();
        let kind = match Keyword::of(word) {
            Some(keyword) => TokenKind::Keyword(keyword),
            None if word == "true" || word == "false" => TokenKind::Bool,
            None => TokenKind::Identifier,
        };
        Ok(self.take(kind, len))
    }

    fn word_len(&self, from: usize) -> usize {
        let rest = self.rest().get(from..).unwrap_or_default();
        let end = rest.find(|found| !unicode::is_alphanumeric(found));
        from + end.unwrap_or(rest.len())
    }

    /// Checks that a word is followed by a character that cannot be part of it.
    fn check_end(&self, len: usize) -> Outcome<()> {
        let tail = self.rest().get(len..).unwrap_or_default();
        match tail.chars().next() {
            None | Some(' ' | '\t' | '\r' | '\n' | '.' | ',' | '|' | ':' | ')' | '(') => Ok(()),
            Some(_) if tail.starts_with("}}") => Ok(()),
            Some(bad) => self.fail(format!("bad character {bad:?}")),
        }
    }

    fn number(&mut self) -> Outcome<Token<'s>> {
        let (mut len, mut good) = self.scan_number(0);
        let tail = self.rest().get(len..).unwrap_or_default();
        if good && tail.starts_with(['+', '-']) {
            (len, good) = self.scan_number(len);
            good &= self.rest().get(..len).is_some_and(|text| text.ends_with('i'));
        }
        let text = self.rest().get(..len).unwrap_or_default();
        if !good {
            return self.fail(format!("bad number syntax: {text:?}"));
        }
        Ok(self.take(TokenKind::Number, len))
    }

    /// The end of a number at `from`, and whether it is well-formed.
    fn scan_number(&self, from: usize) -> (usize, bool) {
        let mut scan = Scan { rest: self.rest(), at: from };
        scan.accept("+-");
        let mut digits = "0123456789_";
        if scan.accept("0") {
            if scan.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if scan.accept("oO") {
                digits = "01234567_";
            } else if scan.accept("bB") {
                digits = "01_";
            }
        }
        scan.run(digits);
        if scan.accept(".") {
            scan.run(digits);
        }
        let exponent = match digits.len() {
            11 => "eE",
            23 => "pP",
            _ => "",
        };
        if scan.accept(exponent) {
            scan.accept("+-");
            scan.run("0123456789_");
        }
        scan.accept("i");
        let next = scan.rest.get(scan.at..).and_then(|tail| tail.chars().next());
        (scan.at, !next.is_some_and(unicode::is_alphanumeric))
    }
}

fn digit(found: char) -> bool {
    found.is_ascii_digit()
}

struct Scan<'s> {
    rest: &'s str,
    at: usize,
}

impl Scan<'_> {
    fn accept(&mut self, valid: &str) -> bool {
        let next = self.rest.get(self.at..).and_then(|tail| tail.chars().next());
        let found = next.is_some_and(|found| valid.contains(found));
        self.at += usize::from(found);
        found
    }

    fn run(&mut self, valid: &str) {
        while self.accept(valid) {}
    }
}
