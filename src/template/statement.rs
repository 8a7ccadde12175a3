//! Statements, `#% …`: parses them, matches the blocks of a document, and nests the entries between them.

use super::{
    expression::{Expression, Failure},
    language::FUNCTIONS,
    limits::MAX_NESTING,
    tree::{Binding, Branch, Item, Loop},
    visible::Visible,
};

pub(super) struct Statement {
    /// The byte of its `#`.
    pub(super) offset: usize,
    /// The number of its bytes up to the end of its line.
    pub(super) length: usize,
    pub(super) kind: StatementKind,
    /// The canonical form of the statement after `#% `.
    pub(super) written: String,
}

pub(super) enum StatementKind {
    If(Expression),
    Elif(Expression),
    Else,
    EndIf,
    For(Vec<std::sync::Arc<str>>, Expression),
    EndFor,
    Set(std::sync::Arc<str>, Expression),
}

const KEYWORDS: [&str; 7] = ["if", "elif", "else", "endif", "for", "endfor", "set"];

impl Statement {
    /// Parses the statement on `line`, whose `#` is at the byte `offset`.
    pub(super) fn parse(line: &str, offset: usize, level: u32) -> Result<Self, Failure> {
        let line = line.trim_end();
        let fail = |message: String, hint: &str| Failure {
            code: "template-statement",
            message,
            hint: Some(hint.to_owned()),
            range: offset..offset + line.len(),
        };
        let body = &line[2..];
        if !body.starts_with([' ', '\t']) {
            let message = format!("`{line}` is not a statement");
            return Err(fail(message, "write a space after `#%`: `#% if …`"));
        }
        let text = body.trim_start();
        let keyword = text.split([' ', '\t']).next().unwrap_or_default();
        let rest = &text[keyword.len()..];
        let at = offset + line.len() - rest.len();
        let kind = match keyword {
            "if" => StatementKind::If(Expression::compile(rest, at, level)?),
            "elif" => StatementKind::Elif(Expression::compile(rest, at, level)?),
            "for" => parse_for(rest, at, level, &fail)?,
            "set" => parse_set(rest, at, level, &fail)?,
            "else" | "endif" | "endfor" if !rest.trim().is_empty() => {
                let message = format!("unexpected `{}` after `{keyword}`", rest.trim());
                return Err(fail(message, "remove it: this statement takes no argument"));
            }
            "else" => StatementKind::Else,
            "endif" => StatementKind::EndIf,
            "endfor" => StatementKind::EndFor,
            _ => return Err(unknown(keyword, &fail)),
        };
        let written = kind.written();
        Ok(Self { offset, length: line.len(), kind, written })
    }
}

impl StatementKind {
    fn written(&self) -> String {
        match self {
            Self::If(condition) => format!("if {}", condition.text),
            Self::Elif(condition) => format!("elif {}", condition.text),
            Self::Else => "else".to_owned(),
            Self::EndIf => "endif".to_owned(),
            Self::For(names, over) => format!("for {} in {}", names.join(", "), over.text),
            Self::EndFor => "endfor".to_owned(),
            Self::Set(name, value) => format!("set {name} = {}", value.text),
        }
    }

    fn keyword(&self) -> &'static str {
        match self {
            Self::If(_) => "if",
            Self::Elif(_) => "elif",
            Self::Else => "else",
            Self::EndIf => "endif",
            Self::For(..) => "for",
            Self::EndFor => "endfor",
            Self::Set(..) => "set",
        }
    }
}

type Fail<'a> = dyn Fn(String, &str) -> Failure + 'a;

fn unknown(keyword: &str, fail: &Fail<'_>) -> Failure {
    let word: String = keyword.chars().take_while(char::is_ascii_alphanumeric).collect();
    if KEYWORDS.contains(&word.as_str()) {
        return fail(format!("`{keyword}` is not a statement"), &format!("write a space after `{word}`"));
    }
    let hint = match super::expression::similar(&word, KEYWORDS.into_iter()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("use one of {}; for the text `#%` write `${{{{ \"#%\" }}}}`", KEYWORDS.join(", ")),
    };
    fail(format!("there is no statement `{keyword}`"), &hint)
}

