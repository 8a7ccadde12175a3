//! The rules of secret scanners, included as data (`data/`), in the format of gitleaks. As there, keywords are checked first, then a pattern,
//! then entropy and allowlists.
//!
//! Differences: patterns are compiled when one of their keywords first occurs. A `{` that starts no repetition is escaped,
//! because Go reads it as text. Paths excluded by the global allowlist are checked, because git stores those files, too.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

/// The rule sets. A finding has the name of the first rule that fits.
pub(super) const DATA: [&str; 3] = [
    include_str!("data/gitleaks.toml"),
    include_str!("data/noseyparker.toml"),
    include_str!("data/additions.toml"),
];
/// The maximum size of a compiled pattern; the largest of the set needs about a third.
const PATTERN_LIMIT: usize = 64 << 20;
/// How much of a line before and after a match its allowlists see, in bytes.
const LINE: usize = 4096;
/// The rules for the command lines of tools.
const TOOLS: [&str; 14] = [
    "argument-password",
    "aws-configured-key",
    "iscsi-password",
    "kubectl-secret-literal",
    "lftp-password",
    "login-pair",
    "login-password",
    "minio-secret-key",
    "openssl-passphrase",
    "option-password",
    "samba-password",
    "snmp-command-community",
    "vault-login",
    "windows-password",
];
/// The rule for any value of a key that sounds like a credential. It is applied last.
pub(super) const GENERIC: &str = "generic-api-key";

/// The finding of a rule in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// The rule's name.
    pub(super) rule: &'static str,
    /// The byte offset of the secret.
    pub(super) start: usize,
    /// The byte offset of its end.
    pub(super) end: usize,
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| Scanner::read(&DATA));

/// Finds what looks like a secret in a text of a file.
pub(super) fn scan(path: &str, text: &str) -> Vec<Hit> {
    SCANNER.scan(path, text)
}

/// The names of the rules whose keywords occur in a text.
pub(super) fn called_by(text: &str) -> impl Iterator<Item = &'static str> {
    SCANNER.called_by(text).into_iter().map(|at| SCANNER.rules[at].id)
}

/// Whether a rule is about the command line of a tool.
pub(super) fn is_of_tool(rule: &str) -> bool {
    TOOLS.contains(&rule)
}

/// Whether a text contains a keyword of any rule. As no keyword contains `: `, none lies half in a key and half in its value.
pub(super) fn has_keyword(text: &str) -> bool {
    SCANNER.keywords.is_match(text)
}

/// Whether the name of a file indicates that it contains keys.
pub(super) fn by_path(path: &str) -> Option<&'static str> {
    let only_path = SCANNER.rules.iter().filter(|rule| rule.regex.is_none());
    let mut fitting = only_path.filter(|rule| rule.path.as_ref().is_some_and(|pattern| pattern.fits(path)));
    fitting.next().map(|rule| rule.id)
}

/// The names of all rules.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SCANNER.rules.iter().map(|rule| rule.id)
}

/// Summarizes how the rules treat a path. Two paths with equal results have the same findings in the same text.
pub(super) fn of_path(path: &str) -> Vec<u8> {
    let own = |rule: &'static Rule| rule.path.iter().chain(rule.allowed.iter().flat_map(|one| &one.paths));
    let patterns = SCANNER.rules.iter().flat_map(own).chain(&SCANNER.allowed.paths);
    let fits = patterns.map(|pattern| u8::from(pattern.fits(path)));
    fits.chain([u8::from(super::translations::is_translation(path))]).collect()
}

struct Scanner {
    rules: Vec<Rule>,
    keywords: AhoCorasick,
    /// The indexes of the rules of each keyword.
    rules_of: Vec<Vec<usize>>,
    /// Rules without keywords.
    always: Vec<usize>,
    allowed: Allowlist,
}

