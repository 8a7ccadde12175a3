//! The subject of a message: a place in a text at hand, or an origin that becomes a place later.

use super::Place;

/// A file among the sources of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Where a node came from: a byte of a source file.
///
/// Two nodes with different origins and equal content are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The file that is read, as a number.
    pub file: FileId,
    /// The byte at which it begins.
    pub offset: u32,
}

impl Origin {
    /// A value that the program itself made, without a place in any file.
    pub const NOWHERE: Self = Self { file: FileId(u32::MAX), offset: 0 };

    /// A reserved file number for traces of a rendering. The offset is then the number of the trace.
    const TRACED: FileId = FileId(u32::MAX - 1);

    /// Creates an origin that refers to a trace. Traces are stored separately and know more than one place.
    pub fn traced(number: u32) -> Self {
        Self { file: Self::TRACED, offset: number }
    }

    /// The origin itself, if it is a byte of a source file.
    pub fn written(self) -> Option<Self> {
        (self.file < Self::TRACED).then_some(self)
    }

    /// The number of its trace, if it has one.
    pub fn trace(self) -> Option<u32> {
        (self.file == Self::TRACED).then_some(self.offset)
    }
}

/// The subject of a message.
///
/// A stage that has the text at hand gives the place. One that has only a value gives the value's origin, and the caller of
/// the stage turns origins into places ([`super::Notes::locate`]).
#[derive(Clone, Debug)]
pub enum At {
    /// No place in particular.
    Nowhere,
    Place(Place),
    Word(Origin),
}

impl At {
    /// The origin, or the given place if the program itself made the value.
    pub fn word_or(origin: Origin, otherwise: impl FnOnce() -> Place) -> Self {
        origin.written().map_or_else(|| Self::Place(otherwise()), Self::Word)
    }
}

impl From<Place> for At {
    fn from(place: Place) -> Self {
        Self::Place(place)
    }
}

impl From<Option<Place>> for At {
    fn from(place: Option<Place>) -> Self {
        place.map_or(Self::Nowhere, Self::Place)
    }
}

impl From<Origin> for At {
    fn from(origin: Origin) -> Self {
        origin.written().map_or(Self::Nowhere, Self::Word)
    }
}
