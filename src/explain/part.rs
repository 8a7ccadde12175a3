//! The files of a part, with the origin of each line.

use std::sync::Arc;

use super::{
    RecordedFleet,
    composed::{Field, chart_users},
    page::{Page, sorted},
    resolve::Resolver,
    scope::{PartOwner, Scope, SourceQuery},
    source::SourcePlace,
};
use crate::{
    note::Notes,
    plan::{ClusterPlan, NamespacePlan},
    release::{Body, Release, pages},
    render::{self, Facts, Inlaid, Installs, PartSubject, Purpose, release_folder},
    template::{Recorder, Template, Trace},
    tree::PartId,
    yaml::{Node, Origin, Path, Value},
};

/// A part, drawn again.
#[derive(Debug)]
pub(super) struct Part<'a> {
    id: PartId,
    recorder: Recorder,
    scopes: Vec<Scope<'a>>,
    pub(super) files: Vec<PartFile<'a>>,
}

#[derive(Debug)]
pub(super) struct PartFile<'a> {
    /// Its path, from the root of the fleet.
    pub(super) path: String,
    /// Its source, as named in its first line.
    source: String,
    pub(super) body: Content<'a>,
    /// The index of its scope.
    scope: usize,
    /// What is known about it beside its text.
    pub(super) facts: Facts,
    /// Documents embedded as text in its fields.
    inlaid: Vec<Inlaid>,
}

#[derive(Debug)]
pub(super) enum Content<'a> {
    Object(Node),
    Template(&'a Template),
    Text(String),
}

/// An explained line of a generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The line, without its line break.
    pub text: String,
    pub sources: Vec<SourcePlace>,
}

impl<'a> Part<'a> {
    /// Draws a part again and keeps its inputs.
    pub(super) fn of(fleet: &'a RecordedFleet, subject: PartSubject<'a>, notes: &mut Notes) -> Self {
        Self::looking(fleet, subject, None, notes)
    }

    /// Draws a part again to search for one place, ignoring everything else.
    pub(super) fn looking(
        fleet: &'a RecordedFleet,
        subject: PartSubject<'a>,
        sought: Option<SourceQuery<'a>>,
        notes: &mut Notes,
    ) -> Self {
        let recorder = fleet.recorder.above();
        let mut part = Self { id: subject.id(), recorder, scopes: Vec::new(), files: Vec::new() };
        if let PartSubject::Release(release) = subject {
            let users = fleet.users(|plan| plan.release.name == release.name);
            let whose = PartOwner::Release(release);
            part.scopes.push(Scope::shared(fleet, whose, None, users).looking(sought));
            let root = release_folder(&release.name);
            for page in pages(release) {
                let body = match page.body {
                    Body::Object(node) => Content::Object(node),
                    Body::Template(template) => Content::Template(template),
                };
                let path = format!("{root}/{}", page.path);
                let (facts, inlaid) = (Facts::of_addon(page.addon), Vec::new());
                part.files.push(PartFile { path, source: page.source, body, scope: 0, facts, inlaid });
            }
            return part;
        }
        let mut drawn = render::draw_recorded(subject, Some(part.recorder.clone()), notes);
        for object in drawn.objects {
            let (path, facts) = (object.path.to_string(), object.facts);
            let scope = part.scope(fleet, subject, &facts, &object.node, sought);
            let body = Content::Object(object.node);
            let inlaid = drawn.inlaid.extract_if(.., |one| one.file == object.path).collect();
            part.files.push(PartFile { path, source: object.source, body, scope, facts, inlaid });
        }
        for file in drawn.values_files {
            let (path, facts) = (file.path.to_string(), file.facts);
            let scope = part.scope(fleet, subject, &facts, &file.values, sought);
            let (body, inlaid) = (Content::Object(file.values), Vec::new());
            part.files.push(PartFile { path, source: file.source, body, scope, facts, inlaid });
        }
        for (path, text) in drawn.texts {
            let (path, facts) = (path.to_string(), Facts::default());
            let scope = part.scope(fleet, subject, &facts, &Node::new(Value::Null), sought);
            let body = Content::Text(text);
            let (source, inlaid) = (String::new(), Vec::new());
            part.files.push(PartFile { path, source, body, scope, facts, inlaid });
        }
        part
    }

    pub(super) fn is_of_cluster(&self) -> bool {
        matches!(self.id, PartId::Cluster { .. })
    }

    /// The trace of an origin, if there is one.
    pub(super) fn trace(&self, origin: Origin) -> Option<Arc<Trace>> {
        self.recorder.trace(origin)
    }

    pub(super) fn is_of(&self, origin: Origin, file: &str) -> bool {
        let sources = self.scopes.first().map(|scope| &scope.fleet.input.sources);
        sources.and_then(|sources| sources.get(origin.file)).is_some_and(|source| *source.path == *file)
    }

