//! Output to the terminal.

use std::{
    borrow::Cow,
    error::Error,
    io::{self, ErrorKind, IsTerminal, Write},
    sync::OnceLock,
};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use anstream::{AutoStream, ColorChoice};
use serde_json::{Value as Json, json};

use super::{
    Format, Global, annotate, sarif,
    visible::{is_hidden, visible, visible_json},
};
use crate::{
    check::without_secrets,
    io::{disk::folder_in_repository, pager},
    note::{Cause, Fault, Notes, Place, Severity},
    report::Finding,
    yaml,
};

/// The version of the format of documents for machines; docs/output.md describes it. New keys don't change the version.
/// Removing a key or changing its meaning does.
const FORMAT_VERSION: u32 = 1;

/// Prints the output of a command.
#[derive(Debug)]
pub struct Printer {
    format: Format,
    quiet: bool,
    verbose: bool,
    colours: bool,
    /// Whether standard output supports colours.
    paints: bool,
    /// Whether a pager may show long output.
    pages: bool,
    /// The fleet's path in its repository: annotations contain paths of the repository.
    folder: OnceLock<String>,
    /// The error that made output to standard output incomplete.
    lost: OnceLock<io::Error>,
}

impl Printer {
    /// Creates a printer from the options of the command line.
    pub fn new(global: &Global) -> Self {
        let takes = |choice: ColorChoice| match global.color {
            clap::ColorChoice::Auto => choice != ColorChoice::Never,
            clap::ColorChoice::Always => true,
            clap::ColorChoice::Never => false,
        };
        let colours = takes(AutoStream::choice(&io::stderr()));
        let paints = takes(AutoStream::choice(&io::stdout()));
        Self {
            format: global.format,
            quiet: global.quiet,
            verbose: global.verbose,
            colours,
            paints,
            pages: !global.no_pager,
            folder: OnceLock::new(),
            lost: OnceLock::new(),
        }
    }

    /// Sets the root of the fleet.
    pub fn lies_in(&self, root: &std::path::Path) {
        if self.is_annotated() {
            let folder = folder_in_repository(root).ok().flatten();
            self.folder.get_or_init(|| folder.unwrap_or_default());
        }
    }

    /// Whether the output is one document for a machine.
    pub fn is_document(&self) -> bool {
        self.format.is_document()
    }

    /// Whether a forge shows the messages as findings, and nothing else of a run.
    pub fn is_annotated(&self) -> bool {
        self.format.is_annotated()
    }

    fn folder(&self) -> &str {
        self.folder.get().map_or("", String::as_str)
    }

    /// Whether the format is YAML.
    pub fn is_yaml(&self) -> bool {
        self.format == Format::Yaml
    }

