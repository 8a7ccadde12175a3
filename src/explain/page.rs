//! Explains every line of one file.

use std::collections::BTreeMap;

use super::{
    composed::Field,
    lines::{Layout, Line, Mark, lay_out},
    resolve::Resolver,
    scope::PartOwner,
    source::{Role, SourcePlace, locate},
};
use crate::{
    model::Engine,
    render::{self, Facts, Inlaid, Purpose},
    template::{Template, Tree},
    yaml::{Node, Origin, Value},
};

/// The part of an entry that a line contains.
#[derive(Clone, Copy, Debug)]
enum Within {
    /// The whole entry, or the first line of a collection.
    Whole,
    /// The line that opens a multi-line text.
    Header,
    /// The line of the text with this index.
    Line(usize),
}

/// A file to explain.
pub(super) struct Page<'p, 'a> {
    pub(super) resolver: Resolver<'p, 'a>,
    /// What is known about it beside its text.
    pub(super) facts: &'p Facts,
    /// Documents embedded as text in its fields.
    pub(super) inlaid: &'p [Inlaid],
}

impl Page<'_, '_> {
    /// Passes each line of an object to `tell` with its sources, which may repeat.
    pub(super) fn object(&self, node: &Node, tell: &mut dyn FnMut(&str, Vec<SourcePlace>)) {
        let layout = lay_out(node);
        let inlaid: Vec<_> = self.inlaid.iter().map(|one| (&one.at, self.inner(one))).collect();
        let within = |mark: usize| inlaid.iter().find(|(at, _)| **at == layout.marks[mark].path);
        for (number, (line, text)) in layout.lines.iter().zip(layout.text.lines()).enumerate() {
            let goes_on = matches!(layout.lines.get(number + 1), Some(Line::Within(..)));
            let mut sources = match line {
                Line::Within(mark, at) => {
                    let inner = within(*mark).and_then(|(_, lines)| lines.get(*at)).cloned();
                    inner.unwrap_or_else(|| self.line(node, &layout, line, goes_on))
                }
                Line::Begins(_) => self.line(node, &layout, line, goes_on),
            };
            if let Line::Begins(marks) = line
                && let Some((_, lines)) = marks.last().and_then(|mark| within(*mark))
            {
                // A text on one line contains all inner lines. The name of an entry comes from the object in it.
                let of_name = self
                    .inlaid
                    .iter()
                    .filter(|one| marks.iter().any(|mark| layout.marks[*mark].path == one.at));
                sources.extend(of_name.flat_map(|one| self.names(one)));
                sources.extend(lines.iter().filter(|_| !goes_on).flatten().cloned());
            }
            tell(text, sources);
        }
    }

    /// The sources of the names of embedded documents, and the statements that let the documents through.
    fn names(&self, inlaid: &Inlaid) -> Vec<SourcePlace> {
        let one = |document: &Node| {
            let paths = [&["kind"][..], &["metadata", "name"], &["metadata", "namespace"]];
            let nodes = paths.into_iter().filter_map(|path| document.at(path));
            let mut sources: Vec<_> = nodes.flat_map(|node| self.resolver.node(node, None)).collect();
            sources.extend(self.resolver.statements(document.origin));
            sources
        };
        inlaid.documents.iter().filter(|document| document.get("kind").is_some()).flat_map(one).collect()
    }

    /// The sources of each line of the documents embedded in a field.
    fn inner(&self, inlaid: &Inlaid) -> Vec<Vec<SourcePlace>> {
        let facts = Facts { addon: self.facts.addon.clone(), rendered: true, ..Facts::default() };
        let page = Page { resolver: self.resolver, facts: &facts, inlaid: &[] };
        let mut all = Vec::new();
        for (number, document) in inlaid.documents.iter().enumerate() {
            if number > 0 {
                all.push(page.names(inlaid));
            }
            let shown = render::UnmarkedNode::of(document);
            let layout = lay_out(&shown);
            let of_node = |mark: Mark<'_, render::UnmarkedNode<'_>>| {
                let node = mark.path.find(document);
                Mark { at: mark.at, parent: mark.parent, path: mark.path, key: mark.key, node }
            };
            let Layout { text, marks, lines } = layout;
            let layout = Layout { text, marks: marks.into_iter().map(of_node).collect(), lines };
            for (at, line) in layout.lines.iter().enumerate() {
                let goes_on = matches!(layout.lines.get(at + 1), Some(Line::Within(..)));
                all.push(page.line(document, &layout, line, goes_on));
            }
        }
        all
    }

