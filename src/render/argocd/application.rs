//! Applications.

use crate::{
    model::{Destination, EngineSource, GitReference, Label, ManagementCluster, shortened},
    plan::ClusterPlan,
    render::{AppliedFolder, Purpose, folders::cluster_folder},
    yaml::{Mapping, Node},
};

/// Where the clusters of a management cluster are registered. Argo CD in a management cluster only knows that cluster's own
/// workload clusters, while a hub knows those of several.
pub(in crate::render) fn registry(management: &ManagementCluster) -> String {
    match management.argocd.destination {
        Destination::Own => format!("management cluster {}", management.name),
        Destination::Name(_) | Destination::Server(_) => HUB.to_owned(),
    }
}

/// The registry of an Argo CD that serves several management clusters.
const HUB: &str = "hub";

/// Whether two registries may be one: a management cluster whose Argo CD runs in itself may also be the hub of others.
pub(in crate::render) fn may_be_one(one: &str, other: &str) -> bool {
    one == other || (one == HUB) != (other == HUB)
}

/// The names under which Argo CD knows a management cluster, and the cluster that it runs in.
pub(super) fn taken_names(management: &ManagementCluster) -> Vec<(String, String)> {
    let own = match &management.argocd.destination {
        Destination::Name(name) => Some(name.clone()),
        Destination::Own | Destination::Server(_) => None,
    };
    let names = own.into_iter().chain([Destination::OWN_NAME.to_owned()]);
    names.map(|name| (registry(management), name)).collect()
}

/// Deletes the objects of an Application along with it, in the background. With foreground deletion, everything that a
/// Cluster owns would be deleted at once, including machines before their pre-terminate hooks, and the Cluster would never
/// be gone.
const CASCADE: &str = "resources-finalizer.argocd.argoproj.io/background";

/// Tells the health script of Applications that the next wave may start once this Application is applied, healthy or not.
const GATE: (&str, &str) = ("stackloom.dev/gate", "synced");

#[derive(Clone, Debug)]
pub(in crate::render) enum Source {
    /// The files in a folder of the repository.
    Folder {
        /// The folder, relative to the root of the fleet.
        folder: String,
        /// Whether Argo CD detects how to build the folder; otherwise its files are applied unchanged.
        built: bool,
        /// The plugin that builds it.
        plugin: Option<String>,
    },
    /// A chart with its values, in Argo CD's own format.
    Chart(Mapping),
    /// A chart in the same format, which names files of the repository: `$<repository>/<path>`.
    ChartBeside {
        chart: Mapping,
        /// The name of the repository among the sources.
        repository: &'static str,
    },
}

/// An Application. [`Application::new`] sets the fields that most Applications share.
#[derive(Clone, Debug)]
pub(in crate::render) struct Application<'a> {
    pub management: &'a ManagementCluster,
    pub name: String,
    pub applies: AppliedFolder,
    pub project: String,
    /// Whether this is the project of a tenant namespace.
    pub in_tenant_project: bool,
    pub labels: Mapping,
    pub source: Source,
    /// The paths whose commits concern it; if there are none, every commit does.
    ///
    /// Argo CD does not see all deletions: if a commit adds a file elsewhere that resembles a deleted one, git reports a rename,
    /// with the new path only (`ChangedFiles` in `util/git/client.go` of 3.5.1). So a folder from which files are only deleted
    /// needs a wider path, one in which the same commit changes something.
    pub watches: Option<String>,
    /// The server or the name of its destination cluster.
    pub destination: (&'static str, String),
    pub namespace: String,
    /// Its sync wave; none if nothing waits for it.
    pub wave: Option<usize>,
    /// Whether it syncs automatically, if the management cluster allows that.
    pub automated: bool,
    /// Whether it only contains Applications. It always syncs, so that these learn that they must wait; pruning them waits,
    /// too.
    pub holds_applications: bool,
    /// Whether objects removed from the source are deleted, unless protected.
    pub prune: bool,
    /// Whether its objects are never deleted.
    pub keeps_all: bool,
    /// Whether its objects are deleted along with it, unless protected.
    pub cascade: bool,
    /// Whether it may have no objects.
    pub may_be_empty: bool,
    /// Whether a sync skips objects that are up to date. Sync waves then do not wait for these.
    pub only_out_of_sync: bool,
    pub creates_namespace: bool,
}

