//! Where a message belongs: in a text at hand, or at an origin that becomes a place once the texts are.

use super::Place;

/// A file among the sources of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Where a node came from: a byte of a source file.
///
/// Two nodes with different origins and equal content are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The file.
    pub file: FileId,
    /// The byte at which it begins.
    pub offset: u32,
}

impl Origin {
    /// Made by the program itself, from no place in particular.
    pub const NOWHERE: Self = Self { file: FileId(u32::MAX), offset: 0 };

    /// The file number that stands for the record of a rendering; its offsets are numbers of traces.
    const TRACED: FileId = FileId(u32::MAX - 1);

    /// Told by a trace, which is kept apart and knows more than one place.
    pub fn traced(number: u32) -> Self {
        Self { file: Self::TRACED, offset: number }
    }

    /// The same, if it is a byte of a source file.
    pub fn written(self) -> Option<Self> {
        (self.file < Self::TRACED).then_some(self)
    }

    /// The number of the trace that tells it, if one does.
    pub fn trace(self) -> Option<u32> {
        (self.file == Self::TRACED).then_some(self.offset)
    }
}

/// Where a message is about.
///
/// A stage that has the text at hand gives the place. One that has only a value gives the value's origin, and whoever runs the
/// stage turns origins into places ([`super::Notes::locate`]).
#[derive(Clone, Debug)]
pub enum At {
    /// No place in particular.
    Nowhere,
    /// A place.
    Place(Place),
    /// The word at an origin.
    Word(Origin),
}

impl At {
    /// An origin, or a place if the program itself made the value.
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
