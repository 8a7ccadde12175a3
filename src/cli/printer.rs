//! The one door to the terminal.

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
    io::{disk::folder_in_repository, pager},
    note::{Cause, Fault, Notes, Place, Severity},
    report::Finding,
    yaml,
};

/// The form of documents for machines, which docs/output.md describes. New keys leave it as it is; a key that goes, or
/// changes its meaning, makes the next one.
const FORMAT_VERSION: u32 = 1;

/// Prints what a command has to say.
#[derive(Debug)]
pub struct Printer {
    format: Format,
    quiet: bool,
    verbose: bool,
    colours: bool,
    /// Whether standard output takes colours.
    paints: bool,
    /// Whether long output may be shown page by page.
    pages: bool,
    /// Where in its repository the fleet lies: annotations have the paths of the repository.
    folder: OnceLock<String>,
    /// Why standard output did not take everything.
    lost: OnceLock<io::Error>,
}

impl Printer {
    /// A printer as the command line asks for.
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

    /// Learns where the fleet is.
    pub fn lies_in(&self, root: &std::path::Path) {
        if self.is_annotated() {
            let folder = folder_in_repository(root).ok().flatten();
            self.folder.get_or_init(|| folder.unwrap_or_default());
        }
    }

    /// Whether a machine reads one document.
    pub fn is_document(&self) -> bool {
        self.format.is_document()
    }

    /// Whether messages become findings of a forge, which shows no more of a run.
    pub fn is_annotated(&self) -> bool {
        self.format.is_annotated()
    }

    fn folder(&self) -> &str {
        self.folder.get().map_or("", String::as_str)
    }

    /// Whether YAML was asked for.
    pub fn is_yaml(&self) -> bool {
        self.format == Format::Yaml
    }

    /// Whether every file is to be named.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether a progress bar has someone to look at it.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && !self.is_document() && std::io::stderr().is_terminal()
    }

    /// Says something to people, on standard error.
    pub fn talk(&self, line: &str) {
        if !self.quiet {
            say(format_args!("{}", visible(line)));
        }
    }

    /// The result of a command, on standard output.
    pub fn result(&self, text: &str) {
        if !self.quiet && !self.is_document() {
            self.put(&visible(text));
        }
    }

    /// A line of a result, in a colour of the terminal if standard output is one.
    pub fn coloured(&self, text: &str, colour: Option<u8>) {
        if !self.quiet && !self.is_document() {
            self.put(&self.painted(text, colour));
        }
    }

    /// Lines of a long result, each with its colour. On a terminal they are as wide as it is, and come page by page.
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

    /// Data that was asked for, on standard output, whatever the format.
    pub fn data(&self, text: &str) {
        self.put(text.trim_end_matches('\n'));
    }

    /// A document of several lines that was asked for, in which nothing is hidden.
    pub fn page(&self, text: &str) {
        self.data(&page(text));
    }

    /// The form that was asked for.
    pub fn format(&self) -> Format {
        self.format
    }

    /// One annotation for each change that a reviewer must not miss.
    pub fn findings(&self, findings: &[Finding]) {
        for finding in findings.iter().filter(|one| one.is_error || !self.quiet) {
            self.put(&annotate::finding(finding, self.folder()));
        }
    }

    /// The messages of a run, on standard error; for a machine they are part of the document.
    pub fn notes(&self, notes: &Notes) {
        if !self.is_document() {
            self.tell(notes);
        }
    }

    /// One annotation for each message.
    fn annotate(&self, causes: &[Cause]) {
        for cause in causes.iter().filter(|cause| cause.note.severity == Severity::Error || !self.quiet) {
            self.put(&annotate::command(cause, self.verbose, self.folder()));
        }
    }

    /// The messages of a run, on standard error, whatever the format: for data that has no place for them.
    pub fn tell(&self, notes: &Notes) {
        let renderer = if self.colours { Renderer::styled() } else { Renderer::plain() };
        let causes = notes.causes();
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

    /// One JSON or YAML document: how the run ended, its messages, and what the command adds.
    pub fn document(&self, exit: super::Exit, notes: &Notes, more: Json) {
        if self.format == Format::Sarif {
            self.structured(&sarif::document(exit.code(), notes, self.folder()));
            return;
        }
        if self.is_document() {
            self.structured(&envelope(exit, notes, more));
        }
    }

    /// A document as it is, in the form that was asked for.
    pub fn structured(&self, document: &Json) {
        let text = if self.is_yaml() {
            let mut text = String::new();
            yaml::emit(&yaml::from_json(document, yaml::Origin::NOWHERE), &mut text);
            // Plain YAML cannot say some characters otherwise; JSON is YAML, too, and can.
            if text.contains(is_hidden) { visible_json(&document.to_string()).into_owned() } else { text }
        } else {
            json_text(document)
        };
        self.data(&text);
    }

    /// One JSON document on one line, of several that a command prints.
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

    /// What kept standard output from taking everything.
    pub fn lost(&self) -> Option<Fault> {
        let error = self.lost.get()?;
        let cause = io::Error::new(error.kind(), error.to_string());
        let fault = Fault::because("cannot write to standard output, so the output is incomplete", cause);
        Some(fault.hint("the disk that it is redirected to may be full"))
    }

    /// A fault of the world: what failed, why, and what to do.
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

    /// The same on standard error, whatever the format.
    pub fn complain(&self, fault: &Fault) {
        let mut groups = vec![Group::with_title(Level::ERROR.primary_title(shown(&whole(fault))))];
        let help = |hint: &String| Group::with_title(Level::HELP.secondary_title(shown(hint)));
        groups.extend(fault.hints().iter().map(help));
        let renderer = if self.colours { Renderer::styled() } else { Renderer::plain() };
        say(format_args!("{}", renderer.render(&groups)));
    }
}

/// How a run ended, its messages, and what the command adds.
pub(super) fn envelope(exit: super::Exit, notes: &Notes, more: Json) -> Json {
    let mut document =
        json!({ "formatVersion": FORMAT_VERSION, "exit": exit.code(), "diagnostics": notes.sorted() });
    if let (Some(document), Json::Object(more)) = (document.as_object_mut(), more) {
        document.extend(more);
    }
    document
}

/// What went wrong outside of the input.
pub(super) fn fault_envelope(fault: &Fault) -> Json {
    json!({
        "formatVersion": FORMAT_VERSION,
        "exit": super::Exit::World.code(),
        "fault": whole(fault),
        "hints": fault.hints(),
    })
}

/// A line that fits a width; what follows is indented further than it.
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

/// A document as JSON, in which nothing is hidden.
pub(super) fn json_text(document: &Json) -> String {
    visible_json(&serde_json::to_string_pretty(document).unwrap_or_default()).into_owned()
}

/// A text of several lines, in which nothing is hidden.
pub(super) fn page(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(visible).collect();
    lines.join("\n") + "\n"
}

/// A fault with its causes.
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

/// Writes a line to standard error. If that fails, there is no way left to report it.
fn say(line: std::fmt::Arguments<'_>) {
    drop(writeln!(io::stderr(), "{line}"));
}

fn shown(text: &str) -> String {
    visible(text).into_owned()
}

/// A word beside a message on the command line, of which no printer is made.
pub(super) fn advise(text: &str) {
    say(format_args!("\n  tip: {text}"));
}

/// As much of a commit's id as people read.
pub(super) fn short_id(commit: &str) -> &str {
    &commit[..commit.len().min(12)]
}

/// A text as one word of a shell command.
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

/// A message as people read it: what, where with the line shown, and what to do.
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
