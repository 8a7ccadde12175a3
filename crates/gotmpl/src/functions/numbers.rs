//! sprig's arithmetic on integers, and its counting functions.

use super::super::budget::Context;
use super::super::error::{Outcome, exec};
use super::super::format;
use super::super::literal::parse_int;
use super::super::value::{Elem, List, Value};
use super::args::{any, int, text};
use super::cast;
use super::{Function, Type};

use Type::{Any, Float, Int, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("add", &[], add).rest(Any),
    Function::new("add1", &[Any], add1),
    Function::new("sub", &[Any, Any], sub),
    Function::new("mul", &[Any], mul).rest(Any),
    Function::new("div", &[Any, Any], div),
    Function::new("mod", &[Any, Any], modulo),
    Function::new("max", &[Any], max).rest(Any),
    Function::new("biggest", &[Any], max).rest(Any),
    Function::new("min", &[Any], min).rest(Any),
    Function::new("maxf", &[Any], maxf).rest(Any),
    Function::new("minf", &[Any], minf).rest(Any),
    Function::new("floor", &[Any], floor),
    Function::new("ceil", &[Any], ceil),
    Function::new("round", &[Any, Int], round).rest(Float),
    Function::new("int", &[Any], to_int),
    Function::new("int64", &[Any], to_int64),
    Function::new("float64", &[Any], to_float64),
    Function::new("atoi", &[Text], atoi),
    Function::new("toDecimal", &[Any], to_decimal),
    Function::new("seq", &[], seq).rest(Int),
    Function::new("until", &[Int], until),
    Function::new("untilStep", &[Int, Int, Int], until_step),
];

fn add<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int64(args.iter().fold(0, |sum, value| sum.wrapping_add(cast::int64(value)))))
}

fn add1<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int64(cast::int64(any(args, 0)).wrapping_add(1)))
}

fn sub<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int64(cast::int64(any(args, 0)).wrapping_sub(cast::int64(any(args, 1)))))
}

fn mul<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let product = |product: i64, value| product.wrapping_mul(cast::int64(value));
    Ok(Value::int64(args.iter().fold(1, product)))
}

fn div<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match cast::int64(any(args, 1)) {
        0 => Err(exec("runtime error: integer divide by zero")),
        divisor => Ok(Value::int64(cast::int64(any(args, 0)).wrapping_div(divisor))),
    }
}

fn modulo<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match cast::int64(any(args, 1)) {
        0 => Err(exec("runtime error: integer divide by zero")),
        divisor => Ok(Value::int64(cast::int64(any(args, 0)).wrapping_rem(divisor))),
    }
}

fn max<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int64(args.iter().map(cast::int64).max().unwrap_or(0)))
}

fn min<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int64(args.iter().map(cast::int64).min().unwrap_or(0)))
}

/// `math.Max`: positive infinity wins, then NaN, and 0 is greater than -0.
fn go_max(left: f64, right: f64) -> f64 {
    if left == f64::INFINITY || right == f64::INFINITY {
        f64::INFINITY
    } else if left.is_nan() || right.is_nan() {
        f64::NAN
    } else if left == 0.0 && right == 0.0 {
        if left.is_sign_negative() { right } else { left }
    } else {
        left.max(right)
    }
}

fn maxf<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let floats = args.iter().map(cast::float64);
    Ok(Value::Float(floats.reduce(go_max).unwrap_or(0.0)))
}

fn minf<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let floats = args.iter().map(cast::float64);
    let lowest = floats.reduce(|left, right| -go_max(-left, -right));
    Ok(Value::Float(lowest.unwrap_or(0.0)))
}

fn floor<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Float(cast::float64(any(args, 0)).floor()))
}

fn ceil<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Float(cast::float64(any(args, 0)).ceil()))
}

fn round<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let on = match args.get(2) {
        Some(Value::Float(on)) => *on,
        _ => 0.5,
    };
    let power = power_of_ten(int(args, 1)?);
    let digit = power * cast::float64(any(args, 0));
    let rounded = if digit.fract() >= on { digit.ceil() } else { digit.floor() };
    Ok(Value::Float(rounded / power))
}

/// `math.Pow(10, places)`, exact to the last bit wherever the power is representable.
fn power_of_ten(places: i64) -> f64 {
    format!("1e{}", places.clamp(-400, 400)).parse().unwrap_or(f64::NAN)
}

fn to_int<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int(cast::int64(any(args, 0))))
}

fn to_int64<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::int64(cast::int64(any(args, 0))))
}

fn to_float64<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Float(cast::float64(any(args, 0))))
}

fn atoi<'a>(_: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let number = text(args, 0)?.lossy();
    let saturated = || {
        let digits = number.strip_prefix(['+', '-']).unwrap_or(&number);
        let numeric = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match (numeric, number.starts_with('-')) {
            (false, _) => 0,
            (true, true) => i64::MIN,
            (true, false) => i64::MAX,
        }
    };
    Ok(Value::int(parse_int(&number, 10).unwrap_or_else(saturated)))
}

fn to_decimal<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let octal = format::sprint(cx, &[any(args, 0).clone()])?;
    let octal = String::from_utf8_lossy(&octal);
    Ok(Value::int64(parse_int(&octal, 8).unwrap_or(0)))
}

fn seq<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let number = |index| int(args, index);
    let (start, end, step) = match args.len() {
        1 => (1, number(0)?, None),
        2 => (number(0)?, number(1)?, None),
        3 => (number(0)?, number(2)?, Some(number(1)?)),
        _ => return Ok(Value::text("")),
    };
    let toward = if end < start { -1 } else { 1 };
    if step.is_some_and(|step| end < start && step > 0) {
        return Ok(Value::text(""));
    }
    let numbers = count(cx, start, end.wrapping_add(toward), step.unwrap_or(toward))?;
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    cx.text(texts.join(" "))
}

fn until<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let end = int(args, 0)?;
    let numbers = count(cx, 0, end, if end < 0 { -1 } else { 1 })?;
    List::of(Elem::Int, numbers.into_iter().map(Value::int).collect())
}

fn until_step<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let numbers = count(cx, int(args, 0)?, int(args, 1)?, int(args, 2)?)?;
    List::of(Elem::Int, numbers.into_iter().map(Value::int).collect())
}

/// The numbers from `start` up or down to `stop`, which is excluded.
fn count(cx: &mut Context<'_>, start: i64, stop: i64, step: i64) -> Outcome<Vec<i64>> {
    let down = stop < start;
    if down && step >= 0 || !down && step <= 0 {
        return Ok(Vec::new());
    }
    let distance = stop.abs_diff(start);
    let len = distance.div_ceil(step.unsigned_abs());
    let mut numbers = cx.vec(usize::try_from(len).unwrap_or(usize::MAX))?;
    let mut number = start;
    for _ in 0..len {
        numbers.push(number);
        number = number.wrapping_add(step);
    }
    Ok(numbers)
}
