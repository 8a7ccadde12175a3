//! The position of a check inside a value; formatted only if there is something to report.

use std::fmt;

/// A position inside a value, as a linked list of steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trail<'a> {
    up: Option<&'a Trail<'a>>,
    segment: Segment<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Segment<'a> {
    Start(&'a str),
    Field(&'a str),
    Dotted(&'a str),
    Item(usize),
}

impl<'a> Trail<'a> {
    /// The root of the value.
    pub(crate) fn start(path: &'a str) -> Self {
        Self { up: None, segment: Segment::Start(path) }
    }

    fn then(&'a self, segment: Segment<'a>) -> Self {
        Self { up: Some(self), segment }
    }

    /// A field, preceded by a dot unless it is the first step.
    #[must_use]
    pub(crate) fn field(&'a self, name: &'a str) -> Self {
        self.then(if self.is_start() { Segment::Field(name) } else { Segment::Dotted(name) })
    }

    /// A field, always preceded by a dot.
    #[must_use]
    pub(crate) fn dotted(&'a self, name: &'a str) -> Self {
        self.then(Segment::Dotted(name))
    }

    /// An item of a list.
    #[must_use]
    pub(crate) fn item(&'a self, at: usize) -> Self {
        self.then(Segment::Item(at))
    }

    fn is_start(&self) -> bool {
        matches!(self.segment, Segment::Start(""))
    }
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(up) = self.up {
            up.fmt(f)?;
        }
        match self.segment {
            Segment::Start(text) | Segment::Field(text) => f.write_str(text),
            Segment::Dotted(text) => write!(f, ".{text}"),
            Segment::Item(at) => write!(f, "[{at}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Trail;

    #[test]
    fn a_trail_is_written_as_a_path() {
        let start = Trail::start("");
        let (field, dotted) = (start.field("a"), start.dotted("a"));
        assert_eq!([start.to_string(), field.to_string(), dotted.to_string()], ["", "a", ".a"]);
        assert_eq!(field.item(1).field("b").to_string(), "a[1].b");
        assert_eq!(Trail::start(".spec").field("x").to_string(), ".spec.x");
    }
}
