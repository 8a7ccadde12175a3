//! Descriptions of the values that locked charts accept: defaults, schemas and subcharts. `stackloom update` writes them
//! next to the lock, so that values are checked offline and with the same result everywhere.

mod archive;
mod defaults;
mod judge;

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::{
    model::{Digest, VersionRange},
    release::sha256,
    world::CHART_VALUES,
};

pub use judge::{Judge, ValueFault};

/// The greatest length of a stored description, in bytes.
const LIMIT: usize = 2 * 1024 * 1024;

/// The description of the values that a chart accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The Kubernetes versions that it accepts, according to its `Chart.yaml`.
    kube_version: Option<String>,
    /// The default values.
    values: Map<String, Json>,
    /// Top-level keys that its templates read but its defaults don't contain.
    keys: BTreeSet<String>,
    /// The content of its `values.schema.json`.
    schema: Option<Json>,
    /// Its subcharts, each with the key of its values.
    subcharts: Vec<Subchart>,
}

#[derive(Clone, Debug, PartialEq)]
struct Subchart {
    /// The key of its values: its alias, or its name.
    key: String,
    /// The paths of the values that turn it on or off. The first path with a value decides.
    condition: Option<String>,
    /// The tags that turn it on or off if no condition decides.
    tags: Vec<String>,
    /// The defaults that its parent takes from it (`import-values`).
    imports: Vec<Import>,
    chart: Described,
}

/// Defaults that a chart takes from a subchart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Import {
    /// The path of a map in the subchart's values.
    child: String,
    /// The path where the chart puts its content; `.` for the top.
    parent: String,
}

/// Builds the description of a chart archive as text for storage. The error says why it can't be stored.
pub fn describe(archive: &[u8]) -> Result<String, String> {
    let described = archive::read(archive, 0)?;
    Judge::new(&described)?;
    let text = serde_json::to_string_pretty(&written(&described)).map_err(|error| error.to_string())? + "\n";
    if text.len() > LIMIT {
        return Err(format!("its values and schemas have {} bytes, the limit is {LIMIT}", text.len()));
    }
    Ok(text)
}

/// The digest of a description.
pub fn digest(text: &str) -> Option<Digest> {
    Digest::new(&sha256(text.as_bytes()))
}

/// The path of a description, relative to the root of the fleet.
pub fn file(digest: &Digest) -> String {
    format!("{CHART_VALUES}/{}.json", digest.as_str().trim_start_matches("sha256:"))
}

/// Reads the Kubernetes versions that a chart accepts from a text made by [`describe`]; none if it accepts all.
pub fn kube_version(text: &str) -> Option<VersionRange> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Claim {
        kube_version: Option<String>,
    }
    let claim: Claim = serde_json::from_str(text).ok()?;
    Some(VersionRange::of_chart(&claim.kube_version?))
}

/// Parses a text made by [`describe`].
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
        if !one.imports.is_empty() {
            let pair = |import: &Import| json!({ "child": import.child, "parent": import.parent });
            json["imports"] = one.imports.iter().map(pair).collect();
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
    let import = |one: &Json| {
        Some(Import { child: one["child"].as_str()?.to_owned(), parent: one["parent"].as_str()?.to_owned() })
    };
    let subchart = |one: &Json| {
        let imports = one["imports"].as_array().map_or(&[][..], Vec::as_slice);
        Some(Subchart {
            key: one["key"].as_str()?.to_owned(),
            condition: one["condition"].as_str().map(str::to_owned),
            tags: texts(&one["tags"]).unwrap_or_default(),
            imports: imports.iter().map(import).collect::<Option<_>>()?,
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

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            builder.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn imports_are_kept_in_the_description() {
        let chart = "name: net
dependencies:
  - name: db
    alias: store
    import-values: [data, { child: a.b, parent: c.d }]
";
        let bytes = archive(&[
            ("net/Chart.yaml", chart),
            ("net/charts/db/Chart.yaml", "name: db\n"),
            ("net/charts/db/values.yaml", "exports: { data: { size: 1 } }\na: { b: { e: 1 } }\n"),
        ]);
        let described = read(&describe(&bytes).unwrap()).unwrap();
        let import =
            |child: &str, parent: &str| Import { child: child.to_owned(), parent: parent.to_owned() };
        assert_eq!(described.subcharts[0].imports, [import("exports.data", "."), import("a.b", "c.d")]);
        let judge = Judge::new(&described).unwrap();
        let found = judge.judge(&json!({ "size": 2, "c": {}, "e": 1 }), false);
        let paths: Vec<_> = found.iter().map(|one| one.path.join(".")).collect();
        assert_eq!(paths, ["e"]);
    }
}
