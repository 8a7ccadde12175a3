//! Packs a release into an archive, and unpacks it.
//!
//! The archive has the format of Flux artifacts: a gzipped tarball of the folder. The same files yield the same bytes on
//! every machine, so publishing again changes nothing. A fetched archive is untrusted: it is accepted only if [`pack`] could
//! have made it, and never unpacked to disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::{Read as _, Write as _},
};

use flate2::{Compression, GzBuilder, bufread::GzDecoder};
use sha2::{Digest as _, Sha256};
use tar::{Archive, Builder, Entry, EntryType, Header};

use crate::model::hex;

/// The greatest size of a compressed archive, in bytes.
pub const ARCHIVE_LIMIT: usize = 16 * 1024 * 1024;

/// Limits for the content of an archive.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// The size of the uncompressed tarball in bytes, including headers and padding.
    content: u64,
    /// The number of entries. Known releases have about thirty.
    entries: usize,
    /// The size of a file in bytes, with the same limit as for other sources.
    file: u64,
}

const LIMITS: Limits = Limits { content: 64 * 1024 * 1024, entries: 10_000, file: 4 * 1024 * 1024 };

/// The greatest length of a path.
const PATH_LIMIT: usize = 255;

/// The operating system byte of a gzip header that means "unknown".
const ANY_SYSTEM: u8 = 255;

/// A packed release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// The archive.
    pub bytes: Vec<u8>,
    /// The digest of the archive before it was compressed.
    pub content: String,
}

/// Computes the digest of some bytes, with the prefix `sha256:`.
pub fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// Computes the digest of a release's folder: that of the lines that `sha256sum` prints for its files, sorted by path.
pub fn folder_digest(files: &BTreeMap<String, String>) -> String {
    let mut lines = String::new();
    for (path, text) in files {
        // Writing to a string cannot fail.
        writeln!(lines, "{}  {path}", hex(&Sha256::digest(text.as_bytes()))).ok();
    }
    sha256(lines.as_bytes())
}

/// Packs the files of a release, given by path within its folder. The error names a path that doesn't fit into an archive.
pub fn pack(files: &BTreeMap<String, String>) -> Result<Archived, String> {
    archive(files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())))
}

/// Packs files deterministically: the same files yield the same bytes everywhere.
pub(super) fn archive<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> Result<Archived, String> {
    let mut builder = Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = Header::new_ustar();
        header
            .set_path(path)
            .map_err(|error| format!("the path `{path}` does not fit into an archive: {error}"))?;
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        builder.append(&header, bytes).map_err(|error| error.to_string())?;
    }
    let tarball = builder.into_inner().map_err(|error| error.to_string())?;
    let mut gzip =
        GzBuilder::new().mtime(0).operating_system(ANY_SYSTEM).write(Vec::new(), Compression::best());
    gzip.write_all(&tarball).map_err(|error| error.to_string())?;
    let bytes = gzip.finish().map_err(|error| error.to_string())?;
    Ok(Archived { bytes, content: sha256(&tarball) })
}

/// Unpacks the files of an archive, by path. The error says what is wrong.
pub fn unpack(archive: &[u8]) -> Result<BTreeMap<String, String>, String> {
    unpack_within(archive, LIMITS)
}

fn unpack_within(archive: &[u8], limits: Limits) -> Result<BTreeMap<String, String>, String> {
    if archive.len() > ARCHIVE_LIMIT {
        return Err(format!("it has more than {ARCHIVE_LIMIT} bytes"));
    }
    let mut rest = archive;
    let mut tarball = Vec::new();
    GzDecoder::new(&mut rest)
        .take(limits.content + 1)
        .read_to_end(&mut tarball)
        .map_err(|error| format!("it is not a gzipped tarball: {error}"))?;
    if tarball.len() as u64 > limits.content {
        return Err(format!("it unpacks to more than {} bytes", limits.content));
    }
    if !rest.is_empty() {
        return Err("there is data after its end".to_owned());
    }
    let broken = |error| format!("its tarball is broken: {error}");
    let mut files = BTreeMap::new();
    let mut folders = BTreeSet::new();
    let mut reader = Archive::new(tarball.as_slice());
    for (count, entry) in reader.entries().map_err(broken)?.enumerate() {
        if count >= limits.entries {
            return Err(format!("it has more than {} entries", limits.entries));
        }
        let mut entry = entry.map_err(broken)?;
        let path = path(&entry)?;
        if entry.header().entry_type() == EntryType::Directory {
            folders.insert(path);
            continue;
        }
        let text = file(&mut entry, &path, limits)?;
        folders.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
        if files.insert(path.clone(), text).is_some() {
            return Err(format!("it has `{path}` twice"));
        }
    }
    match files.keys().find(|path| folders.contains(*path)) {
        Some(path) => Err(format!("it has `{path}` as a file and as a folder")),
        None if files.is_empty() => Err("it has no file".to_owned()),
        None => Ok(files),
    }
}

/// The path of an entry, if it is valid in a release. It must not lead outside the folder, and no part may be hidden,
/// because hidden files would go unnoticed.
fn path(entry: &Entry<'_, &[u8]>) -> Result<String, String> {
    let bytes = entry.path_bytes();
    let shown = String::from_utf8_lossy(&bytes).escape_debug().to_string();
    let folder = entry.header().entry_type() == EntryType::Directory;
    let path = std::str::from_utf8(&bytes)
        .ok()
        .map(|path| path.strip_suffix('/').filter(|_| folder).unwrap_or(path));
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.');
    let is_strange = |c: char| c.is_control() || c == '\\' || c == ':';
    let plain = path.filter(|path| {
        path.len() <= PATH_LIMIT && path.split('/').all(is_plain) && !path.contains(is_strange)
    });
    plain
        .map(str::to_owned)
        .ok_or_else(|| format!("it has the path `{shown}`, which no file of a release can have"))
}

