//! Names and values as messages show them.

/// A name or value as far as a message shows it.
pub(super) fn abridged(text: &str) -> std::borrow::Cow<'_, str> {
    const SHOWN: usize = 300;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// The known name that a person may have meant. Nobody means another one by a name longer than any.
pub fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 100;
    const MOST: usize = 1000;
    if name.len() > LONGEST {
        return None;
    }
    let fold = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let name = fold(name);
    known
        .filter(|candidate| candidate.len() <= LONGEST)
        .take(MOST)
        .map(|candidate| (strsim::damerau_levenshtein(&name, &fold(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}
