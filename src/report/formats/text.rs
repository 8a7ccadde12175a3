//! Writes a report for a terminal.

use crate::report::{
    Report,
    group::{Group, GroupChange},
    outside_words,
    owners::owners,
    reverts::reverts,
    risk::Risk,
    steps,
    summary::{parts, summary},
    words,
};

/// The maximum number of clusters per group, fields per change, and reasons, unless everything is shown.
const SHOWN: usize = 8;

/// The number of files outside clusters that are always named.
const FEW: usize = 3;

/// A line of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportLine {
    /// The risk class, if the line is colored.
    pub risk: Option<Risk>,
    pub text: String,
}

/// The lines of a report; `all` names every cluster and field.
pub fn lines(report: &Report, all: bool) -> Vec<ReportLine> {
    let mut out = TextWriter { lines: Vec::new(), most: if all { usize::MAX } else { SHOWN } };
    out.line(None, summary(report));
    if report.stale.is_some() {
        let other =
            "HEAD does something else: its `generated/` does not match its definitions (`stale-tree`).";
        out.line(None, other.to_owned());
    }
    for line in words::overview(report) {
        out.line(None, line);
    }
    out.owners(report);
    for risk in Risk::ALL {
        let groups: Vec<&Group> = report.groups.iter().filter(|group| group.risk == risk).collect();
        let beside: Vec<_> = report.beside.iter().filter(|one| one.risk == risk).collect();
        if groups.is_empty() && beside.is_empty() {
            continue;
        }
        let clusters: usize = groups.iter().map(|group| group.clusters.len()).sum();
        let count = format!("{}{}", words::count(clusters, "cluster"), words::no_machines(risk));
        out.line(None, String::new());
        out.line(
            Some(risk),
            if clusters > 0 { format!("{}: {count}", risk.title()) } else { risk.title().to_owned() },
        );
        for group in groups {
            out.group(group);
        }
        for group in outside_words::grouped(&beside) {
            out.line(None, format!("  {}", outside_words::line(&group, out.names(risk))));
            let files: Vec<&String> = group.iter().flat_map(|one| one.files.keys()).collect();
            if all || files.len() <= FEW {
                for path in files {
                    out.line(None, format!("      {path}"));
                }
            }
        }
    }
    if !report.peaks.is_empty() {
        out.line(None, String::new());
        out.line(None, format!("{}:", words::peaks(report)));
        let peaks: Vec<String> = report.peaks.iter().map(|peak| words::peak(peak, out.most)).collect();
        out.some(&peaks, "  ");
    }
    out.lines
}

struct TextWriter {
    lines: Vec<ReportLine>,
    most: usize,
}

impl TextWriter {
    /// The maximum number of names in a line. What is deleted is always named.
    fn names(&self, risk: Risk) -> usize {
        if risk == Risk::Deletes { usize::MAX } else { self.most }
    }

    fn line(&mut self, risk: Option<Risk>, text: String) {
        self.lines.push(ReportLine { risk, text });
    }

    fn some(&mut self, texts: &[String], before: &str) {
        for text in texts.iter().take(self.most) {
            self.line(None, format!("{before}{}", text.replace('\n', " ")));
        }
        if texts.len() > self.most {
            self.line(None, format!("{before}… and {} more (-v shows all)", texts.len() - self.most));
        }
    }

    fn owners(&mut self, report: &Report) {
        let owners = owners(report);
        let names_clusters = owners.len() <= self.most;
        for owner in owners {
            let name = owner.name().unwrap_or("no owner");
            self.line(None, format!("  {name}: {}", parts(&owner.clusters)));
            if !names_clusters {
                continue;
            }
            for (risk, clusters) in owner.classes() {
                let names = words::names(&clusters, self.most);
                self.line(None, format!("    {}: {names}", risk.title()));
            }
        }
    }

    fn group(&mut self, group: &Group) {
        let count = group.clusters.len();
        let names = words::names_of_group(group, self.names(group.risk));
        let head = if count == 1 { names } else { format!("{count} clusters: {names}") };
        let versions = words::versions(group).map(|words| format!(" ({words})")).unwrap_or_default();
        self.line(None, format!("  {head}{versions}"));
        if !group.steps.is_empty() {
            self.line(None, format!("    {}", steps::heading(group)));
            let steps: Vec<String> =
                group.steps.iter().enumerate().map(|(at, step)| format!("{}. {step}", at + 1)).collect();
            self.some(&steps, "      ");
        }
        for change in &group.changes {
            self.change(change, count);
        }
        for (what, words) in reverts(group, usize::MAX) {
            self.line(None, format!("    {what}: {words}"));
        }
        let notes: Vec<String> = group.notes.iter().map(|note| format!("note: {note}")).collect();
        self.some(&notes, "    ");
    }

    fn change(&mut self, found: &GroupChange, clusters: usize) {
        let change = &found.change;
        self.line(None, format!("    {}: {}", change.subject.words(), words::change(found, clusters)));
        let fields: Vec<String> = change.fields.iter().map(words::field).collect();
        self.some(&fields, "        ");
        let causes: Vec<String> = words::causes(change).into_iter().map(words::cause).collect();
        self.some(&causes, "        ");
        self.some(&words::reasons(change), "        ");
    }
}
