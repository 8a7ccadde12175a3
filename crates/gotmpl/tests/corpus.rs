//! Compares the engine with the results of Go's packages for the same templates and texts.

use std::fmt::Write as _;

use gotmpl::{Error, ErrorKind, Template, yaml};
use serde_json::Value;

const TEMPLATES: &str = include_str!("corpus/templates.json");
const READINGS: &str = include_str!("corpus/yaml.json");
const DATA: &str = include_str!("corpus/data.json");

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("the corpus is JSON")
}

fn render(template: &str, data: &Value) -> Result<String, Error> {
    Template::parse(template)?.render(data)
}

/// The cases that differ, and the number of unpredictable ones.
struct Verdict {
    different: Vec<String>,
    unknown: usize,
    cases: usize,
}

fn compare(corpus: &str, evaluate: impl Fn(&Value) -> Result<Value, Error>) -> Verdict {
    let corpus = parsed(corpus);
    let cases = corpus.as_array().expect("the corpus is a list");
    let mut verdict = Verdict { different: Vec::new(), unknown: 0, cases: cases.len() };
    for case in cases {
        let wanted = match case.get("error") {
            Some(_) => None,
            None => Some(case.get("output").or(case.get("json")).unwrap_or(&Value::Null)),
        };
        match (evaluate(case), wanted) {
            (Ok(got), Some(wanted)) if got == *wanted => {}
            (Err(error), None) if error.kind <= ErrorKind::Exec => {}
            (Err(error), _) if error.kind > ErrorKind::Exec => verdict.unknown += 1,
            (got, _) => verdict.different.push(format!("{case}\n   got {got:?}")),
        }
    }
    verdict
}

#[test]
fn templates_render_as_in_go() {
    let data = parsed(DATA);
    let verdict = compare(TEMPLATES, |case| {
        let template = case["template"].as_str().expect("a template");
        render(template, &data).map(Value::String)
    });
    assert!(verdict.cases > 5000);
    assert!(verdict.different.is_empty(), "{}", verdict.different.join("\n"));
    assert!(verdict.unknown <= 6, "{} are beyond prediction", verdict.unknown);
}

#[test]
fn yaml_reads_as_in_go() {
    let verdict = compare(READINGS, |case| yaml::parse(case["yaml"].as_str().expect("a text")));
    assert!(verdict.cases > 1500);
    assert!(verdict.different.is_empty(), "{}", verdict.different.join("\n"));
    assert!(verdict.unknown <= 22, "{} are beyond prediction", verdict.unknown);
}

/// A small deterministic random number generator, so that failures are reproducible.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (limit.max(1) as u64)).unwrap_or(0)
    }
}

/// A case with some characters replaced by parts of another case.
fn mutated(chance: &mut Chance, cases: &[&str]) -> String {
    let mut text: Vec<char> = cases[chance.below(cases.len())].chars().take(400).collect();
    for _ in 0..=chance.below(4) {
        let other: Vec<char> = cases[chance.below(cases.len())].chars().collect();
        let from = chance.below(other.len());
        let part: Vec<char> = other.into_iter().skip(from).take(chance.below(12)).collect();
        let at = chance.below(text.len() + 1);
        let end = (at + chance.below(6)).min(text.len());
        text.splice(at..end, part);
    }
    text.into_iter().collect()
}

fn inputs<'c>(corpus: &'c Value, field: &str) -> Vec<&'c str> {
    let cases = corpus.as_array().expect("the corpus is a list");
    cases.iter().filter_map(|case| case[field].as_str()).collect()
}

#[test]
fn mutated_templates_never_panic() {
    let (corpus, data) = (parsed(TEMPLATES), parsed(DATA));
    let cases = inputs(&corpus, "template");
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    for _ in 0..20_000 {
        let text = mutated(&mut chance, &cases);
        render(&text, &data).map_or_else(|error| drop(error.to_string()), drop);
    }
}

#[test]
fn lines_inside_quotes_may_be_unindented_as_in_go() {
    let read = |text: &str| yaml::parse(text).map_err(|error| error.line);
    let text = "a:\n  b: \"one\ntwo\n three\n\nfour\"\n  c: 'five\nsix'\n";
    assert_eq!(read(text), Ok(serde_json::json!({ "a": { "b": "one two three\nfour", "c": "five six" } })));
    assert!(read("a:\n  b: \"one\n--- two\"\n").is_err());
}

#[test]
fn mutated_yaml_never_panics() {
    let corpus = parsed(READINGS);
    let cases = inputs(&corpus, "yaml");
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for _ in 0..20_000 {
        let text = mutated(&mut chance, &cases);
        yaml::parse(&text).map_or_else(|error| drop(error.to_string()), drop);
    }
}

