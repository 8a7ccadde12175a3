//! Reads the description of a chart's values from its archive: defaults, schemas, subcharts, and the keys that its templates
//! read.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
};

use flate2::read::GzDecoder;
use serde_json::{Map, Value as Json};
use tar::Archive;

use super::{Described, Import, Subchart};

/// The greatest uncompressed size, in bytes; Helm has the same limit.
const CONTENT: u64 = 100 * 1024 * 1024;

/// The greatest size of a single file, in bytes.
const FILE: u64 = 4 * 1024 * 1024;

/// The greatest nesting depth of subcharts.
const DEPTH: usize = 8;

/// The relevant files of a chart, by path within its folder.
type Files = BTreeMap<String, Vec<u8>>;

/// Reads the archive of a chart. The error says what is wrong.
pub(super) fn read(archive: &[u8], depth: usize) -> Result<Described, String> {
    let files = unpack(archive)?;
    let top = files.keys().filter_map(|path| path.strip_suffix("/Chart.yaml")).find(|top| !top.contains('/'));
    let top = top.ok_or("it has no `Chart.yaml`")?;
    chart(&below(&files, top), depth)
}

fn unpack(archive: &[u8]) -> Result<Files, String> {
    let mut tarball = Vec::new();
    GzDecoder::new(archive)
        .take(CONTENT + 1)
        .read_to_end(&mut tarball)
        .map_err(|error| format!("it is not a gzipped tarball: {error}"))?;
    if tarball.len() as u64 > CONTENT {
        return Err(format!("it unpacks to more than {CONTENT} bytes"));
    }
    let broken = |error| format!("its tarball is broken: {error}");
    let mut files = Files::new();
    for entry in Archive::new(tarball.as_slice()).entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
        if !entry.header().entry_type().is_file() || !matters(&path) {
            continue;
        }
        if entry.size() > FILE && !is_archive(&path) {
            return Err(format!("`{path}` in it has more than {FILE} bytes"));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|error| format!("`{path}` in it cannot be read: {error}"))?;
        files.insert(path, bytes);
    }
    Ok(files)
}

fn is_archive(path: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|extension| extension == "tgz")
}

fn matters(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    matches!(name, "Chart.yaml" | "requirements.yaml" | "values.yaml" | "values.schema.json")
        || path.contains("/templates/")
        || path.contains("/charts/") && is_archive(name)
}

fn below(files: &Files, folder: &str) -> Files {
    let prefix = format!("{folder}/");
    let inside = files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(&prefix)?, bytes)));
    inside.map(|(path, bytes)| (path.to_owned(), bytes.clone())).collect()
}

