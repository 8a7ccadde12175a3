//! Reads worked examples of Cluster API from folders or archives.
//!
//! An archive is a text file with all files of a case. Each file starts with a line `-- path --` and ends where the next one
//! starts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The files of a case by path.
pub(crate) type Files = BTreeMap<String, String>;

/// A worked example.
pub(crate) struct Case {
    /// `<group>/<case>`.
    pub(crate) name: String,
    pub(crate) files: Files,
}

/// All cases under a folder, whether stored as folders or as archives.
pub(crate) fn cases(root: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for group in entries(root).into_iter().filter(|path| path.is_dir()) {
        for path in entries(&group) {
            let name = |path: &Path| {
                let case = path.file_stem().unwrap_or_default().to_string_lossy();
                let group = group.file_name().unwrap_or_default().to_string_lossy();
                format!("{group}/{case}")
            };
            if path.join("case.yaml").is_file() {
                let mut files = Files::new();
                read_folder(&path, "", &mut files);
                cases.push(Case { name: name(&path), files });
            } else if path.extension().is_some_and(|end| end == "txt") {
                let text = fs::read_to_string(&path).unwrap();
                cases.push(Case { name: name(&path), files: unpack(&text) });
            }
        }
    }
    cases
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Files) {
    for path in entries(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let inner = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if path.is_dir() {
            read_folder(&path, &inner, files);
        } else {
            files.insert(inner, fs::read_to_string(&path).unwrap());
        }
    }
}

/// The files of an archive.
pub(crate) fn unpack(text: &str) -> Files {
    let mut files = Files::new();
    let mut current = String::new();
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        if let Some(path) = bare.strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --")) {
            path.clone_into(&mut current);
            files.insert(current.clone(), String::new());
        } else if let Some(file) = files.get_mut(&current) {
            file.push_str(line);
        }
    }
    files
}

/// Packs the files of a case into an archive: its description first, then the input, then the expected output.
pub(crate) fn pack(files: &Files) -> String {
    let mut text = String::new();
    let order = |path: &str| (path.starts_with("expected"), path.starts_with("input"));
    let mut paths: Vec<&String> = files.keys().collect();
    paths.sort_by_key(|path| (order(path), (*path).clone()));
    for path in paths {
        text.extend(["-- ", path, " --\n", &files[path]]);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

impl Case {
    /// The documents of a file; none if the file is missing.
    pub(crate) fn documents(&self, path: &str) -> Option<Vec<Value>> {
        let text = self.files.get(path)?;
        let read = serde_yaml::Deserializer::from_str(text)
            .map(|document| <Value as serde::Deserialize>::deserialize(document).unwrap())
            .filter(|document| !document.is_null())
            .collect();
        Some(read)
    }

    /// The only document of a file.
    pub(crate) fn document(&self, path: &str) -> Option<Value> {
        self.documents(path)?.into_iter().next()
    }
}
