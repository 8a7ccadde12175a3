//! Paths into variables, as used in `valueFrom.variable` of a patch.

use serde_json::Value;

use k8s_schema::value::get;

/// Looks up a path into variables: `name`, `name.field`, `name[0].field`.
///
/// # Errors
/// Cluster API's message if the path does not exist.
///
/// Source: `core/reconcilers/topology/cluster/patches/variables/value.go`.
pub fn lookup<'v>(variables: impl Fn(&str) -> Option<&'v Value>, path: &str) -> Result<Value, String> {
    let missing =
        |segment: &str| format!("variable {path:?} does not exist: failed to lookup segment {segment:?}");
    let mut segments = path.split('.');
    let (name, first) = segment(segments.next().unwrap_or_default())?;
    let mut value = variables(name).ok_or_else(|| format!("variable {name:?} does not exist"))?;
    value = item(value, first, path)?;
    for text in segments {
        let (key, at) = segment(text)?;
        // Upstream's JSON library also finds list items by number.
        let next = match value {
            Value::Array(items) => key.parse::<usize>().ok().and_then(|at| items.get(at)),
            other => get(other, &[key]),
        };
        value = item(next.ok_or_else(|| missing(key))?, at, path)?;
    }
    Ok(value.clone())
}

fn item<'a>(value: &'a Value, at: Option<usize>, path: &str) -> Result<&'a Value, String> {
    let Some(at) = at else { return Ok(value) };
    let items =
        value.as_array().ok_or_else(|| format!("variable {path:?} is invalid: failed to get array"))?;
    items.get(at).ok_or_else(|| format!("variable {path:?} is invalid: array does not have index {at}"))
}

fn segment(text: &str) -> Result<(&str, Option<usize>), String> {
    let wrong = || format!("failed to parse path segment {text:?}");
    match (text.find('['), text.find(']')) {
        (None, None) => Ok((text, None)),
        (Some(open), Some(close)) if open < close => {
            let digits = text.get(open + 1..close).ok_or_else(wrong)?;
            let at = digits.trim_start_matches('+').parse().map_err(|_| wrong())?;
            Ok((text.get(..open).unwrap_or_default(), Some(at)))
        }
        _ => Err(wrong()),
    }
}
