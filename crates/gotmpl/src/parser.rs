//! Builds the syntax tree of a template from its tokens, like Go's `text/template/parse`.

use super::ast::{Branch, List, Name, Node, Pipeline, Range, Trees};
use super::error::{BoxedError, Outcome, limit, syntax};
use super::functions::Function;
use super::lexer::Lexer;
use super::literal;
use super::token::{Keyword, Token, TokenKind};

/// The name that Cluster API gives to every template. Templates defined in the source need other names.
pub(super) const ROOT: &str = "tpl";
/// The deepest nesting of blocks and parentheses; walking the tree is recursive.
const MAX_DEPTH: usize = 100;

/// A function that looks up template functions by name.
pub(super) type Find = fn(&str) -> Option<&'static Function>;

/// Parses a source with all templates that it defines.
pub(super) fn parse(source: &str, find: Find) -> Outcome<Trees> {
    let mut parser = Parser::new(source, find);
    let root = parser.top()?;
    parser.add(ROOT.to_owned(), root)?;
    Ok(parser.trees)
}

/// The reason that a list of nodes ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    End,
    Else,
}

/// A node, or the end of the current list.
enum Next {
    Node(Node),
    Stop(Stop),
}

/// The state of one template in the source. `define` and `block` start a new one.
#[derive(Default)]
struct Scope {
    variables: Vec<Name>,
    ranges: usize,
}

