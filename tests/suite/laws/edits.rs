//! Edits of files: in any layout, an edit sets the intended value and changes nothing else.

use stackloom::{
    edit::{self, Edit, Locator},
    note::Notes,
    yaml::{self, Mapping, Node, Source, Sources},
};

use super::super::{sandbox, support::random::Random};

/// Writes a document in a random layout. Every comment is unique and names the entry that contains it.
struct Author {
    random: Random,
    text: String,
    paths: Vec<Vec<String>>,
    comments: usize,
}

impl Author {
    fn write(seed: u64) -> Self {
        let mut author =
            Self { random: Random::new(seed), text: String::new(), paths: Vec::new(), comments: 0 };
        author.remark(0, "");
        author.map(0, 0, &mut Vec::new());
        author.remark(0, "");
        if author.random.below(4) == 0 {
            author.text = author.text.replace('\n', "\r\n");
        }
        if author.random.below(4) == 0 {
            author.text.truncate(author.text.trim_end().len());
        }
        author
    }

    fn put(&mut self, text: &str) {
        self.text += text;
    }

    fn comment(&mut self, inside: &str) -> String {
        self.comments += 1;
        format!("# {} {inside};", self.comments)
    }

    /// Sometimes adds a comment on its own line, sometimes a blank line.
    fn remark(&mut self, indent: usize, inside: &str) {
        if self.random.below(3) == 0 {
            let comment = self.comment(inside);
            self.put(&format!("{}{comment}\n", " ".repeat(indent)));
        }
        if self.random.below(4) == 0 {
            self.text += "\n";
        }
    }

    /// Sometimes adds a comment after a value.
    fn end(&mut self, inside: &str) {
        if self.random.below(3) == 0 {
            let comment = self.comment(inside);
            self.put(&format!("  {comment}"));
        }
        self.text += "\n";
    }

    fn scalar(&mut self) -> String {
        let all = ["1", "true", "plain", "two words", "'it''s'", "\"a # b\"", "\"\\t\"", "v1.2.3", "''"];
        (*self.random.choose(&all)).to_owned()
    }

    fn flow(&mut self, path: &mut Vec<String>, deep: usize) -> String {
        let mut parts = Vec::new();
        for name in ["p", "q", "r"].iter().take(self.random.below(4)) {
            path.push((*name).to_owned());
            self.paths.push(path.clone());
            let value =
                if deep < 2 && self.random.below(3) == 0 { self.flow(path, deep + 1) } else { self.scalar() };
            parts.push(format!("{name}: {value}"));
            path.pop();
        }
        let gap = *self.random.choose(&["", " "]);
        let comma = if parts.is_empty() || self.random.below(5) > 0 { "" } else { "," };
        format!("{{{gap}{}{comma}{gap}}}", parts.join(", "))
    }

    /// Adds the entries of a map. The first may follow a dash.
    fn map(&mut self, indent: usize, deep: usize, path: &mut Vec<String>) {
        let count = 1 + self.random.below(4);
        for (at, name) in ["a", "b-c", "d", "e"].iter().take(count).enumerate() {
            let behind_dash = at == 0 && self.text.ends_with("- ");
            if !behind_dash {
                self.remark(indent, &path.join("/"));
                self.text += &" ".repeat(indent);
            }
            path.push((*name).to_owned());
            self.paths.push(path.clone());
            self.entry(name, indent, deep, path);
            path.pop();
        }
    }

    fn entry(&mut self, name: &str, indent: usize, deep: usize, path: &mut Vec<String>) {
        let inside = path.join("/");
        let kind = if deep > 3 { self.random.below(4) } else { self.random.below(7) };
        self.put(&format!("{name}:"));
        match kind {
            0 | 1 => {
                let value = self.scalar();
                self.put(&format!(" {value}"));
                self.end(&inside);
            }
            2 => {
                let value = self.flow(path, 0);
                self.put(&format!(" {value}"));
                self.end(&inside);
            }
            3 => {
                let pad = " ".repeat(indent + 2);
                self.put(&format!(" |\n{pad}text # no comment\n\n{pad}more: text\n"));
            }
            4 | 5 => {
                self.end(&inside);
                let step = *self.random.choose(&[2, 4]);
                self.map(indent + step, deep + 1, path);
            }
            _ => {
                self.end(&inside);
                let step = *self.random.choose(&[0, 2]);
                self.list(indent + step, deep, path);
            }
        }
    }

    fn list(&mut self, indent: usize, deep: usize, path: &mut Vec<String>) {
        for name in ["x", "z"].iter().take(1 + self.random.below(2)) {
            self.remark(indent, &path.join("/"));
            path.push(format!("={name}"));
            self.paths.push(path.clone());
            self.put(&format!("{}- name: {name}", " ".repeat(indent)));
            self.end(&path.join("/"));
            self.map(indent + 2, deep + 1, path);
            path.pop();
        }
    }
}

