//! Strings that careless readers misinterpret, and files of them for third-party readers: JSON contains each string, YAML
//! our emitter's output for it, as key and value.

use std::{fs, path::Path};

use stackloom::yaml::{Key, Mapping, Node, Origin, emit};

use super::support::random::Random;

/// Words that some readers take for a boolean or null.
const WORDS: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "nan"];

/// Texts that some readers take for a number, a date or syntax.
const TEXTS: [&str; 118] = [
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    "0",
    "-0",
    "+1",
    "-1",
    "1.",
    ".5",
    "-.5",
    "+.5",
    "1.30",
    "1.10",
    "1e3",
    "1E3",
    "1e+3",
    "1.e3",
    ".e3",
    "012",
    "0o17",
    "0O17",
    "0b11",
    "0B11",
    "0x1F",
    "0X1f",
    "-0x1f",
    "0x",
    "08",
    "0.1.2",
    "1_000",
    "1_000.5",
    "_1",
    "1__0",
    "12:30",
    "12:30:45",
    "190:20:30",
    "190:20:30.15",
    "1:0",
    "-1:30",
    ".inf",
    "-.Inf",
    "+.INF",
    ".nan",
    ".NaN",
    "inf",
    "NaN",
    "2026-01-01",
    "2026-1-1",
    "2001-12-14t21:59:43.10-05:00",
    "2001-12-14 21:59:43.10 -5",
    "=",
    "<<",
    "@a",
    "`a",
    "%a",
    "%YAML 1.2",
    "!a",
    "!!str a",
    "&a",
    "&a b",
    "*a",
    "*",
    "&",
    "!",
    "|",
    ">",
    "|-",
    ">+",
    "{a}",
    "{",
    "}",
    "[a]",
    "[",
    "]",
    ",",
    ", a",
    "a: b",
    "a:",
    ":a",
    ":",
    ": a",
    "a :b",
    "a #b",
    "#a",
    "a#b",
    "# a",
    "-",
    "- a",
    "--",
    "---",
    "--- a",
    "...",
    "... a",
    "?",
    "? a",
    "a ? b",
    " a",
    "a ",
    "\ta",
    "a\t",
    "a\tb",
    "\"",
    "'",
    "\"a\"",
    "'a'",
    "it's",
    "say \"so\"",
    "\\",
    "a\\nb",
    "\\\"",
    "${a}",
    "$(a)",
    "{{ a }}",
    "${{ a }}",
    "#% if a",
];

/// Multi-line texts, and texts with characters that some readers take for line breaks or ignore.
const LINES: [&str; 44] = [
    "a\n",
    "a\nb",
    "a\nb\n",
    "a\n\n",
    "a\n\n\n",
    "\na",
    "\n\na\n",
    " a\nb",
    "  a\n b\n",
    "\ta\nb\n",
    "a \nb\n",
    "a\n \nb\n",
    "a\n\t\nb\n",
    "a\n  b\n c\n",
    "\n a\n",
    " \na",
    "a\n ",
    "a\n\n ",
    "#a\nb",
    "- a\n- b\n",
    "a: b\nc: d\n",
    "---\na\n",
    "...\na\n",
    "a\n---\n",
    "a\n...\n",
    "%a\nb\n",
    "a\r",
    "a\r\nb",
    "a\r\n",
    "\r",
    "\ra",
    "a\u{85}b",
    "\u{85}",
    "a\u{2028}b",
    "a\u{2029}b",
    "\u{feff}",
    "\u{feff}a",
    "a\u{feff}b",
    "a\u{a0}b",
    "\u{a0}",
    "\u{200b}a",
    "e\u{301}",
    "\u{fffd}",
    "日本語\n😀\n",
];

/// All strings known to be hazardous.
pub(super) fn strings() -> Vec<String> {
    let mut all: Vec<String> = TEXTS.iter().chain(&LINES).map(|text| (*text).to_owned()).collect();
    for word in WORDS {
        let mut letters = word.chars();
        let first = letters.next().unwrap().to_ascii_uppercase();
        let title = format!("{first}{}", letters.as_str());
        let odd = format!("{}{}", &word[..1], word[1..].to_ascii_uppercase());
        all.extend([word.to_owned(), word.to_ascii_uppercase(), title, odd]);
    }
    all.extend((0..0x20).chain([0x7f, 0x80, 0x9f]).map(|code| format!("a{}b", char::from(code))));
    all.extend(
        ["\u{e000}", "\u{fdd0}", "\u{fffe}", "\u{ffff}", "\u{10ffff}", "\u{1f600}"].map(str::to_owned),
    );
    all.extend([
        "a".repeat(900),
        "a ".repeat(450),
        format!("{}\n", "é ".repeat(300)),
        "\"\\".repeat(400),
        "- ".repeat(60),
    ]);
    all.sort();
    all.dedup();
    all
}

/// Random strings, equal in every run.
fn made_up(count: usize) -> Vec<String> {
    let known = strings();
    let short: Vec<_> = known.iter().filter(|text| text.len() < 12).collect();
    let mut random = Random::new(0x5eed);
    let mut one = || {
        let mut text = String::new();
        for _ in 0..random.below(7) {
            match random.below(5) {
                0 => text.push_str(random.choose(&short).as_str()),
                1 => text.push(
                    *random
                        .choose(&[' ', '\n', '\t', ':', '#', '-', '\'', '"', '\\', '0', '1', '_', '.', 'e']),
                ),
                2 => text.extend(char::from_u32(u32::try_from(random.below(0x11_0000)).unwrap())),
                3 => text.extend(char::from_u32(u32::try_from(random.below(0x250)).unwrap())),
                _ => text.push(*random.choose(&['a', 'b', 'y', 'n', 'o', 'x', 'A', 'é', '漢', '😀'])),
            }
        }
        text
    };
    (0..count).map(|_| one()).collect()
}

/// Writes a file below Cargo's build folder, for other tools to read.
fn put(name: &str, strings: &[String]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("hazards");
    let entry = |text: &String| {
        let mut mapping = Mapping::new();
        mapping.insert(Key { name: text.as_str().into(), origin: Origin::NOWHERE }, text.as_str().into());
        Node::from(mapping)
    };
    let mut yaml = String::new();
    emit(&Node::from(strings.iter().map(entry).collect::<Vec<_>>()), &mut yaml);
    let json = serde_json::to_string(strings).unwrap();
    let other: Vec<std::collections::BTreeMap<String, String>> = serde_yaml::from_str(&yaml).unwrap();
    for (text, entry) in strings.iter().zip(other) {
        assert_eq!(entry.into_iter().next(), Some((text.clone(), text.clone())));
    }
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.json")), json).unwrap();
    fs::write(folder.join(format!("{name}.yaml")), yaml).unwrap();
}

#[test]
fn hazards_are_written_for_other_readers() {
    let known = strings();
    assert!(known.len() > 230, "{}", known.len());
    assert!(known.iter().all(|text| text.chars().count() < 1000));
    put("hazards", &known);
    put("fuzz", &made_up(3000));
}
