//! Names that look alike, for hints.

/// The known name that a person may have meant.
pub fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let name = fold(name);
    known
        .map(|candidate| (strsim::damerau_levenshtein(&name, &fold(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}