/// Templates that would crash Go's engine or run forever.
const BOMBS: [&str; 22] = [
    r#"{{ define "r" }}{{ template "r" . }}{{ end }}{{ template "r" . }}"#,
    "{{ range 4000000000 }}{{ end }}",
    "{{ range 100000 }}{{ range 100000 }}x{{ end }}{{ end }}",
    r#"{{ repeat 2000000000 "x" }}"#,
    r#"{{ $x := "x" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}"#,
    "{{ $x := list }}{{ range 100000 }}{{ $x = list $x }}{{ end }}",
    r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}"#,
    r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toJson $d }}"#,
    r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ deepCopy $d }}"#,
    r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $e := dict }}{{ $_ := set $e "d" $e }}{{ deepEqual $d $e }}"#,
    r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ merge $d $d (dict "d" $d) }}{{ $d }}"#,
    "{{ until 2000000000 }}",
    "{{ seq 0 2000000000 }}",
    "{{ untilStep -9000000000000000000 9000000000000000000 1 }}",
    r#"{{ indent 2000000000 "x" }}"#,
    r#"{{ printf "%1000000d" (until 100000) }}"#,
    r#"{{ regexMatch "((a{0,30}){0,30}){0,1}" (repeat 1000000 "a") }}"#,
    "{{ $l := until 100000 }}{{ uniq $l }}",
    r#"{{ range $i := until 100000 }}{{ regexMatch (printf "a%d" $i) "a" }}{{ end }}"#,
    r#"{{ $s := repeat 1000000 "ab" }}{{ range 10000 }}{{ regexFindAll "a|b.*c" $s -1 }}{{ end }}"#,
    r#"{{ $d := dict }}{{ range until 1000000 }}{{ $_ := set $d (print .) (repeat 1000 "x") }}{{ end }}"#,
    "{{ range until 100000 }}{{ mulf 1e300 1e300 1e300 1e300 1e300 1e300 1e300 1e300 1e300 }}{{ end }}{{ range 100000000 }}{{ end }}",
];

#[test]
fn bombs_end_in_a_limit() {
    for bomb in BOMBS {
        let result = render(bomb, &Value::Null);
        let kind = result.as_ref().map_err(|error| error.kind);
        assert_eq!(kind.err(), Some(ErrorKind::Limit), "{bomb}: {result:.200?}");
    }
}

#[test]
fn deep_templates_and_texts_end_in_a_limit() {
    let deep = [
        format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{}{}", "{{ if 1 }}".repeat(100_000), "{{ end }}".repeat(100_000)),
        format!("{{{{ fromJson `{}` }}}}", "[".repeat(100_000)),
    ];
    for template in deep {
        let error = render(&template, &Value::Null).expect_err("too deep");
        assert_eq!(error.kind, ErrorKind::Limit, "{error}");
    }
    for text in ["[".repeat(100_000), "- ".repeat(100_000), "a: &a [1]\n".repeat(10)] {
        yaml::parse(&text).map_or_else(|error| drop(error.to_string()), drop);
    }
    let mut laughs = "l0: &l0 [lol]\n".to_owned();
    for level in 1..20 {
        let below = vec![format!("*l{}", level - 1); 10].join(",");
        writeln!(laughs, "l{level}: &l{level} [{below}]").expect("a text takes everything");
    }
    let error = yaml::parse(&laughs).expect_err("too many values");
    assert_eq!(error.kind, ErrorKind::Limit);
}

#[test]
fn errors_know_their_line() {
    let data = parsed(DATA);
    let line = |template: &str| render(template, &data).expect_err("an error").line;
    assert_eq!(line("a\nb\n{{ nofunc }}"), Some(3));
    assert_eq!(line("a\n{{ .s }}\n\n{{ upper 1 }}\n"), Some(4));
    assert_eq!(line("{{ if .b }}\n{{ index .list 9 }}{{ end }}"), Some(2));
    assert_eq!(yaml::parse("a: 1\nb: [").expect_err("an error").line, Some(2));
}

#[test]
fn unknown_results_are_named() {
    let error = render(r#"{{ genPrivateKey "rsa" }}"#, &Value::Null).expect_err("unknown");
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.message.contains("genPrivateKey"), "{error}");
}

#[test]
fn every_hermetic_function_is_known() {
    for name in include_str!("corpus/functions.txt").lines() {
        assert!(Template::parse(&format!("{{{{ {name} }}}}")).is_ok(), "{name}");
    }
}

#[test]
fn templates_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let template = Template::parse("{{ .s }}").expect("a template");
    shared(&template);
}