struct Rule {
    id: &'static str,
    regex: Option<Pattern>,
    path: Option<Pattern>,
    entropy: f64,
    secret_group: usize,
    allowed: Vec<Allowlist>,
}

/// A pattern that is compiled on first use.
struct Pattern {
    text: &'static str,
    compiled: OnceLock<Regex>,
}

#[derive(Default)]
struct Allowlist {
    all: bool,
    target: Target,
    regexes: Vec<Pattern>,
    paths: Vec<Pattern>,
    stopwords: Option<AhoCorasick>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Target {
    #[default]
    Secret,
    Match,
    Line,
}

/// The format of the file, as far as its default rules use it.
#[derive(Deserialize)]
pub(super) struct FileFormat {
    #[serde(default)]
    allowlist: WrittenAllowlist,
    pub(super) rules: Vec<WrittenRule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WrittenRule {
    pub(super) id: String,
    regex: Option<String>,
    path: Option<String>,
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    secret_group: usize,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    allowlists: Vec<WrittenAllowlist>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenAllowlist {
    #[serde(default)]
    condition: String,
    #[serde(default)]
    regex_target: Target,
    #[serde(default)]
    regexes: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    stopwords: Vec<String>,
}

/// Reads rule sets as one. Only the first has an allowlist.
pub(super) fn read(data: &[&str]) -> FileFormat {
    let mut sets =
        data.iter().map(|text| toml::from_str::<FileFormat>(text).expect("a test reads the rule sets"));
    let mut all = sets.next().expect("there is a rule set");
    all.rules.extend(sets.flat_map(|set| set.rules));
    all
}

impl Scanner {
    fn read(data: &[&str]) -> Self {
        let written = read(data);
        let mut by_keyword: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut always = Vec::new();
        let (generic, special): (Vec<_>, Vec<_>) =
            written.rules.into_iter().partition(|rule| rule.id == GENERIC);
        let mut rules = Vec::new();
        for (at, rule) in special.into_iter().chain(generic).enumerate() {
            for keyword in &rule.keywords {
                by_keyword.entry(keyword.to_ascii_lowercase()).or_default().push(at);
            }
            if rule.keywords.is_empty() && rule.regex.is_some() {
                always.push(at);
            }
            rules.push(Rule::from(rule));
        }
        let (keywords, rules_of): (Vec<_>, Vec<_>) = by_keyword.into_iter().unzip();
        let mut allowed = Allowlist::from(written.allowlist);
        allowed.paths.clear();
        // Every text is searched for keywords. A DFA takes a third of the time, for half a megabyte.
        let keywords = builder().kind(Some(AhoCorasickKind::DFA)).build(&keywords);
        let keywords = keywords.expect("a few hundred words fit");
        Self { rules, keywords, rules_of, always, allowed }
    }

    /// The indexes of the rules whose keywords occur in a text, in order.
    fn called_by(&self, text: &str) -> Vec<usize> {
        let mut called: Vec<usize> = self.always.clone();
        for found in self.keywords.find_overlapping_iter(text) {
            called.extend(&self.rules_of[found.pattern().as_usize()]);
        }
        called.sort_unstable();
        called.dedup();
        called
    }

    fn scan(&self, path: &str, text: &str) -> Vec<Hit> {
        let mut hits = BTreeMap::new();
        for rule in self.called_by(text).into_iter().map(|at| &self.rules[at]) {
            self.ask(rule, path, text, &mut hits);
        }
        hits.into_iter().map(|(start, (end, rule))| Hit { rule, start, end }).collect()
    }

    /// Adds the findings of a rule to those of others: the end of the secret and the name of the rule, by the byte offset of
    /// the secret.
    fn ask(&self, rule: &Rule, path: &str, text: &str, hits: &mut BTreeMap<usize, (usize, &'static str)>) {
        let Some(regex) = &rule.regex else { return };
        if rule.path.as_ref().is_some_and(|pattern| !pattern.fits(path)) {
            return;
        }
        for groups in regex.compiled().captures_iter(text.as_bytes()) {
            let whole = groups.get(0).expect("the whole match is a group");
            let secret = match rule.secret_group {
                0 => groups.iter().skip(1).flatten().find(|group| !group.is_empty()),
                group => groups.get(group),
            };
            let secret = secret.unwrap_or(whole);
            if rule.entropy > 0.0 && entropy(secret.as_bytes()) <= rule.entropy {
                continue;
            }
            let bytes = text.as_bytes();
            // The line, or in a very long one, what surrounds the match.
            let from = whole.start().saturating_sub(LINE);
            let to = bytes.len().min(whole.end() + LINE);
            let first = bytes[from..whole.start()].iter().rposition(|byte| *byte == b'\n');
            let first = first.map_or(from, |at| from + at + 1);
            let last = bytes[whole.end()..to].iter().position(|byte| *byte == b'\n');
            let last = last.map_or(to, |at| whole.end() + at);
            let found = PatternMatch {
                path,
                secret: secret.as_bytes(),
                whole: whole.as_bytes(),
                line: &bytes[first..last],
            };
            let allowed = self.allowed.allows(&found) || rule.allowed.iter().any(|one| one.allows(&found));
            let known = hits.range(whole.start()..=secret.end()).next().is_some();
            if !allowed && !known {
                hits.insert(secret.start(), (secret.end(), rule.id));
            }
        }
    }
}

struct PatternMatch<'a> {
    path: &'a str,
    secret: &'a [u8],
    whole: &'a [u8],
    line: &'a [u8],
}

impl Allowlist {
    fn allows(&self, found: &PatternMatch<'_>) -> bool {
        let target = match self.target {
            Target::Secret => found.secret,
            Target::Match => found.whole,
            Target::Line => found.line,
        };
        let said = [
            (!self.regexes.is_empty())
                .then(|| self.regexes.iter().any(|one| one.compiled().is_match(target))),
            (!self.paths.is_empty()).then(|| self.paths.iter().any(|one| one.fits(found.path))),
            self.stopwords.as_ref().map(|words| words.is_match(found.secret)),
        ];
        let mut said = said.into_iter().flatten().peekable();
        if self.all { said.peek().is_some() && said.all(|one| one) } else { said.any(|one| one) }
    }
}

impl Pattern {
    fn new(text: String) -> Self {
        Self { text: text.leak(), compiled: OnceLock::new() }
    }

    fn compiled(&self) -> &Regex {
        self.compiled.get_or_init(|| compile(self.text).expect("a test compiles every pattern"))
    }

    fn fits(&self, path: &str) -> bool {
        self.compiled().is_match(path.as_bytes())
    }
}

/// Compiles a pattern like Go, with ASCII classes, and with any `{` that starts no repetition as text.
fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&escaped(pattern)).unicode(false).size_limit(PATTERN_LIMIT).build()
}

fn escaped(pattern: &str) -> String {
    let (mut out, mut in_class, mut chars) = (String::new(), false, pattern.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(chars.next().map(|(_, next)| next));
                continue;
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '{' if !in_class && !is_repetition(&pattern[at + 1..]) => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}

/// Whether `2}`, `2,}` or `2,3}` comes next.
fn is_repetition(rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

impl From<WrittenRule> for Rule {
    fn from(written: WrittenRule) -> Self {
        Self {
            id: written.id.leak(),
            regex: written.regex.map(Pattern::new),
            path: written.path.map(Pattern::new),
            entropy: written.entropy,
            secret_group: written.secret_group,
            allowed: written.allowlists.into_iter().map(Allowlist::from).collect(),
        }
    }
}

impl From<WrittenAllowlist> for Allowlist {
    fn from(written: WrittenAllowlist) -> Self {
        Self {
            all: matches!(&*written.condition, "AND" | "&&"),
            target: written.regex_target,
            regexes: written.regexes.into_iter().map(Pattern::new).collect(),
            paths: written.paths.into_iter().map(Pattern::new).collect(),
            stopwords: (!written.stopwords.is_empty()).then(|| automaton(&written.stopwords)),
        }
    }
}

fn automaton(words: &[String]) -> AhoCorasick {
    builder().build(words).expect("a few thousand words fit")
}

fn builder() -> AhoCorasickBuilder {
    let mut builder = AhoCorasickBuilder::new();
    builder.ascii_case_insensitive(true);
    builder
}

/// The Shannon entropy of a text, in bits per byte.
fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text {
        counts[usize::from(*byte)] += 1;
    }
    let length = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let bits = counts.iter().filter(|count| **count > 0).map(|count| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    });
    bits.sum()
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn every_pattern_of_the_rule_set_compiles() {
        let of_list = |list: &'static Allowlist| list.regexes.iter().chain(&list.paths);
        let written = read(&DATA);
        let paths: Vec<_> = written.allowlist.paths.into_iter().map(Pattern::new).collect();
        let of_rules = SCANNER.rules.iter().flat_map(|rule| {
            let own = rule.regex.iter().chain(&rule.path);
            own.chain(rule.allowed.iter().flat_map(of_list))
        });
        let all: Vec<_> = of_rules.chain(of_list(&SCANNER.allowed)).chain(&paths).collect();
        assert!(all.len() > 275, "{}", all.len());
        let refused: Vec<_> = all
            .par_iter()
            .filter_map(|one| Some(format!("{}: {}", one.text, compile(one.text).err()?)))
            .collect();
        assert_eq!(refused, Vec::<String>::new(), "these cannot be used");
    }

    #[test]
    fn every_rule_can_be_called_and_every_name_stands_once() {
        let mut names: Vec<_> = names().collect();
        assert!(names.len() > 200);
        assert_eq!(SCANNER.always, Vec::<usize>::new(), "rules without keywords cost time in every text");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SCANNER.rules.len());
    }

