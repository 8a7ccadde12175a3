//! The string formats checked by the API server. Source: `pkg/validation/strfmt` of kube-openapi and `validation/formats.go`
//! of apiextensions-apiserver.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::IpNet;
use regex::Regex;

/// Whether a text has a format. Unknown formats accept every text.
pub(crate) fn matches(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "uri" => is_request_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.contains('.') && parse_ip(text).is_some(),
        "ipv6" => text.contains(':') && parse_ip(text).is_some(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => UUID.is_match(text),
        "uuid3" => UUID3.is_match(text),
        "uuid4" => UUID4.is_match(text),
        "uuid5" => UUID5.is_match(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => SSN.is_match(text),
        "hexcolor" => HEX_COLOR.is_match(text),
        "rgbcolor" => RGB_COLOR.is_match(text),
        "byte" => BASE64.is_match(text),
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "k8sshortname" => text.len() <= 63 && SHORT_NAME.is_match(text),
        "k8slongname" => text.len() <= 253 && LONG_NAME.is_match(text),
        _ => true,
    }
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("a constant pattern compiles"));
    };
}

pattern!(UUID, r"(?i-u)^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$");
pattern!(UUID3, r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$");
pattern!(UUID4, r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$");
pattern!(UUID5, r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$");
pattern!(SSN, r"(?-u)^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$");
pattern!(HEX_COLOR, r"(?-u)^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$");
pattern!(
    RGB_COLOR,
    r"(?-u)^rgb\(\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*\)$"
);
pattern!(BASE64, r"(?-u)^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$");
pattern!(SHORT_NAME, r"(?-u)^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
pattern!(LONG_NAME, r"(?-u)^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");
pattern!(
    HOSTNAME,
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
);
pattern!(DATE_TIME, r"(?i)^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$");
pattern!(GO_DURATION, r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$");
pattern!(WORD_DURATION, r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)");

fn is_hostname(text: &str) -> bool {
    HOSTNAME.is_match(text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

/// Go's sloppy parser accepts leading zeros: `010.0.0.1` is a valid address.
fn sloppy_ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    }
    if parts.next().is_some() { None } else { Some(Ipv4Addr::from(octets)) }
}

fn parse_ip(text: &str) -> Option<IpAddr> {
    sloppy_ipv4(text).map(IpAddr::V4).or_else(|| text.parse::<Ipv6Addr>().ok().map(IpAddr::V6))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let longest = match parse_ip(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    !length.is_empty()
        && length.bytes().all(|byte| byte.is_ascii_digit())
        && length.parse::<u32>().is_ok_and(|length| length <= longest)
}

/// Reports whether a text is a CIDR according to Go's `net.ParseCIDR`, which refuses leading zeros in addresses.
///
/// ```
/// assert!(k8s_schema::is_strict_cidr("10.0.0.0/8"));
/// assert!(!k8s_schema::is_strict_cidr("10.0.0.010/8"));
/// ```
pub fn is_strict_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    // Unlike `IpNet::from_str`, Go allows any number of leading zeros in the length.
    let length = length.bytes().all(|byte| byte.is_ascii_digit()).then(|| length.parse());
    matches!((address.parse(), length), (Ok(address), Some(Ok(length))) if IpNet::new(address, length).is_ok())
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize, counts: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len())
            && parts
                .iter()
                .all(|part| part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

/// `net/mail.ParseAddress`: a bare address, or one in angle brackets after a name.
fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>') {
        Some(rest) => match rest.split_once('<') {
            Some((name, address)) if !name.contains(['@', ',', ';', ':']) => address,
            _ => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let atom = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c))
    };
    let local_fits =
        (local.len() > 2 && local.starts_with('"') && local.ends_with('"')) || local.split('.').all(atom);
    let domain_fits = domain
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .map_or_else(|| domain.split('.').all(atom), |ip| parse_ip(ip).is_some());
    local_fits && domain_fits
}

/// `net/url.ParseRequestURI`: an absolute path, or anything with a scheme.
fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return false;
    }
    if !percent_encoding_fits(text) {
        return false;
    }
    if text.starts_with('/') || text == "*" {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && rest.strip_prefix("//").is_none_or(authority_fits)
}

fn authority_fits(rest: &str) -> bool {
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (name, port) = match host.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((name, port)) => (name, port),
            None => return false,
        },
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    !name.contains([' ', '<', '>', '"', '\\', '^', '`', '{', '|', '}'])
        && port.strip_prefix(':').is_none_or(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
        && (port.is_empty() || port.starts_with(':'))
}

fn percent_encoding_fits(text: &str) -> bool {
    let path = text.split('?').next().unwrap_or_default();
    let bytes = path.as_bytes();
    bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'%')
        .all(|(at, _)| bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit)))
}