fn parse_for(rest: &str, at: usize, level: u32, fail: &Fail<'_>) -> Result<StatementKind, Failure> {
    let form = "write `#% for item in list`, or `#% for key, value in map | items`";
    let Some(split) = rest.find(" in ") else {
        return Err(fail("`for` without ` in `".to_owned(), form));
    };
    let (names, over) = (&rest[..split], &rest[split + 4..]);
    let names = names
        .split(',')
        .map(|name| check_name(name.trim(), fail))
        .collect::<Result<Vec<std::sync::Arc<str>>, _>>()?;
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        return Err(fail(format!("`{}` is bound twice", twice.1), form));
    }
    if has_open_condition(over) {
        let hint = "write an `#% if` inside the loop, or `list | selectattr(…)`";
        return Err(fail("`for … in … if …` is not supported".to_owned(), hint));
    }
    let over = Expression::compile(over, at + split + 4, level)?;
    Ok(StatementKind::For(names, over))
}

/// Whether an `if` outside of all brackets has no `else`.
fn has_open_condition(expression: &str) -> bool {
    use super::lex::{Role, TokenKind as Word, role, tokens};
    let words = tokens(expression);
    let (mut depth, mut open) = (0_usize, false);
    for (at, word) in words.iter().enumerate() {
        match (word.kind, word.text(expression)) {
            (Word::Open, _) => depth += 1,
            (Word::Close, _) => depth = depth.saturating_sub(1),
            (Word::Word, "if") if depth == 0 && role(&words, at, expression) == Role::Name => open = true,
            (Word::Word, "else") if depth == 0 => open = false,
            _ => {}
        }
    }
    open
}

fn parse_set(rest: &str, at: usize, level: u32, fail: &Fail<'_>) -> Result<StatementKind, Failure> {
    let Some(split) = rest.find('=').filter(|split| !rest[split + 1..].starts_with('=')) else {
        return Err(fail("`set` without `=`".to_owned(), "write `#% set name = expression`"));
    };
    let name = check_name(rest[..split].trim(), fail)?;
    let value = Expression::compile(&rest[split + 1..], at + split + 1, level)?;
    Ok(StatementKind::Set(name, value))
}

fn check_name(name: &str, fail: &Fail<'_>) -> Result<std::sync::Arc<str>, Failure> {
    const RESERVED: [&str; 14] = [
        "and", "or", "not", "in", "if", "else", "is", "true", "false", "none", "True", "False", "None",
        "loop",
    ];
    let sound = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !sound {
        let hint = "begin a name with a letter, and use only letters, digits and `_`";
        return Err(fail(format!("`{name}` is not a name"), hint));
    }
    if RESERVED.contains(&name) || FUNCTIONS.contains(&name) || Visible::seen_in(name).is_some() {
        let hint = "choose another name: the language or the context uses this one";
        return Err(fail(format!("`{name}` cannot be bound"), hint));
    }
    Ok(name.into())
}

/// A block with its statements (`if`, `elif` …, `endif`) and inner blocks. A `set` is a block of one statement.
pub(super) struct Group {
    /// The indices of its statements.
    pub(super) marks: Vec<usize>,
    pub(super) inner: Vec<Group>,
}

