//! The report of `diff` in all formats, on standard output and in files. One run may write several.

use std::{collections::BTreeSet, path::PathBuf, str::FromStr};

use serde_json::{Value as Json, json};

use crate::{
    check::without_secrets,
    cli::{
        Exit, Format, Global, Printer,
        printer::{envelope, fault_envelope, json_text, page, short_id, whole},
        sarif,
    },
    io::{disk, git::Base},
    note::{Fault, Notes},
    report::{self, FOUND, Finding, Page, Places, Report, Risk},
    world::Input,
};

/// A file to write a report to, with its format.
#[derive(Clone, Debug)]
pub(super) struct Target {
    format: FileFormat,
    path: PathBuf,
}

#[derive(Clone, Copy, Debug)]
enum FileFormat {
    Html,
    Json,
    Markdown,
    Sarif,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let syntax = "write it as FORMAT=FILE, where FORMAT is html, json, markdown or sarif";
        let (format, path) = word.split_once('=').ok_or(syntax)?;
        let format = match format {
            "html" => FileFormat::Html,
            "json" => FileFormat::Json,
            "markdown" => FileFormat::Markdown,
            "sarif" => FileFormat::Sarif,
            _ => return Err(format!("there is no format `{format}` for files: {syntax}")),
        };
        if path.is_empty() || path == "-" {
            return Err(format!("{syntax}; for standard output, use --format"));
        }
        Ok(Self { format, path: PathBuf::from(path) })
    }
}

/// Refuses two reports for one file: the second would replace the first.
pub(super) fn twice(targets: &[Target]) -> Option<Fault> {
    let mut seen = BTreeSet::new();
    let twice = targets.iter().find(|target| !seen.insert(&target.path))?;
    let message = format!("`--write` names `{}` twice", twice.path.display());
    Some(Fault::new(message).hint("give each format a file of its own"))
}

/// The outcome of a run of `diff`.
pub(super) struct DiffOutcome<'a> {
    /// The exit code.
    pub(super) exit: Exit,
    /// The messages of the run.
    pub(super) notes: &'a Notes,
    /// The findings; None if nothing could be compared.
    pub(super) found: Option<DiffFindings<'a>>,
    /// The fleet's path in its repository.
    pub(super) folder: &'a str,
}

/// The findings of a run of `diff`.
#[derive(Clone, Copy)]
pub(super) struct DiffFindings<'a> {
    pub(super) report: &'a Report,
    /// The commit that the change is compared with.
    pub(super) base: &'a Base,
    /// The definitions before the change.
    pub(super) before: &'a dyn Fn() -> Result<Input, Fault>,
    /// The definitions after the change.
    pub(super) after: &'a Input,
}

impl DiffFindings<'_> {
    /// Describes the commit that the change is compared with.
    pub(super) fn compared(&self) -> String {
        let (short, why) = (short_id(&self.base.commit), &self.base.why);
        // A commit that was asked for by its ID has no other name.
        if self.base.commit.starts_with(why.as_str()) { short.to_owned() } else { format!("{short} ({why})") }
    }

    fn findings(&self, find: fn(&Report, &Places<'_>) -> Vec<Finding>) -> Result<Vec<Finding>, Fault> {
        if !self.report.risks().iter().any(|risk| FOUND.contains(risk)) {
            return Ok(Vec::new());
        }
        let before = (self.before)()?;
        Ok(find(self.report, &Places::new(&before, self.after)))
    }
}