    pub(super) fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// The Helm values of an addon.
    pub(super) fn values(&self, addon: &str) -> Option<&Node> {
        let ours = |made: &&PartFile<'_>| {
            let part = made.facts.addon.as_ref();
            part.is_some_and(|part| part.addon == addon && part.installs == Installs::Chart)
        };
        self.files.iter().filter(ours).find_map(|made| {
            let Content::Object(node) = &made.body else { return None };
            if made.facts.purpose == Purpose::Values {
                return Some(node);
            }
            let inlaid = made.inlaid.first().and_then(|one| one.documents.first());
            inlaid.or_else(|| render::addon_values_at().find_map(|path| node.at(path)))
        })
    }

    /// The scope of a file. All files of a cluster share one.
    fn scope(
        &mut self,
        fleet: &'a RecordedFleet,
        subject: PartSubject<'a>,
        facts: &Facts,
        object: &Node,
        sought: Option<SourceQuery<'a>>,
    ) -> usize {
        let new = match subject {
            PartSubject::Cluster(plan) if self.scopes.is_empty() => Scope::of_cluster(fleet, plan),
            PartSubject::Cluster(_) => return 0,
            PartSubject::Namespace(plan) => namespace_scope(fleet, plan, object),
            PartSubject::Management(_, plan) => {
                let uses = |user: &ClusterPlan| {
                    user.cluster.management.name == plan.management.name
                        && match &facts.purpose {
                            Purpose::Chart(name) => has_chart(fleet, user, name),
                            _ => facts.release() == Some(&user.release.name),
                        }
                };
                Scope::shared(fleet, PartOwner::Management, Some(&plan.management), fleet.users(uses))
            }
            PartSubject::Root | PartSubject::Release(_) => {
                Scope::shared(fleet, PartOwner::Management, None, Vec::new())
            }
        };
        self.scopes.push(new.looking(sought));
        self.scopes.len() - 1
    }

    /// Explains every line of a file.
    pub(super) fn explain(&self, made: &PartFile<'a>) -> Vec<Explained> {
        let mut explained = Vec::new();
        self.each_line(made, &mut |text, sources| {
            explained.push(Explained { text: text.to_owned(), sources: sorted(sources) });
        });
        explained
    }

    /// The lines of a file with a matching source, counted from 1.
    pub(super) fn lines_from(
        &self,
        made: &PartFile<'a>,
        is_meant: impl Fn(&SourcePlace) -> bool,
    ) -> Vec<usize> {
        let (mut number, mut lines) = (0, Vec::new());
        self.each_line(made, &mut |_, sources| {
            number += 1;
            lines.extend(sources.iter().any(&is_meant).then_some(number));
        });
        lines
    }

    /// Passes each line of a file to `tell` with its sources, which may repeat.
    fn each_line(&self, made: &PartFile<'a>, tell: &mut dyn FnMut(&str, Vec<SourcePlace>)) {
        let scope = &self.scopes[made.scope];
        let resolver = Resolver { scope, recorder: &self.recorder, addon: made.facts.addon() };
        if let Content::Text(text) = &made.body {
            for line in text.lines() {
                tell(line, scope.program("it keeps git from changing the bytes of the tree"));
            }
            return;
        }
        let page = Page { resolver, facts: &made.facts, inlaid: &made.inlaid };
        let mut existence = Self::existence(made, &resolver);
        if made.facts.purpose == Purpose::Values {
            existence.extend(Self::name_of_values(made, &page));
        }
        tell(&render::header(&self.id, &made.source), existence);
        match &made.body {
            Content::Object(node) => page.object(node, tell),
            Content::Template(template) => page.template(template, tell),
            Content::Text(_) => {}
        }
    }

    /// Explains why the file exists under this path.
    fn existence(made: &PartFile<'a>, resolver: &Resolver<'_, '_>) -> Vec<SourcePlace> {
        let scope = resolver.scope;
        let choice = || scope.chosen();
        let mut sources = match scope.whose {
            PartOwner::Release(release) => {
                let mut sources: Vec<_> = scope.content(release).into_iter().collect();
                sources.extend(choice());
                sources
            }
            PartOwner::Cluster(_) => {
                let mut sources = scope.keys(&["metadata", "name"]);
                sources.extend(scope.namespace_name());
                sources.extend(scope.management_name());
                if let Some(addon) = made.facts.addon() {
                    sources.extend(scope.addon_enabled(addon));
                    sources.extend(choice());
                } else if made.facts.rendered {
                    sources.extend(choice());
                }
                sources
            }
            PartOwner::Namespace(_, release) => {
                let mut sources = scope.namespace_name();
                sources.extend(scope.management_name());
                if release.is_some() {
                    sources.extend(choice());
                }
                sources
            }
            PartOwner::Management if scope.users.is_empty() => {
                let fleet = if made.facts.named_after_fleet { scope.fleet_name() } else { Vec::new() };
                [scope.management_name(), fleet].concat()
            }
            PartOwner::Management => Self::shared(made, resolver),
        };
        if let (Content::Object(object), true) = (&made.body, made.facts.rendered) {
            for path in [&["kind"][..], &["metadata", "name"]] {
                sources.extend(object.at(path).into_iter().flat_map(|node| resolver.node(node, None)));
            }
            sources.extend(resolver.node(object, None));
            sources.extend(resolver.statements(object.origin));
        }
        sources.extend(Self::reader(made, scope));
        sources.extend(scope.program("a generated file says so in its first line"));
        sources
    }

    /// Explains why an object is one of an engine or of an addon delivery: the setting that chooses them, if there is one.
    fn reader(made: &PartFile<'_>, scope: &Scope<'_>) -> Vec<SourcePlace> {
        let Content::Object(object) = &made.body else { return Vec::new() };
        let api = object.get("apiVersion").and_then(Node::as_str).unwrap_or_default();
        let of_addon = made.facts.addon().is_some();
        if !of_addon && render::reader(api).is_none() {
            return Vec::new();
        }
        let own = scope.set(&Path::of(&["spec", "addonDelivery"]));
        let keys: &[&str] = if of_addon { &["addonDelivery", "engine"] } else { &["engine"] };
        let written = keys.iter().find(|key| scope.is_in_fleet(key));
        if of_addon && !own.is_empty() {
            return own;
        }
        written.map(|key| scope.fleet_value(&[key])).unwrap_or_default()
    }

    /// Explains the name of a file with values, which has a hash of the chart's source and of all values.
    fn name_of_values(made: &PartFile<'_>, page: &Page<'_, '_>) -> Vec<SourcePlace> {
        let mut sources = Vec::new();
        if let Some(addon) = made.facts.addon() {
            let scope = page.resolver.scope;
            for keys in [["chart", "repository"], ["chart", "name"], ["release", "name"]] {
                sources.extend(scope.addon(addon, &keys));
            }
            sources.extend(scope.addon_version(addon));
        }
        if let Content::Object(values) = &made.body {
            page.object(values, &mut |_, of_line| sources.extend(of_line));
        }
        sources
    }

    /// Explains why a management cluster has a release or a chart: it stays as long as a cluster uses it.
    fn shared(made: &PartFile<'a>, resolver: &Resolver<'_, '_>) -> Vec<SourcePlace> {
        let scope = resolver.scope;
        let mut sources = scope.management_name();
        let Purpose::Chart(name) = &made.facts.purpose else {
            sources.extend(scope.used(&Scope::release_name));
            return sources;
        };
        let Content::Object(object) = &made.body else { return sources };
        let path = Path::of(&["metadata", "name"]);
        let Some(node) = path.find(object) else { return sources };
        let field = Field { resolver, object, path: &path, node, facts: &made.facts };
        sources.extend(field.sources().into_iter().flatten());
        sources.extend(scope.used_each(&|scope| {
            let one = |addon| [scope.choice(), scope.addon_enabled(addon)].concat();
            chart_users(scope, name).into_iter().map(one).collect()
        }));
        sources
    }
}