    /// The sources of a line. `goes_on` is true if the line opens a multi-line text.
    fn line(&self, object: &Node, layout: &Layout<'_, Node>, line: &Line, goes_on: bool) -> Vec<SourcePlace> {
        let (marks, within) = match line {
            Line::Begins(marks) if goes_on => (marks.clone(), Within::Header),
            Line::Begins(marks) => (marks.clone(), Within::Whole),
            Line::Within(mark, at) => (vec![*mark], Within::Line(*at)),
        };
        let mut sources: Vec<_> =
            marks.iter().flat_map(|mark| self.mark(object, layout, *mark, within)).collect();
        let Some(last) = marks.last().copied() else {
            sources.extend(self.resolver.node(object, None));
            return self.whole(object, sources);
        };
        if sources.is_empty() {
            sources.extend(self.inside(object, layout, last));
        }
        if sources.is_empty() {
            sources.extend(self.outside(layout, last));
        }
        let mut at = Some(last);
        while let Some(mark) = at {
            let mark = &layout.marks[mark];
            sources.extend(mark.key.into_iter().flat_map(|key| self.resolver.statements(key)));
            sources.extend(mark.node.into_iter().flat_map(|node| self.resolver.statements(node.origin)));
            at = mark.parent;
        }
        sources.extend(self.resolver.statements(object.origin));
        self.whole(object, sources)
    }

    /// The sources that a line has as part of its file.
    fn whole(&self, object: &Node, mut sources: Vec<SourcePlace>) -> Vec<SourcePlace> {
        let scope = self.resolver.scope;
        let from_release = |source: &SourcePlace| {
            matches!(source.role, Role::Template | Role::Stack | Role::Version) && source.decides
                || source.role == Role::Default
        };
        if !matches!(scope.whose, PartOwner::Release(_)) && sources.iter().any(from_release) {
            sources.extend(scope.chosen());
        }
        if sources.is_empty() {
            let api = object.get("apiVersion").and_then(Node::as_str).unwrap_or_default();
            let others = if api.contains("cluster.x-k8s.io") { "Cluster API" } else { "Kubernetes" };
            let whom = render::reader(api).map_or(others, Engine::as_str);
            sources.extend(scope.program(&format!("written by stackloom for {whom}")));
        }
        sources
    }

    /// The sources of an entry itself.
    fn mark(&self, object: &Node, layout: &Layout<'_, Node>, at: usize, within: Within) -> Vec<SourcePlace> {
        let mark = &layout.marks[at];
        let Some(node) = mark.node else { return Vec::new() };
        let composed = match self.resolver.scope.layer(node.origin) {
            // Keys of values are those of a chart, not of an object.
            _ if self.facts.purpose == Purpose::Values => false,
            _ if self.facts.rendered => node.origin == Origin::NOWHERE,
            Some(layer) => {
                let collection = matches!(node.value, Value::Sequence(_) | Value::Mapping(_));
                let path = locate(&layer.node, node.origin.offset, collection);
                !path.is_some_and(|path| path.names().starts_with(&["spec", "raw"]))
            }
            None => true,
        };
        if composed {
            let field = Field { resolver: &self.resolver, object, path: &mark.path, node, facts: self.facts };
            if let Some(sources) = field.sources() {
                return sources;
            }
        }
        let mut sources = Vec::new();
        if !matches!(within, Within::Line(_)) {
            let key = mark.key.filter(|key| *key != node.origin);
            sources.extend(key.into_iter().flat_map(|key| self.resolver.origin(key, false, None)));
        }
        let collection = matches!(node.value, Value::Sequence(_) | Value::Mapping(_));
        sources.extend(match within {
            Within::Header if !collection => self.resolver.header(node.origin),
            Within::Header | Within::Whole => self.resolver.node(node, None),
            Within::Line(line) => self.resolver.node(node, Some(line)),
        });
        sources
    }

