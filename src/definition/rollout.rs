//! `rollouts/*.yaml`: an upgrade of many clusters in waves.

use schemars::JsonSchema;
use serde::Deserialize;

use super::kinds::{ApiVersion, Named};

/// The one value of `kind`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum RolloutKind {
    /// An upgrade in waves.
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
    /// What the rollout is called.
    pub metadata: Named,
    /// What is to be done.
    pub spec: RolloutSpec,
    /// What was frozen when the rollout began. `stackloom rollout next` writes it.
    pub status: Option<RolloutStatus>,
}

/// What is to be done.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutSpec {
    /// Why, for those who read it later.
    #[schemars(length(min = 1, max = 512), example = "1.35 gets no patches from February on")]
    pub reason: String,
    /// Where the clusters should be.
    pub target: RolloutTarget,
    /// The clusters, by their labels, as kubectl selects them; all if not set.
    #[schemars(length(max = 1024), example = "env in (dev, prod)")]
    pub selector: Option<String>,
    /// The waves, one after the other. A cluster belongs to the first wave that selects it.
    #[schemars(length(min = 1, max = 50))]
    pub waves: Vec<RolloutWave>,
    /// The time zone of windows and freezes, by its name in the IANA database.
    #[schemars(extend("default" = "UTC"), example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// When steps may be proposed; at any time if there is none.
    #[schemars(length(max = 50))]
    pub windows: Option<Vec<RolloutWindow>>,
    /// Days on which no step is proposed.
    #[schemars(length(max = 100))]
    pub freezes: Option<Vec<RolloutFreeze>>,
    /// How many clusters may be in progress at once.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_clusters: Option<u32>,
    /// How many machines the clusters in progress may have together. A cluster with more goes alone.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_machines: Option<u32>,
    /// How long a step takes to settle, if no health is required: `30m`, `2h`, `1d`. Counted from the commit on the branch that the
    /// engine reads.
    #[schemars(extend("default" = "1h"))]
    pub settle: Option<String>,
    /// How long a cluster may be in progress after a step before its wave counts as failed.
    #[schemars(extend("default" = "7d"))]
    pub timeout: Option<String>,
    /// Whether a step is done only when a report says that the cluster is healthy: `--health FILE`.
    pub require_health: Option<bool>,
    /// Take no step for now.
    pub pause: Option<RolloutStop>,
    /// Take no step any more.
    pub abort: Option<RolloutStop>,
}

/// Where clusters should be; one of the fields.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutTarget {
    /// On the newest release of this Kubernetes minor.
    #[schemars(example = "1.36")]
    pub kubernetes: Option<String>,
    /// On this release.
    #[schemars(example = "openstack-scs-1-36-v5")]
    pub release: Option<String>,
    /// On the newest release of the newest minor that is neither `preview` nor `expired`.
    pub latest: Option<bool>,
}

/// Clusters that go together.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutWave {
    /// What it is called.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Its clusters, by their labels; all that no wave before has if not set.
    #[schemars(length(max = 1024), example = "wave=canary")]
    pub selector: Option<String>,
    /// How long the next wave waits after the last commit of this one: `12h`, `3d`, `2w`.
    #[schemars(extend("default" = "0m"))]
    pub soak: Option<String>,
}

/// A part of each week.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutWindow {
    /// The days on which it begins; every day if not set.
    #[schemars(length(min = 1, max = 7))]
    pub days: Option<Vec<Day>>,
    /// When it begins, as HH:MM.
    pub from: String,
    /// When it ends, as HH:MM; on the next day if that is not after `from`.
    pub to: String,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "their names say it")]
pub enum Day {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// Days on which no step is proposed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutFreeze {
    /// Why.
    #[schemars(length(min = 1, max = 512))]
    pub reason: String,
    /// The first day, as YYYY-MM-DD.
    pub from: String,
    /// The last day.
    pub to: String,
}

/// Why a rollout stands still.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutStop {
    /// Why.
    #[schemars(length(min = 1, max = 512))]
    pub reason: String,
}

/// What was frozen when the rollout began.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RolloutStatus {
    /// The clusters of each wave.
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
