//! The parts of its data that a template reads. If they are equal, the output is equal.
//!
//! The analysis is static, so it may list more paths than one rendering reads, but never fewer.

use serde_json::{Map, Value};

use super::ast::{Command, List, Node, Operand, Pipeline, Trees};
use super::parser;

/// The paths that a template reads, from the root of the data.
#[derive(Debug, Default, Clone)]
pub struct Reads {
    paths: Vec<Vec<Box<str>>>,
}

impl Reads {
    /// The reads of a template; `None` if it uses its data as a whole.
    pub(super) fn of(trees: &Trees) -> Option<Self> {
        // Functions that change data work on a copy, and a copy of all data counts against the limits.
        if trees.changes_data {
            return None;
        }
        let mut walk = Walk { paths: Vec::new(), whole: false };
        // The other templates of the source receive their data from this one, so its reads include theirs.
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

    /// Adds all paths of another collection.
    pub fn add(&mut self, other: &Self) {
        self.paths.extend(other.paths.iter().cloned());
    }

    /// Removes the paths that lie within others.
    #[must_use]
    pub fn finished(mut self) -> Self {
        self.paths.sort();
        self.paths.dedup_by(|later, earlier| later.starts_with(earlier));
        self
    }

    /// The first names of the paths, which are fields of the data.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().filter_map(|path| path.first()).map(AsRef::as_ref)
    }

    /// The findings at each path, in a fixed order. `data` looks up a field of the data.
    ///
    /// Data with equal findings renders to the same text.
    pub fn look_up<'d>(&self, data: impl Fn(&str) -> Option<&'d Value>) -> impl Iterator<Item = Found<'d>> {
        self.paths.iter().map(move |path| match path.split_first() {
            Some((first, rest)) => {
                data(first).map_or(Found::Missing { depth: 0 }, |value| locate(value, rest))
            }
            None => Found::Missing { depth: 0 },
        })
    }
}

/// The finding at a path of the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found<'d> {
    /// The value at the end of the path.
    Value(&'d Value),
    /// The map at `depth` lacks the next name of the path.
    Missing {
        /// The number of names that could be followed.
        depth: usize,
    },
    /// The value at `depth` is not a map, so the path ends early.
    Blocked {
        /// The number of names that could be followed.
        depth: usize,
        /// The value that is not a map.
        value: &'d Value,
    },
}

struct Walk {
    paths: Vec<Vec<Box<str>>>,
    whole: bool,
}

impl Walk {
    /// Walks a list. `root` tells whether the dot is the data.
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
            if let Some(name) = entry(head, arguments, root) {
                self.paths.push(vec![name]);
                continue;
            }
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
            // `$` is always the data. Other variables hold values that were read when they were set.
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

/// The name of the only entry of the data that a function looks at, as in `hasKey . "name"`.
fn entry(head: &Operand, arguments: &[Operand], root: bool) -> Option<Box<str>> {
    let Operand::Function(function) = head else { return None };
    let [data, Operand::Text(name)] = arguments else { return None };
    let is_data = match data {
        Operand::Dot => root,
        Operand::Variable(0, path) => path.is_empty(),
        _ => false,
    };
    let looks = is_data && matches!(function.name, "get" | "hasKey" | "index");
    std::str::from_utf8(name).ok().filter(|_| looks).map(Into::into)
}

/// Follows the rest of a path; its first name led to `data`.
fn locate<'d>(data: &'d Value, path: &[Box<str>]) -> Found<'d> {
    let mut value = data;
    for (depth, name) in (1..).zip(path) {
        let Value::Object(fields) = value else { return Found::Blocked { depth, value } };
        let Some(next) = field(fields, name) else { return Found::Missing { depth } };
        value = next;
    }
    Found::Value(value)
}

/// The field with a name. In a small map, comparing all names is faster than hashing one.
fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    const SMALL: usize = 8;
    if fields.len() > SMALL {
        return fields.get(name);
    }
    fields.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
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
    fn paths_are_found_everywhere() {
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
        assert_eq!(
            reads("{{ hasKey . \"a\" }}{{ if .b }}{{ get $ \"c\" }}{{ index . \"d\" }}{{ end }}"),
            ["a", "b", "c", "d"]
        );
        assert_eq!(reads("{{ with .a }}{{ hasKey . \"b\" }}{{ hasKey .c \"d\" }}{{ end }}"), ["a"]);
    }

    #[test]
    fn a_template_that_takes_all_of_its_data_reads_everything() {
        for source in [
            "{{ . }}",
            "{{ toJson $ }}",
            "{{ template \"tpl\" . }}",
            "{{ if .a }}{{ . }}{{ end }}",
            "{{ with . }}{{ .a }}{{ end }}",
            "{{ hasKey . .a }}",
            "{{ index . \"a\" \"b\" }}",
        ] {
            assert_eq!(reads(source), ["everything"], "{source}");
        }
        assert_eq!(reads("{{ $x := set .a \"b\" 1 }}"), ["everything"]);
    }

    #[test]
    fn missing_values_and_obstacles_are_distinguished() {
        let template = Template::parse("{{ .a.b }}{{ .c }}").unwrap();
        let reads = template.reads.unwrap();
        let found = |data: &Value| format!("{:?}", reads.look_up(|name| data.get(name)).collect::<Vec<_>>());
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
        ];
        let mut answers: Vec<_> = data.iter().map(found).collect();
        answers.sort();
        answers.dedup();
        assert_eq!(answers.len(), data.len());
        assert_eq!(found(&json!({ "c": 2 })), found(&json!({ "c": 2, "d": 1 })));
    }
}
