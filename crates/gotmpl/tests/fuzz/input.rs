//! Text inputs whose parts are separated by `===` lines, so that findings are readable and seeds can be written by hand.

use serde_json::Value;

/// The parts of an input; none if it is not text or has too few.
pub(crate) fn parts<const N: usize>(bytes: &[u8]) -> Option<[&str; N]> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut parts = text.splitn(N, "\n===\n");
    let mut all = [""; N];
    for part in &mut all {
        *part = parts.next()?;
    }
    Some(all)
}

/// Parses a part as JSON.
pub(crate) fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
