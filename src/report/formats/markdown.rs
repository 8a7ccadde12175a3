//! Writes a report as a comment on a pull request.
//!
//! Forges limit the length of a comment. If the report is too long, it is folded: first fields and names, then whole groups.
//! The table of risk classes is always complete.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::json::digest;
use crate::{
    model::hex,
    note::Notes,
    report::{
        ClusterReport, Report,
        group::{Group, GroupChange},
        outside_words,
        owners::{Owner, owners},
        reverts::reverts,
        risk::Risk,
        steps,
        summary::{parts, summary},
        words,
    },
};

/// The maximum length of a comment; GitHub refuses longer ones. Counted in bytes, which are never fewer than characters.
pub const LIMIT: usize = 65_536;

/// The maximum length of a message, in characters.
const MESSAGE: usize = 1_000;

/// The bytes reserved for the last lines.
const ROOM: usize = 200;

/// The maximum number of clusters whose parts with an unknown number of extra machines are named, per namespace.
const PEAK_NAMES: usize = 10;

/// How much detail is shown.
#[derive(Clone, Copy)]
struct Detail {
    /// The number of groups per risk class.
    groups: usize,
    /// The number of names per group.
    names: usize,
    /// The number of fields, causes and reasons per change.
    fields: usize,
    /// The number of peaks, and of changes outside clusters.
    rows: usize,
}

/// From most to least detailed.
const DETAILS: [Detail; 8] = [
    Detail { groups: usize::MAX, names: 200, fields: 40, rows: usize::MAX },
    Detail { groups: 200, names: 50, fields: 12, rows: 100 },
    Detail { groups: 100, names: 30, fields: 8, rows: 60 },
    Detail { groups: 60, names: 20, fields: 6, rows: 40 },
    Detail { groups: 40, names: 12, fields: 4, rows: 30 },
    Detail { groups: 20, names: 8, fields: 3, rows: 20 },
    Detail { groups: 6, names: 3, fields: 1, rows: 5 },
    Detail { groups: 0, names: 0, fields: 0, rows: 0 },
];

/// Renders a report as Markdown. `compared` names what the change was compared with.
pub fn markdown(report: &Report, compared: &str) -> String {
    markdown_within(report, compared, LIMIT)
}

/// Renders the same in at most `limit` bytes, as far as folding allows.
pub fn markdown_within(report: &Report, compared: &str, limit: usize) -> String {
    let end = format!("\n<!-- stackloom-diff sha256:{} -->\n", digest(report));
    let owners = owned(report, limit);
    let made = |detail: Detail| MarkdownWriter::made(report, compared, &owners, detail);
    let fits = |text: &String| text.len() + end.len() <= limit;
    let mut last = String::new();
    for (at, detail) in DETAILS.into_iter().enumerate() {
        last = made(detail);
        if fits(&last) {
            let more = at.checked_sub(1).map(|before| DETAILS[before].groups).filter(|_| detail.groups > 0);
            last = fill(last, detail, more.unwrap_or(0).min(report.groups.len()), made, fits);
            break;
        }
    }
    // It is the first text that fits, or cannot be folded any further.
    last + &end
}

/// Adds groups to a text that fits, as many as there is room for: fewer than `most` in each class.
fn fill(
    text: String,
    detail: Detail,
    most: usize,
    made: impl Fn(Detail) -> String,
    fits: impl Fn(&String) -> bool,
) -> String {
    let (mut text, mut least, mut most) = (text, detail.groups, most);
    while least.saturating_add(1) < most {
        let groups = least + (most - least) / 2;
        let more = made(Detail { groups, ..detail });
        if fits(&more) {
            (text, least) = (more, groups);
        } else {
            most = groups;
        }
    }
    text
}

