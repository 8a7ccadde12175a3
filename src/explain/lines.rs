//! Maps the lines of a document to its nodes.

use crate::yaml::{Emit, Name, Origin, Path, Scalar, Watch, emit_watched};

/// The start of an entry, an item or a statement.
#[derive(Debug)]
pub(super) struct Mark<'a, T> {
    /// Its byte offset.
    pub(super) at: usize,
    /// The index of its parent.
    pub(super) parent: Option<usize>,
    pub(super) path: Path,
    /// The origin of its key, if any. For a statement, its own origin.
    pub(super) key: Option<Origin>,
    /// Its node; none for a statement.
    pub(super) node: Option<&'a T>,
}

/// A document with the meaning of its lines.
#[derive(Debug)]
pub(super) struct Layout<'a, T> {
    /// The document.
    pub(super) text: String,
    /// All marks, in order.
    pub(super) marks: Vec<Mark<'a, T>>,
    /// For each line, the marks that begin on it. For a line within a multi-line text, the text's mark and the line's index.
    pub(super) lines: Vec<Line>,
}

/// The meaning of a line of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The marks that begin on it, innermost last.
    Begins(Vec<usize>),
    /// A line within a multi-line text: the text's mark, and the line's index from 0.
    Within(usize, usize),
}

struct Marker<'a, T> {
    marks: Vec<Mark<'a, T>>,
    /// The open entries, each with its number of items so far.
    open: Vec<(usize, usize)>,
    items: usize,
}

impl<T> Marker<'_, T> {
    fn path(&mut self, key: Option<Scalar<'_>>) -> Path {
        let (above, items) = match self.open.last_mut() {
            Some((parent, items)) => (self.marks[*parent].path.clone(), items),
            None => (Path::default(), &mut self.items),
        };
        match key {
            Some(Scalar::String(name) | Scalar::Verbatim(name)) => above.key(name),
            Some(_) => above.key(""),
            None => {
                *items += 1;
                above.item(*items - 1)
            }
        }
    }
}

impl<'a, T> Watch<'a, T> for Marker<'a, T> {
    fn enter(&mut self, at: usize, key: Option<Name<'a>>, value: &'a T) {
        let parent = self.open.last().map(|(parent, _)| *parent);
        let path = self.path(key.map(|(name, _)| name));
        self.marks.push(Mark { at, parent, path, key: key.map(|(_, origin)| origin), node: Some(value) });
        self.open.push((self.marks.len() - 1, 0));
    }

    fn leave(&mut self) {
        self.open.pop();
    }

    fn statement(&mut self, at: usize, origin: Origin) {
        let parent = self.open.last().map(|(parent, _)| *parent);
        let path = parent.map_or_else(Path::default, |parent| self.marks[parent].path.clone());
        self.marks.push(Mark { at, parent, path, key: Some(origin), node: None });
    }
}

/// Writes a document and maps its lines.
pub(super) fn lay_out<T: Emit>(root: &T) -> Layout<'_, T> {
    let mut marker = Marker { marks: Vec::new(), open: Vec::new(), items: 0 };
    let mut text = String::new();
    emit_watched(root, &mut text, &mut marker);
    let marks = marker.marks;
    let mut lines = Vec::new();
    let (mut start, mut next, mut last) = (0, 0, None);
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let begins = next..next + marks[next..].partition_point(|mark| mark.at < end);
        next = begins.end;
        match (begins.is_empty(), last) {
            (true, Some((mark, since))) => {
                lines.push(Line::Within(mark, since));
                last = Some((mark, since + 1));
            }
            _ => {
                last = begins.clone().last().map(|mark| (mark, 0));
                lines.push(Line::Begins(begins.collect()));
            }
        }
        start = end;
    }
    Layout { text, marks, lines }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::from_json;

    #[test]
    fn lines_know_their_nodes() {
        let tree = serde_json::json!({ "a": [{ "name": "x", "text": "one\ntwo\n" }], "b": {} });
        let node = from_json(&tree, Origin::NOWHERE);
        let layout = lay_out(&node);
        let shown: Vec<_> = layout
            .lines
            .iter()
            .map(|line| match line {
                Line::Begins(marks) => {
                    let paths: Vec<_> = marks.iter().map(|at| layout.marks[*at].path.to_string()).collect();
                    paths.join(" ")
                }
                Line::Within(mark, at) => format!("{} {at}", layout.marks[*mark].path),
            })
            .collect();
        assert_eq!(shown, ["a", "a[0] a[0].name", "a[0].text", "a[0].text 0", "a[0].text 1", "b"]);
    }
}