    #[test]
    fn no_keyword_lies_half_in_a_key_and_half_in_its_value() {
        let rules = read(&DATA).rules;
        let mut keywords = rules.iter().flat_map(|rule| &rule.keywords).peekable();
        assert!(keywords.peek().is_some());
        assert!(keywords.all(|keyword| !keyword.contains(": ") && !keyword.starts_with(' ')));
    }

    #[test]
    fn a_brace_that_begins_no_repetition_is_text() {
        assert_eq!(escaped(r"^\$(?:\d+|{\d+})$"), r"^\$(?:\d+|\{\d+})$");
        assert_eq!(escaped(r"[{]a{2}b{2,}c{2,3}\{{"), r"[{]a{2}b{2,}c{2,3}\{\{");
    }

    #[test]
    fn entropy_is_that_of_shannon() {
        assert!(entropy(b"aaaa").abs() < 1e-9);
        assert!((entropy(b"abcd") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn rules_find_what_they_are_for_and_leave_the_rest() {
        let found = |text: &str| scan("a.yaml", text).into_iter().map(|hit| hit.rule).collect::<Vec<_>>();
        let token = |prefix: &str| format!("{prefix}{}", "x9Kd2mQ7zR4tB8vN1wY5cF3hJ6pL0sG2aE7u");
        assert_eq!(found(&format!("motd: {}", token("ghp_"))), ["github-pat"]);
        let bot = token("telegramBot: 123456789:AF").chars().take(58).collect::<String>();
        assert_eq!(found(&bot), ["telegram-bot-api-token"], "{bot}");
        assert_eq!(found("endpointKey: x9Kd2mQ7zR4tB8vN1wY5"), ["generic-api-key"]);
        assert_eq!(found("apiVersion: infrastructure.cluster.x-k8s.io/v1beta2"), Vec::<&str>::new());
        assert_eq!(found("secretName: cloud-config"), Vec::<&str>::new());
    }
}
