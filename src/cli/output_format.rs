//! The output formats: which commands support them, and what they contain.

use clap::ValueEnum;

use crate::note::Fault;

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people.
    Text,
    /// One JSON document on standard output.
    Json,
    /// One YAML document on standard output, with the same content as the JSON document.
    Yaml,
    /// Text for people, with messages as workflow commands of GitHub Actions, which show them as annotations.
    Github,
    /// The messages of `check`, `generate`, `release` and `update`, or the findings of `diff`, as one SARIF
    /// 2.1.0 document on standard output.
    Sarif,
    /// The report of `diff` as a comment for a pull request.
    Markdown,
    /// The report of `diff` as one HTML page.
    Html,
}

/// The machine-readable output that a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputKind {
    /// The report of `diff`, with messages.
    Report,
    /// Messages only.
    Messages,
    /// A document of its own.
    Data,
}

impl Format {
    /// The fault if a command does not support the format.
    pub(super) fn refusal(self, command: OutputKind) -> Option<Fault> {
        match self {
            Self::Text | Self::Json | Self::Yaml | Self::Github => None,
            Self::Sarif => (command == OutputKind::Data).then(|| {
                let only = "`--format sarif` has messages only: use it with `check`, `diff`, `generate`, `release` or `update`";
                Fault::new(only).hint("use `--format json` for the result of this command")
            }),
            Self::Markdown | Self::Html => (command != OutputKind::Report).then(|| {
                Fault::new("`--format markdown` and `--format html` are for the report of `stackloom diff`")
            }),
        }
    }

    /// Whether standard output is one document for a machine, and nothing else may be printed there.
    pub(super) fn is_document(self) -> bool {
        match self {
            Self::Json | Self::Yaml | Self::Sarif => true,
            Self::Text | Self::Github | Self::Markdown | Self::Html => false,
        }
    }

    /// Whether a forge shows the messages as findings, and nothing else of a run.
    pub(super) fn is_annotated(self) -> bool {
        match self {
            Self::Github | Self::Sarif => true,
            Self::Text | Self::Json | Self::Yaml | Self::Markdown | Self::Html => false,
        }
    }
}
