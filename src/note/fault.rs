//! Faults of the outside world: disk, git, processes.

use std::fmt;

/// An operation on the outside world that failed: which one, on which thing; its source says why.
#[derive(Debug)]
pub struct Fault {
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    hints: Vec<String>,
}

impl Fault {
    /// A fault without a cause of its own.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, hints: Vec::new() }
    }

    /// A fault and its cause.
    pub fn because(
        message: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self { message: message.into(), source: Some(Box::new(source)), hints: Vec::new() }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What to do next.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn std::error::Error + 'static))
    }
}