    /// Whether to list every file.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether someone can see a progress bar.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && !self.is_document() && std::io::stderr().is_terminal()
    }

    /// Prints a message for people to standard error.
    pub fn talk(&self, line: &str) {
        if !self.quiet {
            say(format_args!("{}", visible(line)));
        }
    }

    /// Prints the result of a command to standard output.
    pub fn result(&self, text: &str) {
        if !self.quiet && !self.is_document() {
            self.put(&visible(text));
        }
    }

    /// Prints a line of a result, coloured if standard output supports it.
    pub fn coloured(&self, text: &str, colour: Option<u8>) {
        if !self.quiet && !self.is_document() {
            self.put(&self.painted(text, colour));
        }
    }

    /// Prints a long result, each line with its colour. On a terminal, lines are wrapped to its width and shown in a pager.
    pub fn lines(&self, lines: &[(String, Option<u8>)]) {
        let width = pager::width();
        let wrapped: Vec<(String, Option<u8>)> = lines
            .iter()
            .flat_map(|(line, colour)| wrap(line, width).into_iter().map(|part| (part, *colour)))
            .collect();
        let command = pager::chosen().filter(|_| self.pages && !self.quiet && self.format == Format::Text);
        let is_shown = command.is_some_and(|command| {
            let text: String =
                wrapped.iter().map(|(line, colour)| self.painted(line, *colour) + "\n").collect();
            pager::show(&command, &text)
        });
        if !is_shown {
            for (line, colour) in &wrapped {
                self.coloured(line, *colour);
            }
        }
    }

    fn painted(&self, text: &str, colour: Option<u8>) -> String {
        match colour {
            Some(colour) if self.paints => format!("\x1b[1;{colour}m{}\x1b[0m", visible(text)),
            _ => visible(text).into_owned(),
        }
    }

    /// Prints the requested data to standard output, whatever the format.
    pub fn data(&self, text: &str) {
        self.put(text.trim_end_matches('\n'));
    }

    /// Prints a requested document of several lines, with hidden characters escaped.
    pub fn page(&self, text: &str) {
        self.data(&page(text));
    }

    /// The requested format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Prints one annotation for each change that a reviewer must not miss.
    pub fn findings(&self, findings: &[Finding]) {
        for finding in findings.iter().filter(|one| one.is_error || !self.quiet) {
            self.put(&annotate::finding(finding, self.folder()));
        }
    }

    /// Prints the messages of a run to standard error. A document for a machine contains them instead.
    pub fn notes(&self, notes: &Notes) {
        if !self.is_document() {
            self.tell(notes);
        }
    }

    /// Prints one annotation for each message.
    fn annotate(&self, causes: &[Cause]) {
        for cause in causes.iter().filter(|cause| cause.note.severity == Severity::Error || !self.quiet) {
            self.put(&annotate::command(cause, self.verbose, self.folder()));
        }
    }

    /// Prints the messages of a run to standard error, whatever the format: for data that cannot contain them.
    pub fn tell(&self, notes: &Notes) {
        let renderer = if self.colours { Renderer::styled() } else { Renderer::plain() };
        let causes = without_secrets(notes).causes();
        if self.format == Format::Github {
            self.annotate(&causes);
        }
        for cause in causes.iter().filter(|_| self.format != Format::Github) {
            if cause.note.severity == Severity::Error || !self.quiet {
                let text = render(cause, self.verbose, &renderer);
                say(format_args!("{text}\n"));
            }
        }
        let count = |severity| causes.iter().filter(|cause| cause.note.severity == severity).count();
        match (count(Severity::Error), count(Severity::Warning)) {
            (0, 0) => {}
            (0, warnings) => self.talk(&counted(warnings, "warning")),
            (found, 0) => say(format_args!("{}", counted(found, "error"))),
            (found, warnings) => {
                say(format_args!("{}, {}", counted(found, "error"), counted(warnings, "warning")));
            }
        }
    }

    /// Prints one JSON or YAML document: the exit code, the messages, and the keys of the command.
    pub fn document(&self, exit: super::Exit, notes: &Notes, more: Json) {
        if self.format == Format::Sarif {
            self.structured(&sarif::document(exit.code(), notes, self.folder()));
            return;
        }
        if self.is_document() {
            self.structured(&envelope(exit, notes, more));
        }
    }

    /// Prints a document in the requested format.
    pub fn structured(&self, document: &Json) {
        let text = if self.is_yaml() {
            let mut text = String::new();
            yaml::emit(&yaml::from_json(document, yaml::Origin::NOWHERE), &mut text);
            // Plain YAML scalars cannot escape some characters. JSON is also YAML, and can.
            if text.contains(is_hidden) { visible_json(&document.to_string()).into_owned() } else { text }
        } else {
            json_text(document)
        };
        self.data(&text);
    }

    /// Prints a JSON document on one line, for commands that print several.
    pub fn record(&self, exit: super::Exit, more: Json) {
        if !self.is_document() {
            return;
        }
        let mut record = json!({ "formatVersion": FORMAT_VERSION, "exit": exit.code() });
        if let (Some(record), Json::Object(more)) = (record.as_object_mut(), more) {
            record.extend(more);
        }
        self.put(&visible_json(&record.to_string()));
    }

    /// Writes a line to standard output. A closed pipe (`| head`) is not an error; anything else is.
    fn put(&self, line: &str) {
        let mut out = io::stdout();
        if let Err(error) = writeln!(out, "{line}").and_then(|()| out.flush())
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.lost.get_or_init(|| error);
        }
    }

    /// The fault if standard output is incomplete.
    pub fn lost(&self) -> Option<Fault> {
        let error = self.lost.get()?;
        let cause = io::Error::new(error.kind(), error.to_string());
        let fault = Fault::because("cannot write to standard output, so the output is incomplete", cause);
        Some(fault.hint("the disk that it is redirected to may be full"))
    }

    /// Prints a fault of an operation: what failed, why, and what to do.
    pub fn fault(&self, fault: &Fault) {
        let text = whole(fault);
        let hints = || fault.hints().iter().flat_map(|hint| ["\nhelp: ", hint]).collect::<String>();
        match self.format {
            Format::Sarif => {
                let document = sarif::fault(super::Exit::World.code(), &(text + &hints()));
                return self.structured(&document);
            }
            Format::Github => return self.put(&annotate::fault(&(text + &hints()))),
            Format::Text | Format::Json | Format::Yaml | Format::Markdown | Format::Html => {}
        }
        if self.is_document() {
            return self.structured(&fault_envelope(fault));
        }
        self.complain(fault);
    }

    /// Prints a fault to standard error, whatever the format.
    pub fn complain(&self, fault: &Fault) {
        let mut groups = vec![Group::with_title(Level::ERROR.primary_title(shown(&whole(fault))))];
        let help = |hint: &String| Group::with_title(Level::HELP.secondary_title(shown(hint)));
        groups.extend(fault.hints().iter().map(help));
        let renderer = if self.colours { Renderer::styled() } else { Renderer::plain() };
        say(format_args!("{}", renderer.render(&groups)));
    }
}

