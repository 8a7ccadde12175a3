//! The files of a part, and where each of their lines came from.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Fleet,
    lines::{Layout, Line, lay_out},
    resolve::Resolver,
    rules::{Field, chart_users},
    scope::{Scope, Whose},
    source::{Role, Source, locate},
};
use crate::{
    note::Notes,
    plan::{ClusterPlan, NamespacePlan},
    release::{Body, Release, pages},
    render::{self, Subject, release_folder},
    template::{Recorder, Template, Tree},
    tree::PartId,
    yaml::{Node, Origin, Path, Value},
};

/// The files of a part.
#[derive(Debug)]
pub(super) struct Part<'a> {
    id: PartId,
    recorder: Recorder,
    scopes: Vec<Scope<'a>>,
    pub(super) files: Vec<Made<'a>>,
}

/// A file of a part.
#[derive(Debug)]
pub(super) struct Made<'a> {
    /// Its path, from the root of the fleet.
    pub(super) path: String,
    /// What it was made from, for its first line.
    source: String,
    body: Content<'a>,
    /// The number of its scope.
    scope: usize,
    /// The addon that it belongs to.
    addon: Option<String>,
}

#[derive(Debug)]
enum Content<'a> {
    Object(Node),
    Template(&'a Template),
    Text(String),
}

/// A line of a generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The line, without its end.
    pub text: String,
    /// Where it came from.
    pub sources: Vec<Source>,
}

impl<'a> Part<'a> {
    /// Makes a part again, and keeps what it was made from.
    pub(super) fn of(fleet: &'a Fleet, subject: Subject<'a>, notes: &mut Notes) -> Self {
        let recorder = fleet.recorder.above();
        let mut part = Self { id: subject.id(), recorder, scopes: Vec::new(), files: Vec::new() };
        if let Subject::Release(release) = subject {
            let users = fleet.users(|plan| plan.release.name == release.name);
            let whose = Whose::Release(release);
            part.scopes.push(Scope::shared(fleet, whose, None, users));
            let root = release_folder(&release.name);
            for page in pages(release) {
                let body = match page.body {
                    Body::Object(node) => Content::Object(node),
                    Body::Template(template) => Content::Template(template),
                };
                let path = format!("{root}/{}", page.path);
                let addon = page.path.strip_prefix("addons/").and_then(|rest| rest.split('/').next());
                let addon = addon.map(str::to_owned);
                part.files.push(Made { path, source: page.source, body, scope: 0, addon });
            }
            return part;
        }
        let drawn = render::draw_recorded(subject, &fleet.input, Some(part.recorder.clone()), notes);
        for object in drawn.objects {
            let path = object.path.to_string();
            let scope = part.scope(fleet, subject, &path, &object.node);
            let addon = addon_of(&path).map(str::to_owned);
            let body = Content::Object(object.node);
            part.files.push(Made { path, source: object.source, body, scope, addon });
        }
        for (path, text) in drawn.texts {
            let path = path.to_string();
            let scope = part.scope(fleet, subject, &path, &Node::new(Value::Null));
            let body = Content::Text(text);
            part.files.push(Made { path, source: String::new(), body, scope, addon: None });
        }
        part
    }

    pub(super) fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// The Helm values of an addon.
    pub(super) fn values(&self, addon: &str) -> Option<&Node> {
        let ours = |made: &&Made<'_>| made.path.ends_with(&format!("/addons/{addon}.yaml"));
        match &self.files.iter().find(ours)?.body {
            Content::Object(node) => node.at(&["spec", "values"]),
            Content::Template(_) | Content::Text(_) => None,
        }
    }

