//! Finds the cluster whose definition took the place of another's: a changed name or namespace. Cluster API cannot rename a
//! Cluster, so git would build a second one and leave the first without a definition.

use crate::{
    note::Notes,
    yaml::{FileId, Node, Source, read},
};

/// A definition as the last commit has it, or as git last had it. Its file still exists.
#[derive(Clone, Debug)]
pub struct Former {
    /// The path of its file.
    pub path: String,
    /// Its text in that commit.
    pub text: String,
    /// Its text now.
    pub now: String,
}

/// A namespace and a name, as a definition has them. The defaults of a folder may set the namespace.
type Identity = (Option<String>, String);

/// The namespace and the name that the file of a cluster defines now, if the file defined the cluster in the last commit.
pub(super) fn in_its_file(
    formers: &[Former],
    (namespace, cluster): (&str, &str),
) -> Option<(String, String)> {
    // Most files do not even contain the name, and parsing is slow.
    let mut candidates = formers.iter().filter(|one| one.text.contains(cluster));
    candidates.find_map(|one| {
        let (before, now) = (identity_in(&one.path, &one.text)?, identity_in(&one.path, &one.now)?);
        let was = before.1 == cluster && before.0.as_deref().is_none_or(|before| before == namespace);
        let is_same = now.1 == cluster && now.0.as_deref().is_none_or(|now| now == namespace);
        (was && !is_same).then(|| (now.0.unwrap_or_else(|| namespace.to_owned()), now.1))
    })
}

/// Whether a file that defined another cluster in the last commit now defines a cluster.
pub(super) fn is_renamed(formers: &[Former], (namespace, cluster): (&str, &str)) -> bool {
    let mut candidates = formers.iter().filter(|one| one.now.contains(cluster));
    candidates.any(|one| {
        let both = identity_in(&one.path, &one.text).zip(identity_in(&one.path, &one.now));
        both.is_some_and(|(before, now)| {
            before != now && now.1 == cluster && now.0.as_deref().is_none_or(|now| now == namespace)
        })
    })
}

/// The namespace, if it has one, and the name in the text of a definition.
pub fn identity_in(path: &str, text: &str) -> Option<Identity> {
    Some((namespace_in(path, text), word(path, text, "name")?))
}

/// The namespace in the text of a definition, or of the defaults of a folder.
pub fn namespace_in(path: &str, text: &str) -> Option<String> {
    word(path, text, "namespace")
}

fn word(path: &str, text: &str, key: &str) -> Option<String> {
    let root = read(&Source::new(FileId(0), path, text), &mut Notes::new())?;
    root.at(&["metadata", key]).and_then(Node::as_str).map(str::to_owned)
}
