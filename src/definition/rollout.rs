//! `rollouts/*.yaml`: an upgrade of many clusters in waves.

use schemars::JsonSchema;
use serde::Deserialize;

use super::kinds::{ApiVersion, Named};

/// The kind of a rollout definition.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum RolloutKind {
    /// The only value.
    Rollout,
}

/// An upgrade of many clusters in waves.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "apiVersion": "stackloom.dev/v1alpha1",
    "kind": "Rollout",
    "metadata": { "name": "k136" },
    "spec": {
        "reason": "1.35 gets no patches from February on",
        "target": { "kubernetes": "1.36" },
        "waves": [{ "name": "canary", "selector": "wave=canary", "soak": "3d" }, { "name": "rest" }],
        "timeZone": "Europe/Berlin",
        "windows": [{ "days": ["mon", "tue", "wed", "thu"], "from": "09:00", "to": "15:00" }],
        "freezes": [{ "reason": "Christmas", "from": "2026-12-18", "to": "2027-01-06" }],
        "maxClusters": 10,
    },
}]))]
pub struct Rollout {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// The kind of this definition.
    pub kind: RolloutKind,
    /// The name of the rollout.
    pub metadata: Named,
    /// The settings of the rollout.
    pub spec: RolloutSpec,
    /// What the rollout keeps to since it began. `stackloom rollout next` writes it.
    pub status: Option<RolloutStatus>,
}

/// The settings of a rollout.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutSpec {
    /// The reason, for people who read the definition later.
    #[schemars(length(min = 1, max = 512), example = "1.35 gets no patches from February on")]
    pub reason: String,
    /// The target of the clusters.
    pub target: RolloutTarget,
    /// A label selector for the clusters, in the syntax of kubectl; by default, all clusters.
    #[schemars(length(max = 1024), example = "env in (dev, prod)")]
    pub selector: Option<String>,
    /// The waves, in order. A cluster belongs to the first wave that selects it.
    #[schemars(length(min = 1, max = 50))]
    pub waves: Vec<RolloutWave>,
    /// The time zone of windows and freezes: its name in the IANA database.
    #[schemars(extend("default" = "UTC"), example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// When steps may be proposed; by default, at any time.
    #[schemars(length(max = 50))]
    pub windows: Option<Vec<Window>>,
    /// Days on which no step is proposed.
    #[schemars(length(max = 100))]
    pub freezes: Option<Vec<RolloutFreeze>>,
    /// The greatest number of clusters in progress at once.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_clusters: Option<u32>,
    /// The greatest total number of machines in the clusters in progress. A cluster with more machines is upgraded on its
    /// own.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_machines: Option<u32>,
    /// How long a step takes to settle if no health is required: `30m`, `2h`, `1d`. The time counts from the commit on the
    /// branch that the engine reads.
    #[schemars(extend("default" = "1h"))]
    pub settle: Option<String>,
    /// How long a cluster may be in progress after a step before its wave counts as failed.
    #[schemars(extend("default" = "7d"))]
    pub timeout: Option<String>,
    /// Whether a step counts as finished only when a health report (`--health FILE`) says that the cluster is healthy.
    pub require_health: Option<bool>,
    /// Pauses the rollout: no steps for now.
    pub pause: Option<RolloutStop>,
    /// Aborts the rollout: no more steps.
    pub abort: Option<RolloutStop>,
}

/// The target of the clusters. Set exactly one field.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutTarget {
    /// The newest release of this Kubernetes minor.
    #[schemars(example = "1.36")]
    pub kubernetes: Option<String>,
    /// This release.
    #[schemars(example = "openstack-scs-1-36-v5")]
    pub release: Option<String>,
    /// The newest release of the newest minor whose maturity is neither `preview` nor `expired`.
    pub latest: Option<bool>,
}

/// A group of clusters that are upgraded together.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutWave {
    /// The name of the wave.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// A label selector for its clusters; by default, all clusters that no earlier wave selects.
    #[schemars(length(max = 1024), example = "wave=canary")]
    pub selector: Option<String>,
    /// How long the next wave waits after the last commit of this one: `12h`, `3d`, `2w`.
    #[schemars(extend("default" = "0m"))]
    pub soak: Option<String>,
}

/// A time window in each week, for rollouts and for single clusters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Window {
    /// The days on which the window begins; by default, every day.
    #[schemars(length(min = 1, max = 7))]
    pub days: Option<Vec<Day>>,
    /// The time at which it begins, as HH:MM.
    pub from: String,
    /// The time at which it ends, as HH:MM; on the next day if it is not after `from`.
    pub to: String,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Day {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// A period in which no step is proposed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutFreeze {
    /// The reason.
    #[schemars(length(min = 1, max = 512))]
    pub reason: String,
    /// The first day, as YYYY-MM-DD.
    pub from: String,
    /// The last day, as YYYY-MM-DD.
    pub to: String,
}

/// Stops a rollout.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutStop {
    /// The reason.
    #[schemars(length(min = 1, max = 512))]
    pub reason: String,
}

/// What the rollout keeps to since it began.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutStatus {
    /// The target when the rollout began.
    pub target: Option<RolloutTarget>,
    /// The releases that the clusters move to; `…-head` stands for a stack without a numbered release. A release that is cut
    /// later is not used.
    #[schemars(length(max = 1000))]
    pub releases: Option<Vec<String>>,
    /// Whether all clusters are there. The rollout then no longer keeps other upgrades away from its clusters.
    pub done: Option<bool>,
    /// The waves with their clusters.
    #[schemars(length(min = 1, max = 50))]
    pub waves: Vec<FrozenWave>,
}

/// The clusters of a wave.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FrozenWave {
    /// The name of the wave.
    pub name: String,
    /// Its clusters, as `<management cluster>/<namespace>/<name>`.
    #[schemars(length(max = 100_000))]
    pub clusters: Vec<String>,
}
