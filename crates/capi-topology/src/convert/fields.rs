//! Builds a struct from the fields of another one.

use gotmpl::time::{format_duration, parse_duration};
use serde_json::{Map, Value, json};

use k8s_schema::value::{get, present, set};

/// The fields of a struct during its conversion.
pub(super) struct Fields<'a> {
    from: &'a Value,
    into: Value,
    /// Whether `null` marks the place of empty lists and maps.
    marks: bool,
}

/// Fields of the kubeadm types that are maps; every other object is a struct.
const MAPS: [&str; 3] = ["featureGates", "labels", "annotations"];

fn is_empty_map(name: &str, value: &Value) -> bool {
    MAPS.contains(&name) && value.as_object().is_some_and(Map::is_empty)
}

/// Drops empty lists and maps, and their marks. A parent that held nothing else stays as an empty struct: Go omits an empty
/// list, but not a struct in which such a list is set.
pub(super) fn without_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // An empty list of taints differs from a missing one.
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

/// Reports whether Go omits a value from its JSON for a field with `omitempty` or `omitzero`.
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

    /// Like [`Self::of`], but marks the place of an empty list or map: see [`without_marks`].
    pub(super) fn marked(from: &'a Value) -> Self {
        Self { marks: true, ..Self::of(from) }
    }

    /// Copies fields whose name and meaning stay the same.
    pub(super) fn keep(self, names: &[&str]) -> Self {
        names.iter().fold(self, |fields, name| {
            let value = fields.from.get(*name).cloned();
            fields.put(&[name], value)
        })
    }

    /// Copies booleans that are `true`: an explicit `false` cannot be told from a missing value.
    pub(super) fn keep_true(self, names: &[&str]) -> Self {
        names.iter().fold(self, |fields, name| {
            let value = fields.from.get(*name).filter(|value| **value == json!(true)).cloned();
            fields.put(&[name], value)
        })
    }

    /// Moves a field to another path.
    pub(super) fn moved(self, from: &[&str], to: &[&str]) -> Self {
        let value = get(self.from, from).cloned();
        self.put(to, value)
    }

    /// Sets a value at a path.
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

    /// Converts a field that has fields of its own.
    pub(super) fn part(
        self,
        from: &[&str],
        to: &[&str],
        convert: impl Fn(&Value) -> Result<Value, String>,
    ) -> Result<Self, String> {
        let value = present(self.from, from).map(convert).transpose()?;
        Ok(self.put(to, value))
    }

    /// Converts a list item by item.
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

    /// Converts a duration to the other version's number of seconds.
    pub(super) fn seconds(self, from: &[&str], to: &[&str]) -> Result<Self, String> {
        let value = present(self.from, from).map(seconds).transpose()?;
        Ok(self.put(to, value))
    }

    /// Converts the node deletion timeouts, which the other version has below this path.
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

/// The whole seconds of a Go duration, limited to the maximum of an `i32`.
pub(super) fn seconds(duration: &Value) -> Result<Value, String> {
    let text = duration.as_str().unwrap_or_default();
    let nanos = parse_duration(text).ok_or_else(|| format!("`{text}` is not a duration"))?;
    Ok(json!((nanos / 1_000_000_000).min(i64::from(i32::MAX))))
}

/// Formats seconds as a Go duration, such as `1h0m0s`.
pub(super) fn duration(seconds: i64) -> Value {
    json!(format_duration(seconds.saturating_mul(1_000_000_000)))
}

/// Converts a reference: its version becomes a group.
pub(super) fn grouped(reference: &Value) -> Value {
    let api_version = k8s_schema::value::text(reference, &["apiVersion"]);
    Fields::of(reference)
        .keep(&["kind", "name"])
        .put(&["apiGroup"], Some(json!(k8s_schema::value::group(api_version))))
        .done()
}