/// Renders a comment that replaces the report if nothing could be compared, with the reasons.
pub fn markdown_of_nothing(notes: &Notes) -> String {
    let mut text =
        "### Nothing was compared\n\nThe run stopped before it could compare anything:\n\n".to_owned();
    let causes = notes.causes();
    for (at, cause) in causes.iter().enumerate() {
        let note = &cause.note;
        let place =
            note.place.as_ref().map(|place| format!("{} ", code(&place.to_string()))).unwrap_or_default();
        let said: String = note.message.chars().take(MESSAGE).collect();
        let mut line = format!("- **{}**: {place}{}\n", note.code, plain(&said));
        for hint in &note.hints {
            writeln!(line, "  - {}", plain(hint)).expect("memory takes everything");
        }
        if text.len() + line.len() > LIMIT - ROOM {
            let left = words::count(causes.len() - at, "more message");
            writeln!(text, "- … and {left}").expect("memory takes everything");
            break;
        }
        text.push_str(&line);
    }
    let digest = hex(&Sha256::digest(text.as_bytes()));
    writeln!(text, "\n<!-- stackloom-diff sha256:{digest} -->").expect("memory takes everything");
    text
}

struct MarkdownWriter {
    text: String,
    detail: Detail,
}

impl MarkdownWriter {
    fn made(report: &Report, compared: &str, owners: &str, detail: Detail) -> String {
        let mut out = Self { text: String::new(), detail };
        out.line(&format!("### {}", plain(&summary(report))));
        out.line("");
        out.line(&format!("Compared with {}.", plain(compared)));
        for line in words::overview(report) {
            out.line("");
            out.line(&line);
        }
        for warning in report.warnings() {
            out.line(&format!("\n**Warning:** {}.", plain(warning)));
        }
        out.errors(report);
        out.classes(report);
        out.text.push_str(owners);
        for risk in Risk::ALL {
            out.class(report, risk);
        }
        out.peaks(report);
        out.text
    }

    fn line(&mut self, text: &str) {
        writeln!(self.text, "{text}").expect("memory takes everything");
    }

    fn errors(&mut self, report: &Report) {
        let errors = &report.errors;
        if errors.count == 0 {
            return;
        }
        self.line("\n**Errors in the definitions.** What they concern is missing from this report.\n");
        let shown = |text: &String| plain(&text.chars().take(MESSAGE).collect::<String>());
        let most = self.detail.fields.clamp(3, 20);
        let lines: Vec<String> = errors.shown.iter().take(most).map(shown).collect();
        self.list(&lines, "", most);
        if errors.count > lines.len() {
            self.line(&format!("- … and {} more", errors.count - lines.len()));
        }
    }

    fn classes(&mut self, report: &Report) {
        if report.is_empty() {
            return;
        }
        self.line(
            "\n| Risk | Clusters | Machines replaced or removed | Machines added | Changes outside clusters |\n\
             |---|--:|--:|--:|--:|",
        );
        for risk in Risk::ALL {
            let clusters: Vec<_> = report.clusters.iter().filter(|one| one.risk == risk).collect();
            let beside = report.beside.iter().filter(|one| one.risk == risk).count();
            if clusters.is_empty() && beside == 0 {
                continue;
            }
            let [lost, added] = [words::lost, words::added].map(|of| of(&clusters));
            self.line(&format!("| {} | {} | {lost} | {added} | {beside} |", risk.title(), clusters.len()));
        }
        if self.detail.groups == 0 {
            self.line("\nThe changes themselves do not fit here (`stackloom diff -v` lists all).");
        }
    }

