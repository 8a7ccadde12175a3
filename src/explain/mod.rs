//! Explains the origin of values and generated lines, and finds out what a source affects.
//!
//! One part is drawn again with a recorder ([`part`]), and the origin of each node is looked up: in the layers of the
//! definition ([`layers`]), and in templates and the reads of their expressions ([`resolve`]). For fields that the program
//! composes, [`composed`] and [`frozen`] find what they are composed from. [`affects`] does the reverse for a source.
//!
//! Deliberately absent: a second computation of anything that the flow computes.

mod addon_rows;
mod affects;
mod composed;
mod frozen;
mod layers;
mod lines;
mod page;
mod part;
mod reach;
mod resolve;
mod scope;
mod source;
mod users;
mod value;

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    sync::OnceLock,
};

pub use affects::{AffectedFile, SourceEffects};
pub use part::Explained;
pub use source::{Role, SourcePlace, Words};
pub use value::ExplainedValue;

use crate::{
    definition::{self, Definitions, Written},
    generate::{self, Failure, Planned, Understood},
    model::is_called,
    note::Notes,
    partial::LeftOut,
    plan::{ChartSource, ClusterPlan, Plan},
    release,
    render::{self, PartSubject},
    template::Recorder,
    tree::PartId,
    world::{Input, World},
    yaml::{self, Node},
};

/// A fleet with recorded origins.
#[derive(Debug)]
pub struct RecordedFleet {
    input: Input,
    /// `stackloom.yaml`.
    written: Written<definition::Fleet>,
    definitions: Definitions,
    plan: Plan,
    recorder: Recorder,
    /// The lines that determine the content of each head release.
    contents: OnceLock<BTreeMap<String, Lines>>,
    /// The `release.yaml` of each numbered release in use, by path.
    frozen: OnceLock<BTreeMap<String, Node>>,
    /// The object names of each chart and its repository.
    charts: OnceLock<BTreeMap<ChartSource, [String; 2]>>,
}

/// Lines of files, by path.
pub type Lines = BTreeMap<Words, BTreeSet<usize>>;

impl RecordedFleet {
    /// Reads a fleet up to its plan. Skips everything with errors.
    pub fn read(world: &dyn World, notes: &mut Notes) -> Result<(Self, LeftOut), Failure> {
        // The first pass is that of every command, so that errors are reported with their places.
        let (planned, left) = generate::prepare_sound(world, notes)?;
        let recorder = Recorder::default();
        let Planned { fleet: Understood { input, definitions, .. }, plan } = planned.recorded(&recorder)?;
        let Some(written) = definitions.fleet.clone() else { return Err(Failure::Input) };
        Ok((
            Self {
                input,
                written,
                definitions,
                plan,
                recorder,
                contents: OnceLock::new(),
                frozen: OnceLock::new(),
                charts: OnceLock::new(),
            },
            left,
        ))
    }

    /// The sources of the fleet.
    pub fn input(&self) -> &Input {
        &self.input
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The `release.yaml` of a numbered release used by a cluster.
    fn frozen(&self, path: &str) -> Option<&Node> {
        let read = |release: &release::Release| {
            let path = frozen_file(release);
            let file = self.input.sources.at(&path)?;
            Some((path, yaml::read(file, &mut Notes::new())?))
        };
        let frozen = self.frozen.get_or_init(|| {
            let clusters = self.plan.clusters.iter();
            let used = clusters.flat_map(|plan| iter::once(&plan.release).chain(plan.suppliers.values()));
            let used: BTreeMap<&str, _> = used
                .filter(|release| !release.is_head())
                .map(|release| (release.name.as_str(), release))
                .collect();
            used.values().filter_map(|release| read(release)).collect()
        });
        frozen.get(path)
    }

    /// Whether the object of a chart or of its repository has this name.
    fn is_chart(&self, chart: &ChartSource, name: &str) -> bool {
        let charts = self.charts.get_or_init(|| {
            let charts =
                self.plan.management.iter().flat_map(|management| management.charts.values().flatten());
            charts.map(|chart| (chart.clone(), [chart.name(), chart.repository_name()])).collect()
        });
        charts.get(chart).is_some_and(|names| names.iter().any(|known| known == name))
    }

    fn users(&self, uses: impl Fn(&ClusterPlan) -> bool) -> Vec<&ClusterPlan> {
        self.plan.clusters.iter().filter(|plan| uses(plan)).collect()
    }

    /// The clusters matching a name: `name`, `namespace/name` or `management-cluster/namespace/name`.
    pub fn clusters_called(&self, name: &str) -> Vec<&ClusterPlan> {
        self.users(|plan| is_called(&plan.cluster.full_name(), name))
    }

    /// Explains every line of a generated file; none if no definition produces the file.
    pub fn explain(&self, path: &str, notes: &mut Notes) -> Option<Vec<Explained>> {
        let subjects = render::subjects(&self.plan);
        let near = |subject: &&PartSubject<'_>| may_hold(&subject.id(), path);
        for subject in subjects.iter().filter(near) {
            let part = part::Part::of(self, *subject, notes);
            if let Some(made) = part.files.iter().find(|made| made.path == path) {
                return Some(part.explain(made));
            }
        }
        None
    }

    /// The lines that determine the content of a head release.
    pub fn content(&self, release: &str) -> Option<&Lines> {
        let contents = self.contents.get_or_init(|| {
            let content = |release: &std::sync::Arc<release::Release>| {
                let part = part::Part::of(self, PartSubject::Release(release), &mut Notes::new());
                let lines = part.files.iter().flat_map(|made| part.explain(made).into_iter().skip(1));
                let sources = lines.flat_map(|line| line.sources);
                let counts = |source: &SourcePlace| source.decides && source.release.is_none();
                let lines_of = |source: SourcePlace| {
                    let SourcePlace { file, line, end, .. } = source;
                    (line..=end).map(move |line| (file.clone(), line))
                };
                let mut content = Lines::new();
                for (file, line) in sources.filter(counts).flat_map(lines_of) {
                    content.entry(file).or_default().insert(line);
                }
                (release.name.clone(), content)
            };
            self.plan.heads.iter().map(content).collect()
        });
        contents.get(release)
    }

    pub fn covers(&self, source: &SourcePlace, file: &str, line: usize) -> bool {
        let content = |release| self.content(release)?.get(file);
        let counts = |release| content(release).is_some_and(|lines| lines.contains(&line));
        match &source.release {
            Some(release) => counts(release),
            None => source.covers(file, line),
        }
    }

    /// Explains every line of every file of a part, by path.
    pub fn part(&self, subject: PartSubject<'_>, notes: &mut Notes) -> Vec<(String, Vec<Explained>)> {
        let part = part::Part::of(self, subject, notes);
        part.files.iter().map(|made| (made.path.clone(), part.explain(made))).collect()
    }
}

fn frozen_file(release: &release::Release) -> String {
    format!("generated/releases/{}/release.yaml", release.name)
}

/// Whether a part may contain a file with this path.
fn may_hold(part: &PartId, path: &str) -> bool {
    let has = |name: &str| path.split('/').any(|folder| folder.trim_end_matches(".yaml") == name);
    match part {
        PartId::Root => true,
        PartId::Release(release) => path.starts_with(&format!("generated/releases/{release}/")),
        PartId::Management(management) => path.starts_with(&format!("generated/management/{management}/")),
        PartId::Namespace { management, namespace } => has(management) && has(namespace),
        PartId::Cluster { management, namespace, cluster } => {
            has(management) && has(namespace) && has(cluster)
        }
    }
}