fn chart(files: &Files, depth: usize) -> Result<Described, String> {
    let meta = yaml(files, "Chart.yaml")?;
    let values = match yaml(files, "values.yaml")? {
        Json::Object(values) => values,
        Json::Null => Map::new(),
        _ => return Err("its `values.yaml` is not a map".to_owned()),
    };
    let schema = match files.get("values.schema.json") {
        None => None,
        Some(bytes) => Some(
            serde_json::from_slice(bytes)
                .map_err(|error| format!("its `values.schema.json` is not JSON: {error}"))?,
        ),
    };
    let mut listed = items(&meta["dependencies"]);
    listed.extend(items(&yaml(files, "requirements.yaml")?["dependencies"]));
    let mut subcharts = Vec::new();
    for (name, found) in packed(files, depth)? {
        let own: Vec<_> = listed.iter().filter(|one| one["name"] == name.as_str()).collect();
        if own.is_empty() {
            let (tags, imports) = (Vec::new(), Vec::new());
            subcharts.push(Subchart { key: name, condition: None, tags, imports, chart: found });
            continue;
        }
        for one in own {
            let text = |key: &str| one[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            let tags = items(&one["tags"]);
            let tags = tags.iter().filter_map(|tag| tag.as_str().map(str::to_owned)).collect();
            let key = text("alias").unwrap_or_else(|| name.clone());
            let imports = items(&one["import-values"]).iter().filter_map(import).collect();
            let condition = text("condition");
            subcharts.push(Subchart { key, condition, tags, imports, chart: found.clone() });
        }
    }
    subcharts.sort_by(|one, other| one.key.cmp(&other.key));
    let kube_version = meta["kubeVersion"].as_str().filter(|text| !text.trim().is_empty());
    Ok(Described {
        kube_version: kube_version.map(str::to_owned),
        keys: keys(files),
        values,
        schema,
        subcharts,
    })
}

/// An entry of `import-values`: a name stands for the map of that name in `exports` of the subchart.
fn import(entry: &Json) -> Option<Import> {
    match entry {
        Json::String(name) => Some(Import { child: format!("exports.{name}"), parent: ".".to_owned() }),
        pair => Some(Import {
            child: pair["child"].as_str()?.to_owned(),
            parent: pair["parent"].as_str()?.to_owned(),
        }),
    }
}

fn items(list: &Json) -> Vec<Json> {
    list.as_array().cloned().unwrap_or_default()
}

fn yaml(files: &Files, path: &str) -> Result<Json, String> {
    let Some(bytes) = files.get(path) else { return Ok(Json::Null) };
    let text = std::str::from_utf8(bytes).map_err(|_| format!("its `{path}` is not UTF-8 text"))?;
    gotmpl::yaml::parse(text).map_err(|error| format!("its `{path}` cannot be read: {error}"))
}

/// The subcharts in a chart, by name. They are either folders or archives.
fn packed(files: &Files, depth: usize) -> Result<BTreeMap<String, Described>, String> {
    let mut found = BTreeMap::new();
    if depth == DEPTH {
        return Err(format!("it has subcharts within subcharts, more than {DEPTH} deep"));
    }
    let folders = files.keys().filter_map(|path| path.strip_prefix("charts/")?.strip_suffix("/Chart.yaml"));
    for folder in folders.filter(|folder| !folder.contains('/')) {
        let inside = below(files, &format!("charts/{folder}"));
        let name = yaml(&inside, "Chart.yaml")?["name"].as_str().unwrap_or(folder).to_owned();
        let one = chart(&inside, depth + 1).map_err(|why| format!("its subchart `{name}`: {why}"))?;
        found.insert(name, one);
    }
    for (path, bytes) in files {
        let Some(file) = path.strip_prefix("charts/").filter(|file| !file.contains('/')) else { continue };
        if !is_archive(file) {
            continue;
        }
        let inner = unpack(bytes).map_err(|why| format!("its subchart `{file}`: {why}"))?;
        let top =
            inner.keys().filter_map(|path| path.strip_suffix("/Chart.yaml")).find(|top| !top.contains('/'));
        let top = top.ok_or_else(|| format!("its subchart `{file}` has no `Chart.yaml`"))?.to_owned();
        let one =
            chart(&below(&inner, &top), depth + 1).map_err(|why| format!("its subchart `{top}`: {why}"))?;
        found.insert(top, one);
    }
    Ok(found)
}

/// The top-level keys that templates read, and those in comments of `values.yaml`. Defaults need not contain all keys.
fn keys(files: &Files) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    for (path, bytes) in files {
        let text = String::from_utf8_lossy(bytes);
        if path.starts_with("templates/") {
            for (at, read) in text.match_indices(".Values") {
                let rest = text[at + read.len()..].trim_start_matches([' ', '"', '.', '(', '`']);
                keys.insert(rest.split(|c| !is_part(c)).next().unwrap_or_default().to_owned());
            }
        }
        if path == "values.yaml" {
            let comments = text.lines().filter_map(|line| line.strip_prefix('#'));
            let named = comments.filter_map(|line| line.trim_start_matches(['#', ' ']).split_once(':'));
            keys.extend(
                named.map(|(key, _)| key.trim_matches('"').to_owned()).filter(|key| key.chars().all(is_part)),
            );
        }
    }
    keys.remove("");
    keys
}