    fn class(&mut self, report: &Report, risk: Risk) {
        let groups: Vec<&Group> = report.groups.iter().filter(|group| group.risk == risk).collect();
        let beside: Vec<_> = report.beside.iter().filter(|one| one.risk == risk).collect();
        if groups.is_empty() && beside.is_empty() || self.detail.groups == 0 {
            return;
        }
        let clusters: usize = groups.iter().map(|group| group.clusters.len()).sum();
        let of = match clusters {
            0 => "outside clusters".to_owned(),
            count => format!("{}{}", words::count(count, "cluster"), words::no_machines(risk)),
        };
        self.line(&format!("\n#### {}: {of}", risk.title()));
        for group in groups.iter().take(self.detail.groups) {
            self.group(group);
        }
        if let Some(rest) = groups.get(self.detail.groups..).filter(|rest| !rest.is_empty()) {
            let clusters = rest.iter().map(|group| group.clusters.len()).sum();
            self.line(&format!(
                "\n… and {} with {}, which do not fit here (`stackloom diff -v` lists all)",
                words::count(rest.len(), "more change"),
                words::count(clusters, "cluster")
            ));
        }
        if !beside.is_empty() {
            // Without a heading of its own, the list would seem to belong to the last cluster.
            self.line(if groups.is_empty() { "" } else { "\n**Outside clusters**\n" });
        }
        let line = |group: &Vec<_>| plain(&outside_words::line(group, self.detail.names));
        let lines: Vec<String> = outside_words::grouped(&beside).iter().map(line).collect();
        self.list(&lines, "", self.detail.rows);
    }

    fn group(&mut self, group: &Group) {
        let count = group.clusters.len();
        let versions =
            words::versions(group).map(|words| format!(" ({})", plain(&words))).unwrap_or_default();
        let names = plain(&words::names_of_group(group, self.detail.names));
        let lead = if count == 1 {
            format!("**{names}**{versions}")
        } else if count <= 3 {
            format!("**{count} clusters**: {names}{versions}")
        } else {
            format!("<details><summary><b>{count} clusters</b>{versions}</summary>\n\n{names}\n\n</details>")
        };
        self.line(&format!("\n{lead}\n"));
        if !group.steps.is_empty() {
            self.line(&format!("- {}", steps::heading(group)));
            let numbered = |(at, step): (usize, &String)| format!("{}. {}", at + 1, plain(step));
            let steps: Vec<String> = group.steps.iter().enumerate().map(numbered).collect();
            self.marked(&steps, "  ", "", self.detail.fields);
        }
        for change in &group.changes {
            self.change(change, count);
        }
        for (what, words) in reverts(group, self.detail.names) {
            self.line(&format!("- **{}**: {}", plain(&what), plain(words)));
        }
        let notes: Vec<String> = group.notes.iter().map(|note| format!("note: {}", plain(note))).collect();
        self.list(&notes, "", self.detail.fields);
    }

    fn change(&mut self, found: &GroupChange, clusters: usize) {
        let change = &found.change;
        let what = plain(&change.subject.words());
        self.line(&format!("- **{what}**: {}", plain(&words::change(found, clusters))));
        let field = |field| {
            let (path, values) = words::field_parts(field, words::VALUE);
            format!("{}: {}", code(&path), values.map(|value| code(&value)).join(" → "))
        };
        let fields = change.fields.iter().map(field);
        let causes = words::causes(change).into_iter();
        let causes = causes.map(|(field, entries)| format!("because of {}{}", code(field), spaced(&entries)));
        let reasons = words::reasons(change).into_iter().map(|reason| plain(&reason));
        let lines: Vec<String> = reasons.chain(fields).chain(causes).collect();
        self.list(&lines, "  ", self.detail.fields);
    }

    fn list(&mut self, lines: &[String], before: &str, most: usize) {
        self.marked(lines, before, "- ", most);
    }

    /// The same, with another mark in front of each line.
    fn marked(&mut self, lines: &[String], before: &str, mark: &str, most: usize) {
        for line in lines.iter().take(most) {
            self.line(&format!("{before}{mark}{line}"));
        }
        if most > 0 && lines.len() > most {
            self.line(&format!("{before}- … and {} more", lines.len() - most));
        }
    }

    fn peaks(&mut self, report: &Report) {
        if report.peaks.is_empty() || self.detail.rows == 0 {
            return;
        }
        self.line(&format!("\n#### {}\n", words::peaks(report)));
        let names = self.detail.names.min(PEAK_NAMES);
        let peak = |peak| plain(&words::peak(peak, names));
        let peaks: Vec<String> = report.peaks.iter().map(peak).collect();
        self.list(&peaks, "", self.detail.rows);
    }
}

