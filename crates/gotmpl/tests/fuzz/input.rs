//! Inputs as text, in parts that lines of `===` divide: so a finding can be read, and a seed written.

use serde_json::Value;

/// The parts of an input; none where it is not text, or has fewer.
pub(crate) fn parts<const N: usize>(bytes: &[u8]) -> Option<[&str; N]> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut parts = text.splitn(N, "\n===\n");
    let mut all = [""; N];
    for part in &mut all {
        *part = parts.next()?;
    }
    Some(all)
}

/// A part as JSON.
pub(crate) fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
