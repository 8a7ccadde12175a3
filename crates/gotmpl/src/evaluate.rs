//! Evaluates commands: operands, fields, and calls with their checked arguments.

use super::ast::{Command, Operand};
use super::error::{Outcome, exec};
use super::functions::{Function, Lazy, Type};
use super::literal::Number;
use super::methods;
use super::render::Renderer;
use super::value::{Elem, IntType, List, Map, Value};

impl<'a> Renderer<'a> {
    /// Evaluates one command. `last` is the value of the previous command in the pipeline.
    pub(super) fn command(
        &mut self,
        dot: &Value<'a>,
        command: &'a Command,
        last: Option<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        let arguments = &command.arguments;
        match &command.head {
            Operand::Function(function) => self.call(dot, function, arguments, last),
            Operand::Field(path) => self.path(dot, dot.clone(), path, arguments, last),
            Operand::Variable(name, path) if !path.is_empty() => {
                let value = self.variable(*name)?;
                self.path(dot, value, path, arguments, last)
            }
            Operand::Chain(base, path) => {
                let value = self.chain_base(dot, base)?;
                self.path(dot, value, path, arguments, last)
            }
            head => {
                if !arguments.is_empty() || last.is_some() {
                    return Err(exec("can't give argument to non-function"));
                }
                match head {
                    Operand::Nil => Err(exec("nil is not a command")),
                    head => self.operand(dot, head),
                }
            }
        }
    }

