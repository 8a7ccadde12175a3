//! A struct that is made of the fields of another one.

use gotmpl::time::{format_duration, parse_duration};
use serde_json::{Map, Value, json};

use k8s_schema::value::{get, present, set};

/// The fields of a struct, on their way into the other version.
pub(super) struct Fields<'a> {
    from: &'a Value,
    into: Value,
    /// Whether `null` is kept in the place of lists and maps without entries.
    marks: bool,
}

/// Maps of the kubeadm types; every other object is a struct.
const MAPS: [&str; 3] = ["featureGates", "labels", "annotations"];

fn is_empty_map(name: &str, value: &Value) -> bool {
    MAPS.contains(&name) && value.as_object().is_some_and(Map::is_empty)
}

/// Drops lists and maps without entries, and what marks them. What held nothing else stays, as an empty struct: Go leaves a
/// list out that has no items, but does not leave out a struct in which such a list is set.
pub(super) fn without_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // No taints are something else than none that are named.
            fields.retain(|name, value| match value {
                Value::Null => false,
                Value::Array(items) => !items.is_empty() || name == "taints",
                _ => !is_empty_map(name, value),
            });
            fields.values_mut().for_each(without_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(without_marks),
        _ => {}
    }
}

/// What Go leaves out of its JSON where a field says `omitempty` or `omitzero`.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

impl<'a> Fields<'a> {
    pub(super) fn of(from: &'a Value) -> Self {
        Self { from, into: Value::Object(Map::new()), marks: false }
    }

    /// The same, with a mark where a list or map without entries was: see [`without_marks`].
    pub(super) fn marked(from: &'a Value) -> Self {
        Self { marks: true, ..Self::of(from) }
    }

    /// Fields of the same name and meaning.
    pub(super) fn keep(self, names: &[&str]) -> Self {
        names.iter().fold(self, |fields, name| {
            let value = fields.from.get(*name).cloned();
            fields.put(&[name], value)
        })
    }

    /// Booleans of which nobody can tell whether `false` was written: only `true` stays.
    pub(super) fn keep_true(self, names: &[&str]) -> Self {
        names.iter().fold(self, |fields, name| {
            let value = fields.from.get(*name).filter(|value| **value == json!(true)).cloned();
            fields.put(&[name], value)
        })
    }

    /// A field that has another place.
    pub(super) fn moved(self, from: &[&str], to: &[&str]) -> Self {
        let value = get(self.from, from).cloned();
        self.put(to, value)
    }

    /// A value of its own.
    pub(super) fn put(mut self, to: &[&str], value: Option<Value>) -> Self {
        let Some(value) = value else { return self };
        if !is_empty(&value) {
            set(&mut self.into, to, value);
        } else if self.marks && (value.is_array() || to.last().is_some_and(|name| is_empty_map(name, &value)))
        {
            set(&mut self.into, to, Value::Null);
        }
        self
    }

    /// A field that has a part of its own.
    pub(super) fn part(
        self,
        from: &[&str],
        to: &[&str],
        convert: impl Fn(&Value) -> Result<Value, String>,
    ) -> Result<Self, String> {
        let value = present(self.from, from).map(convert).transpose()?;
        Ok(self.put(to, value))
    }

    /// A list, item by item.
    pub(super) fn each(
        self,
        from: &[&str],
        to: &[&str],
        convert: impl Fn(&Value) -> Result<Value, String>,
    ) -> Result<Self, String> {
        let items = get(self.from, from).and_then(Value::as_array);
        let converted = items.map(|items| items.iter().map(convert).collect::<Result<Vec<_>, _>>());
        Ok(self.put(to, converted.transpose()?.map(Value::Array)))
    }

    /// A duration, which is a number of seconds in the other version.
    pub(super) fn seconds(self, from: &[&str], to: &[&str]) -> Result<Self, String> {
        let value = present(self.from, from).map(seconds).transpose()?;
        Ok(self.put(to, value))
    }

    /// The timeouts of deleting a node, wherever the other version has them.
    pub(super) fn node_timeouts(mut self, below: &[&str]) -> Result<Self, String> {
        for name in ["nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout"] {
            let to = format!("{name}Seconds");
            let path = [below, &["deletion", &to]].concat();
            self = self.seconds(&[name], &path)?;
        }
        Ok(self)
    }

    pub(super) fn done(self) -> Value {
        self.into
    }
}

/// Whole seconds of a Go duration, as many as fit.
pub(super) fn seconds(duration: &Value) -> Result<Value, String> {
    let text = duration.as_str().unwrap_or_default();
    let nanos = parse_duration(text).ok_or_else(|| format!("`{text}` is not a duration"))?;
    Ok(json!((nanos / 1_000_000_000).min(i64::from(i32::MAX))))
}

/// Seconds as Go prints a duration: `1h0m0s`.
pub(super) fn duration(seconds: i64) -> Value {
    json!(format_duration(seconds.saturating_mul(1_000_000_000)))
}

/// A reference to an object, by group instead of by version.
pub(super) fn grouped(reference: &Value) -> Value {
    let api_version = k8s_schema::value::text(reference, &["apiVersion"]);
    Fields::of(reference)
        .keep(&["kind", "name"])
        .put(&["apiGroup"], Some(json!(k8s_schema::value::group(api_version))))
        .done()
}
