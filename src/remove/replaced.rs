//! Finds the cluster whose definition took the place of another's: a changed name or namespace. Cluster API cannot rename a
//! Cluster, so git would build a second one and leave the first without a definition.

use crate::{
    note::Notes,
    yaml::{FileId, Node, Source, read},
};

/// A definition as the last commit has it, whose file still exists.
#[derive(Clone, Debug)]
pub struct Former {
    /// The path of its file.
    pub path: String,
    /// Its text in the last commit.
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
        let (before, now) = (identity(&one.path, &one.text)?, identity(&one.path, &one.now)?);
        let was = before.1 == cluster && before.0.as_deref().is_none_or(|before| before == namespace);
        let is_same = now.1 == cluster && now.0.as_deref().is_none_or(|now| now == namespace);
        (was && !is_same).then(|| (now.0.unwrap_or_else(|| namespace.to_owned()), now.1))
    })
}

fn identity(path: &str, text: &str) -> Option<Identity> {
    let root = read(&Source::new(FileId(0), path, text), &mut Notes::new())?;
    let word = |key: &str| root.at(&["metadata", key]).and_then(Node::as_str).map(str::to_owned);
    Some((word("namespace"), word("name")?))
}
