//! Quantities, versions, networks and named formats, if `kube-cel` accepts more or less than Kubernetes.

use std::sync::Arc;

use kube_cel::cel::{Context, Value};

use super::functions::{Outcome, failed, not_known, string};

/// The names supported by `format.named`.
const FORMATS: [&str; 13] = [
    "byte",
    "date",
    "datetime",
    "dns1035Label",
    "dns1035LabelPrefix",
    "dns1123Label",
    "dns1123LabelPrefix",
    "dns1123Subdomain",
    "dns1123SubdomainPrefix",
    "labelValue",
    "qualifiedName",
    "uri",
    "uuid",
];

pub(super) fn register(context: &mut Context<'_>) {
    let made = "an integer check of a computed quantity";
    context.add_function("isInteger", move || Err::<Value, _>(not_known(made)));
    context.add_function("asInteger", move || Err::<Value, _>(not_known(made)));
    context.add_function("isQuantity", |text: Arc<String>| Quantity::read(&text).is_some());
    context.add_function("@isInteger", |text: Arc<String>| {
        read(&text).map(|quantity| Value::Bool(quantity.whole().is_some()))
    });
    context.add_function("@asInteger", |text: Arc<String>| {
        let whole = read(&text)?.whole();
        whole.map(Value::Int).ok_or_else(|| failed("asInteger", "cannot convert value to integer"))
    });
    context.add_function("@bounded", bounded);
    context.add_function("@unbuilt", |text: Arc<String>| without_build(&text).to_owned());
    context.add_function(
        "@normalized",
        |text: Arc<String>, wanted: bool| {
            if wanted { normalized(&text) } else { text.to_string() }
        },
    );
    context.add_function("@network", |value: Value| Outcome::Ok(network(value)));
    context.add_function("@isFormat", |name: Arc<String>| FORMATS.contains(&name.as_str()));
}

/// The parts of a quantity as written.
struct Quantity<'t> {
    negative: bool,
    /// The digits before the point, without leading zeros.
    whole: &'t str,
    fraction: &'t str,
    /// The power of ten or of two.
    exponent: i64,
    binary: bool,
}

fn read(text: &str) -> Result<Quantity<'_>, kube_cel::cel::ExecutionError> {
    Quantity::read(text).ok_or_else(|| failed("quantity", "unable to parse quantity's suffix"))
}

impl<'t> Quantity<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if text.is_empty() {
            return None;
        }
        let digits = |text: &'t str| {
            let end = text.find(|found: char| !found.is_ascii_digit()).unwrap_or(text.len());
            text.split_at(end)
        };
        let (whole, rest) = digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits);
        let (exponent, binary) = power(suffix)?;
        Some(Self { negative, whole: whole.trim_start_matches('0'), fraction, exponent, binary })
    }

    /// The result of `AsInt64`, which depends on the notation and not only on the value.
    fn whole(&self) -> Option<i64> {
        let digits = format!("{}{}", self.whole, self.fraction);
        let count = i64::try_from(digits.len().max(1)).ok()?;
        let number = || if digits.is_empty() { Some(0) } else { digits.parse::<i64>().ok() };
        let size = if self.binary {
            // With a binary suffix, upstream represents fractions and long numbers as decimals, which have no integer form.
            let long = count > 14 - self.exponent * 3 / 10;
            if long || !self.fraction.is_empty() {
                return None;
            }
            number()?.checked_mul(1_i64.checked_shl(u32::try_from(self.exponent).ok()?)?)?
        } else {
            let scale = self.exponent - i64::try_from(self.fraction.len()).ok()?;
            if count > 18 || scale < 0 {
                return None;
            }
            number()?.checked_mul(10_i64.checked_pow(u32::try_from(scale).ok()?)?)?
        };
        Some(if self.negative { -size } else { size })
    }

    /// Whether arithmetic with it is exact both here and upstream: no rounding, no cap and no overflow.
    fn is_moderate(&self) -> bool {
        let whole = i64::try_from(self.whole.len()).unwrap_or(i64::MAX);
        let fraction = i64::try_from(self.fraction.len()).unwrap_or(i64::MAX);
        if self.binary {
            fraction <= 9 && whole.saturating_add(self.exponent / 3 + 1) <= 18
        } else {
            (-9..=24).contains(&self.exponent)
                && whole.saturating_add(self.exponent.max(0)) <= 24
                && fraction.saturating_sub(self.exponent) <= 9
        }
    }
}

fn power(suffix: &str) -> Option<(i64, bool)> {
    const DECIMAL: [(&str, i64); 10] = [
        ("", 0),
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    const BINARY: [(&str, i64); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
    let named =
        |table: &[(&str, i64)]| table.iter().find(|(name, _)| *name == suffix).map(|(_, power)| *power);
    if let Some(power) = named(&DECIMAL) {
        return Some((power, false));
    }
    if let Some(power) = named(&BINARY) {
        return Some((power, true));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse::<i64>().ok()?;
    Some((exponent, false))
}

fn bounded(text: Arc<String>) -> Outcome {
    let digits = text.contains(|found: char| found.is_ascii_digit());
    if read(&text)?.is_moderate() && digits {
        return Ok(Value::String(text));
    }
    Err(not_known("a quantity that is very large or very precise"))
}

/// A version without its build metadata, which comparisons ignore.
fn without_build(text: &str) -> &str {
    let Some((version, build)) = text.split_once('+') else { return text };
    let word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if build.split('.').all(word) { version } else { text }
}

/// A version as Kubernetes parses it with normalization: without `v` and leading zeros, and with three numbers.
///
/// Source: `pkg/cel/library/semverlib.go` of k8s.io/apiserver, `normalizeAndParse`.
fn normalized(text: &str) -> String {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
    for part in parts.iter_mut().filter(|part| part.len() > 1) {
        let rest = part.trim_start_matches('0');
        let is_number = rest.starts_with(|first: char| first.is_ascii_digit());
        *part = if is_number { rest.to_owned() } else { format!("0{rest}") };
    }
    // A short version with a suffix after its last number is not valid.
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return text.to_owned();
    }
    parts.resize(parts.len().max(3), "0".to_owned());
    parts.join(".")
}

/// Replaces a text that is not a network for Kubernetes with one that is not a network for `kube-cel` either. Other values
/// stay unchanged.
///
/// Source: `ParsePrefix` of Go's `net/netip`.
fn network(value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    let is_network = text.rsplit_once('/').is_some_and(|(address, bits)| {
        let is_plain = bits.len() == 1 || bits.starts_with(|first: char| ('1'..='9').contains(&first));
        is_plain && address.parse::<std::net::IpAddr>().is_ok()
    });
    if is_network { value } else { string("") }
}