/// A document with the exit code, the messages, and the keys of the command.
pub(super) fn envelope(exit: super::Exit, notes: &Notes, more: Json) -> Json {
    let mut document = json!({ "formatVersion": FORMAT_VERSION, "exit": exit.code(), "diagnostics": without_secrets(notes).sorted() });
    if let (Some(document), Json::Object(more)) = (document.as_object_mut(), more) {
        document.extend(more);
    }
    document
}

/// The document for a fault of an operation.
pub(super) fn fault_envelope(fault: &Fault) -> Json {
    json!({
        "formatVersion": FORMAT_VERSION,
        "exit": super::Exit::World.code(),
        "fault": whole(fault),
        "hints": fault.hints(),
    })
}

/// Wraps a line to a width; the following lines are indented further.
fn wrap(line: &str, width: Option<usize>) -> Vec<String> {
    const LEAST: usize = 40;
    let Some(width) = width else { return vec![line.to_owned()] };
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let indent = " ".repeat(blanks + 4);
    let options = textwrap::Options::new(width.max(LEAST))
        .subsequent_indent(&indent)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::wrap(line, options).into_iter().map(Cow::into_owned).collect()
}

/// Formats a document as JSON, with hidden characters escaped.
pub(super) fn json_text(document: &Json) -> String {
    visible_json(&serde_json::to_string_pretty(document).unwrap_or_default()).into_owned()
}

/// A text of several lines, with hidden characters escaped.
pub(super) fn page(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(visible).collect();
    lines.join("\n") + "\n"
}

/// A fault's message with its causes.
pub(super) fn whole(fault: &Fault) -> String {
    let mut text = fault.to_string();
    let mut source = fault.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Writes a line to standard error. A failure cannot be reported anywhere.
fn say(line: std::fmt::Arguments<'_>) {
    drop(writeln!(io::stderr(), "{line}"));
}

fn shown(text: &str) -> String {
    visible(text).into_owned()
}

/// Prints a tip after a message about the command line, before any printer exists.
pub(super) fn advise(text: &str) {
    say(format_args!("\n  tip: {text}"));
}

/// Reports that help or a version could not be printed.
pub(super) fn lost_help(cause: &std::io::Error) {
    say(format_args!("error: cannot write to standard output, so the output is incomplete: {cause}"));
}

/// An abbreviated commit ID.
pub(super) fn short_id(commit: &str) -> &str {
    &commit[..commit.len().min(12)]
}

/// Quotes a text as one word of a shell command.
pub(super) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// `1 file`, `2 files`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Renders a message for people: what, where with the source line, and what to do.
fn render(cause: &Cause, all: bool, renderer: &Renderer) -> String {
    let note = &cause.note;
    let level = match note.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(shown(&note.message)).id(note.code);
    let mut groups = vec![match &note.place {
        None => Group::with_title(title),
        Some(place) => with_place(Group::with_title(title), place, AnnotationKind::Primary, None),
    }];
    for (what, place) in &note.related {
        let title = Level::NOTE.secondary_title(shown(what));
        groups.push(with_place(Group::with_title(title), place, AnnotationKind::Primary, None));
    }
    let concerns = cause.concerns(all);
    groups.extend(concerns.iter().map(|text| Group::with_title(Level::NOTE.secondary_title(shown(text)))));
    let help = |hint: &String| Group::with_title(Level::HELP.secondary_title(shown(hint)));
    groups.extend(note.hints.iter().map(help));
    renderer.render(&groups)
}

fn with_place<'a>(
    group: Group<'a>,
    place: &'a Place,
    kind: AnnotationKind,
    label: Option<&'a str>,
) -> Group<'a> {
    let file = shown(&place.file);
    if place.line == 0 {
        return group.element(Origin::path(file));
    }
    if place.column == 0 {
        return group.element(Origin::path(file).line(place.line));
    }
    if place.source.is_empty() {
        return group.element(Origin::path(file).line(place.line).char_column(place.column));
    }
    let at = |column: usize| place.source.char_indices().nth(column).map_or(place.source.len(), |(at, _)| at);
    let start = at(place.column.saturating_sub(1));
    let end = at(place.column.saturating_sub(1) + place.length).max(start);
    let (before, marked) = (shown(&place.source[..start]), shown(&place.source[start..end]));
    let annotation = kind.span(before.len()..before.len() + marked.len()).label(label);
    let line = before + &marked + &visible(&place.source[end..]);
    group.element(Snippet::source(line).line_start(place.line).path(file).annotation(annotation))
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_fit_the_terminal_and_stay_below_their_parent() {
        let line = "    pool md-0: replaces 3 machines, because of spec.template.spec.a-long-name-that-is-not-broken-anywhere";
        assert_eq!(
            wrap(line, Some(40)),
            [
                "    pool md-0: replaces 3 machines,",
                "        because of",
                "        spec.template.spec.a-long-name-that-is-not-broken-anywhere",
            ]
        );
        assert_eq!(wrap(line, None), [line]);
        assert_eq!(wrap("", Some(80)), [""]);
    }
}
