//! The words of a template: text, and the tokens inside of `{{` and `}}`.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text outside of actions.
    Text,
    /// `{{`
    Left,
    /// `}}`
    Right,
    /// `true` or `false`
    Bool,
    /// A character such as `,` that has no other meaning.
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
    /// A number, complex ones included.
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
    /// A word with a meaning of its own, such as `if`.
    Keyword(Keyword),
}

/// The words that cannot be functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    /// `block`
    Block,
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `define`
    Define,
    /// `else`
    Else,
    /// `end`
    End,
    /// `if`
    If,
    /// `range`
    Range,
    /// `nil`
    Nil,
    /// `template`
    Template,
    /// `with`
    With,
}

impl Keyword {
    /// The keyword that a word is, if it is one.
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

/// One word, where it stands and what it says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
    pub(super) line: usize,
}

impl Token<'_> {
    /// The token as messages show it.
    pub(super) fn shown(&self) -> String {
        match self.kind {
            Kind::End => "EOF".to_owned(),
            Kind::Keyword(_) => format!("<{}>", self.text),
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
