//! YAML: reading with positions and limits, nodes that remember their origin, and a single emitter.
//!
//! Reading is strict where YAML readers disagree. A value that is a boolean or an octal number to a YAML 1.1 reader but a
//! string to a 1.2 reader is an error with a place, never a guess. Deliberately absent: anchors, aliases and tags in the
//! output, comments in the output (templates keep their statements), and formatting options.

mod difference;
mod emit;
mod field;
mod lines;
mod mapping;
mod node;
mod path;
mod plain;
mod raw;
mod reread;
mod scan;
mod source;

pub use crate::note::{FileId, Origin};
pub use difference::{FieldPath, ItemPair, PathSegment, differences};
pub use emit::{Emit, Item, Name, Scalar, View, Watch, emit, emit_watched, rank};
pub(crate) use emit::{is_special, quote};
pub use field::{Edge, trail};
pub use mapping::{Entry, Key, Mapping};
pub use node::{Node, Value, from_json, to_json};
pub use path::{Path, Segment};
pub use plain::{Plain, resolve_plain, unambiguous};
pub use raw::{Comment, Document, RawKind, RawNode, SYNTAX, Style, directives, read_raw};
pub(crate) use raw::{key_text, read_masked};
pub use reread::{read_like, shape};
pub use scan::{PathStep, scan};
pub use source::{Source, Sources};

use crate::note::Notes;

/// Reads a file that holds exactly one document. Faults go to `notes`.
pub fn read(source: &Source, notes: &mut Notes) -> Option<Node> {
    let documents = read_raw(source, notes)?;
    if let Some(second) = documents.get(1) {
        notes
            .error("several-documents", source.word(second.start), "more than one document in this file")
            .hint("write one document per file, without a second `---`");
        return None;
    }
    let root = documents.into_iter().next()?.root;
    Node::from_raw(&root, source, notes)
}
