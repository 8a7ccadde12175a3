//! Faults of the outside world: disk, git, processes.

use std::fmt;

/// A failed operation on the outside world. The message names the operation and its object; the source gives the reason.
#[derive(Debug)]
pub struct Fault {
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    hints: Vec<String>,
}

impl Fault {
    /// Creates a fault without a cause.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, hints: Vec::new() }
    }

    /// Creates a fault with its cause.
    pub fn because(
        message: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self { message: message.into(), source: Some(Box::new(source)), hints: Vec::new() }
    }

    /// Adds a hint about the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The hints about the next steps.
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
