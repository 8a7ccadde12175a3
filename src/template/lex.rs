//! The tokens of an expression: finds its end, determines the role of each word, and rewrites `~` to print values as YAML
//! does.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or a keyword.
    Word,
    /// A number or a string.
    Literal,
    /// `(`, `[` or `{`.
    Open,
    /// `)`, `]` or `}`.
    Close,
    /// Anything else.
    Sign,
}

/// A token and its byte range.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) range: Range<usize>,
}

impl Token {
    pub(super) fn text<'a>(&self, expression: &'a str) -> &'a str {
        &expression[self.range.clone()]
    }
}

/// Splits an expression into tokens. Characters outside the language become signs, which the compiler then refuses.
pub(super) fn tokens(expression: &str) -> Vec<Token> {
    let bytes = expression.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let (kind, end) = match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b'"' | b'\'' => (TokenKind::Literal, string_end(bytes, at)),
            b'0'..=b'9' => (TokenKind::Literal, number_end(bytes, at)),
            b'(' | b'[' | b'{' => (TokenKind::Open, at + 1),
            b')' | b']' | b'}' => (TokenKind::Close, at + 1),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => (TokenKind::Word, word_end(bytes, at)),
            _ => (TokenKind::Sign, sign_end(expression, at)),
        };
        tokens.push(Token { kind, range: at..end });
        at = end;
    }
    tokens
}

/// The byte after the string that starts at `at`, or the end of the text.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 1,
            byte if byte == bytes[at] => return end + 1,
            _ => {}
        }
        end += 1;
    }
    bytes.len()
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..]
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'))
        .map_or(bytes.len(), |length| at + length)
}

fn number_end(bytes: &[u8], at: usize) -> usize {
    let mut end = word_end(bytes, at);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = word_end(bytes, end + 1);
    }
    let exponent = matches!(bytes[end - 1], b'e' | b'E') && !bytes[at..end].contains(&b'x');
    if exponent && matches!(bytes.get(end), Some(b'+' | b'-')) {
        end = word_end(bytes, end + 1);
    }
    end
}

fn sign_end(expression: &str, at: usize) -> usize {
    const DOUBLE: [&str; 6] = ["**", "//", "==", "!=", "<=", ">="];
    let rest = &expression[at..];
    match DOUBLE.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => at + sign.len(),
        None => at + rest.chars().next().map_or(1, char::len_utf8),
    }
}

/// The number of bytes before the `}}` that closes an expression on the same line. `text` starts after the `${{`.
pub(crate) fn expression_end(text: &str) -> Option<usize> {
    let line = text.split('\n').next().unwrap_or_default();
    let bytes = line.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b'}' if bytes.get(at + 1) == Some(&b'}') => return Some(at),
            _ => {}
        }
        at += 1;
    }
    // An unclosed quote swallowed the end. Let the compiler report the quote.
    line.find("}}")
}

/// The role of a word, determined by its neighbors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A name to look up, or a keyword.
    Name,
    /// After a point.
    Attribute,
    /// After a point, and called.
    Method,
    /// After `|`.
    Filter,
    /// After `is` or `is not`.
    Test,
    /// Before `=` in a call.
    Argument,
}

/// The role of the word at `at`.
pub(super) fn role(tokens: &[Token], at: usize, expression: &str) -> Role {
    let text = |index: Option<usize>| {
        index.and_then(|index| tokens.get(index)).map_or("", |token| token.text(expression))
    };
    match (text(at.checked_sub(1)), text(Some(at + 1))) {
        (".", "(") => Role::Method,
        (".", _) => Role::Attribute,
        ("|", _) => Role::Filter,
        ("is", _) => Role::Test,
        ("not", _) if text(at.checked_sub(2)) == "is" => Role::Test,
        (_, "=") => Role::Argument,
        _ => Role::Name,
    }
}

/// The filter that is applied to the operands of a rewritten `~`.
pub(super) const TEXT_FILTER: &str = "__text";

/// An expression whose `~` prints values as YAML does, with a map back to the expression as written.
pub(super) struct Rewritten {
    pub(super) text: String,
    /// The position of each insertion (in the expression as written) and its number of bytes.
    insertions: Vec<(usize, usize)>,
}

impl Rewritten {
    /// Maps a byte of the rewritten text to the expression as written.
    pub(super) fn original(&self, offset: usize) -> usize {
        let mut shift = 0;
        for (at, length) in &self.insertions {
            if at + shift >= offset {
                break;
            }
            shift = (shift + length).min(offset - at);
        }
        offset - shift
    }
}

