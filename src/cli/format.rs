//! The formats of output: which commands take each, and what a machine does with it.

use clap::ValueEnum;

use crate::note::Fault;

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON document on standard output.
    Json,
    /// The same as YAML.
    Yaml,
    /// For people, with messages as workflow commands of GitHub Actions, which become annotations.
    Github,
    /// The messages of `check`, `generate`, `release` and `update`, and what `diff` finds, as one SARIF 2.1.0 document on
    /// standard output.
    Sarif,
    /// The report of `diff` as a comment for a pull request.
    Markdown,
    /// The report of `diff` as one HTML page.
    Html,
}

/// What a command has for machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    /// The report of `diff`, with messages.
    Report,
    /// Messages are all that matters.
    Messages,
    /// A document of its own.
    Data,
}

impl Format {
    /// Why a command does not take it.
    pub(super) fn refusal(self, command: Speaks) -> Option<Fault> {
        match self {
            Self::Text | Self::Json | Self::Yaml | Self::Github => None,
            Self::Sarif => (command == Speaks::Data).then(|| {
                let only = "`--format sarif` has messages only: `check`, `diff`, `generate`, `release` and `update` take it";
                Fault::new(only).hint("`--format json` has what this command finds")
            }),
            Self::Markdown | Self::Html => (command != Speaks::Report).then(|| {
                Fault::new("`--format markdown` and `--format html` are for the report of `stackloom diff`")
            }),
        }
    }

    /// Whether standard output is one document for a machine, and nothing else may come there.
    pub(super) fn is_document(self) -> bool {
        match self {
            Self::Json | Self::Yaml | Self::Sarif => true,
            Self::Text | Self::Github | Self::Markdown | Self::Html => false,
        }
    }

    /// Whether messages become findings of a forge, which shows no more of a run.
    pub(super) fn is_annotated(self) -> bool {
        match self {
            Self::Github | Self::Sarif => true,
            Self::Text | Self::Json | Self::Yaml | Self::Markdown | Self::Html => false,
        }
    }
}