    /// The facts of one file: files of a cluster share theirs.
    fn scope(&mut self, fleet: &'a Fleet, subject: Subject<'a>, path: &str, object: &Node) -> usize {
        let new = match subject {
            Subject::Cluster(plan) if self.scopes.is_empty() => Scope::of_cluster(fleet, plan),
            Subject::Cluster(_) => return 0,
            Subject::Namespace(plan) => namespace_scope(fleet, plan, object),
            Subject::Management(_, plan) => {
                let stem = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".yaml");
                let uses = |user: &ClusterPlan| {
                    user.cluster.management.name == plan.management.name
                        && (user.release.name == stem || has_chart(user, stem))
                };
                Scope::shared(fleet, Whose::Management, Some(&plan.management), fleet.users(uses))
            }
            Subject::Root | Subject::Release(_) => Scope::shared(fleet, Whose::Management, None, Vec::new()),
        };
        self.scopes.push(new);
        self.scopes.len() - 1
    }

    /// Where every line of a file came from.
    pub(super) fn explain(&self, made: &Made<'a>) -> Vec<Explained> {
        let scope = &self.scopes[made.scope];
        let resolver = Resolver { scope, recorder: &self.recorder, addon: made.addon.as_deref() };
        let mut explained = Vec::new();
        if let Content::Text(text) = &made.body {
            for line in text.lines() {
                let sources = scope.program("it keeps git from changing the bytes of the tree");
                explained.push(Explained { text: line.to_owned(), sources });
            }
            return explained;
        }
        explained.push(Explained {
            text: render::header(&self.id, &made.source),
            sources: sorted(Self::existence(made, &resolver)),
        });
        let page = Page { resolver, rendered: is_rendered(&made.source) };
        match &made.body {
            Content::Object(node) => page.object(node, &mut explained),
            Content::Template(template) => page.template(template, &mut explained),
            Content::Text(_) => {}
        }
        explained
    }

    /// Why there is such a file, under this path.
    fn existence(made: &Made<'a>, resolver: &Resolver<'_, '_>) -> Vec<Source> {
        let scope = resolver.scope;
        let choice = || scope.chosen();
        let mut sources = match scope.whose {
            Whose::Release(release) => {
                let mut sources: Vec<_> = scope.content(release).into_iter().collect();
                sources.extend(choice());
                sources
            }
            Whose::Cluster(_) => {
                let mut sources = scope.keys(&["metadata", "name"]);
                sources.extend(scope.namespace_name());
                sources.extend(scope.management_name());
                if let Some(addon) = &made.addon {
                    sources.extend(scope.addon_enabled(addon));
                    sources.extend(choice());
                } else if made.source.contains(" of ") && is_rendered(&made.source) {
                    sources.extend(choice());
                }
                sources
            }
            Whose::Namespace(_, release) => {
                let mut sources = scope.namespace_name();
                sources.extend(scope.management_name());
                if release.is_some() {
                    sources.extend(choice());
                }
                sources
            }
            Whose::Management if scope.users.is_empty() => {
                let mut sources = scope.management_name();
                sources
                    .extend(scope.fleet_name().into_iter().filter(|_| !made.path.ends_with("source.yaml")));
                sources
            }
            Whose::Management => Self::shared(made, resolver),
        };
        if let (Content::Object(object), true) = (&made.body, is_rendered(&made.source)) {
            for path in [&["kind"][..], &["metadata", "name"]] {
                sources.extend(object.at(path).into_iter().flat_map(|node| resolver.node(node, None)));
            }
            sources.extend(resolver.node(object, None));
            sources.extend(resolver.statements(object.origin));
        }
        sources.extend(scope.program("a generated file says so in its first line"));
        sources
    }

    /// Why a management cluster has a release or a chart: as long as one cluster uses it.
    fn shared(made: &Made<'a>, resolver: &Resolver<'_, '_>) -> Vec<Source> {
        let scope = resolver.scope;
        let mut sources = scope.management_name();
        if made.path.contains("/releases/") {
            sources.extend(scope.used(&Scope::release_name));
            return sources;
        }
        let Content::Object(object) = &made.body else { return sources };
        let path = Path::of(&["metadata", "name"]);
        let Some(node) = path.find(object) else { return sources };
        sources.extend(Field { resolver, object, path: &path, node }.sources().into_iter().flatten());
        let stem = node.as_str().unwrap_or_default().to_owned();
        sources.extend(scope.used_each(&|scope| {
            let one = |addon| [scope.choice(), scope.addon_enabled(addon)].concat();
            chart_users(scope, &stem).into_iter().map(one).collect()
        }));
        sources
    }
}

/// The facts of a file of a namespace: of all releases whose templates make it.
fn namespace_scope<'a>(fleet: &'a Fleet, plan: &'a NamespacePlan, object: &Node) -> Scope<'a> {
    let makes = |release: &&Arc<Release>| {
        let single = NamespacePlan { releases: vec![Arc::clone(release)], ..plan.clone() };
        let drawn = render::draw(Subject::Namespace(&single), &fleet.input, &mut Notes::new());
        drawn.objects.iter().any(|other| other.node == *object && is_rendered(&other.source))
    };
    let makers: Vec<_> = plan.releases.iter().filter(makes).collect();
    let uses = |user: &ClusterPlan| {
        user.cluster.management.name == plan.management.name
            && user.cluster.namespace == plan.name
            && (makers.is_empty() || makers.iter().any(|release| release.name == user.release.name))
    };
    let whose = Whose::Namespace(plan, makers.first().map(|release| &***release));
    Scope::shared(fleet, whose, Some(&plan.management), fleet.users(uses))
}

fn has_chart(plan: &ClusterPlan, name: &str) -> bool {
    let charts = plan.addons.iter().filter_map(|addon| addon.helm.as_ref()).map(|helm| &helm.chart);
    charts.into_iter().any(|chart| chart.name() == name || chart.repository_name() == name)
}

/// Whether the first line names a template.
fn is_rendered(source: &str) -> bool {
    source.contains(" of stack ") || source.contains(".yaml of ")
}