    /// The first sources within a collection that has none itself.
    fn inside(&self, object: &Node, layout: &Layout<'_, Node>, at: usize) -> Vec<SourcePlace> {
        let below = |candidate: usize| {
            let mut up = layout.marks[candidate].parent;
            while let Some(mark) = up {
                if mark == at {
                    return true;
                }
                up = layout.marks[mark].parent;
            }
            false
        };
        let inner = (at + 1..layout.marks.len()).take_while(|candidate| below(*candidate));
        let mut inner = inner.map(|candidate| self.mark(object, layout, candidate, Within::Whole));
        let found = inner.find(|sources| sources.iter().any(|source| source.role != Role::Program));
        let aside = |source: SourcePlace| SourcePlace { decides: false, ..source };
        found.unwrap_or_default().into_iter().map(aside).collect()
    }

    /// The sources of the closest parent that has any.
    fn outside(&self, layout: &Layout<'_, Node>, at: usize) -> Vec<SourcePlace> {
        let mut up = layout.marks[at].parent;
        while let Some(mark) = up {
            let mark = &layout.marks[mark];
            let sources = mark.node.map(|node| self.resolver.node(node, None)).unwrap_or_default();
            if !sources.is_empty() {
                return sources;
            }
            up = mark.parent;
        }
        Vec::new()
    }

    /// Passes each line of a template to `tell` with its sources.
    pub(super) fn template(&self, template: &Template, tell: &mut dyn FnMut(&str, Vec<SourcePlace>)) {
        for (at, document) in template.documents().iter().enumerate() {
            let begins = |origin: Origin| self.resolver.origin(origin, false, None);
            if at > 0 {
                let sources = first_line(begins(document.origin()));
                tell("---", sources);
            }
            let layout = lay_out(document);
            for (number, (line, text)) in layout.lines.iter().zip(layout.text.lines()).enumerate() {
                let goes_on = matches!(layout.lines.get(number + 1), Some(Line::Within(..)));
                let sources = match line {
                    Line::Begins(marks) if marks.is_empty() => begins(document.origin()),
                    Line::Begins(marks) => {
                        let marks = marks.iter().map(|mark| &layout.marks[*mark]);
                        marks
                            .flat_map(|mark| {
                                let key = mark.key.map(|key| first_line(begins(key)));
                                let node = mark.node.filter(|node| !node.is_collection());
                                let node = node.map(|node| begins(node.origin()));
                                let node = if goes_on { node.map(first_line) } else { node };
                                key.into_iter().chain(node).flatten().collect::<Vec<_>>()
                            })
                            .collect()
                    }
                    Line::Within(mark, at) => {
                        let node = layout.marks[*mark].node;
                        let of = |node: &Tree| self.resolver.origin(node.origin(), false, Some(*at));
                        node.map(of).unwrap_or_default()
                    }
                };
                let sources = if sources.is_empty() { begins(document.origin()) } else { sources };
                tell(text, sources);
            }
        }
    }
}

fn first_line(sources: Vec<SourcePlace>) -> Vec<SourcePlace> {
    sources.into_iter().map(|source| SourcePlace { end: source.line, ..source }).collect()
}

/// Removes duplicates. Deciding sources come first, ordered by what people look for. A file shared by thousands of clusters
/// has thousands of sources.
pub(super) fn sorted(sources: Vec<SourcePlace>) -> Vec<SourcePlace> {
    let place = |source: &SourcePlace| (source.file.clone(), source.line, source.end, source.release.clone());
    let mut kept: Vec<SourcePlace> = Vec::new();
    let mut known = BTreeMap::new();
    for source in sources {
        let at = *known.entry(place(&source)).or_insert(kept.len());
        match kept.get_mut(at) {
            Some(known) if source.decides && !known.decides => *known = source,
            Some(known) => {
                if known.what.is_empty() {
                    known.what = source.what;
                }
            }
            None => kept.push(source),
        }
    }
    kept.sort_by_key(|source| rank(source.role));
    kept
}

fn rank(role: Role) -> usize {
    match role {
        Role::Template => 0,
        Role::Statement => 1,
        Role::Default => 2,
        Role::Removed | Role::Overridden => 3,
        Role::Set | Role::Stack | Role::Version | Role::Fleet => 4,
        Role::Content | Role::Release | Role::User => 5,
        Role::Program => 6,
    }
}
