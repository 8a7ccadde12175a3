//! Chart archives: unpacked like Helm does, and packed deterministically.

use std::io::Read as _;

use flate2::bufread::GzDecoder;
use tar::{Archive, EntryType};

use super::ChartFiles;
use crate::{note::Notes, release::artifact::archive};

/// The greatest uncompressed size, in bytes.
const CONTENT_LIMIT: u64 = 100 * 1024 * 1024;

/// The greatest number of entries.
const ENTRY_LIMIT: usize = 20_000;

/// Unpacks a chart archive. The paths are relative to its only top-level folder. The error says what is wrong.
pub fn unpack_chart(archive: &[u8]) -> Result<ChartFiles, String> {
    let mut tarball = Vec::new();
    GzDecoder::new(archive)
        .take(CONTENT_LIMIT + 1)
        .read_to_end(&mut tarball)
        .map_err(|error| format!("it is not a gzipped tarball: {error}"))?;
    if tarball.len() as u64 > CONTENT_LIMIT {
        return Err(format!("it unpacks to more than {CONTENT_LIMIT} bytes"));
    }
    let broken = |error| format!("its tarball is broken: {error}");
    let mut files = ChartFiles::new();
    for (count, entry) in Archive::new(tarball.as_slice()).entries().map_err(broken)?.enumerate() {
        let mut entry = entry.map_err(broken)?;
        if count >= ENTRY_LIMIT {
            return Err(format!("it has more than {ENTRY_LIMIT} entries"));
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        match entry.header().entry_type() {
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            EntryType::Regular => {}
            kind => {
                let kind = char::from(kind.as_byte());
                return Err(format!("`{}` in it is not a plain file (type {kind:?})", path.escape_debug()));
            }
        }
        let inside = inside(&path).ok_or_else(|| {
            format!("it has the path `{}`, which leads out of its folder", path.escape_debug())
        })?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(broken)?;
        files.insert(inside, bytes);
    }
    if files.contains_key("Chart.yaml") { Ok(files) } else { Err("it has no `Chart.yaml`".to_owned()) }
}

/// The path relative to the folder of the chart.
fn inside(path: &str) -> Option<String> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let (_, inside) = path.split_once('/')?;
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let is_strange = |c: char| c.is_control() || c == '\\';
    (path.split('/').all(is_plain) && !path.contains(is_strange)).then(|| inside.to_owned())
}

/// Packs files, and reports those that don't fit.
pub(super) fn pack(files: &ChartFiles, notes: &mut Notes) -> Option<Vec<u8>> {
    match packed(files) {
        Ok(bytes) => Some(bytes),
        Err(why) => {
            notes
                .error("assets", None, format!("the assets cannot be packed: {why}"))
                .hint("ask the publisher of the chart for shorter paths");
            None
        }
    }
}

fn packed(files: &ChartFiles) -> Result<Vec<u8>, String> {
    Ok(archive(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())))?.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> ChartFiles {
        all.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn what_is_packed_is_unpacked_and_packs_to_the_same_bytes() {
        let chart = files(&[("net/Chart.yaml", "name: net\n"), ("net/charts/sub/Chart.yaml", "name: sub\n")]);
        let bytes = packed(&chart).unwrap();
        assert_eq!(bytes, packed(&chart).unwrap());
        let found = unpack_chart(&bytes).unwrap();
        assert_eq!(found, files(&[("Chart.yaml", "name: net\n"), ("charts/sub/Chart.yaml", "name: sub\n")]));
    }

    #[test]
    fn what_is_no_chart_is_refused() {
        assert!(unpack_chart(b"no archive").is_err());
        assert!(unpack_chart(&packed(&files(&[("net/values.yaml", "")])).unwrap()).is_err());
        for path in ["net/../../x", "net//x", "Chart.yaml", "net/a\\b"] {
            assert_eq!(inside(path), None, "{path}");
        }
        assert_eq!(inside("./net/templates/a.yaml").as_deref(), Some("templates/a.yaml"));
    }
}
