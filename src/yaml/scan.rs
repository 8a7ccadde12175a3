//! Visits the scalars of a third-party document, each with its path. It stores and judges nothing: input that other tools
//! accept (reader-dependent types, merge keys, tags) is not an error here, and there are no size limits.

use granit_parser::{Event, Parser};

/// A step on the path to a scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// The value of a map key.
    Key(String),
    /// An item of a list.
    Index(usize),
}

struct Open {
    /// The key whose value comes next.
    key: Option<String>,
    /// The index of the next item; none for a map.
    next: Option<usize>,
}

/// Visits every scalar value of the first document with its path. Aliases are not expanded. Text that is not YAML is an
/// error with a message.
pub fn scan(text: &str, mut visit: impl FnMut(&[PathStep], &str)) -> Result<(), String> {
    let mut open: Vec<Open> = Vec::new();
    let mut path: Vec<PathStep> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        match event {
            Event::Scalar(text, ..) => match open.last_mut() {
                Some(Open { key: key @ None, next: None }) => *key = Some(text.into_owned()),
                _ => {
                    path.extend(step(&open));
                    visit(&path, &text);
                    path.truncate(open.len().saturating_sub(1));
                    passed(&mut open);
                }
            },
            Event::Alias(_) => match open.last_mut() {
                Some(Open { key: key @ None, next: None }) => *key = Some(String::new()),
                _ => passed(&mut open),
            },
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if matches!(open.last(), Some(Open { key: None, next: None })) {
                    return Err("a key that is not plain text".to_owned());
                }
                path.extend(step(&open));
                let next = matches!(event, Event::SequenceStart(..)).then_some(0);
                open.push(Open { key: None, next });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                path.truncate(open.len().saturating_sub(1));
                passed(&mut open);
            }
            Event::DocumentEnd => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

/// The step to the next value.
fn step(open: &[Open]) -> Option<PathStep> {
    open.last().map(|last| match (&last.key, last.next) {
        (_, Some(at)) => PathStep::Index(at),
        (key, None) => PathStep::Key(key.clone().unwrap_or_default()),
    })
}

/// Moves on after a value has ended.
fn passed(open: &mut [Open]) {
    if let Some(last) = open.last_mut() {
        last.key = None;
        last.next = last.next.map(|at| at + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let shown = |part: &PathStep| match part {
            PathStep::Key(name) => name.clone(),
            PathStep::Index(at) => at.to_string(),
        };
        scan(text, |path, value| {
            found.push(format!("{}={value}", path.iter().map(shown).collect::<Vec<_>>().join(".")));
        })
        .unwrap();
        found
    }

    #[test]
    fn every_scalar_comes_with_its_path() {
        let text = "a: {b: [1, {c: yes}], d: !x 2}\ne:\n- - f\n- g: |\n    h\ni: []\nj: k\n";
        assert_eq!(scanned(text), ["a.b.0=1", "a.b.1.c=yes", "a.d=2", "e.0.0=f", "e.1.g=h\n", "j=k"]);
        assert_eq!(scanned("- 1\n- [a]\n- 2\n"), ["0=1", "1.0=a", "2=2"]);
        assert_eq!(scanned("word"), ["=word"]);
    }

    #[test]
    fn what_is_no_yaml_is_said() {
        assert!(scan("a: [", |_, _| {}).is_err());
        assert!(scan("{a: 1}: b", |_, _| {}).is_err());
    }
}