fn source(text: &str) -> Source {
    let mut sources = Sources::default();
    let id = sources.add("clusters/one.yaml", text);
    sources.get(id).unwrap().clone()
}

fn read(text: &str) -> Node {
    let mut notes = Notes::new();
    yaml::read(&source(text), &mut notes).unwrap_or_else(|| panic!("{text}\n{}", sandbox::messages(&notes)))
}

fn steps(path: &[String]) -> Vec<Locator<'_>> {
    path.iter().map(|part| part.strip_prefix('=').map_or(Locator::Key(part), Locator::Named)).collect()
}

/// Makes the same change to the parsed text, independently of the edit.
fn changed(
    node: &serde_json::Value,
    path: &[String],
    value: Option<&serde_json::Value>,
) -> serde_json::Value {
    let mut whole = node.clone();
    let mut at = &mut whole;
    let (last, way) = path.split_last().unwrap();
    for part in way {
        at = match part.strip_prefix('=') {
            Some(name) => at.as_array_mut().unwrap().iter_mut().find(|item| item["name"] == name).unwrap(),
            None => at.as_object_mut().unwrap().entry(part.clone()).or_insert_with(|| serde_json::json!({})),
        };
    }
    match (last.strip_prefix('='), value) {
        (Some(name), None) => at.as_array_mut().unwrap().retain(|item| item["name"] != name),
        (None, None) => drop(at.as_object_mut().unwrap().shift_remove(last)),
        (None, Some(value)) => drop(at.as_object_mut().unwrap().insert(last.clone(), value.clone())),
        (Some(_), Some(_)) => unreachable!("items are not set as a whole here"),
    }
    whole
}

fn comments(text: &str) -> Vec<&str> {
    text.split("# ")
        .skip(1)
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        .map(|rest| rest.split(';').next().unwrap())
        .collect()
}

/// Makes an edit and checks everything that must hold. Returns whether the edit was made rather than refused.
fn judge(text: &str, path: &[String], value: Option<&Node>) -> bool {
    let (source, mut notes) = (source(text), Notes::new());
    let made = match value {
        Some(value) => edit::set(&source, &steps(path), value, &mut notes),
        None => edit::remove(&source, &steps(path), &mut notes),
    };
    let Some(edit) = made else {
        assert_eq!(notes.errors(), 1, "{path:?}\n{text}\n{}", sandbox::messages(&notes));
        return false;
    };
    let after = edit.apply(text);
    let meant = changed(&yaml::to_json(&read(text)), path, value.map(yaml::to_json).as_ref());
    assert_eq!(yaml::to_json(&read(&after)), meant, "{path:?}\n{text}\n---\n{after}");
    let Edit { range, text: put } = &edit;
    assert!(after.starts_with(&text[..range.start]) && after.ends_with(&text[range.end..]));
    assert_eq!(after.len(), text.len() - range.len() + put.len());
    assert!(text.contains("\r\n") || !after.contains('\r'), "{path:?}\n{text}\n---\n{after}");
    assert_eq!(after.matches('\r').count(), after.matches("\r\n").count());
    assert!(!text.contains("\r\n") || after.matches('\n').count() == after.matches("\r\n").count());
    let (mut before, kept) = (comments(text), comments(&after));
    before.retain(|comment| {
        let inside = comment.split_once(' ').unwrap().1;
        kept.contains(comment) || !format!("{inside}/").starts_with(&format!("{}/", path.join("/")))
    });
    assert_eq!(before, kept, "comments of others: {path:?}\n{text}\n---\n{after}");
    true
}

#[test]
fn an_edit_gives_what_is_meant_and_leaves_the_rest_in_every_layout() {
    let mut removal = Mapping::new();
    removal.set("reason", "why: # not");
    removal.set("step", "detach");
    let values = [Node::from("new"), Node::from(7_i64), Node::from(removal)];
    let (mut all, mut made) = (0_usize, 0_usize);
    for seed in 0..80 {
        let author = Author::write(seed);
        let whole = yaml::to_json(&read(&author.text));
        for (at, path) in author.paths.iter().enumerate() {
            let is_item = path.last().unwrap().starts_with('=');
            let mut cases = vec![(path.clone(), None)];
            if !is_item {
                cases.push((path.clone(), Some(&values[at % 3])));
            }
            let mut node = &whole;
            for part in path {
                node = match part.strip_prefix('=') {
                    Some(name) => node.as_array().unwrap().iter().find(|item| item["name"] == name).unwrap(),
                    None => &node[part],
                };
            }
            if node.is_object() {
                let new = ["new", "newer"].iter().take(1 + at % 2).map(|part| (*part).to_owned());
                cases.push((path.iter().cloned().chain(new).collect(), Some(&values[(at + 1) % 3])));
            }
            for (path, value) in cases {
                all += 1;
                made += usize::from(judge(&author.text, &path, value));
            }
        }
    }
    assert!(all > 1000, "{all}");
    assert!(made * 100 > all * 90, "{made} of {all} edits were made");
}
