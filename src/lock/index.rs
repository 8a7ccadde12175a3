//! Parses the metadata of chart repositories: the indexes of classic repositories, and the images that a chart lists.

use std::collections::{BTreeMap, BTreeSet};

use crate::yaml::{PathStep, scan};

/// The annotation in which a chart lists its images.
pub const IMAGES: &str = "artifacthub.io/images";

/// A chart version in an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexEntry {
    /// The version, as spelled in the index.
    pub version: String,
    /// The digest of the archive.
    pub digest: Option<String>,
    /// The addresses of the archive; may be relative to the repository.
    pub urls: Vec<String>,
    /// The text of the annotation with the images.
    pub images: Option<String>,
}

/// Reads the entries of some charts from the index of a repository.
pub fn index<'a>(
    text: &str,
    charts: &BTreeSet<&'a str>,
) -> Result<BTreeMap<&'a str, Vec<IndexEntry>>, String> {
    let mut found: BTreeMap<&str, BTreeMap<usize, IndexEntry>> = BTreeMap::new();
    let mut is_index = false;
    scan(text, |path, value| {
        let [PathStep::Key(top), PathStep::Key(chart), PathStep::Index(at), PathStep::Key(field), rest @ ..] =
            path
        else {
            is_index |= matches!(path, [PathStep::Key(top)] if top == "apiVersion" || top == "entries");
            return;
        };
        if top != "entries" {
            return;
        }
        is_index = true;
        let Some(chart) = charts.get(chart.as_str()) else { return };
        let entry = found.entry(chart).or_default().entry(*at).or_default();
        match (field.as_str(), rest) {
            ("version", []) => value.clone_into(&mut entry.version),
            ("digest", []) => entry.digest = Some(value.to_owned()),
            ("urls", [PathStep::Index(_)]) => entry.urls.push(value.to_owned()),
            ("annotations", [PathStep::Key(name)]) if name == IMAGES => entry.images = Some(value.to_owned()),
            _ => {}
        }
    })?;
    if !is_index {
        return Err("it has no `entries`".to_owned());
    }
    Ok(found.into_iter().map(|(chart, entries)| (chart, entries.into_values().collect())).collect())
}

/// Parses the images listed in a chart's annotation.
pub fn annotated_images(text: &str) -> Result<BTreeSet<String>, String> {
    let mut images = BTreeSet::new();
    scan(text, |path, value| {
        if matches!(path, [PathStep::Index(_), PathStep::Key(key)] if key == "image")
            && !value.trim().is_empty()
        {
            images.insert(value.trim().to_owned());
        }
    })?;
    Ok(images)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "\
apiVersion: v1
generated: 2026-11-21T10:00:00Z
entries:
  other:
  - version: 9.9.9
  notes:
  - annotations:
      artifacthub.io/images: |
        - name: notes
          image: registry.example.org/notes:1.1.0
          platforms: [linux/amd64]
      category: yes
    apiVersion: v2
    appVersion: 1.10
    dependencies:
    - {name: common, version: 2.x.x}
    digest: aaaa
    urls:
    - charts/notes-1.1.0.tgz
    - https://elsewhere.example.org/notes-1.1.0.tgz
    version: 1.1.0
  - version: v1.0.0
";

    #[test]
    fn an_index_is_read_as_loosely_as_helm_reads_it() {
        let found = index(INDEX, &BTreeSet::from(["notes", "absent"])).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), [&"notes"]);
        let [first, second] = found["notes"].as_slice() else { panic!("{found:?}") };
        assert_eq!((first.version.as_str(), first.digest.as_deref()), ("1.1.0", Some("aaaa")));
        assert_eq!(first.urls[0], "charts/notes-1.1.0.tgz");
        assert_eq!(
            annotated_images(first.images.as_deref().unwrap()).unwrap(),
            BTreeSet::from(["registry.example.org/notes:1.1.0".to_owned()])
        );
        assert_eq!(second, &IndexEntry { version: "v1.0.0".to_owned(), ..IndexEntry::default() });
    }

    #[test]
    fn an_invalid_index_is_none() {
        for text in ["<html><body>log in</body></html>", "", "a: b", "entries: ["] {
            assert!(index(text, &BTreeSet::from(["notes"])).is_err(), "{text}");
        }
        assert_eq!(index("apiVersion: v1\nentries: {}\n", &BTreeSet::new()), Ok(BTreeMap::new()));
    }
}
