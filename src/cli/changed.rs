//! The lines of a file that an edit changes, as the editing commands show them.

use similar::{ChangeTag, TextDiff};

/// The lines that an edit removes (`- `) and adds (`+ `), in order.
pub(super) fn lines(before: &str, after: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(before, after);
    let marked = diff.iter_all_changes().filter_map(|change| {
        let mark = match change.tag() {
            ChangeTag::Equal => return None,
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        Some(format!("{mark} {}", change.value().trim_end_matches(['\n', '\r'])))
    });
    marked.collect()
}