/// Operands joined by `~` at one level of brackets.
#[derive(Default)]
struct Chain {
    /// The first and last token of each operand; the last operand may still grow.
    operands: Vec<Range<usize>>,
    open: bool,
}

/// Wraps every operand of `~` in [`TEXT_FILTER`]; none if there is no `~` or one is misplaced.
pub(super) fn rewrite(expression: &str) -> Option<Rewritten> {
    let tokens = tokens(expression);
    let mut chains = vec![Chain::default()];
    let mut inserts: Vec<(usize, &str)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let text = token.text(expression);
        if token.kind == TokenKind::Close {
            let inner = chains.pop()?;
            finish(&inner, &tokens, &mut inserts)?;
        }
        let chain = chains.last_mut()?;
        if token.kind == TokenKind::Sign && text == "~" {
            if !chain.open {
                return None;
            }
            chain.open = false;
            chain.operands.push(at..at);
        } else if is_boundary(&tokens, at, expression) {
            let done = std::mem::take(chain);
            finish(&done, &tokens, &mut inserts)?;
        } else {
            chain.extend(at);
        }
        if token.kind == TokenKind::Open {
            chains.push(Chain::default());
        }
    }
    finish(&chains.pop()?, &tokens, &mut inserts)?;
    if inserts.is_empty() || !chains.is_empty() {
        return None;
    }
    // Inner chains are finished first. At equal positions they must close first, which a stable sort preserves.
    inserts.sort_by_key(|(at, _)| *at);
    Some(insert(expression, &inserts))
}

impl Chain {
    /// Adds a token to the last operand.
    fn extend(&mut self, at: usize) {
        match self.operands.last_mut() {
            Some(operand) if self.open => operand.end = at,
            Some(operand) => *operand = at..at,
            None => self.operands.push(at..at),
        }
        self.open = true;
    }
}

fn finish(chain: &Chain, tokens: &[Token], inserts: &mut Vec<(usize, &str)>) -> Option<()> {
    if chain.operands.len() > 1 {
        if !chain.open {
            return None;
        }
        for operand in &chain.operands {
            inserts.push((tokens[operand.start].range.start, "("));
            inserts.push((tokens[operand.end].range.end, ")|__text"));
        }
    }
    Some(())
}

fn insert(expression: &str, inserts: &[(usize, &str)]) -> Rewritten {
    let mut text = String::with_capacity(expression.len() + inserts.len() * 5);
    let mut from = 0;
    for (at, what) in inserts {
        text.push_str(&expression[from..*at]);
        text.push_str(what);
        from = *at;
    }
    text.push_str(&expression[from..]);
    Rewritten { text, insertions: inserts.iter().map(|(at, what)| (*at, what.len())).collect() }
}

/// Whether a token ends an operand of `~`: an operator that binds less tightly, or a separator.
fn is_boundary(tokens: &[Token], at: usize, expression: &str) -> bool {
    let text = tokens[at].text(expression);
    match tokens[at].kind {
        TokenKind::Word => {
            matches!(text, "and" | "or" | "not" | "in" | "if" | "else")
                && role(tokens, at, expression) == Role::Name
                && !(text == "not" && at > 0 && tokens[at - 1].text(expression) == "is")
        }
        TokenKind::Sign => match text {
            "," | ":" | "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" => true,
            "+" | "-" | "*" | "**" => ends_operand(tokens, at, expression) == matches!(text, "+" | "-"),
            _ => false,
        },
        TokenKind::Literal | TokenKind::Open | TokenKind::Close => false,
    }
}

