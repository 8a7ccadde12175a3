//! `toJson`, `fromJson` and their variants.

use super::super::budget::Context;
use super::super::error::{Outcome, exec};
use super::super::json;
use super::super::value::Value;
use super::args::{any, text};
use super::{Function, Type};

use Type::{Any, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("toJson", &[Any], to_json),
    Function::new("mustToJson", &[Any], must_to_json),
    Function::new("toPrettyJson", &[Any], to_pretty_json),
    Function::new("mustToPrettyJson", &[Any], must_to_pretty_json),
    Function::new("toRawJson", &[Any], must_to_raw_json),
    Function::new("mustToRawJson", &[Any], must_to_raw_json),
    Function::new("fromJson", &[Text], from_json),
    Function::new("mustFromJson", &[Text], must_from_json),
];

const HTML: json::Style = json::Style { escape_html: true, pretty: false };
const PRETTY: json::Style = json::Style { escape_html: true, pretty: true };
const RAW: json::Style = json::Style { escape_html: false, pretty: false };

fn encoded<'a>(cx: &mut Context<'a>, args: &[Value<'a>], style: json::Style) -> Outcome<Option<Value<'a>>> {
    match json::encode(cx, any(args, 0), style)? {
        Some(text) => Ok(Some(cx.text(text)?)),
        None => Ok(None),
    }
}

fn must(value: Option<Value<'_>>) -> Outcome<Value<'_>> {
    value.ok_or_else(|| exec("json: unsupported value"))
}

fn to_json<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(encoded(cx, args, HTML)?.unwrap_or(Value::text("")))
}

fn must_to_json<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    must(encoded(cx, args, HTML)?)
}

fn to_pretty_json<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(encoded(cx, args, PRETTY)?.unwrap_or(Value::text("")))
}

fn must_to_pretty_json<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    must(encoded(cx, args, PRETTY)?)
}

fn must_to_raw_json<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    must(encoded(cx, args, RAW)?)
}

fn from_json<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(json::decode(cx, text(args, 0)?.bytes())?.unwrap_or(Value::Nil))
}

fn must_from_json<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    json::decode(cx, text(args, 0)?.bytes())?.ok_or_else(|| exec("invalid JSON"))
}