/// The state of the parser: all tokens and the current position.
pub(super) struct Parser<'s> {
    tokens: Vec<Token<'s>>,
    broken: Option<BoxedError>,
    pub(super) find: Find,
    at: usize,
    pub(super) trees: Trees,
    names: Vec<&'s str>,
    scope: Scope,
    depth: usize,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, find: Find) -> Parser<'s> {
        let mut lexer = Lexer::new(source);
        let mut tokens = Vec::new();
        let mut broken = None;
        loop {
            match lexer.next() {
                Ok(token) => tokens.push(token),
                Err(fault) => {
                    broken = Some(fault);
                    break;
                }
            }
            if tokens.last().is_some_and(|token| token.kind == TokenKind::End) {
                break;
            }
        }
        let names = vec!["$"];
        let scope = Scope { variables: vec![0], ranges: 0 };
        Parser { tokens, broken, find, at: 0, trees: Trees::default(), names, scope, depth: 0 }
    }

    /// The current token, without consuming it. If the lexer failed here, returns its error.
    pub(super) fn peek(&self) -> Outcome<Token<'s>> {
        match self.tokens.get(self.at) {
            Some(token) => Ok(*token),
            None => Err(match &self.broken {
                Some(fault) => fault.clone(),
                None => syntax("unexpected EOF", self.line()),
            }),
        }
    }

    pub(super) fn next(&mut self) -> Outcome<Token<'s>> {
        let token = self.peek()?;
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        Ok(token)
    }

    pub(super) fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// The current position, for [`Parser::reset`].
    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn reset(&mut self, mark: usize) {
        self.at = mark;
    }

    pub(super) fn skip_space(&mut self) -> Outcome<Token<'s>> {
        while self.peek()?.kind == TokenKind::Space {
            self.at += 1;
        }
        self.peek()
    }

    pub(super) fn next_word(&mut self) -> Outcome<Token<'s>> {
        self.skip_space()?;
        self.next()
    }

    pub(super) fn line(&self) -> usize {
        let last = self.tokens.get(self.at).or(self.tokens.last());
        last.map_or(1, |token| token.line)
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Outcome<T> {
        Err(syntax(message, self.line()))
    }

    /// Enters a nesting level; [`Parser::rise`] leaves it.
    pub(super) fn sink(&mut self) -> Outcome<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let mut fault = limit("the template is nested too deeply");
            fault.line = Some(self.line());
            return Err(fault);
        }
        Ok(())
    }

    pub(super) fn rise(&mut self) {
        self.depth -= 1;
    }

    /// The index of a variable's name.
    fn name(&mut self, text: &'s str) -> Name {
        let known = self.names.iter().position(|name| *name == text);
        known.unwrap_or_else(|| {
            self.names.push(text);
            self.names.len() - 1
        })
    }

    pub(super) fn declare(&mut self, text: &'s str) -> Name {
        let name = self.name(text);
        self.scope.variables.push(name);
        name
    }

    pub(super) fn variable(&mut self, text: &'s str) -> Outcome<Name> {
        let name = self.name(text);
        if self.scope.variables.contains(&name) {
            return Ok(name);
        }
        self.fail(format!("undefined variable {text:?}"))
    }

    fn top(&mut self) -> Outcome<List> {
        let mut list = Vec::new();
        while self.peek()?.kind != TokenKind::End {
            if self.defines()? {
                self.definition()?;
                continue;
            }
            match self.next_node()? {
                Next::Node(node) => list.push(node),
                Next::Stop(Stop::End) => return self.fail("unexpected {{end}}"),
                Next::Stop(Stop::Else) => return self.fail("unexpected {{else}}"),
            }
        }
        Ok(list)
    }

    /// Whether a definition starts here. If so, consumes everything up to and including its keyword.
    fn defines(&mut self) -> Outcome<bool> {
        let start = self.mark();
        if self.next()?.kind == TokenKind::Left
            && self.next_word()?.kind == TokenKind::Keyword(Keyword::Define)
        {
            return Ok(true);
        }
        self.reset(start);
        Ok(false)
    }

    fn definition(&mut self) -> Outcome<()> {
        let context = "define clause";
        let token = self.next_word()?;
        let name = self.template_name(token, context)?;
        self.right(context)?;
        let body = self.separate_body(context)?;
        self.add(name, body)
    }

    /// Parses the body of `define` or `block`, which does not see outer variables.
    fn separate_body(&mut self, context: &str) -> Outcome<List> {
        let fresh = Scope { variables: vec![0], ranges: 0 };
        let outer = std::mem::replace(&mut self.scope, fresh);
        let (body, stop) = self.list()?;
        if stop == Stop::Else {
            return self.fail(format!("unexpected {{{{else}}}} in {context}"));
        }
        self.scope = outer;
        Ok(body)
    }

    fn add(&mut self, name: String, list: List) -> Outcome<()> {
        match self.trees.named.get(&name) {
            Some(old) if !is_blank(old) => {
                if !is_blank(&list) {
                    return self.fail(format!("multiple definition of template {name:?}"));
                }
            }
            _ => {
                self.trees.named.insert(name, list);
            }
        }
        Ok(())
    }

    /// Parses nodes up to `{{end}}` or `{{else}}`.
    fn list(&mut self) -> Outcome<(List, Stop)> {
        self.sink()?;
        let mut list = Vec::new();
        while self.skip_space()?.kind != TokenKind::End {
            match self.next_node()? {
                Next::Node(node) => list.push(node),
                Next::Stop(stop) => {
                    self.rise();
                    return Ok((list, stop));
                }
            }
        }
        self.fail("unexpected EOF")
    }

    fn next_node(&mut self) -> Outcome<Next> {
        let token = self.next_word()?;
        match token.kind {
            TokenKind::Text => Ok(Next::Node(Node::Text(token.text.into()))),
            TokenKind::Left => self.action(),
            _ => unexpected(token, "input"),
        }
    }

    fn action(&mut self) -> Outcome<Next> {
        let token = self.next_word()?;
        let node = match token.kind {
            TokenKind::Keyword(Keyword::Block) => self.block()?,
            TokenKind::Keyword(Keyword::Break) => self.leave("break", Node::Break)?,
            TokenKind::Keyword(Keyword::Continue) => self.leave("continue", Node::Continue)?,
            TokenKind::Keyword(Keyword::Else) => {
                let next = self.skip_space()?;
                let chained = [TokenKind::Keyword(Keyword::If), TokenKind::Keyword(Keyword::With)];
                if !chained.contains(&next.kind) {
                    self.right("else")?;
                }
                return Ok(Next::Stop(Stop::Else));
            }
            TokenKind::Keyword(Keyword::End) => {
                self.right("end")?;
                return Ok(Next::Stop(Stop::End));
            }
            TokenKind::Keyword(Keyword::If) => self.branch(Keyword::If)?,
            TokenKind::Keyword(Keyword::With) => self.branch(Keyword::With)?,
            TokenKind::Keyword(Keyword::Range) => self.range()?,
            TokenKind::Keyword(Keyword::Template) => self.template()?,
            _ => {
                self.back();
                Node::Action(self.pipeline("command", TokenKind::Right)?)
            }
        };
        Ok(Next::Node(node))
    }

    fn right(&mut self, context: &str) -> Outcome<()> {
        let token = self.next_word()?;
        if token.kind == TokenKind::Right { Ok(()) } else { unexpected(token, context) }
    }

    fn leave(&mut self, word: &str, node: Node) -> Outcome<Node> {
        self.right(&format!("{{{{{word}}}}}"))?;
        if self.scope.ranges == 0 {
            return self.fail(format!("{{{{{word}}}}} outside {{{{range}}}}"));
        }
        Ok(node)
    }

    /// Parses `if` and `with`. Chained conditions become additional arms.
    fn branch(&mut self, word: Keyword) -> Outcome<Node> {
        let visible = self.scope.variables.len();
        let with = word == Keyword::With;
        let context = if with { "with" } else { "if" };
        let mut arms = Vec::new();
        let mut otherwise = None;
        loop {
            let condition = self.pipeline(context, TokenKind::Right)?;
            let (body, stop) = self.list()?;
            arms.push((condition, body));
            if stop == Stop::End {
                break;
            }
            if self.peek()?.kind == TokenKind::Keyword(word) {
                self.next()?;
                continue;
            }
            otherwise = Some(self.last_list()?);
            break;
        }
        self.scope.variables.truncate(visible);
        Ok(Node::Branch(Branch { with, arms, otherwise }))
    }

    /// Parses the list after the last `{{else}}`.
    fn last_list(&mut self) -> Outcome<List> {
        let (list, stop) = self.list()?;
        if stop == Stop::Else {
            return self.fail("expected end; found {{else}}");
        }
        Ok(list)
    }

    fn range(&mut self) -> Outcome<Node> {
        let visible = self.scope.variables.len();
        let over = self.pipeline("range", TokenKind::Right)?;
        self.scope.ranges += 1;
        let (body, stop) = self.list()?;
        self.scope.ranges -= 1;
        let otherwise = match stop {
            Stop::End => None,
            Stop::Else => Some(self.last_list()?),
        };
        self.scope.variables.truncate(visible);
        Ok(Node::Range(Range { over, body, otherwise }))
    }

    fn block(&mut self) -> Outcome<Node> {
        let context = "block clause";
        let token = self.next_word()?;
        let name = self.template_name(token, context)?;
        let data = Some(self.pipeline(context, TokenKind::Right)?);
        let body = self.separate_body(context)?;
        self.add(name.clone(), body)?;
        Ok(Node::Template { name: name.into(), data, line: token.line })
    }

    fn template(&mut self) -> Outcome<Node> {
        let context = "template clause";
        let token = self.next_word()?;
        let name = self.template_name(token, context)?.into();
        let data = if self.next_word()?.kind == TokenKind::Right {
            None
        } else {
            self.back();
            Some(self.pipeline(context, TokenKind::Right)?)
        };
        Ok(Node::Template { name, data, line: token.line })
    }

    fn template_name(&self, token: Token<'s>, context: &str) -> Outcome<String> {
        if !matches!(token.kind, TokenKind::String | TokenKind::RawString) {
            return unexpected(token, context);
        }
        match literal::unquote(token.text) {
            Some(name) => Ok(String::from_utf8_lossy(&name).into_owned()),
            None => self.fail("invalid syntax"),
        }
    }

    pub(super) fn pipeline(&mut self, context: &str, end: TokenKind) -> Outcome<Pipeline> {
        self.sink()?;
        let pipeline = self.read_pipeline(context, end)?;
        self.rise();
        Ok(pipeline)
    }
}

/// Reports a token in the wrong place.
pub(super) fn unexpected<T>(token: Token<'_>, context: &str) -> Outcome<T> {
    Err(syntax(format!("unexpected {} in {context}", token.shown()), token.line))
}

/// Whether a list writes only blanks.
fn is_blank(list: &List) -> bool {
    list.iter().all(|node| match node {
        Node::Text(text) => text.trim().is_empty(),
        Node::Action(_)
        | Node::Branch(_)
        | Node::Range(_)
        | Node::Template { .. }
        | Node::Break
        | Node::Continue => false,
    })
}