/// The scope of a file of a namespace: all releases whose templates render it.
fn namespace_scope<'a>(fleet: &'a RecordedFleet, plan: &'a NamespacePlan, object: &Node) -> Scope<'a> {
    let makes = |release: &&Arc<Release>| {
        let single = NamespacePlan { releases: vec![Arc::clone(release)], ..plan.clone() };
        let drawn = render::draw(PartSubject::Namespace(&single), &mut Notes::new());
        drawn.objects.iter().any(|other| other.node == *object && other.facts.rendered)
    };
    let makers: Vec<_> = plan.releases.iter().filter(makes).collect();
    let uses = |user: &ClusterPlan| {
        user.cluster.management.name == plan.management.name
            && user.cluster.namespace == plan.name
            && (makers.is_empty() || makers.iter().any(|release| release.name == user.release.name))
    };
    let whose = PartOwner::Namespace(plan, makers.first().map(|release| &***release));
    Scope::shared(fleet, whose, Some(&plan.management), fleet.users(uses))
}

fn has_chart(fleet: &RecordedFleet, plan: &ClusterPlan, name: &str) -> bool {
    let charts = plan.addons.iter().filter_map(|addon| addon.helm.as_ref()).map(|helm| &helm.chart);
    charts.into_iter().any(|chart| fleet.is_chart(chart, name))
}