/// The addon of a cluster that a file belongs to, by its path.
fn addon_of(path: &str) -> Option<&str> {
    let rest = path.split_once("/clusters/")?.1;
    let mut parts = rest.splitn(4, '/').skip(2);
    match (parts.next()?, parts.next()?) {
        ("addons", file) if !file.starts_with("configmap-") => {
            let stem = file.trim_end_matches(".yaml");
            Some(stem.trim_end_matches(".manifests"))
        }
        ("manifests", rest) => rest.split('/').next(),
        _ => None,
    }
}

/// Which part of an entry a line is.
#[derive(Clone, Copy, Debug)]
enum Within {
    /// All of it, or its first line where it is a collection.
    Whole,
    /// The line that opens a text of several lines.
    Header,
    /// One of these lines.
    Line(usize),
}

/// One file that is being explained.
struct Page<'p, 'a> {
    resolver: Resolver<'p, 'a>,
    /// Whether a template made it, and not the program.
    rendered: bool,
}

impl Page<'_, '_> {
    fn object(&self, node: &Node, explained: &mut Vec<Explained>) {
        let layout = lay_out(node);
        for (number, (line, text)) in layout.lines.iter().zip(layout.text.lines()).enumerate() {
            let goes_on = matches!(layout.lines.get(number + 1), Some(Line::Within(..)));
            let sources = self.line(node, &layout, line, goes_on);
            explained.push(Explained { text: text.to_owned(), sources: sorted(sources) });
        }
    }

    /// A line; `goes_on` where it opens a text of several.
    fn line(&self, object: &Node, layout: &Layout<'_, Node>, line: &Line, goes_on: bool) -> Vec<Source> {
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

    /// What the line has as part of its file.
    fn whole(&self, object: &Node, mut sources: Vec<Source>) -> Vec<Source> {
        let scope = self.resolver.scope;
        let from_release = |source: &Source| {
            matches!(source.role, Role::Template | Role::Stack | Role::Version) && source.decides
                || source.role == Role::Default
        };
        if !matches!(scope.whose, Whose::Release(_)) && sources.iter().any(from_release) {
            sources.extend(scope.chosen());
        }
        if sources.is_empty() {
            let api = object.get("apiVersion").and_then(Node::as_str).unwrap_or_default();
            let whom = if api.contains("fluxcd.io") {
                "Flux"
            } else if api.contains("cluster.x-k8s.io") {
                "Cluster API"
            } else {
                "Kubernetes"
            };
            sources.extend(scope.program(&format!("written by stackloom for {whom}")));
        }
        sources
    }

    /// What an entry itself is made of.
    fn mark(&self, object: &Node, layout: &Layout<'_, Node>, at: usize, within: Within) -> Vec<Source> {
        let mark = &layout.marks[at];
        let Some(node) = mark.node else { return Vec::new() };
        let composed = match self.resolver.scope.layer(node.origin) {
            _ if self.rendered => node.origin == Origin::NOWHERE,
            Some(layer) => {
                let collection = matches!(node.value, Value::Sequence(_) | Value::Mapping(_));
                let path = locate(&layer.node, node.origin.offset, collection);
                !path.is_some_and(|path| path.names().starts_with(&["spec", "raw"]))
            }
            None => true,
        };
        if composed {
            let field = Field { resolver: &self.resolver, object, path: &mark.path, node };
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

    /// What is first in a collection that says nothing of itself.
    fn inside(&self, object: &Node, layout: &Layout<'_, Node>, at: usize) -> Vec<Source> {
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
        let aside = |source: Source| Source { decides: false, ..source };
        found.unwrap_or_default().into_iter().map(aside).collect()
    }

    /// What the nearest thing around it came from.
    fn outside(&self, layout: &Layout<'_, Node>, at: usize) -> Vec<Source> {
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

    fn template(&self, template: &Template, explained: &mut Vec<Explained>) {
        for (at, document) in template.documents().iter().enumerate() {
            let begins = |origin: Origin| self.resolver.origin(origin, false, None);
            if at > 0 {
                let sources = first_line(begins(document.origin()));
                explained.push(Explained { text: "---".to_owned(), sources });
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
                explained.push(Explained { text: text.to_owned(), sources: sorted(sources) });
            }
        }
    }
}

fn first_line(sources: Vec<Source>) -> Vec<Source> {
    sources.into_iter().map(|source| Source { end: source.line, ..source }).collect()
}

/// Without repetitions: what decides first, in the order in which people ask. What thousands of clusters share has
/// thousands of sources.
fn sorted(sources: Vec<Source>) -> Vec<Source> {
    let place = |source: &Source| (source.file.clone(), source.line, source.end, source.release.clone());
    let mut kept: Vec<Source> = Vec::new();
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