    fn chain_base(&mut self, dot: &Value<'a>, base: &'a Operand) -> Outcome<Value<'a>> {
        match base {
            Operand::Nil => Err(exec("indirection through explicit nil")),
            base => self.operand(dot, base),
        }
    }

    /// Evaluates an operand in a position that accepts any type.
    fn operand(&mut self, dot: &Value<'a>, operand: &'a Operand) -> Outcome<Value<'a>> {
        match operand {
            Operand::Dot => Ok(dot.clone()),
            Operand::Nil => Ok(Value::Nil),
            Operand::Bool(flag) => Ok(Value::Bool(*flag)),
            Operand::Number(number) => constant(number),
            Operand::Text(text) => Ok(Value::Str(super::value::Str::Ref(text))),
            Operand::Field(path) => self.path(dot, dot.clone(), path, &[], None),
            Operand::Variable(name, path) => {
                let value = self.variable(*name)?;
                if path.is_empty() { Ok(value) } else { self.path(dot, value, path, &[], None) }
            }
            Operand::Pipeline(pipeline) => self.pipeline(dot, pipeline),
            Operand::Function(function) => self.call(dot, function, &[], None),
            Operand::Chain(base, path) => {
                let value = self.chain_base(dot, base)?;
                self.path(dot, value, path, &[], None)
            }
        }
    }

    /// Follows fields; only the last one may take arguments.
    fn path(
        &mut self,
        dot: &Value<'a>,
        base: Value<'a>,
        path: &'a [Box<str>],
        arguments: &'a [Operand],
        last: Option<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        let mut value = base;
        let Some((tail, front)) = path.split_last() else { return Ok(value) };
        for name in front {
            value = self.field(dot, &value, name, &[], None)?;
        }
        self.field(dot, &value, tail, arguments, last)
    }

    fn field(
        &mut self,
        dot: &Value<'a>,
        receiver: &Value<'a>,
        name: &str,
        arguments: &'a [Operand],
        last: Option<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        self.cx.spend(1)?;
        match receiver {
            Value::Invalid => Ok(Value::Invalid),
            Value::Nil => Err(exec(format!("nil pointer evaluating interface {{}}.{name}"))),
            Value::JsonMap(_) | Value::Map(_) => {
                if !arguments.is_empty() || last.is_some() {
                    return Err(exec(format!("{name} is not a method but has arguments")));
                }
                Ok(receiver.entry(name.as_bytes()).unwrap_or(Value::Invalid))
            }
            _ => {
                let Some(method) = methods::find(receiver, name)? else {
                    let kind = receiver.type_name();
                    return Err(exec(format!("can't evaluate field {name} in type {kind}")));
                };
                let base = self.stack.len();
                self.stack.push(receiver.clone());
                self.arguments(dot, method, arguments, last)?;
                self.invoke(method, base)
            }
        }
    }

    fn call(
        &mut self,
        dot: &Value<'a>,
        function: &'static Function,
        arguments: &'a [Operand],
        last: Option<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        if let Some(lazy) = function.lazy {
            return self.lazy(dot, function, lazy, arguments, last);
        }
        let base = self.stack.len();
        self.arguments(dot, function, arguments, last)?;
        self.invoke(function, base)
    }

    /// Checks the number of arguments and pushes them onto the stack.
    fn arguments(
        &mut self,
        dot: &Value<'a>,
        function: &'static Function,
        arguments: &'a [Operand],
        last: Option<Value<'a>>,
    ) -> Outcome<()> {
        count(function, arguments.len() + usize::from(last.is_some()))?;
        let kind = |index: usize| function.params.get(index).copied().or(function.rest);
        for (index, argument) in arguments.iter().enumerate() {
            let value = self.argument(dot, kind(index).unwrap_or(Type::Any), argument)?;
            self.stack.push(value);
        }
        if let Some(last) = last {
            let kind = kind(arguments.len()).unwrap_or(Type::Any);
            self.stack.push(accept(last, kind)?);
        }
        Ok(())
    }

    fn invoke(&mut self, function: &'static Function, base: usize) -> Outcome<Value<'a>> {
        self.cx.spend(2)?;
        let arguments = self.stack.get(base..).unwrap_or_default();
        let result = (function.body)(&mut self.cx, arguments);
        self.stack.truncate(base);
        result.map_err(|mut fault| {
            fault.message = format!("error calling {}: {}", function.name, fault.message);
            fault
        })
    }

    /// Evaluates `and` and `or`, which stop at the deciding argument.
    fn lazy(
        &mut self,
        dot: &Value<'a>,
        function: &'static Function,
        lazy: Lazy,
        arguments: &'a [Operand],
        last: Option<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        count(function, arguments.len() + usize::from(last.is_some()))?;
        let mut value = Value::Invalid;
        for argument in arguments {
            value = self.argument(dot, Type::Reflect, argument)?;
            if value.truth() == (lazy == Lazy::Or) {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    /// Evaluates an operand as an argument of a given type.
    fn argument(&mut self, dot: &Value<'a>, kind: Type, operand: &'a Operand) -> Outcome<Value<'a>> {
        match operand {
            Operand::Nil => nil_of(kind),
            Operand::Bool(_) | Operand::Number(_) | Operand::Text(_) => typed(kind, operand),
            other => accept(self.operand(dot, other)?, kind),
        }
    }
}

fn count(function: &Function, given: usize) -> Outcome<()> {
    let name = function.name;
    let wanted = function.params.len();
    match function.rest {
        Some(_) if given < wanted => {
            Err(exec(format!("wrong number of args for {name}: want at least {wanted} got {given}")))
        }
        None if given != wanted => {
            Err(exec(format!("wrong number of args for {name}: want {wanted} got {given}")))
        }
        _ => Ok(()),
    }
}

/// A number whose type depends only on its notation.
fn constant<'a>(number: &Number) -> Outcome<Value<'a>> {
    let text = &number.text;
    let hex = text.len() > 2
        && text.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x"))
        && !text.contains(['p', 'P']);
    let fractional = !hex && !text.starts_with('\'') && text.contains(['.', 'e', 'E', 'p', 'P']);
    match (number.float, number.int) {
        (Some(float), _) if fractional => Ok(Value::Float(float)),
        (_, Some(int)) => Ok(Value::int(int)),
        _ => Err(exec(format!("{text} overflows int"))),
    }
}

/// A literal as an argument of a given type.
fn typed(kind: Type, operand: &Operand) -> Outcome<Value<'_>> {
    let value = match (kind, operand) {
        (Type::Any | Type::Reflect, Operand::Number(number)) => Some(constant(number)?),
        (Type::Any | Type::Reflect | Type::Bool, Operand::Bool(flag)) => Some(Value::Bool(*flag)),
        (Type::Any | Type::Reflect | Type::Text, Operand::Text(text)) => {
            Some(Value::Str(super::value::Str::Ref(text)))
        }
        (Type::Int, Operand::Number(number)) => number.int.map(Value::int),
        (Type::Uint32, Operand::Number(number)) => {
            number.uint.map(|number| Value::Uint(super::value::UintType::Uint64, number & 0xffff_ffff))
        }
        (Type::Float, Operand::Number(number)) => number.float.map(Value::Float),
        _ => None,
    };
    value.ok_or_else(|| exec(format!("expected {}", type_name(kind))))
}

/// A literal `nil` as an argument.
fn nil_of<'a>(kind: Type) -> Outcome<Value<'a>> {
    accept(Value::Invalid, kind).map_err(|_| exec(format!("cannot assign nil to {}", type_name(kind))))
}

/// Checks a value as an argument of a given type, like Go's `validateType`.
fn accept(value: Value<'_>, kind: Type) -> Outcome<Value<'_>> {
    let fits = match (&value, kind) {
        (Value::Invalid, Type::Reflect) => true,
        (Value::Invalid, Type::Any | Type::Version) => return Ok(Value::Nil),
        (Value::Invalid, Type::Dict) => return Ok(Map::nil(Elem::Any)),
        (Value::Invalid, Type::AnyList) => return Ok(List::nil(Elem::Any)),
        (Value::Invalid, kind) => {
            return Err(exec(format!("invalid value; expected {}", type_name(kind))));
        }
        (_, Type::Any | Type::Reflect)
        | (Value::Bool(_), Type::Bool)
        | (Value::Int(IntType::Int, _), Type::Int)
        | (Value::Float(_), Type::Float)
        | (Value::Str(_), Type::Text)
        | (Value::JsonMap(_), Type::Dict)
        | (Value::JsonList(_), Type::AnyList)
        | (Value::Time(_), Type::Time)
        | (Value::Version(_, true), Type::Version) => true,
        (Value::Map(map), Type::Dict) => map.elem == Elem::Any,
        (Value::List(list), Type::AnyList) => list.elem == Elem::Any,
        _ => false,
    };
    if fits {
        return Ok(value);
    }
    let (wanted, given) = (type_name(kind), value.type_name());
    Err(exec(format!("wrong type for value; expected {wanted}; got {given}")))
}

fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Any => "interface {}",
        Type::Reflect => "reflect.Value",
        Type::Bool => "bool",
        Type::Int => "int",
        Type::Uint32 => "uint32",
        Type::Float => "float64",
        Type::Text => "string",
        Type::Dict => "map[string]interface {}",
        Type::AnyList => "[]interface {}",
        Type::Time => "time.Time",
        Type::Version => "*semver.Version",
    }
}
