//! Rewrites source text that our parser reads differently from cel-go's.
//!
//! cel-go's parser drops pairs of `!` and of `-`, and supports triple-quoted literals, raw bytes and escapes in bytes. This
//! module rewrites them so that both parsers read the same.

/// The replacement for `existsOne`, which our parser also accepts with one variable, but cel-go only with two.
pub(super) const EXISTS_ONE: &str = "__existsOne__";

/// The expression without pairs of `!` and `-`, and with simple literals.
pub(crate) fn plain(source: &str) -> String {
    let mut reader = Reader { rest: source, out: String::with_capacity(source.len()), operand: false };
    while !reader.rest.is_empty() {
        reader.step();
    }
    reader.out
}

struct Reader<'s> {
    rest: &'s str,
    out: String,
    /// Whether an operand ends here, so that a following minus is binary.
    operand: bool,
}

impl Reader<'_> {
    fn step(&mut self) {
        let blank = self.blank();
        if blank > 0 {
            self.keep(blank);
            return;
        }
        let Some(first) = self.rest.chars().next() else { return };
        match first {
            '!' if !self.rest.starts_with("!=") => self.signs('!'),
            '-' if !self.operand => self.signs('-'),
            '\'' | '"' => self.literal(0),
            _ if is_word(first) => self.word(),
            _ => {
                self.keep(first.len_utf8());
                self.operand = matches!(first, ')' | ']' | '}');
            }
        }
    }

    /// Copies this many bytes unchanged.
    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at(bytes);
        self.out.push_str(kept);
        self.rest = rest;
    }

    /// The number of bytes of the next white space or comment.
    fn blank(&self) -> usize {
        if self.rest.starts_with("//") {
            return self.rest.find('\n').unwrap_or(self.rest.len());
        }
        self.rest.len() - self.rest.trim_start_matches(['\t', ' ', '\r', '\n', '\u{c}']).len()
    }

    fn signs(&mut self, sign: char) {
        let mut odd = false;
        loop {
            let blank = self.blank();
            let one_more = self.rest.starts_with(sign) && !self.rest.starts_with("!=");
            if blank == 0 && !one_more {
                break;
            }
            odd ^= one_more;
            self.rest = &self.rest[if one_more { 1 } else { blank }..];
        }
        if odd {
            self.out.push(sign);
        }
        self.operand = false;
    }

    fn word(&mut self) {
        let end = self.rest.find(|found| !is_word(found)).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        let quoted = self.rest[end..].starts_with(['\'', '"']);
        let prefix = ["r", "b", "br"].iter().any(|prefix| word.eq_ignore_ascii_case(prefix));
        if quoted && prefix {
            self.literal(end);
        } else {
            self.operand = word != "in";
            let method = self.out.trim_end().ends_with('.');
            if method && word == "existsOne" && self.rest[end..].trim_start().starts_with('(') {
                self.out.push_str(EXISTS_ONE);
                self.rest = &self.rest[end..];
                return;
            }
            self.keep(end);
        }
    }

    /// Rewrites a literal after a prefix of this many bytes.
    fn literal(&mut self, prefix: usize) {
        self.operand = true;
        let (letters, quoted) = self.rest.split_at(prefix);
        let raw = letters.contains(['r', 'R']);
        let bytes = letters.contains(['b', 'B']);
        let Some((text, end, triple)) = content(quoted, raw) else {
            // The literal is not closed. Let the parser report it.
            self.keep(self.rest.len());
            return;
        };
        if !triple && !bytes {
            self.keep(prefix + end);
            return;
        }
        let written = if bytes { written_bytes(text, raw) } else { written(text, raw) };
        self.out.push_str(if bytes { "b\"" } else { "\"" });
        self.out.push_str(&written);
        self.out.push('"');
        self.rest = &self.rest[prefix + end..];
    }
}

fn is_word(found: char) -> bool {
    found.is_ascii_alphanumeric() || found == '_'
}

/// The text between the quotes, the end of the literal, and whether the quotes are triple.
fn content(quoted: &str, raw: bool) -> Option<(&str, usize, bool)> {
    let single = quoted.get(..1)?;
    let long = single.repeat(3);
    let between = |quote: &str| {
        let mut at = quote.len();
        loop {
            let rest = quoted.get(at..)?;
            if rest.starts_with(quote) {
                return Some((&quoted[quote.len()..at], at + quote.len()));
            }
            let mut found = rest.chars();
            let first = found.next()?;
            at += first.len_utf8();
            if first == '\\' && !raw {
                at += found.next()?.len_utf8();
            }
        }
    };
    let tripled = quoted.starts_with(&long).then(|| between(&long)).flatten();
    match tripled {
        Some((text, end)) => Some((text, end, true)),
        None => between(single).map(|(text, end)| (text, end, false)),
    }
}

/// The content of a literal, rewritten for plain double quotes.
fn written(text: &str, raw: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut found = text.chars();
    while let Some(one) = found.next() {
        match one {
            '\\' if raw => out.push_str("\\\\"),
            '\\' => {
                out.push('\\');
                out.extend(found.next());
            }
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(one),
        }
    }
    out
}

/// The content of a bytes literal, rewritten for plain double quotes. Our parser only supports numeric escapes in it.
fn written_bytes(text: &str, raw: bool) -> String {
    const ESCAPES: [(char, &str); 12] = [
        ('a', "07"),
        ('b', "08"),
        ('t', "09"),
        ('n', "0a"),
        ('v', "0b"),
        ('f', "0c"),
        ('r', "0d"),
        ('"', "22"),
        ('\'', "27"),
        ('?', "3f"),
        ('\\', "5c"),
        ('`', "60"),
    ];
    let mut out = String::with_capacity(text.len());
    let mut found = text.chars();
    while let Some(one) = found.next() {
        match one {
            '\\' if raw => out.push_str("\\x5c"),
            '\\' => {
                let kind = found.next().unwrap_or('\\');
                let known = ESCAPES.iter().find(|(name, _)| *name == kind);
                match known {
                    Some((_, number)) => out.extend(["\\x", number]),
                    None => out.extend(['\\', kind.to_ascii_lowercase()]),
                }
            }
            '"' => out.push_str("\\x22"),
            '\n' => out.push_str("\\x0a"),
            '\r' => out.push_str("\\x0d"),
            _ => out.push(one),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn pairs_of_signs_are_dropped_and_literals_are_plain() {
        let cases = [
            ("!!self", "self"),
            ("! !!a != !b", "!a != !b"),
            ("a!=!!b", "a!=b"),
            ("--5 == 5", "5 == 5"),
            ("5 --5 - --x", "5 --5 - x"),
            ("a[1]---b", "a[1]-b"),
            ("x in --y", "x in y"),
            ("-(-(--1))", "-(-(1))"),
            ("'!!' + \"--\" + r'\\' // !!", "'!!' + \"--\" + r'\\' // !!"),
            ("'''a'\"b\n''' == r\"\"\"\\d\"\"\"", "\"a'\\\"b\\n\" == \"\\\\d\""),
            ("br'\\x' == b'\\x61' && '' == ''", "b\"\\x5cx\" == b\"\\x61\" && '' == ''"),
            ("'open !! --", "'open !! --"),
        ];
        for (source, meant) in cases {
            assert_eq!(plain(source), meant, "{source}");
        }
    }
}
