//! Files with several documents.

/// Splits a file into documents like kubectl, each with its first line number.
pub(super) fn documents(source: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut start, mut first, mut at) = (0, 1, 0);
    for (number, line) in source.split_inclusive('\n').enumerate() {
        if line.starts_with("---") {
            found.push((first, &source[start..at]));
            // Text after the marker on the same line belongs to the document.
            let rest = line.trim_start_matches('-');
            start = at + line.len() - rest.len();
            first = number + 1;
        }
        at += line.len();
    }
    found.push((first, &source[start..]));
    found.retain(|(_, text)| !text.trim().is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_separated_as_in_kubectl() {
        let lines = |text| documents(text).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(lines("a: 1\n---\nb: 2\n"), [1, 2]);
        assert_eq!(lines("---\na: 1\n---\n---  # two\nb: 2\n"), [1, 4]);
        assert_eq!(lines("\n\n"), Vec::<usize>::new());
    }
}
