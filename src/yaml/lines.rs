//! An index of line starts. Finding the line of a byte takes about the same time anywhere in a file, so the time to report
//! errors grows only with the length of the file.

/// The number of bytes between two character counts.
const BLOCK: usize = 4096;

#[derive(Debug)]
pub(super) struct LineIndex {
    /// The byte at which each line starts.
    starts: Vec<usize>,
    /// The number of characters before each block.
    characters: Vec<usize>,
    /// The length of the text in bytes.
    length: usize,
}

impl LineIndex {
    pub(super) fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        let mut characters = vec![0];
        for block in text.as_bytes().chunks(BLOCK) {
            characters.push(characters[characters.len() - 1] + count(block));
        }
        Self { starts, characters, length: text.len() }
    }

    /// The line that contains a byte, counted from 1.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    /// The first byte of a line and the byte of its end.
    pub(super) fn span(&self, line: usize) -> Option<(usize, usize)> {
        let start = *self.starts.get(line.checked_sub(1)?)?;
        let end = self.starts.get(line).map_or(self.length, |next| next - 1);
        Some((start, end))
    }

    /// The number of characters between two bytes of the text.
    pub(super) fn characters(&self, text: &str, start: usize, end: usize) -> usize {
        let before =
            |at: usize| self.characters[at / BLOCK] + count(&text.as_bytes()[at / BLOCK * BLOCK..at]);
        before(end) - before(start)
    }
}

/// The number of characters that start in these bytes.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_characters_are_counted_as_one_would_by_hand() {
        let long = "é\u{1f600}x\n".repeat(3000);
        for text in ["", "a", "a\n", "\n\n", "éx\r\nyz\n\nlast", &long] {
            let index = LineIndex::new(text);
            for (offset, _) in text.char_indices().chain([(text.len(), ' ')]).step_by(7) {
                let before = &text[..offset];
                let start = before.rfind('\n').map_or(0, |at| at + 1);
                let line = before.matches('\n').count() + 1;
                assert_eq!(index.line_of(offset), line, "{offset}");
                assert_eq!(index.span(line).unwrap().0, start, "{offset}");
                assert_eq!(index.characters(text, start, offset), text[start..offset].chars().count());
            }
            let lines: Vec<_> = text.split('\n').collect();
            for (at, line) in lines.iter().enumerate() {
                let (start, end) = index.span(at + 1).unwrap();
                assert_eq!(&text[start..end], *line);
            }
            assert_eq!(index.span(lines.len() + 1), None);
            assert_eq!(index.span(0), None);
        }
    }
}
