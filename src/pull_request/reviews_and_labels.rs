//! The reviews and labels that a request should have. The text of the request records what was asked, so that nothing is
//! asked twice, and nothing that people have changed since is changed back.

use std::collections::BTreeSet;

/// Precedes the record in the text of a request.
const MARKER: &str = "<!-- stackloom-asked ";
/// Precedes a label in the record.
const LABEL: &str = "label:";

/// The reviews and labels of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewsAndLabels {
    /// The people and teams whose review is asked for, such as `@ada` and `@platform/network`.
    pub reviewers: BTreeSet<String>,
    /// The labels that a request should have.
    pub labels: BTreeSet<String>,
}

impl ReviewsAndLabels {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.reviewers.is_empty() && self.labels.is_empty()
    }

    /// Without what another one has.
    pub(super) fn without(&self, other: &Self) -> Self {
        Self { reviewers: &self.reviewers - &other.reviewers, labels: &self.labels - &other.labels }
    }

    /// Reads the record in the text of a request.
    pub(super) fn recorded(body: &str) -> Self {
        let words = body.split_once(MARKER).and_then(|(_, rest)| rest.split_once(" -->"));
        let mut found = Self::default();
        for word in words.map(|(words, _)| words).unwrap_or_default().split_whitespace() {
            match word.strip_prefix(LABEL) {
                Some(label) => found.labels.insert(label.to_owned()),
                None => found.reviewers.insert(word.to_owned()),
            };
        }
        found
    }

    /// Adds the record to a text that has none.
    pub(super) fn record(&self, body: &str) -> String {
        if self.is_empty() {
            return body.to_owned();
        }
        let labels = self.labels.iter().map(|label| format!("{LABEL}{label}"));
        let words: Vec<String> = self.reviewers.iter().cloned().chain(labels).collect();
        format!("{}\n{MARKER}{} -->\n", body.trim_end(), words.join(" "))
    }
}

/// The text of a request without the record.
pub(super) fn plain(body: &str) -> String {
    let is_record = |line: &&str| line.trim().starts_with(MARKER);
    body.lines().filter(|line| !is_record(line)).flat_map(|line| [line, "\n"]).collect()
}

/// The owners whose review a forge can be asked for: those that are written as a handle.
pub fn handles<'a>(owners: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let is_handle = |owner: &&&String| {
        owner
            .strip_prefix('@')
            .is_some_and(|name| name.split('/').all(|part| !part.is_empty()) && name.chars().all(is_plain))
    };
    owners.into_iter().filter(|owner| is_handle(&owner)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_record_can_be_read_again() {
        let asks = ReviewsAndLabels {
            reviewers: set(&["@ada", "@platform/network"]),
            labels: set(&["stackloom/upgrade"]),
        };
        let body = asks.record("Text.\n\n<!-- stackloom-step 1 -->\n");
        assert_eq!(ReviewsAndLabels::recorded(&body), asks);
        assert_eq!(ReviewsAndLabels::recorded(&body.replace('\n', "\r\n")), asks);
        assert_eq!(plain(&body), "Text.\n\n<!-- stackloom-step 1 -->\n");
        assert_eq!(
            (ReviewsAndLabels::default().record("Text.\n"), ReviewsAndLabels::recorded("Text.\n")),
            ("Text.\n".to_owned(), ReviewsAndLabels::default())
        );
    }

    #[test]
    fn only_handles_are_asked() {
        let owners =
            ["@ada", "@platform/network", "team-a", "ada@example.org", "@", "@a b", "@x/-->", "@a//b"];
        assert_eq!(handles(&owners.map(str::to_owned)), set(&["@ada", "@platform/network"]));
    }
}
