//! The settings that Argo CD alone has.

use super::{Label, Subdomain};

/// How Argo CD applies the tree of a management cluster. It may run in another cluster, a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgoCd {
    /// The namespace of the Applications.
    pub namespace: Label,
    /// The management cluster, as registered in Argo CD.
    pub destination: Destination,
    /// The project of the Applications that belong to no tenant.
    pub project: Subdomain,
    /// Whether Argo CD syncs automatically; otherwise, a person starts each sync.
    pub automated: bool,
    /// The names under which workload clusters are registered in Argo CD.
    pub cluster_names: ClusterNames,
    /// What registers workload clusters in Argo CD, if specified.
    pub registration: Option<Registration>,
}

/// What registers workload clusters in Argo CD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    /// The operator capi2argo-cluster-operator.
    Capi2argo,
    /// Anything else.
    Other,
}

impl Default for ArgoCd {
    fn default() -> Self {
        Self {
            namespace: Label::new("argocd").expect("a label"),
            destination: Destination::Own,
            project: Subdomain::new("default").expect("a subdomain"),
            automated: true,
            cluster_names: ClusterNames::default(),
            registration: None,
        }
    }
}

/// A cluster that Argo CD applies objects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The cluster that Argo CD runs in.
    Own,
    /// A cluster registered under this name.
    Name(String),
    /// A cluster registered with this address.
    Server(String),
}

impl Destination {
    /// Argo CD's address of the cluster that it runs in.
    pub const OWN_SERVER: &str = "https://kubernetes.default.svc";
    /// The same cluster's name in Argo CD, unless it is registered under another one.
    pub const OWN_NAME: &str = "in-cluster";

    /// Whether this is the cluster that Argo CD runs in. It may be named as such if it is also the hub of others.
    pub fn is_own(&self) -> bool {
        match self {
            Self::Own => true,
            Self::Name(name) => name == Self::OWN_NAME,
            Self::Server(server) => server == Self::OWN_SERVER,
        }
    }
}

/// A pattern for the names of workload clusters in Argo CD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNames(String);

impl Default for ClusterNames {
    fn default() -> Self {
        Self("{namespace}-{cluster}".to_owned())
    }
}

impl ClusterNames {
    /// The placeholders that a pattern may contain.
    pub const PLACEHOLDERS: [&str; 3] = ["{managementCluster}", "{namespace}", "{cluster}"];

    /// Validates a pattern. It must contain `{cluster}`, and no braces other than those of the placeholders.
    pub fn new(pattern: &str) -> Option<Self> {
        let rest = Self::PLACEHOLDERS.iter().fold(pattern.to_owned(), |rest, one| rest.replace(one, "x"));
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
        (pattern.contains("{cluster}") && rest.chars().all(plain)).then(|| Self(pattern.to_owned()))
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of a cluster in Argo CD.
    pub fn of(&self, management: &str, namespace: &str, cluster: &str) -> String {
        let values = Self::PLACEHOLDERS.into_iter().zip([management, namespace, cluster]);
        values.fold(self.0.clone(), |name, (placeholder, value)| name.replace(placeholder, value))
    }
}
