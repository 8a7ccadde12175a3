//! What Cluster API and the API server refuse, and what cannot be known offline.

use std::fmt;

pub use k8s_schema::{ErrorType, FieldError};

use super::role::Role;

/// The stage at which something is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// A template is written.
    Template,
    /// A `ClusterClass` is written.
    Class,
    /// The class controller reconciles the `ClusterClass`.
    ClassReconcile,
    /// A Cluster is written.
    Cluster,
    /// The desired state is computed.
    Desired,
    /// An object of the cluster is written.
    Apply,
}

/// The component that refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// The schema of the kind.
    Schema,
    /// The defaulting webhook, which runs before the schema and the validating one.
    WebhookDefault,
    /// The validating webhook.
    WebhookValidate,
    /// Server-side apply, before any schema or webhook.
    ServerSideApply,
    /// A controller.
    Topology,
}

impl Stage {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Class => "class",
            Self::ClassReconcile => "class-reconcile",
            Self::Cluster => "cluster",
            Self::Desired => "desired",
            Self::Apply => "apply",
        }
    }
}

impl By {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::WebhookDefault => "webhook-default",
            Self::WebhookValidate => "webhook-validate",
            Self::ServerSideApply => "server-side-apply",
            Self::Topology => "topology",
        }
    }
}

/// A refusal: the component, stage, object, field and reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The stage at which it was refused.
    pub stage: Stage,
    /// The component that refused it.
    pub by: By,
    /// `Kind/name` of the object; empty for an error of a controller.
    pub object: String,
    /// The field and the reason.
    pub error: FieldError,
}

impl Refusal {
    /// Creates an error of a controller, which names no object and no field.
    pub fn controller(stage: Stage, detail: impl Into<String>) -> Self {
        Self {
            stage,
            by: By::Topology,
            object: String::new(),
            error: FieldError::new(ErrorType::Controller, "", detail),
        }
    }

    /// The feature gate without which it is refused; none if no gate would change that.
    pub fn gate(&self) -> Option<&'static str> {
        self.error.requires
    }

    /// Converts the field errors of one object to refusals.
    pub fn of(stage: Stage, by: By, object: &str, errors: Vec<FieldError>) -> Vec<Self> {
        errors.into_iter().map(|error| Self { stage, by, object: object.to_owned(), error }).collect()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, error, .. } = self;
        // The random characters of generated names are unknown.
        let object = object.replace("#1", "xxxxx").replace("#2", "xxxxx");
        match (object.is_empty(), error.field.is_empty()) {
            (true, _) => write!(f, "{}", error.detail),
            (false, true) => write!(f, "{object}: {}", error.detail),
            (false, false) => write!(f, "{object}: {}: {}", error.field, error.detail),
        }
    }
}

/// Something that cannot be known offline, with the object it affects.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opaque {
    /// The affected object; the Cluster if all objects are affected.
    pub role: Role,
    /// What is unknown, and why.
    pub reason: String,
    /// Whether a runtime extension decides it.
    pub by_extension: bool,
}

impl Opaque {
    /// Creates one that affects an object.
    pub(crate) fn new(role: Role, reason: String) -> Self {
        Self { role, reason, by_extension: false }
    }

    /// Creates one that affects all objects of a cluster.
    pub fn of_all(reason: String) -> Self {
        Self::new(Role::Cluster, reason)
    }

    /// Says that a runtime extension decides it.
    #[must_use]
    pub fn by_extension(self) -> Self {
        Self { by_extension: true, ..self }
    }
}