/// Matches the blocks of a document or a text. `fail` is called for statements that do not match.
pub(super) fn groups(
    statements: &[Statement],
    mut fail: impl FnMut(&Statement, String, &str),
) -> Option<Vec<Group>> {
    let mut open: Vec<Group> = vec![Group { marks: Vec::new(), inner: Vec::new() }];
    for (at, statement) in statements.iter().enumerate() {
        let keyword = statement.kind.keyword();
        let opener = open.last().and_then(|group| group.marks.first()).map(|first| &statements[*first].kind);
        let after_else = open
            .last()
            .and_then(|group| group.marks.last())
            .is_some_and(|last| matches!(statements[*last].kind, StatementKind::Else));
        match (&statement.kind, opener) {
            (StatementKind::If(_) | StatementKind::For(..), _) if open.len() > MAX_NESTING => {
                fail(statement, format!("more than {MAX_NESTING} blocks inside one another"), "nest less");
                return None;
            }
            (StatementKind::If(_) | StatementKind::For(..), _) => {
                open.push(Group { marks: vec![at], inner: Vec::new() });
            }
            (StatementKind::Set(..), _) => {
                open.last_mut()?.inner.push(Group { marks: vec![at], inner: Vec::new() });
            }
            (StatementKind::Elif(_) | StatementKind::Else, Some(StatementKind::If(_))) if !after_else => {
                open.last_mut()?.marks.push(at);
            }
            (StatementKind::EndIf, Some(StatementKind::If(_)))
            | (StatementKind::EndFor, Some(StatementKind::For(..))) => {
                let mut group = open.pop()?;
                group.marks.push(at);
                open.last_mut()?.inner.push(group);
            }
            (StatementKind::Elif(_) | StatementKind::Else, Some(StatementKind::If(_))) => {
                fail(statement, format!("`{keyword}` after `else`"), "`else` is the last branch");
                return None;
            }
            (_, Some(opener)) => {
                let opener = opener.keyword();
                let hint = format!("close the `{opener}` with `#% end{opener}` first");
                fail(statement, format!("`{keyword}` inside a `{opener}` that it does not belong to"), &hint);
                return None;
            }
            (_, None) => {
                fail(
                    statement,
                    format!("`{keyword}` without a block that it belongs to"),
                    "open one, or remove it",
                );
                return None;
            }
        }
    }
    let last = open.pop()?;
    let Some(first) = last.marks.first() else { return Some(last.inner) };
    let keyword = statements[*first].kind.keyword();
    let hint = format!("write `#% end{keyword}` after the last entry of the block");
    fail(&statements[*first], format!("`{keyword}` is never closed in this document"), &hint);
    None
}

/// A statement, or an entry between statements.
pub(super) enum Piece<T> {
    Statement(Box<Statement>),
    Entry(T),
}

/// A block that is still being nested.
struct Open<T> {
    head: Option<Statement>,
    items: Vec<Item<T>>,
    branches: Vec<Branch<T>>,
}

/// Nests pieces whose blocks are known to match.
pub(super) fn nest<T>(pieces: Vec<Piece<T>>) -> Option<Vec<Item<T>>> {
    let mut open = vec![Open { head: None, items: Vec::new(), branches: Vec::new() }];
    for piece in pieces {
        let top = open.last_mut()?;
        let statement = match piece {
            Piece::Entry(entry) => {
                top.items.push(Item::Entry(entry));
                continue;
            }
            Piece::Statement(statement) => *statement,
        };
        let Statement { offset, length, kind, written } = statement;
        match kind {
            StatementKind::Set(name, value) => {
                top.items.push(Item::Set(Binding { name, value, written, offset }));
            }
            StatementKind::If(_) | StatementKind::For(..) => {
                let head = Some(Statement { offset, length, kind, written });
                open.push(Open { head, items: Vec::new(), branches: Vec::new() });
            }
            StatementKind::Elif(_) | StatementKind::Else => {
                let branch = close_branch(top, offset)?;
                top.branches.push(branch);
                top.head = Some(Statement { offset, length, kind, written });
            }
            StatementKind::EndIf => {
                let mut top = open.pop()?;
                let branch = close_branch(&mut top, offset)?;
                top.branches.push(branch);
                open.last_mut()?.items.push(Item::If(top.branches));
            }
            StatementKind::EndFor => {
                let Open { head, items, .. } = open.pop()?;
                let head = head?;
                let StatementKind::For(names, over) = head.kind else { return None };
                let (written, end) = (head.written, offset);
                let turn = Loop { names, over, written, offset: head.offset, end, items };
                open.last_mut()?.items.push(Item::For(turn));
            }
        }
    }
    let last = open.pop()?;
    open.is_empty().then_some(last.items)
}

/// Ends the current branch with the statement at the byte `end`.
fn close_branch<T>(open: &mut Open<T>, end: usize) -> Option<Branch<T>> {
    let Statement { kind, written, offset, .. } = open.head.take()?;
    let condition = match kind {
        StatementKind::If(condition) | StatementKind::Elif(condition) => Some(condition),
        _ => None,
    };
    Some(Branch { condition, written, offset, end, items: std::mem::take(&mut open.items) })
}
