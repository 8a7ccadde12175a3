//! Parses the contents of actions: pipelines, commands and their operands.

use super::ast::{Command, Operand, Pipeline};
use super::error::Outcome;
use super::literal;
use super::parser::{Parser, unexpected};
use super::token::{Keyword, Token, TokenKind};

impl Parser<'_> {
    /// Parses `$x := command | command`, up to the terminating token.
    pub(super) fn read_pipeline(&mut self, context: &str, end: TokenKind) -> Outcome<Pipeline> {
        let line = self.skip_space()?.line;
        let mut pipeline = Pipeline { line, variables: Vec::new(), assigns: false, commands: Vec::new() };
        self.declarations(context, &mut pipeline)?;
        loop {
            let token = self.next_word()?;
            match token.kind {
                kind if kind == end => break,
                TokenKind::Bool
                | TokenKind::CharConstant
                | TokenKind::Dot
                | TokenKind::Field
                | TokenKind::Identifier
                | TokenKind::Number
                | TokenKind::Keyword(Keyword::Nil)
                | TokenKind::RawString
                | TokenKind::String
                | TokenKind::Variable
                | TokenKind::LeftParen => {
                    self.back();
                    pipeline.commands.push(self.command()?);
                }
                _ => return unexpected(token, context),
            }
        }
        if pipeline.commands.is_empty() {
            return self.fail(format!("missing value for {context}"));
        }
        for (index, command) in pipeline.commands.iter().enumerate().skip(1) {
            let constant = matches!(
                command.head,
                Operand::Bool(_) | Operand::Dot | Operand::Nil | Operand::Number(_) | Operand::Text(_)
            );
            if constant {
                let stage = index + 1;
                return self.fail(format!("non executable command in pipeline stage {stage}"));
            }
        }
        Ok(pipeline)
    }

    fn declarations(&mut self, context: &str, pipeline: &mut Pipeline) -> Outcome<()> {
        loop {
            let token = self.skip_space()?;
            if token.kind != TokenKind::Variable {
                return Ok(());
            }
            let mark = self.mark();
            self.next()?;
            let next = self.skip_space()?;
            match next.kind {
                TokenKind::Assign | TokenKind::Declare => {
                    self.next()?;
                    pipeline.assigns = next.kind == TokenKind::Assign;
                    pipeline.variables.push(self.declare(token.text));
                    return Ok(());
                }
                TokenKind::Char if next.text == "," => {
                    self.next()?;
                    pipeline.variables.push(self.declare(token.text));
                    if context != "range" || pipeline.variables.len() >= 2 {
                        return self.fail(format!("too many declarations in {context}"));
                    }
                    let kind = self.skip_space()?.kind;
                    if !matches!(kind, TokenKind::Variable | TokenKind::Right | TokenKind::RightParen) {
                        return self.fail("range can only initialize variables");
                    }
                }
                _ => {
                    self.reset(mark);
                    return Ok(());
                }
            }
        }
    }

    fn command(&mut self) -> Outcome<Command> {
        let mut operands = Vec::new();
        loop {
            self.skip_space()?;
            if let Some(operand) = self.operand()? {
                operands.push(operand);
            }
            let token = self.next()?;
            match token.kind {
                TokenKind::Space => {}
                TokenKind::Right | TokenKind::RightParen => {
                    self.back();
                    break;
                }
                TokenKind::Pipe => break,
                _ => return unexpected(token, "operand"),
            }
        }
        if operands.is_empty() {
            return self.fail("empty command");
        }
        let head = operands.remove(0);
        Ok(Command { head, arguments: operands })
    }

    /// Parses a term and the fields directly after it.
    fn operand(&mut self) -> Outcome<Option<Operand>> {
        let start = self.peek()?;
        let Some(mut operand) = self.term()? else { return Ok(None) };
        let mut fields = Vec::new();
        while self.peek()?.kind == TokenKind::Field {
            fields.push(field(self.next()?));
        }
        if fields.is_empty() {
            return Ok(Some(operand));
        }
        match &mut operand {
            Operand::Field(path) | Operand::Variable(_, path) => path.extend(fields),
            Operand::Bool(_) | Operand::Text(_) | Operand::Number(_) | Operand::Nil | Operand::Dot => {
                return self.fail(format!("unexpected . after term {:?}", start.text));
            }
            Operand::Pipeline(_) | Operand::Function(_) | Operand::Chain(..) => {
                operand = Operand::Chain(Box::new(operand), fields);
            }
        }
        Ok(Some(operand))
    }

    fn term(&mut self) -> Outcome<Option<Operand>> {
        let token = self.next_word()?;
        let operand = match token.kind {
            TokenKind::Identifier => {
                let Some(function) = (self.find)(token.text) else {
                    return self.fail(format!("function {:?} not defined", token.text));
                };
                self.trees.changes_data |= function.changes_data;
                Operand::Function(function)
            }
            TokenKind::Dot => Operand::Dot,
            TokenKind::Keyword(Keyword::Nil) => Operand::Nil,
            TokenKind::Variable => Operand::Variable(self.variable(token.text)?, Vec::new()),
            TokenKind::Field => Operand::Field(vec![field(token)]),
            TokenKind::Bool => Operand::Bool(token.text == "true"),
            TokenKind::CharConstant => match literal::character(token.text) {
                Ok(number) => Operand::Number(number),
                Err(message) => return self.fail(message),
            },
            TokenKind::Number => match literal::number(token.text) {
                Ok(number) => Operand::Number(number),
                Err(message) => return self.fail(message),
            },
            TokenKind::LeftParen => {
                let inner = self.pipeline("parenthesized pipeline", TokenKind::RightParen)?;
                Operand::Pipeline(Box::new(inner))
            }
            TokenKind::String | TokenKind::RawString => match literal::unquote(token.text) {
                Some(text) => Operand::Text(text.into()),
                None => return self.fail("invalid syntax"),
            },
            _ => {
                if token.kind != TokenKind::End {
                    self.back();
                }
                return Ok(None);
            }
        };
        Ok(Some(operand))
    }
}

/// The name in a field token, which starts with a dot.
fn field(token: Token<'_>) -> Box<str> {
    token.text.get(1..).unwrap_or_default().into()
}
