//! Names and values for use in messages.

/// Shortens a name or value for a message.
pub(super) fn abridged(text: &str) -> std::borrow::Cow<'_, str> {
    const SHOWN: usize = 300;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Finds the known name that was probably meant. Names longer than any known one have no match.
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
