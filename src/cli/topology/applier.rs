//! The words of `--applied-by`.

use crate::topology::import::Applier;

/// A word for a known applier, and how to make what it stands for.
type Word = (&'static str, fn() -> Applier);

const WORDS: [Word; 5] = [
    ("flux", Applier::flux),
    ("kubectl", Applier::kubectl),
    ("kubectl-server-side", Applier::kubectl_server_side),
    ("argocd", Applier::argo_cd),
    ("argocd-server-side", Applier::argo_cd_server_side),
];

/// The words for known appliers.
pub(super) fn words() -> [&'static str; 5] {
    WORDS.map(|(word, _)| word)
}

/// The applier that a word stands for: a known one in any case, or else a field manager of this name. None if no field manager
/// can have it.
pub(super) fn named(word: &str) -> Option<Applier> {
    let known = WORDS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known));
    known.map_or_else(|| Applier::field_manager(word), |(_, make)| Some(make()))
}