fn file(entry: &mut Entry<'_, &[u8]>, path: &str, limits: Limits) -> Result<String, String> {
    let kind = entry.header().entry_type();
    if kind != EntryType::Regular {
        return Err(format!("`{path}` in it is not a plain file (type {:?})", char::from(kind.as_byte())));
    }
    let size = entry.size();
    if size > limits.file {
        return Err(format!("`{path}` in it has more than {} bytes", limits.file));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(|error| format!("`{path}` in it cannot be read: {error}"))?;
    if bytes.len() as u64 != size {
        return Err(format!("it ends within `{path}`"));
    }
    String::from_utf8(bytes).map_err(|_| format!("`{path}` in it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> BTreeMap<String, String> {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        BTreeMap::from([
            file("release.yaml", "kind: Release\n"),
            file("cluster-class/class.yaml", "a: 1\n"),
            file(&format!("addons/{}/manifests/{}.yaml", "a".repeat(60), "b".repeat(60)), "ä: 1\n"),
            file("empty.yaml", ""),
        ])
    }

    /// The path, type and content of an entry.
    type Made<'a> = (&'a str, EntryType, &'a [u8]);

    /// An archive with entries that [`pack`] would not make.
    fn made(entries: &[Made<'_>]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (path, kind, bytes) in entries {
            let mut header = Header::new_ustar();
            let name = &mut header.as_old_mut().name;
            name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(bytes.len() as u64);
            if matches!(kind, EntryType::Symlink | EntryType::Link) {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            builder.append(&header, *bytes).unwrap();
        }
        gzipped(&builder.into_inner().unwrap())
    }

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn what_is_packed_comes_back_and_always_as_the_same_bytes() {
        let packed = pack(&files()).unwrap();
        assert_eq!(unpack(&packed.bytes).unwrap(), files());
        assert_eq!(pack(&files()).unwrap(), packed);
        assert_eq!(packed.bytes[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255], "no time, no system");
        let too_long = BTreeMap::from([("a".repeat(300), String::new())]);
        assert!(pack(&too_long).unwrap_err().contains("does not fit"));
    }

    /// `printf 'a: 1\n' >a/b.yaml; printf '' >c.yaml; sha256sum a/b.yaml c.yaml | sha256sum`
    #[test]
    fn the_digest_of_a_folder_is_that_of_sha256sum() {
        let files = BTreeMap::from([
            ("a/b.yaml".to_owned(), "a: 1\n".to_owned()),
            ("c.yaml".to_owned(), String::new()),
        ]);
        assert_eq!(
            folder_digest(&files),
            "sha256:f5bb64541fa9b08a7420fc6dfe09ad663bb3f38bca2f72609ac03debb037843c"
        );
    }

    #[test]
    fn what_no_release_holds_is_refused_by_name() {
        let regular = EntryType::Regular;
        let cases: [(&[Made<'_>], &str); 14] = [
            (&[("../a", regular, b"x")], "`../a`"),
            (&[("/etc/a", regular, b"x")], "`/etc/a`"),
            (&[("a//b", regular, b"x")], "`a//b`"),
            (&[("a/./b", regular, b"x")], "`a/./b`"),
            (&[("a\\b", regular, b"x")], "`a\\\\b`"),
            (&[(".git/config", regular, b"x")], "`.git/config`"),
            (&[("a\u{7}", regular, b"x")], "`a\\u{7}`"),
            (&[("a", EntryType::Symlink, b"")], "`a` in it is not a plain file (type '2')"),
            (&[("a", EntryType::Link, b"")], "`a` in it is not a plain file (type '1')"),
            (&[("a", EntryType::Char, b"")], "`a` in it is not a plain file (type '3')"),
            (&[("a", regular, b"x"), ("a", regular, b"y")], "`a` twice"),
            (&[("a", regular, b"x"), ("a/b", regular, b"y")], "`a` as a file and as a folder"),
            (&[("a", regular, b"\xff")], "`a` in it is not UTF-8"),
            (&[("a/", EntryType::Directory, b"")], "no file"),
        ];
        for (entries, expected) in cases {
            let error = unpack(&made(entries)).unwrap_err();
            assert!(error.contains(expected), "{entries:?}: {error}");
        }
        let with_folder = made(&[("a/", EntryType::Directory, b""), ("a/b", regular, b"x")]);
        assert_eq!(unpack(&with_folder).unwrap().len(), 1);
    }

    #[test]
    fn what_is_too_large_or_broken_is_refused() {
        let small = Limits { content: 8192, entries: 3, file: 100 };
        let error = |archive: &[u8]| unpack_within(archive, small).unwrap_err();
        assert!(error(&gzipped(&[0; 8193])).contains("unpacks to more than 8192"));
        assert!(
            error(&made(&[("a", EntryType::Regular, &[b'a'; 101])])).contains("`a` in it has more than 100")
        );
        let many = ["a", "b", "c", "d"].map(|name| (name, EntryType::Regular, b"".as_slice()));
        assert!(error(&made(&many)).contains("more than 3 entries"));
        assert!(unpack(&vec![0; ARCHIVE_LIMIT + 1]).unwrap_err().contains("more than"));
        assert!(unpack(b"plain text").unwrap_err().contains("not a gzipped tarball"));
        let packed = pack(&files()).unwrap().bytes;
        let more = [packed.as_slice(), b"x"].concat();
        assert!(unpack(&more).unwrap_err().contains("data after its end"));
        assert!(unpack(&packed[..packed.len() - 9]).is_err());
    }
}
