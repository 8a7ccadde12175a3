//! Applies small changes to a good fleet, given as a folder:
//!
//! - `remove.txt`: paths to delete, one per line;
//! - `edits.txt`: the path of a file on its own line, followed by lines that begin with `<` (the old lines, which must occur
//!   once) and lines that begin with `>` (the new lines); `<` and `>` are followed by one space;
//! - `links.txt`: `<path> -> <target>`, one symbolic link per line;
//! - `pipes.txt`: paths of named pipes, one per line;
//! - all other files are added to the fleet, or replace the file with the same path.

use std::{fs, path::Path};

use super::sandbox;

/// The files of the case itself; all others belong to the fleet.
const OWN: [&str; 5] = ["edits.txt", "links.txt", "notes.txt", "pipes.txt", "remove.txt"];

/// Creates the fleet of a case in `root`.
pub(super) fn apply(base: &Path, case: &Path, root: &Path) -> Result<(), String> {
    sandbox::copy(base, root);
    for path in lines(&case.join("remove.txt")) {
        let target = root.join(&path);
        let removed = if target.is_dir() { fs::remove_dir_all(&target) } else { fs::remove_file(&target) };
        removed.map_err(|error| format!("cannot remove {path}: {error}"))?;
    }
    sandbox::copy(case, root);
    for own in OWN {
        fs::remove_file(root.join(own)).ok();
    }
    if let Ok(edits) = fs::read_to_string(case.join("edits.txt")) {
        edit(root, &edits)?;
    }
    for line in lines(&case.join("links.txt")) {
        let (path, target) = line.split_once(" -> ").ok_or("a link is written `<path> -> <target>`")?;
        link(target, &root.join(path)).map_err(|error| format!("cannot link {path}: {error}"))?;
    }
    for path in lines(&case.join("pipes.txt")) {
        pipe(&root.join(&path)).map_err(|error| format!("cannot make the pipe {path}: {error}"))?;
    }
    Ok(())
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> std::io::Result<()> {
    fs::create_dir_all(path.parent().unwrap())?;
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(_target: &str, _path: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

fn pipe(path: &Path) -> std::io::Result<()> {
    fs::create_dir_all(path.parent().unwrap())?;
    let status = std::process::Command::new("mkfifo").arg(path).status()?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other("mkfifo failed")) }
}

/// One replacement: the old and the new lines.
#[derive(Default)]
struct Edit {
    old: String,
    new: String,
}

fn edit(root: &Path, text: &str) -> Result<(), String> {
    let mut file = None;
    let mut open = Edit::default();
    for line in text.lines().chain([""]) {
        let (mark, rest) = line.split_at_checked(1).unwrap_or_default();
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        let begins = mark != ">" && !open.new.is_empty() || !matches!(mark, "<" | ">");
        if begins && !(open.old.is_empty() && open.new.is_empty()) {
            let path = file.as_deref().ok_or("an edit without a file")?;
            replace(root, path, &std::mem::take(&mut open))?;
        }
        match mark {
            "<" => open.old.extend([rest, "\n"]),
            ">" => open.new.extend([rest, "\n"]),
            "" => {}
            _ => file = Some(line.to_owned()),
        }
    }
    Ok(())
}

/// Replaces whole lines. Without old lines, the new ones are appended.
fn replace(root: &Path, path: &str, edit: &Edit) -> Result<(), String> {
    let target = root.join(path);
    let text = fs::read_to_string(&target).map_err(|error| format!("cannot edit {path}: {error}"))?;
    if edit.old.is_empty() {
        sandbox::write(&target, text + &edit.new);
        return Ok(());
    }
    let old = format!("\n{}", edit.old);
    let padded = format!("\n{text}");
    let count = padded.matches(&old).count();
    if count != 1 {
        return Err(format!("{path} has {count} times\n{}", edit.old));
    }
    let edited = padded.replacen(&old, &format!("\n{}", edit.new), 1);
    sandbox::write(&target, &edited[1..]);
    Ok(())
}
