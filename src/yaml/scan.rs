//! Scalars of a document that others wrote, each with its path. Nothing is kept and nothing is judged: what other tools
//! take (types that depend on the reader, merge keys, tags) is no fault here, and size is no danger.

use granit_parser::{Event, Parser};

/// A step on the way to a scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Into an entry of a map.
    Key(String),
    /// Into an item of a list.
    Index(usize),
}

/// A collection that is open.
struct Open {
    /// The key whose value comes next.
    key: Option<String>,
    /// The number of the next item; none in a map.
    next: Option<usize>,
}

/// Tells every scalar value of the first document with its path; what an alias stands for is left out. What is no YAML
/// is said in words.
pub fn scan(text: &str, mut visit: impl FnMut(&[Part], &str)) -> Result<(), String> {
    let mut open: Vec<Open> = Vec::new();
    let mut path: Vec<Part> = Vec::new();
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

/// The step to what comes next.
fn step(open: &[Open]) -> Option<Part> {
    open.last().map(|last| match (&last.key, last.next) {
        (_, Some(at)) => Part::Index(at),
        (key, None) => Part::Key(key.clone().unwrap_or_default()),
    })
}

/// A value is over.
fn passed(open: &mut [Open]) {
    if let Some(last) = open.last_mut() {
        last.key = None;
        last.next = last.next.map(|at| at + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let shown = |part: &Part| match part {
            Part::Key(name) => name.clone(),
            Part::Index(at) => at.to_string(),
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
        assert_eq!(reported(text), ["a.b.0=1", "a.b.1.c=yes", "a.d=2", "e.0.0=f", "e.1.g=h\n", "j=k"]);
        assert_eq!(reported("- 1\n- [a]\n- 2\n"), ["0=1", "1.0=a", "2=2"]);
        assert_eq!(reported("word"), ["=word"]);
    }

    #[test]
    fn what_is_no_yaml_is_said() {
        assert!(scan("a: [", |_, _| {}).is_err());
        assert!(scan("{a: 1}: b", |_, _| {}).is_err());
    }
}