impl<'a> Application<'a> {
    /// An Application for the management cluster.
    pub(in crate::render) fn new(
        management: &'a ManagementCluster,
        applies: AppliedFolder,
        folder: &str,
        namespace: &Label,
    ) -> Self {
        let name = match &applies {
            AppliedFolder::Fleet => "fleet".to_owned(),
            AppliedFolder::Unit(unit) => unit.name(),
            AppliedFolder::ClustersOf(namespace) => format!("clusters.{namespace}"),
            AppliedFolder::Sources => "flux-sources".to_owned(),
        };
        Self {
            management,
            name: name_in(management, &name),
            applies,
            project: management.argocd.project.to_string(),
            in_tenant_project: false,
            labels: Mapping::new(),
            source: Source::Folder { folder: folder.to_owned(), built: false, plugin: None },
            watches: Some(".".to_owned()),
            destination: destination(&management.argocd.destination),
            namespace: namespace.to_string(),
            wave: None,
            automated: true,
            holds_applications: false,
            prune: true,
            keeps_all: false,
            cascade: false,
            may_be_empty: false,
            only_out_of_sync: true,
            creates_namespace: false,
        }
    }

    /// An Application of Applications, for the cluster that runs Argo CD.
    pub(in crate::render) fn of_applications(
        management: &'a ManagementCluster,
        applies: AppliedFolder,
        folder: &str,
    ) -> Self {
        Self {
            destination: destination(&Destination::Own),
            watches: None,
            holds_applications: true,
            ..Self::new(management, applies, folder, &management.argocd.namespace)
        }
    }

    pub(in crate::render) fn purpose(&self) -> Purpose {
        let (what, in_tenant_project) = (self.applies.clone(), self.in_tenant_project);
        Purpose::Applies { what, after: Vec::new(), in_tenant_project }
    }

    pub(in crate::render) fn object(&self) -> Node {
        let mut annotations = Mapping::new();
        // A server-side diff fails while the API server refuses an object, such as a Cluster before its class is there. Argo CD
        // then takes the differences of the commit before for those of this one, and never applies it.
        annotations.set("argocd.argoproj.io/compare-options", "ServerSideDiff=false");
        if let Some(paths) = self.watches.as_ref().filter(|_| !matches!(self.source, Source::Chart(_))) {
            annotations.set("argocd.argoproj.io/manifest-generate-paths", paths.as_str());
        }
        if let Some(wave) = self.wave {
            annotations.set("argocd.argoproj.io/sync-wave", wave.to_string());
            annotations.set(GATE.0, GATE.1);
        }
        let mut metadata = Mapping::new();
        metadata.set("name", self.name.as_str());
        metadata.set("namespace", self.management.argocd.namespace.as_str());
        metadata.set_filled("labels", self.labels.clone());
        metadata.set("annotations", annotations);
        if self.cascade {
            metadata.set("finalizers", vec![Node::from(CASCADE)]);
        }
        let mut root = Mapping::new();
        root.set("apiVersion", "argoproj.io/v1alpha1");
        root.set("kind", "Application");
        root.set("metadata", metadata);
        root.set("spec", self.spec());
        root.into()
    }

    fn spec(&self) -> Mapping {
        let mut destination = Mapping::new();
        destination.set(self.destination.0, self.destination.1.as_str());
        destination.set("namespace", self.namespace.as_str());
        let mut spec = Mapping::new();
        spec.set("project", self.project.as_str());
        spec.set("destination", destination);
        match &self.source {
            Source::ChartBeside { chart, repository } => spec.set("sources", self.sources(chart, repository)),
            Source::Chart(chart) => spec.set("source", chart.clone()),
            Source::Folder { folder, built, plugin } => {
                spec.set("source", self.folder(folder, *built, plugin.as_deref()));
            }
        }
        spec.set("syncPolicy", self.sync_policy());
        if matches!(self.source, Source::Chart(_)) {
            // Each entry of the history has a copy of the values. By default, there are ten.
            spec.set("revisionHistoryLimit", 0);
        }
        spec
    }

