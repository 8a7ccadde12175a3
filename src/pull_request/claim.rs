//! Tells the commits that the program made from those that someone changed since.

use sha2::{Digest as _, Sha256};

use crate::model::hex;

/// The trailer that records the tree of the commit. It does not match a commit that was amended with other content.
const TREE: &str = "Stackloom-Tree";

/// The trailer that records a digest of the rest of the message. It does not match if someone reworded the message.
const MESSAGE: &str = "Stackloom-Message";

/// Adds both trailers to the message of a commit: to the last paragraph, if that has trailers already.
pub fn with_claim(message: &str, tree: &str) -> String {
    let message = message.trim_end();
    let last = message.rsplit("\n\n").next().unwrap_or_default();
    let gap = if last.lines().all(|line| line.starts_with("Stackloom-")) { "\n" } else { "\n\n" };
    format!("{message}{gap}{TREE}: {tree}\n{MESSAGE}: {}\n", digest(message))
}

/// Whether a message has the trailers of a commit of the program, even if they do not match.
pub(super) fn has_claim(message: &str) -> bool {
    message.lines().any(|line| value(line, TREE).is_some())
}

/// Whether a message is as the program wrote it for a commit with this tree.
pub fn is_claimed(message: &str, tree: &str) -> bool {
    let last = |key| message.lines().rev().find_map(|line| value(line, key));
    last(TREE) == Some(tree) && last(MESSAGE) == Some(&*digest(message))
}

/// The digest of a message without the two trailers. Space at the end of a line or of the message does not count.
fn digest(message: &str) -> String {
    let is_rest = |line: &&str| value(line, TREE).or(value(line, MESSAGE)).is_none();
    let lines: Vec<&str> = message.lines().filter(is_rest).map(str::trim_end).collect();
    hex(&Sha256::digest(lines.join("\n").trim_end())[..8])
}

fn value<'m>(line: &'m str, key: &str) -> Option<&'m str> {
    line.trim_end().strip_prefix(key)?.strip_prefix(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_claimed_until_its_words_or_its_tree_change() {
        for message in ["upgrade\n", "upgrade\n\nWhy.\n", "upgrade\n\nStackloom-Cluster: mgmt/a/b\n"] {
            let text = with_claim(message, "t1");
            assert!(text.starts_with(message.trim_end()), "{text}");
            assert!(is_claimed(&text, "t1"), "{text}");
            // As git keeps a message that was opened in an editor and saved.
            assert!(is_claimed(text.trim_end(), "t1"), "{text}");
            assert!(!is_claimed(&text, "t2"), "{text}");
            for changed in [
                text.replacen("upgrade", "Upgrade", 1),
                format!("{text}\nReviewed.\n"),
                text.replacen(MESSAGE, "Message", 1),
            ] {
                assert!(!is_claimed(&changed, "t1") && has_claim(&changed), "{changed}");
            }
        }
        assert!(!has_claim("mine\n"));
    }
}
