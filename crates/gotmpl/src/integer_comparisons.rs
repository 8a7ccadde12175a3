//! Facts about a template that need no rendering.

use super::Template;
use super::ast::{Command, List, Node, Operand, Pipeline};
use super::parser;

/// The comparison functions of Go's templates.
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

/// The path of the dot relative to the template's data; none if unknown.
type Dot = Option<Vec<String>>;

impl Template {
    /// The paths of values that are compared with a literal integer. A list item appears as `[]`.
    pub fn compared_with_integers(&self) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        for (name, list) in &self.trees.named {
            let dot = (name == parser::ROOT).then(Vec::new);
            walk(list, &dot, &mut found);
        }
        found.sort();
        found.dedup();
        found
    }
}

fn walk(list: &List, dot: &Dot, found: &mut Vec<Vec<String>>) {
    for node in list {
        match node {
            Node::Text(_) | Node::Break | Node::Continue => {}
            Node::Action(pipeline) => look(pipeline, dot, found),
            Node::Template { data, .. } => {
                if let Some(pipeline) = data {
                    look(pipeline, dot, found);
                }
            }
            Node::Branch(branch) => {
                for (condition, body) in &branch.arms {
                    look(condition, dot, found);
                    let inner = if branch.with { moved(condition, dot, None) } else { dot.clone() };
                    walk(body, &inner, found);
                }
                branch.otherwise.iter().for_each(|body| walk(body, dot, found));
            }
            Node::Range(range) => {
                look(&range.over, dot, found);
                walk(&range.body, &moved(&range.over, dot, Some("[]")), found);
                range.otherwise.iter().for_each(|body| walk(body, dot, found));
            }
        }
    }
}

/// The dot inside a block over a pipeline.
fn moved(pipeline: &Pipeline, dot: &Dot, step: Option<&str>) -> Dot {
    let [Command { head, arguments }] = pipeline.commands.as_slice() else { return None };
    let mut path = if arguments.is_empty() { path(head, dot)? } else { return None };
    path.extend(step.map(str::to_owned));
    Some(path)
}

fn path(operand: &Operand, dot: &Dot) -> Option<Vec<String>> {
    let mut path = dot.clone()?;
    match operand {
        Operand::Dot => {}
        Operand::Field(names) => path.extend(names.iter().map(ToString::to_string)),
        _ => return None,
    }
    Some(path)
}

fn look(pipeline: &Pipeline, dot: &Dot, found: &mut Vec<Vec<String>>) {
    for Command { head, arguments } in &pipeline.commands {
        let compares = matches!(head, Operand::Function(function) if COMPARISONS.contains(&function.name));
        // In Go, a number with a point or an exponent is a float64, like the numbers in the data.
        let integer = |one: &Operand| {
            matches!(one, Operand::Number(number)
                if number.int.is_some() && !number.text.contains(['.', 'e', 'E', 'p', 'P']))
        };
        if compares && arguments.iter().any(integer) {
            found.extend(arguments.iter().filter_map(|one| path(one, dot)));
        }
        for operand in std::iter::once(head).chain(arguments) {
            inner(operand, dot, found);
        }
    }
}

fn inner(operand: &Operand, dot: &Dot, found: &mut Vec<Vec<String>>) {
    match operand {
        Operand::Pipeline(pipeline) => look(pipeline, dot, found),
        Operand::Chain(operand, _) => inner(operand, dot, found),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(source: &str) -> Vec<String> {
        let paths = Template::parse(source).unwrap().compared_with_integers();
        paths.into_iter().map(|path| path.join(".")).collect()
    }

    #[test]
    fn comparisons_are_found_everywhere() {
        assert_eq!(compared("{{ if eq .n 3 }}x{{ end }}"), ["n"]);
        assert_eq!(
            compared("{{ with .a }}{{ range .b }}{{ if gt .c 1 }}x{{ end }}{{ end }}{{ end }}"),
            ["a.b.[].c"]
        );
        assert_eq!(compared("{{ if and .x (ne 0 .n) }}x{{ end }}"), ["n"]);
        assert_eq!(
            compared(
                "{{ if eq .n 3.0 }}{{ end }}{{ if eq (int .n) 3 }}{{ end }}{{ if eq .s \"3\" }}{{ end }}"
            ),
            Vec::<String>::new()
        );
    }
}
