//! Which of its data a template looks at. Where that is the same, so is what it renders.
//!
//! It is read from the text, so it may name more than one rendering looks at, and never less.

use serde_json::Value;

use super::ast::{Command, List, Node, Operand, Pipeline, Trees};
use super::parser;
use crate::topology::memo::Key;
use crate::topology::value::field;

/// Paths from the root of the data.
#[derive(Debug, Default, Clone)]
pub struct Reads {
    paths: Vec<Vec<Box<str>>>,
}

impl Reads {
    /// What a template reads; none where it takes its data as a whole.
    pub(super) fn of(trees: &Trees) -> Option<Self> {
        // A copy of the data is made for functions that change it, and a copy of everything counts against limits.
        if trees.changes_data {
            return None;
        }
        let mut walk = Walk { paths: Vec::new(), whole: false };
        // What other templates of the text look at is passed to them by this one.
        walk.list(trees.named.get(parser::ROOT)?, true);
        if walk.whole {
            return None;
        }
        Some(Self { paths: walk.paths }.finished())
    }

    /// Adds one more path.
    pub fn path<'p>(&mut self, path: impl Iterator<Item = &'p str>) {
        self.paths.push(path.map(Into::into).collect());
    }

    /// Adds all that another one looks at.
    pub fn add(&mut self, other: &Self) {
        self.paths.extend(other.paths.iter().cloned());
    }

    /// The same without paths that lie within others.
    #[must_use]
    pub fn finished(mut self) -> Self {
        self.paths.sort();
        self.paths.dedup_by(|later, earlier| later.starts_with(earlier));
        self
    }

    /// The fields of the data in which the paths begin.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().filter_map(|path| path.first()).map(AsRef::as_ref)
    }

    /// All that stands at the paths; none where that is too much. `data` gives the fields of the data.
    pub fn key<'d>(&self, data: impl Fn(&str) -> Option<&'d Value>) -> Option<Key> {
        let mut key = Key::default();
        for path in &self.paths {
            let (first, rest) = path.split_first()?;
            match data(first) {
                Some(value) => locate(value, rest, &mut key),
                None => key.mark(b'?'),
            }
        }
        key.short()
    }
}

struct Walk {
    paths: Vec<Vec<Box<str>>>,
    whole: bool,
}

impl Walk {
    /// `root`: whether the dot is the data.
    fn list(&mut self, list: &List, root: bool) {
        for node in list {
            match node {
                Node::Text(_) | Node::Break | Node::Continue => {}
                Node::Action(pipeline) => self.pipeline(pipeline, root),
                Node::Template { data, .. } => {
                    if let Some(pipeline) = data {
                        self.pipeline(pipeline, root);
                    }
                }
                Node::Branch(branch) => {
                    for (condition, body) in &branch.arms {
                        self.pipeline(condition, root);
                        self.list(body, root && !branch.with);
                    }
                    branch.otherwise.iter().for_each(|body| self.list(body, root));
                }
                Node::Range(range) => {
                    self.pipeline(&range.over, root);
                    self.list(&range.body, false);
                    range.otherwise.iter().for_each(|body| self.list(body, root));
                }
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, root: bool) {
        for Command { head, arguments } in &pipeline.commands {
            self.operand(head, root);
            for operand in arguments {
                self.operand(operand, root);
            }
        }
    }

    fn operand(&mut self, operand: &Operand, root: bool) {
        match operand {
            Operand::Dot => self.whole |= root,
            Operand::Field(path) if root => self.paths.push(path.clone()),
            // `$` is the data wherever it stands; other variables hold what was read when they were set.
            Operand::Variable(0, path) if path.is_empty() => self.whole = true,
            Operand::Variable(0, path) => self.paths.push(path.clone()),
            Operand::Pipeline(pipeline) => self.pipeline(pipeline, root),
            Operand::Chain(base, _) => self.operand(base, root),
            Operand::Nil
            | Operand::Bool(_)
            | Operand::Number(_)
            | Operand::Text(_)
            | Operand::Field(_)
            | Operand::Variable(..)
            | Operand::Function(_) => {}
        }
    }
}

/// How far a path leads, and what is there.
fn locate(data: &Value, path: &[Box<str>], key: &mut Key) {
    let mut value = data;
    for (depth, name) in path.iter().enumerate() {
        let Value::Object(fields) = value else {
            key.mark(b'!');
            key.number(depth);
            return key.value(value);
        };
        let Some(next) = field(fields, name) else {
            key.mark(b'-');
            return key.number(depth);
        };
        value = next;
    }
    key.mark(b'+');
    key.value(value);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Template;

    fn reads(source: &str) -> Vec<String> {
        let template = Template::parse(source).unwrap();
        template.reads.map_or_else(
            || vec!["everything".to_owned()],
            |reads| reads.paths.iter().map(|path| path.join(".")).collect(),
        )
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        assert_eq!(reads("a {{ .b.c }} {{ .b.cd }} {{ .a | quote }}"), ["a", "b.c", "b.cd"]);
        assert_eq!(reads("{{ .a.b }}{{ .a }}{{ .a.c.d }}"), ["a"]);
        assert_eq!(reads("{{ range .a }}{{ .x }}{{ $.b }}{{ else }}{{ .c }}{{ end }}"), ["a", "b", "c"]);
        assert_eq!(
            reads("{{ with .a }}{{ .x }}{{ else with .b }}{{ .y }}{{ else }}{{ .z }}{{ end }}"),
            ["a", "b", "z"]
        );
        assert_eq!(reads("{{ $x := .a }}{{ $x.y }}{{ (.c).d }}{{ index .e \"f\" }}"), ["a", "c", "e"]);
        assert_eq!(reads("{{ define \"t\" }}{{ .x }}{{ $.y }}{{ end }}{{ template \"t\" .a }}"), ["a"]);
        assert_eq!(reads("plain"), Vec::<String>::new());
    }

    #[test]
    fn a_template_that_takes_all_of_its_data_reads_everything() {
        for source in [
            "{{ . }}",
            "{{ toJson $ }}",
            "{{ template \"tpl\" . }}",
            "{{ if .a }}{{ . }}{{ end }}",
            "{{ with . }}{{ .a }}{{ end }}",
        ] {
            assert_eq!(reads(source), ["everything"], "{source}");
        }
        assert_eq!(reads("{{ $x := set .a \"b\" 1 }}"), ["everything"]);
    }

    #[test]
    fn what_is_missing_and_what_is_something_else_have_keys_of_their_own() {
        let template = Template::parse("{{ .a.b }}{{ .c }}").unwrap();
        let reads = template.reads.unwrap();
        let key = |data: &Value| reads.key(|name| data.get(name));
        let data = [
            json!({}),
            json!({ "a": {} }),
            json!({ "a": null }),
            json!({ "a": 1 }),
            json!({ "a": "1" }),
            json!({ "a": { "b": 1 } }),
            json!({ "a": { "b": null } }),
            json!({ "a": { "b": "" } }),
            json!({ "a": { "b": [] } }),
            json!({ "a": { "b": {} } }),
            json!({ "a": { "b": "x" }, "c": "y" }),
            json!({ "a": { "b": "xy" }, "c": "" }),
            json!({ "a": { "b": [["x"], "y"] } }),
            json!({ "a": { "b": [["x", "y"]] } }),
        ];
        let mut keys: Vec<_> = data.iter().map(|data| key(data).unwrap()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), data.len());
        assert_eq!(key(&json!({ "c": 2 })), key(&json!({ "c": 2, "d": 1 })));
        assert_eq!(key(&json!({ "c": "x".repeat(20_000) })), None);
    }
}