/// How many names each owner has per risk class, from most to least.
const OWNED: [usize; 5] = [200, 50, 12, 4, 1];

/// What happens to the clusters of each owner, for a comment of at most `limit` bytes. If names do not fit in a third of it,
/// owners are shown with numbers only, as many as fit in three fifths.
fn owned(report: &Report, limit: usize) -> String {
    let owners = owners(report);
    if owners.is_empty() {
        return String::new();
    }
    let head = "\n#### Owners\n\n";
    let whole =
        |names: usize| owners.iter().fold(head.to_owned(), |text, owner| text + &owned_by(owner, names));
    if let Some(text) = OWNED.into_iter().map(whole).find(|text| text.len() <= limit / 3) {
        return text;
    }
    let mut text = head.to_owned();
    for (at, owner) in owners.iter().enumerate() {
        let line = format!("- {}: {}\n", owner_name(owner, code), parts(&owner.clusters));
        if text.len() + line.len() + ROOM > limit / 5 * 3 {
            let left = words::count(owners.len() - at, "more owner");
            writeln!(text, "- … and {left}").expect("memory takes everything");
            break;
        }
        text.push_str(&line);
    }
    text
}

/// What happens to the clusters of an owner, folded.
fn owned_by(owner: &Owner<'_>, names: usize) -> String {
    let who = owner_name(owner, |name| format!("<code>{}</code>", markup(name)));
    let head = format!("<details><summary>{who}: {}</summary>\n\n", parts(&owner.clusters));
    let class = |(risk, clusters): (Risk, Vec<&ClusterReport>)| {
        format!("- {}: {}\n", risk.title(), plain(&words::names(&clusters, names)))
    };
    owner.classes().into_iter().map(class).fold(head, |text, line| text + &line) + "\n</details>\n"
}

/// As code, so that new versions of the comment do not notify anybody.
fn owner_name(owner: &Owner<'_>, code: impl Fn(&str) -> String) -> String {
    owner.name().map_or_else(|| "no owner".to_owned(), code)
}

/// Escapes text for HTML.
fn markup(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Escapes text so that Markdown shows it unchanged, without mentioning people or creating links.
fn plain(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return code(&text);
    }
    if parts.len() == 1 {
        return escaped(&text);
    }
    // What stands between backticks is code already. Two pieces of code side by side would become one.
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        let words = |text: &str| text.split(' ').map(escaped).collect::<Vec<_>>().join(" ");
        let shown = if at % 2 == 1 { code(part) } else { words(part) };
        if out.ends_with('`') && shown.starts_with('`') {
            out.push(' ');
        }
        out.push_str(&shown);
    }
    out
}

/// Escapes text without backticks.
fn escaped(text: &str) -> String {
    if text.contains(['@', '#']) || text.contains("://") || text.contains("www.") {
        return code(text);
    }
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '*' | '_' | '[' | ']' | '|' | '~' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Escapes text that follows other text, with the space between them.
fn spaced(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" {}", plain(text)) }
}

