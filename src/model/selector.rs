//! Label selectors in the syntax of Kubernetes.

/// A selector: all of its requirements must be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector(Vec<(String, Demand)>);

/// The condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Demand {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Selector {
    /// Parses `env=prod,tier!=test,region in (eu,us),zone notin (a),gpu,!legacy`. The error names the invalid part and the
    /// reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        parts(text)?.into_iter().map(requirement).collect::<Result<_, _>>().map(Self)
    }

    /// Reports whether labels match the selector. As in Kubernetes, a missing label is unequal to every value.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|(key, demand)| match (demand, label(key)) {
            (Demand::Exists, value) => value.is_some(),
            (Demand::Missing, value) => value.is_none(),
            (Demand::In(values), value) => value.is_some_and(|value| values.iter().any(|one| one == value)),
            (Demand::NotIn(values), value) => value.is_none_or(|value| values.iter().all(|one| one != value)),
        })
    }
}

/// Splits a selector at the commas outside parentheses.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut from, mut is_inside) = (Vec::new(), 0, false);
    for (at, character) in text.char_indices() {
        match character {
            '(' if !is_inside => is_inside = true,
            ')' if is_inside => is_inside = false,
            '(' | ')' => return Err(format!("`{text}` has an unexpected parenthesis")),
            ',' if !is_inside => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if is_inside {
        return Err(format!("`{text}` has an unclosed parenthesis"));
    }
    parts.push(&text[from..]);
    Ok(parts)
}

fn requirement(part: &str) -> Result<(String, Demand), String> {
    let part = part.trim();
    if let Some((key, value)) = part.split_once("!=") {
        return Ok((word(key, part)?, Demand::NotIn(vec![value_of(value, part)?])));
    }
    if let Some((key, value)) = part.split_once('=') {
        let value = value.strip_prefix('=').unwrap_or(value);
        return Ok((word(key, part)?, Demand::In(vec![value_of(value, part)?])));
    }
    if let Some(key) = part.strip_prefix('!') {
        return Ok((word(key, part)?, Demand::Missing));
    }
    let Some(list) = part.strip_suffix(')') else { return Ok((word(part, part)?, Demand::Exists)) };
    let (before, values) = list.split_once('(').unwrap_or_default();
    let values = values.split(',').map(|value| value_of(value, part)).collect::<Result<_, _>>()?;
    match before.split_whitespace().collect::<Vec<_>>().as_slice() {
        [key, "in"] => Ok((word(key, part)?, Demand::In(values))),
        [key, "notin"] => Ok((word(key, part)?, Demand::NotIn(values))),
        _ => Err(format!(
            "`{part}` is not a requirement: lists follow `in` or `notin`, as in `env in (dev,test)`"
        )),
    }
}

/// Validates the key of a label.
fn word(text: &str, part: &str) -> Result<String, String> {
    match value_of(text, part)? {
        key if key.is_empty() => Err(format!("`{part}` is not a requirement: it has no key")),
        key => Ok(key),
    }
}

/// Validates the value of a label, which may be empty.
fn value_of(text: &str, part: &str) -> Result<String, String> {
    let text = text.trim();
    let fits = |one: char| one.is_ascii_alphanumeric() || "-_./".contains(one);
    match text.chars().find(|one| !fits(*one)) {
        None => Ok(text.to_owned()),
        Some(wrong) => Err(format!("`{part}` is not a requirement: no label contains `{wrong}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_selects_as_in_kubernetes() {
        let label = |key: &str| match key {
            "env" => Some("prod"),
            "example.org/tier" => Some(""),
            _ => None,
        };
        for (selector, expected) in [
            ("env=prod", true),
            ("env == prod", true),
            ("env=dev", false),
            ("region=eu", false),
            ("env!=prod", false),
            ("region!=eu", true),
            ("env in (dev, prod),example.org/tier=", true),
            ("env in (dev,test)", false),
            ("env notin (dev,test)", true),
            ("region notin (eu)", true),
            ("env,!region", true),
            ("env,region", false),
            ("!env", false),
        ] {
            assert_eq!(Selector::parse(selector).unwrap().matches(label), expected, "{selector}");
        }
        for wrong in
            ["", "env=prod,", "=prod", "env in prod", "env of (a)", "env in (a", "env)", "env>3", "a=b=c"]
        {
            assert!(Selector::parse(wrong).is_err(), "{wrong}");
        }
    }
}