impl DiffOutcome<'_> {
    /// Prints the outcome for people, or for the program that reads standard output.
    pub(super) fn tell(&self, printer: &Printer) -> Result<(), Fault> {
        match (printer.format(), &self.found) {
            (Format::Sarif, _) => printer.structured(&self.sarif()?),
            (Format::Json | Format::Yaml, _) => printer.structured(&self.json()),
            (Format::Markdown, _) => {
                printer.notes(self.notes);
                printer.page(&self.markdown());
            }
            (Format::Html, _) => {
                printer.notes(self.notes);
                printer.page(&self.html());
            }
            (Format::Text, Some(found)) => {
                printer.notes(self.notes);
                text(found, printer);
            }
            (Format::Github, Some(found)) => {
                printer.notes(&self.uncovered());
                printer.findings(&found.findings(Finding::folded)?);
                text(found, printer);
            }
            (Format::Text | Format::Github, None) => {
                printer.notes(self.notes);
                printer.talk("nothing was compared");
            }
        }
        Ok(())
    }

    /// Writes the requested files.
    pub(super) fn write(&self, targets: &[Target], global: &Global) -> Result<(), Fault> {
        for target in targets {
            let text = match target.format {
                FileFormat::Html => page(&self.html()),
                FileFormat::Json => json_text(&self.json()) + "\n",
                FileFormat::Markdown => page(&self.markdown()),
                FileFormat::Sarif => json_text(&self.sarif()?) + "\n",
            };
            disk::write(&global.path(&target.path), &text)?;
        }
        Ok(())
    }

    /// The messages, without those that a finding repeats at the line of a definition.
    fn uncovered(&self) -> Notes {
        let mut own = Notes::new();
        let Some(found) = &self.found else { return self.notes.clone() };
        let covered = found.report.covered();
        own.append_if(self.notes.clone(), |note| !covered.contains(note));
        own
    }

    fn sarif(&self) -> Result<Json, Fault> {
        let code = self.exit.code();
        let Some(found) = &self.found else { return Ok(sarif::report(code, self.notes, &[], self.folder)) };
        let findings = found.findings(Finding::each)?;
        Ok(sarif::report(code, &self.uncovered(), &findings, self.folder))
    }

    fn json(&self) -> Json {
        let Some(found) = &self.found else { return envelope(self.exit, self.notes, json!({})) };
        let mut document = report::document(found.report);
        let base = json!({ "commit": found.base.commit, "found": found.base.why });
        document.insert("base".to_owned(), base);
        envelope(self.exit, self.notes, Json::Object(document))
    }

    fn markdown(&self) -> String {
        match &self.found {
            Some(found) => report::markdown(found.report, &found.compared()),
            None => report::markdown_of_nothing(&without_secrets(self.notes)),
        }
    }

    fn html(&self) -> String {
        let compared = self.found.as_ref().map(DiffFindings::compared).unwrap_or_default();
        let report = self.found.as_ref().map(|found| found.report);
        report::html(&Page { report, compared: &compared, notes: &without_secrets(self.notes) })
    }
}

/// Writes to the files that the run has not ended. If it is killed, no older file is mistaken for its result. What is not a
/// plain file, such as a pipe, gets the result alone.
pub(super) fn begin(targets: &[Target], global: &Global) -> Result<(), Fault> {
    let unended = Fault::new("the comparison began and did not end")
        .hint("run `stackloom diff` again; if it was stopped by a limit on memory or time, raise the limit");
    let plain: Vec<Target> = targets
        .iter()
        .filter(|target| disk::is_plain_or_missing(&global.path(&target.path)))
        .cloned()
        .collect();
    write_fault(&unended, &plain, global)
}

/// Prints that nothing was compared, and why, where a report was asked for that people read in another place.
pub(super) fn tell_fault(fault: &Fault, printer: &Printer) {
    let notes = failed(fault);
    match printer.format() {
        Format::Markdown => printer.page(&report::markdown_of_nothing(&notes)),
        Format::Html => printer.page(&report::html(&Page { report: None, compared: "", notes: &notes })),
        Format::Text | Format::Github | Format::Json | Format::Yaml | Format::Sarif => {}
    }
}

/// The fault of an operation as a message of the run.
fn failed(fault: &Fault) -> Notes {
    let mut notes = Notes::new();
    let note = notes.error("failed", None, whole(fault));
    for hint in fault.hints() {
        note.hint(hint);
    }
    notes
}

/// Writes to the files that the run failed with a fault of an operation, so that no older file is mistaken for its result.
pub(super) fn write_fault(fault: &Fault, targets: &[Target], global: &Global) -> Result<(), Fault> {
    let notes = failed(fault);
    for target in targets {
        let text = match target.format {
            FileFormat::Html => page(&report::html(&Page { report: None, compared: "", notes: &notes })),
            FileFormat::Json => json_text(&fault_envelope(fault)) + "\n",
            FileFormat::Markdown => page(&report::markdown_of_nothing(&notes)),
            FileFormat::Sarif => json_text(&sarif::fault(Exit::World.code(), &whole(fault))) + "\n",
        };
        disk::write(&global.path(&target.path), &text)?;
    }
    Ok(())
}

fn text(found: &DiffFindings<'_>, printer: &Printer) {
    printer.talk(&format!("compared with {}", found.compared()));
    let lines = report::lines(found.report, printer.is_verbose()).into_iter();
    printer.lines(&lines.map(|line| (line.text, line.risk.map(colour))).collect::<Vec<_>>());
}

/// The colour of a class's heading, as a terminal colour code.
fn colour(risk: Risk) -> u8 {
    match risk {
        Risk::Refused | Risk::Deletes => 31,
        Risk::Unknown => 35,
        Risk::ControlPlane | Risk::Pools | Risk::ScaleDown | Risk::Restarts => 33,
        Risk::InPlace | Risk::Metadata | Risk::Nothing => 32,
    }
}