/// Puts text into backticks, with more of them than any run inside it.
fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let runs = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let marks = "`".repeat(runs + 1);
    let gap = if text.is_empty() || text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{marks}{gap}{text}{gap}{marks}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{ClusterId, Label},
        report::{
            change::{Change, Effect, Revert, Subject},
            cluster::Sides,
        },
    };

    /// A change of many clusters, of which each owner has as many.
    fn owned(clusters: usize, owners: usize) -> Report {
        let label = |text: String| Label::new(&text).unwrap();
        let cluster = |at: usize| {
            let (risk, revert) = (Risk::ALL[at / owners % 9], Revert::Unknown);
            let change = Change::new(Subject::Whole, Effect::Changed, risk, revert);
            ClusterReport {
                cluster: ClusterId {
                    management: label("m".to_owned()),
                    namespace: label(format!("team-{:03}", at % owners)),
                    name: label(format!("production-{at:05}")),
                },
                has_namesake: false,
                owners: vec![format!("@example/a-team-with-a-name-{:03}", at % owners)],
                release: Sides::default(),
                kubernetes: Sides::default(),
                risk,
                changes: vec![change],
                steps: Vec::new(),
                pools_at_once: 0,
                notes: Vec::new(),
            }
        };
        let clusters: Vec<_> = (0..clusters).map(cluster).collect();
        Report { total: clusters.len(), clusters, ..Report::default() }
    }

    #[test]
    fn every_owner_has_a_part_in_a_comment_that_fits() {
        let large = markdown(&owned(10_000, 200), "base");
        assert!(large.len() <= LIMIT, "{}", large.len());
        let lines = large.lines().filter(|line| line.starts_with("- `@example/a-team-with-a-name-"));
        assert_eq!(lines.clone().count(), 200);
        assert!(
            lines.clone().all(|line| line.contains("refused") && line.contains("addons only")),
            "{large}"
        );
        let many = markdown(&owned(10_000, 2_000), "base");
        assert!(many.len() <= LIMIT, "{}", many.len());
        assert!(many.contains("more owners"), "{many}");
        let small = markdown(&owned(40, 4), "base");
        let names = "- Refused or stuck: team-000/production-00000, team-000/production-00036\n";
        assert!(small.contains(names), "{small}");
        assert!(
            small.contains("<details><summary><code>@example/a-team-with-a-name-003</code>: "),
            "{small}"
        );
    }

    #[test]
    fn a_large_comment_uses_its_room_and_shows_first_what_is_lost_for_good() {
        let mut report = owned(800, 1);
        for (at, one) in report.clusters.iter_mut().enumerate() {
            one.owners.clear();
            one.risk = Risk::Deletes;
            let lost = crate::report::Machines::exactly(i64::try_from(at).ok());
            let effect = Effect::Gone(crate::report::Leaving::Unannounced);
            let change = Change::new(Subject::Whole, effect, Risk::Deletes, Revert::Unknown);
            let reasons = vec![format!("reason {at}")];
            one.changes = vec![Change { machines: lost, reasons, ..change }];
        }
        report.groups = crate::report::group::groups(&report.clusters);
        let text = markdown(&report, "base");
        assert!(text.len() <= LIMIT && text.len() > LIMIT / 10 * 9, "{}", text.len());
        let (first, last) =
            (text.find("**team-000/production-00799**"), text.find("**team-000/production-00790**"));
        assert!(first.is_some() && first < last, "{text}");
        assert!(!text.contains("production-00001"), "{text}");
        assert!(text.contains("which do not fit here (`stackloom diff -v` lists all)"), "{text}");
    }

    #[test]
    fn hostile_text_is_shown_as_it_is() {
        assert_eq!(plain("a <b>x</b> [l](u) *b* a_b"), "a &lt;b&gt;x&lt;/b&gt; \\[l\\](u) \\*b\\* a\\_b");
        assert_eq!(plain("thanks @everyone\n# head"), "`thanks @everyone # head`");
        assert_eq!(plain("the pool `a_b` of `c` is *gone*"), "the pool `a_b` of `c` is \\*gone\\*");
        assert_eq!(
            plain("refused: `x y` no; accepted: see https://a.b/c#1, says @me"),
            "refused: `x y` no; accepted: see `https://a.b/c#1,` says `@me`"
        );
        assert_eq!(plain("`a`@x"), "`a` `@x`");
        assert_eq!(plain("a `b`` c"), "```a `b`` c```");
        assert_eq!(plain("`` ` @x"), "```` `` ` @x ````".replace("````", "```"));
        assert_eq!(code("a `` b"), "```a `` b```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a\n\n<!-- x"), "`a  <!-- x`");
        assert_eq!(markup("<b>&`a`\n\nx"), "&lt;b&gt;&amp;`a`  x");
    }
}
