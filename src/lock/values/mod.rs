//! What a locked chart says of its values: its defaults, its schemas, its subcharts. `stackloom update` writes it beside the
//! lock, so that values are checked offline, and with the same result everywhere.

mod archive;
mod judge;

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::{
    model::{Digest, VersionRange},
    release::sha256,
    world::CHART_VALUES,
};

pub use judge::{Finding, Judge};

/// The longest description of a chart's values that is kept.
const LIMIT: usize = 2 * 1024 * 1024;

/// What a chart says of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The Kubernetes versions that it takes, as its `Chart.yaml` has them.
    kube_version: Option<String>,
    /// Its defaults.
    values: Map<String, Json>,
    /// Top-level keys that its defaults do not name, and that its templates read.
    keys: BTreeSet<String>,
    /// Its `values.schema.json`.
    schema: Option<Json>,
    /// The charts within it, by the key of their values.
    subcharts: Vec<Subchart>,
}

/// A chart within a chart.
#[derive(Clone, Debug, PartialEq)]
struct Subchart {
    /// Where its values stand: its alias, or its name.
    key: String,
    /// The paths of the values that turn it on or off; the first that is there counts.
    condition: Option<String>,
    /// Tags that turn it on or off, where no condition does.
    tags: Vec<String>,
    chart: Described,
}

/// The text that is kept of an archive. The error says why it is not.
pub fn describe(archive: &[u8]) -> Result<String, String> {
    let described = archive::read(archive, 0)?;
    Judge::new(&described)?;
    let text = serde_json::to_string_pretty(&written(&described)).map_err(|error| error.to_string())? + "\n";
    if text.len() > LIMIT {
        return Err(format!("its values and schemas have {} bytes, the limit is {LIMIT}", text.len()));
    }
    Ok(text)
}

/// The digest of what is kept.
pub fn digest(text: &str) -> Option<Digest> {
    Digest::new(&sha256(text.as_bytes()))
}

/// The file that it is kept in, from the root of the fleet.
pub fn file(digest: &Digest) -> String {
    format!("{CHART_VALUES}/{}.json", digest.as_str().trim_start_matches("sha256:"))
}

/// The Kubernetes versions that a chart takes, of what [`describe`] has made of it; none where it takes all.
pub fn kube_version(text: &str) -> Option<VersionRange> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Claim {
        kube_version: Option<String>,
    }
    let claim: Claim = serde_json::from_str(text).ok()?;
    VersionRange::parse(&claim.kube_version?).ok()
}

/// Reads what [`describe`] has made.
pub fn read(text: &str) -> Option<Described> {
    read_json(&serde_json::from_str(text).ok()?)
}

fn written(chart: &Described) -> Json {
    let mut json = json!({ "keys": chart.keys });
    if let Some(range) = &chart.kube_version {
        json["kubeVersion"] = json!(range);
    }
    if let Some(schema) = &chart.schema {
        json["schema"] = schema.clone();
    }
    let subcharts = chart.subcharts.iter().map(|one| {
        let mut json = json!({ "key": one.key });
        if let Some(condition) = &one.condition {
            json["condition"] = json!(condition);
        }
        if !one.tags.is_empty() {
            json["tags"] = json!(one.tags);
        }
        json["chart"] = written(&one.chart);
        json
    });
    json["subcharts"] = subcharts.collect();
    json["values"] = Json::Object(chart.values.clone());
    json
}

fn read_json(json: &Json) -> Option<Described> {
    let texts = |list: &Json| -> Option<Vec<String>> {
        list.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let subchart = |one: &Json| {
        Some(Subchart {
            key: one["key"].as_str()?.to_owned(),
            condition: one["condition"].as_str().map(str::to_owned),
            tags: texts(&one["tags"]).unwrap_or_default(),
            chart: read_json(&one["chart"])?,
        })
    };
    Some(Described {
        kube_version: json["kubeVersion"].as_str().map(str::to_owned),
        values: json["values"].as_object()?.clone(),
        keys: texts(&json["keys"])?.into_iter().collect(),
        schema: json.get("schema").cloned(),
        subcharts: json["subcharts"].as_array()?.iter().map(subchart).collect::<Option<_>>()?,
    })
}