/// Whether a value ends before the token at `at`, so that a sign there is a binary operator.
fn ends_operand(tokens: &[Token], at: usize, expression: &str) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    match tokens[before].kind {
        TokenKind::Literal | TokenKind::Close => true,
        TokenKind::Word => match role(tokens, before, expression) {
            Role::Test => false,
            Role::Name => {
                let keyword = ["and", "or", "not", "in", "if", "else", "is"];
                !keyword.contains(&tokens[before].text(expression))
            }
            Role::Attribute | Role::Method | Role::Filter | Role::Argument => true,
        },
        TokenKind::Open | TokenKind::Sign => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(expression: &str) -> String {
        rewrite(expression).map_or_else(|| expression.to_owned(), |rewritten| rewritten.text)
    }

    #[test]
    fn an_expression_ends_at_its_own_braces() {
        assert_eq!(expression_end(" a }} }}"), Some(3));
        assert_eq!(expression_end(" {'a': {'b': 1}} }}"), Some(17));
        assert_eq!(expression_end(" '}}' }}"), Some(6));
        assert_eq!(expression_end(" 'a }}"), Some(4));
        assert_eq!(expression_end(" a\n}}"), None);
    }

    #[test]
    fn operands_of_a_tilde_are_printed_as_yaml() {
        for (from, to) in [
            ("a", "a"),
            ("a ~ b", "(a)|__text ~ (b)|__text"),
            ("a.b|f(1) ~ -c * 2", "(a.b|f(1))|__text ~ (-c * 2)|__text"),
            ("x + a ~ b == c", "x + (a)|__text ~ (b)|__text == c"),
            ("(a ~ b) ~ c", "(((a)|__text ~ (b)|__text))|__text ~ (c)|__text"),
            ("f(x=a ~ b, y)", "f(x=(a)|__text ~ (b)|__text, y)"),
            ("a ~ b if c else d ~ e", "(a)|__text ~ (b)|__text if c else (d)|__text ~ (e)|__text"),
            ("a ~ b is not in [1]", "(a)|__text ~ (b is not in [1])|__text"),
            ("a.if ~ b", "(a.if)|__text ~ (b)|__text"),
            ("'a ~ b'", "'a ~ b'"),
        ] {
            assert_eq!(rewritten(from), to);
        }
    }

    #[test]
    fn misplaced_syntax_is_left_to_the_compiler() {
        for wrong in ["a ~", "~ a", "a ~ ~ b", "(a ~ b", "a ~ b)"] {
            assert!(rewrite(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn places_are_those_of_the_expression_as_written() {
        let rewritten = rewrite("a ~ b.c").expect("it has a tilde");
        let at = rewritten.text.find("b.c").expect("it is there");
        assert_eq!(rewritten.original(at), 4);
        assert_eq!(rewritten.original(1), 0);
        assert_eq!(rewritten.original(rewritten.text.len()), 7);
    }

    /// A random expression over texts and whole numbers, which look the same in every output format.
    fn made(next: &mut impl FnMut(usize) -> usize, depth: usize) -> String {
        let operand = |next: &mut dyn FnMut(usize) -> usize| {
            [
                "a",
                "b.c",
                "'x'",
                "3",
                "-n",
                "b.c|upper",
                "n * 2",
                "'~' ",
                "n is odd",
                "b['c']",
                "(a)",
                "n - 1",
                "b.in",
            ][next(13)]
            .to_owned()
        };
        if depth == 0 {
            return operand(next);
        }
        let (left, right) = (made(next, depth - 1), made(next, depth - 1));
        match next(9) {
            0 => format!("{left} ~ {right}"),
            1 => format!("({left} ~ {right})"),
            2 => format!("{left}~{right} == {right}"),
            3 => format!("({left} if {right} else {left} ~ 'e')"),
            4 => format!("[{left}, {right} ~ {left}]|length ~ {right}"),
            5 => format!("({left} ~ {right})|replace(a ~ 1, {left})"),
            6 => format!("n + n ~ n and {left} not in ({right} ~ '')"),
            7 => format!("{left} ~ {{'k': {right} ~ a}}['k']"),
            _ => format!("{left} ~ -n ~ n ** 2 // 1 ~ {right}"),
        }
    }

    #[test]
    fn rewritten_expressions_mean_the_same() {
        let mut language = minijinja::Environment::new();
        language.add_filter(TEXT_FILTER, |value: &minijinja::Value| value.to_string());
        let context = minijinja::context!(a => "A", n => 7, b => minijinja::context!(c => "C", r#in => "I"));
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).expect("it has 31 bits") % below
        };
        let mut compared = 0;
        for round in 0..3000 {
            let expression = made(&mut next, round % 4);
            let evaluate = |text: &str| {
                let compiled = language.compile_expression(text).map_err(|error| error.kind())?;
                compiled.eval(context.clone()).map(|value| value.to_string()).map_err(|error| error.kind())
            };
            let Some(rewritten) = rewrite(&expression) else { continue };
            let expected = evaluate(&expression);
            // For example `x is odd if y`, where minijinja takes `if` for an argument. `compile` refuses it before
            // rewriting.
            if expected == Err(minijinja::ErrorKind::SyntaxError) {
                continue;
            }
            assert_eq!(evaluate(&rewritten.text), expected, "{expression}\n{}", rewritten.text);
            compared += usize::from(expected.is_ok());
        }
        assert!(compared > 500, "{compared} were compared");
    }
}
