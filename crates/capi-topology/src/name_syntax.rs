//! The syntax of names of Kubernetes objects, and of the keys and values of their labels.
//!
//! Source: apimachinery's `validation`.

use std::sync::LazyLock;

use regex::Regex;

static NAME_PART: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$").expect("a constant pattern compiles")
});
static SUBDOMAIN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
        .expect("a constant pattern compiles")
});

/// Reports whether a text has the form of the name in a label key, whatever its length.
pub(crate) fn is_name_part(text: &str) -> bool {
    NAME_PART.is_match(text)
}

/// Reports whether a text is a valid DNS subdomain, as most names of objects must be.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && SUBDOMAIN.is_match(text)
}

/// Reports whether a text is a valid label value.
pub(crate) fn is_label_value(text: &str) -> bool {
    text.len() <= 63 && (text.is_empty() || NAME_PART.is_match(text))
}
