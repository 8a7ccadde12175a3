//! A sink that discards everything.

use super::{Changes, Part, Sink, TreePath};
use crate::note::{Fault, Notes};

/// Accepts parts and discards them; for runs that only look for errors.
#[derive(Debug)]
pub struct NullSink;

impl Sink for NullSink {
    fn begin(&mut self, _notes: &mut Notes) -> Result<(), Fault> {
        Ok(())
    }

    fn parts(&mut self, _parts: Vec<Part>) -> Result<(), Fault> {
        Ok(())
    }

    fn keep(&mut self, _folder: TreePath) {}

    fn commit(
        &mut self,
        _notes: &mut Notes,
        _message: &dyn Fn(&Changes) -> String,
    ) -> Result<Changes, Fault> {
        Ok(Changes::default())
    }
}
