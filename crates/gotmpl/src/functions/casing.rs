//! sprig's functions for letter case and words.

use super::super::budget::Context;
use super::super::error::Outcome;
use super::super::unicode::{self, Category};
use super::super::value::Value;
use super::args::text;
use super::{Function, Type};

use Type::Text;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("upper", &[Text], upper),
    Function::new("lower", &[Text], lower),
    Function::new("title", &[Text], title),
    Function::new("untitle", &[Text], untitle),
    Function::new("swapcase", &[Text], swapcase),
    Function::new("initials", &[Text], initials),
    Function::new("camelcase", &[Text], camelcase),
    Function::new("snakecase", &[Text], snakecase),
    Function::new("kebabcase", &[Text], kebabcase),
];

/// The characters of an argument, with their cost charged.
fn runes<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Vec<char>> {
    let bytes = text(args, 0)?.bytes();
    cx.charge(bytes.len() as u64 * 4)?;
    Ok(unicode::runes(bytes))
}

fn collected<'a>(cx: &mut Context<'a>, runes: impl IntoIterator<Item = char>) -> Outcome<Value<'a>> {
    cx.text(runes.into_iter().collect::<String>())
}

fn upper<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let runes = runes(cx, args)?;
    collected(cx, runes.into_iter().map(unicode::to_upper))
}

fn lower<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let runes = runes(cx, args)?;
    collected(cx, runes.into_iter().map(unicode::to_lower))
}

/// Whether a word may start after this character, according to `strings.Title`.
fn separates(found: char) -> bool {
    if found.is_ascii() {
        return !(found.is_ascii_alphanumeric() || found == '_');
    }
    !unicode::is_letter(found) && !unicode::is_digit(found) && unicode::is_space(found)
}

fn title<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let runes = runes(cx, args)?;
    let mut before = ' ';
    collected(
        cx,
        runes.into_iter().map(|found| {
            let starts = separates(std::mem::replace(&mut before, found));
            if starts { unicode::to_title(found) } else { found }
        }),
    )
}

fn untitle<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let runes = runes(cx, args)?;
    let mut starts = true;
    collected(
        cx,
        runes.into_iter().map(|found| {
            if unicode::is_space(found) {
                starts = true;
                found
            } else if std::mem::replace(&mut starts, false) {
                unicode::to_lower(found)
            } else {
                found
            }
        }),
    )
}

fn swapcase<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let runes = runes(cx, args)?;
    let mut blank = true;
    collected(
        cx,
        runes.into_iter().map(|found| match unicode::category(found) {
            Category::Upper | Category::Title => {
                blank = false;
                unicode::to_lower(found)
            }
            Category::Lower => {
                if std::mem::replace(&mut blank, false) {
                    unicode::to_title(found)
                } else {
                    unicode::to_upper(found)
                }
            }
            _ => {
                blank = unicode::is_space(found);
                found
            }
        }),
    )
}

/// The first byte of every word, read as Latin-1, as in sprig.
fn initials<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut out = String::new();
    let mut gap = true;
    for byte in text(args, 0)?.bytes() {
        let found = char::from(*byte);
        if unicode::is_space(found) {
            gap = true;
        } else if std::mem::replace(&mut gap, false) {
            out.push(found);
        }
    }
    cx.text(out)
}

fn is_connector(found: char) -> bool {
    found == '-' || found == '_' || unicode::is_space(found)
}

fn is_upper(found: char) -> bool {
    unicode::category(found) == Category::Upper
}

/// `xstrings.ToPascalCase`
fn camelcase<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let runes = runes(cx, args)?;
    let mut out = String::with_capacity(runes.len());
    let start = runes.iter().position(|found| !is_connector(*found));
    let Some(start) = start else {
        // The text has only connectors. xstrings writes the last one twice.
        out.extend(&runes);
        out.extend(runes.last());
        return cx.text(out);
    };
    out.extend(runes.iter().take(start));
    let mut rest = runes.into_iter().skip(start);
    let Some(first) = rest.next() else { return cx.text(out) };
    let mut in_capitals = is_upper(first);
    let mut last = unicode::to_upper(first);
    for found in rest {
        let before = std::mem::replace(&mut last, found);
        if is_connector(found) && is_connector(before) {
            out.push(before);
        } else if is_connector(before) {
            in_capitals = is_upper(found);
            last = unicode::to_upper(found);
        } else {
            if in_capitals {
                if is_upper(found) {
                    last = unicode::to_lower(found);
                } else {
                    in_capitals = false;
                }
            }
            out.push(before);
        }
    }
    out.push(last);
    cx.text(out)
}

fn snakecase<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let runes = runes(cx, args)?;
    cx.text(super::words::separated(&runes, '_'))
}

fn kebabcase<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let runes = runes(cx, args)?;
    cx.text(super::words::separated(&runes, '-'))
}
