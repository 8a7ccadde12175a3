//! Splits a text into words at changes of case and kind, like `huandu/xstrings`.

use super::super::unicode::{self, Category};

/// The kind of characters in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

/// The text in lower case, with a connector between words.
pub(super) fn separated(runes: &[char], connector: char) -> String {
    let mut words = Words { rest: runes };
    let mut out = Writer { out: String::with_capacity(runes.len() + 8), connector };
    let (mut kind, mut word) = words.next();
    while !words.rest.is_empty() {
        if kind != Kind::Connector {
            out.word(kind, word);
        }
        let (previous, last) = (kind, word);
        (kind, word) = words.next();
        match previous {
            Kind::Number => {
                (kind, word) = out.run(&mut words, kind, word);
                out.connect_before(kind, true);
            }
            Kind::Connector => out.word(previous, last),
            Kind::Punctuation => {}
            _ if kind != Kind::Number => out.connect_before(kind, false),
            _ if words.rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word) = words.next();
                if kind == Kind::Alphabet {
                    // Lower case letters follow the number, so it starts a new word.
                    out.out.push(connector);
                    out.word(Kind::Number, number);
                    (kind, word) = out.run(&mut words, kind, word);
                    out.connect_before(kind, true);
                } else {
                    // The number belongs to the preceding word.
                    out.word(Kind::Number, number);
                    out.connect_before(kind, false);
                }
            }
        }
    }
    out.word(kind, word);
    out.out
}

struct Writer {
    out: String,
    connector: char,
}

impl Writer {
    fn word(&mut self, kind: Kind, word: &[char]) {
        for found in word {
            let lowered = kind == Kind::Upper || kind == Kind::Connector;
            let is_upper = || unicode::category(*found) == Category::Upper;
            if lowered && is_connector(*found) {
                self.out.push(self.connector);
            } else if lowered && is_upper() {
                self.out.push(unicode::to_lower(*found));
            } else {
                self.out.push(*found);
            }
        }
    }

    /// Writes letters and numbers up to a word of another kind, and returns that word.
    fn run<'r>(&mut self, words: &mut Words<'r>, first: Kind, word: &'r [char]) -> (Kind, &'r [char]) {
        let (mut kind, mut word) = (first, word);
        while kind == Kind::Alphabet || kind == Kind::Number {
            self.word(kind, word);
            (kind, word) = words.next();
        }
        (kind, word)
    }

    fn connect_before(&mut self, kind: Kind, may_end: bool) {
        let separate = kind == Kind::Connector || kind == Kind::Punctuation;
        let ended = may_end && kind == Kind::None;
        if !(separate || ended) {
            self.out.push(self.connector);
        }
    }
}

struct Words<'r> {
    rest: &'r [char],
}

impl<'r> Words<'r> {
    fn next(&mut self) -> (Kind, &'r [char]) {
        let Some(first) = self.rest.first() else { return (Kind::None, &[]) };
        let (kind, len) = match *first {
            found if is_connector(found) => (Kind::Connector, self.count(is_connector)),
            found if is_punctuation(found) => (Kind::Punctuation, self.count(is_punctuation)),
            found if is_upper(found) => (Kind::Upper, self.capitalised()),
            found if is_alphabet(found) => (Kind::Alphabet, self.count(is_lower_alphabet)),
            found if is_number(found) => (Kind::Number, self.count(is_number)),
            _ => (Kind::Other, self.count(is_other).max(1)),
        };
        let (word, rest) = self.rest.split_at(len.clamp(1, self.rest.len()));
        self.rest = rest;
        (kind, word)
    }

    fn count(&self, belongs: fn(char) -> bool) -> usize {
        let first = usize::from(!self.rest.is_empty());
        first + self.rest.iter().skip(1).take_while(|found| belongs(**found)).count()
    }

    /// The length of a capitalized word: `HTTP` of `HTTPStatus`, or `Status`.
    fn capitalised(&self) -> usize {
        let second = self.rest.get(1).copied();
        if second.is_some_and(is_upper) {
            let capitals = self.count(is_upper);
            let next = self.rest.get(capitals).copied();
            return if next.is_some_and(is_alphabet) { capitals - 1 } else { capitals };
        }
        self.count(is_lower_alphabet)
    }
}

fn is_connector(found: char) -> bool {
    found == '-' || found == '_' || unicode::is_space(found)
}

fn is_punctuation(found: char) -> bool {
    unicode::category(found) == Category::Punctuation
}

fn is_upper(found: char) -> bool {
    unicode::category(found) == Category::Upper
}

fn is_number(found: char) -> bool {
    unicode::category(found) == Category::Number
}

/// Whether a character is a letter, excluding Chinese ideographs.
fn is_alphabet(found: char) -> bool {
    let ideograph = matches!(
        found,
        '\u{3400}'..='\u{4d85}' | '\u{4e00}'..='\u{9fcc}' | '\u{20000}'..='\u{2b81d}'
    );
    unicode::is_letter(found) && !ideograph
}

fn is_lower_alphabet(found: char) -> bool {
    is_alphabet(found) && !is_upper(found)
}

fn is_other(found: char) -> bool {
    !is_connector(found) && !is_alphabet(found) && !is_number(found) && !is_punctuation(found)
}
