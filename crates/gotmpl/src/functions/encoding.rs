//! sprig's encodings and checksums.

use std::fmt::Write as _;

use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::super::budget::Context;
use super::super::error::Outcome;
use super::super::value::Value;
use super::args::text;
use super::{Function, Type};

use Type::Text;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("b64enc", &[Text], b64enc),
    Function::new("b64dec", &[Text], b64dec),
    Function::new("b32enc", &[Text], b32enc),
    Function::new("b32dec", &[Text], b32dec),
    Function::new("sha1sum", &[Text], sha1sum),
    Function::new("sha256sum", &[Text], sha256sum),
    Function::new("sha512sum", &[Text], sha512sum),
    Function::new("adler32sum", &[Text], adler32sum),
];

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Encodes with this many bits per digit, padded to groups of this many digits.
fn encode(bytes: &[u8], alphabet: &[u8], bits: u32, group: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    let mut buffer: u32 = 0;
    let mut held = 0;
    let mask = (1 << bits) - 1;
    let digit = |value: u32| alphabet.get((value & mask) as usize).copied().unwrap_or(b'=');
    for byte in bytes {
        buffer = buffer << 8 | u32::from(*byte);
        held += 8;
        while held >= bits {
            held -= bits;
            out.push(digit(buffer >> held));
        }
    }
    if held > 0 {
        out.push(digit(buffer << (bits - held)));
    }
    while out.len() % group != 0 {
        out.push(b'=');
    }
    out
}

fn value_of(alphabet: &[u8], digit: u8) -> Option<u32> {
    alphabet.iter().position(|known| *known == digit).and_then(|at| u32::try_from(at).ok())
}

/// `base64.StdEncoding.DecodeString`. The error is the position of the first invalid byte.
pub(in super::super) fn base64_decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let newline = |byte: &u8| *byte == b'\n' || *byte == b'\r';
    let mut digits = [0_u32; 4];
    let mut count = 0;
    let mut bytes = text.iter().enumerate().filter(|(_, byte)| !newline(byte));
    while let Some((at, byte)) = bytes.next() {
        if let Some(digit) = value_of(BASE64, *byte) {
            if let Some(slot) = digits.get_mut(count) {
                *slot = digit;
            }
            count += 1;
            if count == 4 {
                group(&mut out, digits, 3);
                count = 0;
            }
            continue;
        }
        if *byte != b'=' || count < 2 {
            return Err(at);
        }
        if count == 2 {
            match bytes.next() {
                Some((_, b'=')) => {}
                Some((next, _)) => return Err(next - 1),
                None => return Err(text.len()),
            }
        }
        if let Some((next, _)) = bytes.next() {
            return Err(next);
        }
        if let Some(unused) = digits.get_mut(count..) {
            unused.fill(0);
        }
        group(&mut out, digits, count - 1);
        return Ok(out);
    }
    if count > 0 { Err(text.len() - count) } else { Ok(out) }
}

/// Appends the first `len` bytes of four digits.
fn group(out: &mut Vec<u8>, digits: [u32; 4], len: usize) {
    let value = digits.iter().fold(0, |value, digit| value << 6 | digit);
    let [_, bytes @ ..] = value.to_be_bytes();
    out.extend(bytes.iter().take(len));
}

/// `base32.StdEncoding.DecodeString`
fn base32_decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| *byte != b'\n' && *byte != b'\r').collect();
    let mut out = Vec::with_capacity(text.len() / 8 * 5);
    for (index, chunk) in text.chunks(8).enumerate() {
        let start = index * 8;
        let is_last = start + 8 >= text.len();
        let padding = chunk.iter().position(|byte| *byte == b'=').unwrap_or(chunk.len());
        let mut value: u64 = 0;
        for (at, byte) in chunk.iter().take(padding).enumerate() {
            let digit = value_of(BASE32, *byte).ok_or(start + at)?;
            value = value << 5 | u64::from(digit);
        }
        if padding < 8 {
            let padded = chunk.len() == 8 && chunk.iter().skip(padding).all(|byte| *byte == b'=');
            if chunk.len() < 8 && padding == chunk.len() {
                return Err(text.len() - chunk.len());
            }
            if !padded || !is_last || ![2, 4, 5, 7].contains(&padding) {
                return Err(start + padding);
            }
        }
        value <<= 5 * (8 - padding);
        let [_, _, _, bytes @ ..] = value.to_be_bytes();
        out.extend(bytes.iter().take(padding * 5 / 8));
    }
    Ok(out)
}

fn b64enc<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let bytes = text(args, 0)?.bytes();
    cx.charge(bytes.len() as u64)?;
    cx.text(encode(bytes, BASE64, 6, 4))
}

fn b32enc<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let bytes = text(args, 0)?.bytes();
    cx.charge(bytes.len() as u64)?;
    cx.text(encode(bytes, BASE32, 5, 8))
}

/// Input that cannot be decoded yields the text of the error.
fn b64dec<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match base64_decode(text(args, 0)?.bytes()) {
        Ok(bytes) => cx.text(bytes),
        Err(at) => cx.text(format!("illegal base64 data at input byte {at}")),
    }
}

fn b32dec<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match base32_decode(text(args, 0)?.bytes()) {
        Ok(bytes) => cx.text(bytes),
        Err(at) => cx.text(format!("illegal base32 data at input byte {at}")),
    }
}

fn digest<'a, D: Digest>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let bytes = text(args, 0)?.bytes();
    cx.spend(1 + bytes.len() as u64 / 16)?;
    let mut hex = String::with_capacity(128);
    for byte in D::digest(bytes) {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").unwrap_or_default();
    }
    cx.text(hex)
}

fn sha1sum<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    digest::<Sha1>(cx, args)
}

fn sha256sum<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    digest::<Sha256>(cx, args)
}

fn sha512sum<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    digest::<Sha512>(cx, args)
}

fn adler32sum<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let bytes = text(args, 0)?.bytes();
    cx.spend(1 + bytes.len() as u64 / 16)?;
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    cx.text((high << 16 | low).to_string())
}