fn is_isbn10(text: &str) -> bool {
    let digits: Vec<u32> = isbn_digits(text);
    digits.len() == 10
        && digits.iter().zip(1_u32..).map(|(digit, place)| digit * place).sum::<u32>() % 11 == 0
}

fn is_isbn13(text: &str) -> bool {
    let digits: Vec<u32> = isbn_digits(text);
    let weighed = digits.iter().zip([1_u32, 3].iter().cycle());
    digits.len() == 13
        && !text.contains(['X', 'x'])
        && weighed.map(|(digit, weight)| digit * weight).sum::<u32>() % 10 == 0
}

fn isbn_digits(text: &str) -> Vec<u32> {
    let plain: Vec<char> = text.chars().filter(|c| !" -\t\n".contains(*c)).collect();
    let digit = |(at, c): (usize, &char)| match c {
        'X' if at == 9 => Some(10),
        _ => c.to_digit(10),
    };
    plain.iter().enumerate().map(digit).collect::<Option<_>>().unwrap_or_default()
}

fn is_credit_card(text: &str) -> bool {
    static CARD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?-u)^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$")
            .expect("a constant pattern compiles")
    });
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let luhn = digits.chars().rev().filter_map(|c| c.to_digit(10)).enumerate().map(|(at, digit)| {
        match (at % 2, digit * 2) {
            (0, _) => digit,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        }
    });
    CARD.is_match(&digits) && luhn.sum::<u32>() % 10 == 0
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let fits =
        |part: &str, width: usize| part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit());
    if !(fits(year, 4) && fits(month, 2) && fits(day, 2)) {
        return false;
    }
    let number = |part: &str| part.parse::<u32>().unwrap_or_default();
    let (year, month, day) = (number(year), number(month), number(day));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    if text.len() < 4 {
        return false;
    }
    let lower = text.to_lowercase();
    let Some((date, time)) = lower.split_once('t') else { return false };
    let Some(parts) = DATE_TIME.captures(time) else { return false };
    let number = |at: usize| parts.get(at).and_then(|m| m.as_str().parse::<u32>().ok());
    is_date(date)
        && number(1).is_some_and(|hour| hour <= 23)
        && number(2).is_some_and(|minute| minute <= 59)
        && number(3).is_some_and(|second| second <= 59)
}

/// Go durations, or numbers followed by unit names anywhere in the text.
fn is_duration(text: &str) -> bool {
    const UNITS: [&[&str]; 8] = [
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    if GO_DURATION.is_match(text) {
        return true;
    }
    let mut found = false;
    for part in WORD_DURATION.captures_iter(text) {
        let group = |at: usize| part.get(at).map_or("", |found| found.as_str());
        if group(1).parse::<i64>().is_err() {
            return false;
        }
        let unit = group(2).to_lowercase();
        found |= UNITS.iter().any(|names| {
            let long = names.last().is_some_and(|name| unit.starts_with(name));
            long || names.contains(&unit.as_str())
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_are_taken_in_variables_and_not_in_the_network_of_a_cluster() {
        for (text, sloppy, strict) in [
            ("10.0.0.0/8", true, true),
            ("010.0.0.0/8", true, false),
            ("10.0.0.0/08", true, true),
            ("::ffff:10.0.0.0/120", true, true),
            ("10.0.0.0/33", false, false),
        ] {
            assert_eq!((matches("cidr", text), is_strict_cidr(text)), (sloppy, strict), "{text}");
        }
    }
}