    /// A chart, and the fleet's repository, of which Argo CD applies nothing here.
    fn sources(&self, chart: &Mapping, name: &str) -> Vec<Node> {
        let (url, revision) = repository(self.management);
        let mut source = Mapping::new();
        source.set("repoURL", url);
        source.set("targetRevision", revision);
        source.set("ref", name);
        vec![chart.clone().into(), source.into()]
    }

    fn folder(&self, folder: &str, built: bool, plugin: Option<&str>) -> Mapping {
        let (url, revision) = repository(self.management);
        let mut source = Mapping::new();
        source.set("repoURL", url);
        source.set("targetRevision", revision);
        source.set("path", in_repository(self.management, folder));
        if let Some(plugin) = plugin {
            let mut named = Mapping::new();
            named.set("name", plugin);
            source.set("plugin", named);
        } else if !built {
            let mut directory = Mapping::new();
            directory.set("recurse", true);
            source.set("directory", directory);
        }
        source
    }

    fn sync_policy(&self) -> Mapping {
        let mut policy = Mapping::new();
        let syncs = self.management.argocd.automated && !self.management.standby;
        if self.automated && (syncs || self.holds_applications) {
            let mut automated = Mapping::new();
            automated.set("prune", syncs && self.prune && !self.keeps_all);
            automated.set("selfHeal", true);
            if self.may_be_empty {
                automated.set("allowEmpty", true);
            }
            policy.set("automated", automated);
        }
        let options = [
            (self.only_out_of_sync, "ApplyOutOfSyncOnly=true"),
            (self.creates_namespace, "CreateNamespace=true"),
            (self.keeps_all && !self.cascade, "Delete=false"),
            (self.keeps_all, "Prune=false"),
            (true, "PrunePropagationPolicy=background"),
            (true, "RespectIgnoreDifferences=true"),
            (true, "ServerSideApply=true"),
            (true, "SkipDryRunOnMissingResource=true"),
        ];
        let options = options.into_iter().filter(|(has, _)| *has).map(|(_, option)| Node::from(option));
        policy.set("syncOptions", options.collect::<Vec<_>>());
        let mut backoff = Mapping::new();
        backoff.set("duration", "20s");
        backoff.set("factor", 2);
        backoff.set("maxDuration", "3m");
        let mut retry = Mapping::new();
        retry.set("limit", -1);
        // A later commit may fix it. A retry takes new commits only, not new sources: with values in a file, it would keep
        // asking for the file of the old version, which a new version deletes.
        if !matches!(self.source, Source::ChartBeside { .. }) {
            retry.set("refresh", true);
        }
        retry.set("backoff", backoff);
        policy.set("retry", retry);
        policy
    }
}

/// The whole folder of a cluster, as a path for [`Application::watches`].
pub(in crate::render) fn whole_cluster(plan: &ClusterPlan) -> String {
    format!("/{}", in_repository(&plan.cluster.management, cluster_folder(plan).as_str()))
}

/// The name of an Application or a project. It includes the management cluster, because one Argo CD may serve several.
pub(in crate::render) fn name_in(management: &ManagementCluster, name: &str) -> String {
    shortened(&format!("{}.{name}", management.name))
}

/// Argo CD's reference to a cluster: by server or by name.
pub(in crate::render) fn destination(destination: &Destination) -> (&'static str, String) {
    match destination {
        Destination::Own => ("server", Destination::OWN_SERVER.to_owned()),
        Destination::Server(server) => ("server", server.clone()),
        Destination::Name(name) => ("name", name.clone()),
    }
}

/// The URL of the fleet's repository, and the branch or tag to read.
pub(in crate::render) fn repository(management: &ManagementCluster) -> (&str, &str) {
    match &management.source {
        EngineSource::Git { url, reference: GitReference::Branch(at) | GitReference::Tag(at), .. } => {
            (url, at)
        }
        EngineSource::Existing { .. } => unreachable!("lowering refuses source objects with Argo CD"),
    }
}

/// A path of the fleet, relative to the root of the repository.
pub(in crate::render) fn in_repository(management: &ManagementCluster, folder: &str) -> String {
    match management.folder.as_str() {
        "" => folder.to_owned(),
        fleet => format!("{fleet}/{folder}"),
    }
}
