//! sprig's arithmetic on floats, which uses exact decimal numbers.

use num_bigint::BigInt;

use super::super::budget::Context;
use super::super::error::{Outcome, exec, limit};
use super::super::format::float_text;
use super::super::value::Value;
use super::args::any;
use super::{Function, Type, cast};

use Type::Any;

/// The number of digits after the point in a quotient.
const DIVISION_DIGITS: i32 = 16;
/// The longest intermediate result, in bits.
const MAX_BITS: u64 = 200_000;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("addf", &[], addf).rest(Any),
    Function::new("add1f", &[Any], add1f),
    Function::new("subf", &[Any], subf).rest(Any),
    Function::new("mulf", &[Any], mulf).rest(Any),
    Function::new("divf", &[Any], divf).rest(Any),
];

/// `digits * 10^exponent`
#[derive(Clone)]
struct Decimal {
    digits: BigInt,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal number that equals this float.
    fn of(number: f64) -> Outcome<Decimal> {
        if !number.is_finite() {
            return Err(exec(format!("Cannot create a Decimal from {}", float_text(number, 'g', None))));
        }
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: i64 = format!("{whole}{fraction}").parse().unwrap_or(0);
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let places = i32::try_from(fraction.len()).unwrap_or(0);
        Ok(Decimal { digits: BigInt::from(digits), exponent: exponent - places })
    }

    /// The digits after lowering the exponent to a given one.
    fn scaled(&self, exponent: i32) -> BigInt {
        &self.digits * power(self.exponent.saturating_sub(exponent))
    }

    fn add(&self, other: &Decimal) -> Decimal {
        let exponent = self.exponent.min(other.exponent);
        Decimal { digits: self.scaled(exponent) + other.scaled(exponent), exponent }
    }

    fn negated(&self) -> Decimal {
        Decimal { digits: -&self.digits, exponent: self.exponent }
    }

    fn mul(&self, other: &Decimal) -> Decimal {
        Decimal {
            digits: &self.digits * &other.digits,
            exponent: self.exponent.saturating_add(other.exponent),
        }
    }

    /// Divides to [`DIVISION_DIGITS`] places, rounding half away from zero.
    fn div(&self, other: &Decimal) -> Outcome<Decimal> {
        let zero = BigInt::ZERO;
        if other.digits == zero {
            return Err(exec("decimal division by 0"));
        }
        let shift = self.exponent - other.exponent + DIVISION_DIGITS;
        let (numerator, denominator) = if shift < 0 {
            (self.digits.clone(), &other.digits * power(-shift))
        } else {
            (&self.digits * power(shift), other.digits.clone())
        };
        let mut quotient = &numerator / &denominator;
        let rest = &numerator % &denominator;
        let (rest, size) = (magnitude(&rest), magnitude(&denominator));
        if rest * 2 >= size {
            let negative = (self.digits < zero) != (other.digits < zero);
            quotient += if negative { -1 } else { 1 };
        }
        Ok(Decimal { digits: quotient, exponent: -DIVISION_DIGITS })
    }

    /// The closest float.
    fn float(&self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }
}

fn magnitude(number: &BigInt) -> BigInt {
    BigInt::from(number.magnitude().clone())
}

fn power(exponent: i32) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(0))
}

/// Applies an operation to the first operand and each of the others in turn.
fn fold<'a>(
    cx: &mut Context<'a>,
    first: f64,
    rest: &[Value<'a>],
    operation: impl Fn(&Decimal, &Decimal) -> Outcome<Decimal>,
) -> Outcome<Value<'a>> {
    let mut result = Decimal::of(first)?;
    for value in rest {
        cx.spend(20 + result.digits.bits() / 16)?;
        if result.digits.bits() > MAX_BITS {
            return Err(limit("a decimal number has too many digits"));
        }
        result = operation(&result, &Decimal::of(cast::float64(value))?)?;
    }
    Ok(Value::Float(result.float()))
}

fn addf<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    fold(cx, 0.0, args, |left, right| Ok(left.add(right)))
}

fn add1f<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let one = [Value::int(1)];
    fold(cx, cast::float64(any(args, 0)), &one, |left, right| Ok(left.add(right)))
}

fn operands<'v, 'a>(args: &'v [Value<'a>]) -> (f64, &'v [Value<'a>]) {
    (cast::float64(any(args, 0)), args.get(1..).unwrap_or_default())
}

fn subf<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (first, rest) = operands(args);
    fold(cx, first, rest, |left, right| Ok(left.add(&right.negated())))
}

fn mulf<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (first, rest) = operands(args);
    fold(cx, first, rest, |left, right| Ok(left.mul(right)))
}

fn divf<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let (first, rest) = operands(args);
    fold(cx, first, rest, Decimal::div)
}
