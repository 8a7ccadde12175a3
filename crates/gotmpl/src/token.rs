//! The tokens of a template: text, and the tokens between `{{` and `}}`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Text outside of actions.
    Text,
    /// `{{`
    Left,
    /// `}}`
    Right,
    /// `true` or `false`
    Bool,
    /// A character without any other meaning, such as `,`.
    Char,
    /// `'a'`
    CharConstant,
    /// `=`
    Assign,
    /// `:=`
    Declare,
    /// The end of the template.
    End,
    /// `.name`
    Field,
    /// `name`
    Identifier,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// A number, including complex ones.
    Number,
    /// `|`
    Pipe,
    /// Text in back quotes.
    RawString,
    /// Blanks between arguments.
    Space,
    /// Text in double quotes.
    String,
    /// `$` or `$name`
    Variable,
    /// `.`
    Dot,
    /// A reserved word such as `if`.
    Keyword(Keyword),
}

/// The reserved words, which cannot be functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Nil,
    Template,
    /// `with`
    With,
}

impl Keyword {
    /// The keyword spelled by a word, if any.
    pub(super) fn of(word: &str) -> Option<Keyword> {
        Some(match word {
            "block" => Keyword::Block,
            "break" => Keyword::Break,
            "continue" => Keyword::Continue,
            "define" => Keyword::Define,
            "else" => Keyword::Else,
            "end" => Keyword::End,
            "if" => Keyword::If,
            "range" => Keyword::Range,
            "nil" => Keyword::Nil,
            "template" => Keyword::Template,
            "with" => Keyword::With,
            _ => return None,
        })
    }
}

/// A token with its text and line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'s> {
    pub(super) kind: TokenKind,
    pub(super) text: &'s str,
    pub(super) line: usize,
}

impl Token<'_> {
    /// The token as shown in messages.
    pub(super) fn shown(&self) -> String {
        match self.kind {
            TokenKind::End => "EOF".to_owned(),
            TokenKind::Keyword(_) => format!("<{}>", self.text),
            _ => {
                let mut start: String = self.text.chars().take(10).collect();
                if start.len() < self.text.len() {
                    start = format!("{start:?}...");
                    return start;
                }
                format!("{start:?}")
            }
        }
    }
}
