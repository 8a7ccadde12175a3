//! The JSON Schemas of all kinds, derived from the types, and the validation of documents with places for all errors.

use std::sync::LazyLock;

use jsonschema::{
    JsonType, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
    paths::LocationSegment,
};
use serde_json::Value as Json;

use super::{
    Addon, ClusterDefaults, ClusterDefinition, Fleet, Lock, NodeImages, Release, Rollout, Stack,
    advice::advice,
    expected::Expected,
    message_words::{abridged, closest},
};
use crate::{
    note::{MOST_ALIKE, Notes, Place},
    yaml::{Mapping, Node, Segment, Source, Value, to_json},
};

/// A kind of definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefinitionKind {
    /// `stackloom.yaml`.
    Fleet,
    /// `stack.yaml`.
    Stack,
    /// `addon.yaml`.
    Addon,
    /// `node-images.yaml`.
    NodeImages,
    /// `_defaults.yaml`.
    ClusterDefaults,
    /// A cluster definition.
    ClusterDefinition,
    /// A file in `rollouts/`.
    Rollout,
    /// `release.yaml`, which the program itself writes.
    Release,
    /// `stackloom.lock`, which the program itself writes.
    Lock,
}

impl DefinitionKind {
    /// All kinds, sorted by the file names of their schemas.
    pub const ALL: [Self; 9] = [
        Self::Addon,
        Self::ClusterDefaults,
        Self::ClusterDefinition,
        Self::Fleet,
        Self::Lock,
        Self::NodeImages,
        Self::Release,
        Self::Rollout,
        Self::Stack,
    ];

    /// The name of the kind in definitions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fleet => "Fleet",
            Self::Stack => "Stack",
            Self::Addon => "Addon",
            Self::NodeImages => "NodeImages",
            Self::ClusterDefaults => "ClusterDefaults",
            Self::ClusterDefinition => "ClusterDefinition",
            Self::Release => "Release",
            Self::Rollout => "Rollout",
            Self::Lock => "Lock",
        }
    }

    /// The file name of the schema below `schemas/`.
    pub fn schema_file(self) -> &'static str {
        match self {
            Self::Fleet => "fleet.schema.json",
            Self::Stack => "stack.schema.json",
            Self::Addon => "addon.schema.json",
            Self::NodeImages => "node-images.schema.json",
            Self::ClusterDefaults => "cluster-defaults.schema.json",
            Self::ClusterDefinition => "cluster-definition.schema.json",
            Self::Release => "release.schema.json",
            Self::Rollout => "rollout.schema.json",
            Self::Lock => "lock.schema.json",
        }
    }

    /// The JSON Schema of the kind.
    pub fn schema(self) -> Json {
        let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
        let mut schema = match self {
            Self::Fleet => generator.into_root_schema_for::<Fleet>(),
            Self::Stack => generator.into_root_schema_for::<Stack>(),
            Self::Addon => generator.into_root_schema_for::<Addon>(),
            Self::NodeImages => generator.into_root_schema_for::<NodeImages>(),
            Self::ClusterDefaults => generator.into_root_schema_for::<ClusterDefaults>(),
            Self::ClusterDefinition => generator.into_root_schema_for::<ClusterDefinition>(),
            Self::Release => generator.into_root_schema_for::<Release>(),
            Self::Rollout => generator.into_root_schema_for::<Rollout>(),
            Self::Lock => generator.into_root_schema_for::<Lock>(),
        };
        schema.insert("title".to_owned(), Json::from(format!("Stackloom {}", self.name())));
        schema.to_value()
    }
}

struct Compiled {
    schema: Json,
    validator: Validator,
}

static COMPILED: LazyLock<Vec<Compiled>> = LazyLock::new(|| {
    let compile = |kind: &DefinitionKind| {
        let schema = kind.schema();
        let validator = jsonschema::validator_for(&schema).expect("our own schemas are schemas");
        Compiled { schema, validator }
    };
    DefinitionKind::ALL.iter().map(compile).collect()
});

/// Validates a document against its kind's schema and reports all errors. Returns its JSON value if there are none.
pub(super) fn validate(
    kind: DefinitionKind,
    node: &Node,
    source: &Source,
    notes: &mut Notes,
) -> Option<Json> {
    let at = DefinitionKind::ALL.iter().position(|listed| *listed == kind).expect("every kind is listed");
    let compiled = &COMPILED[at];
    let json = to_json(node);
    let mut faults = SchemaErrors { schema: &compiled.schema, root: node, source, notes };
    let whole = faults.whole_numbers(node, &mut Vec::new());
    if compiled.validator.is_valid(&json) {
        return whole.then_some(json);
    }
    for error in compiled.validator.iter_errors(&json) {
        faults.report(&error);
    }
    None
}

struct SchemaErrors<'a> {
    schema: &'a Json,
    root: &'a Node,
    source: &'a Source,
    notes: &'a mut Notes,
}

impl SchemaErrors<'_> {
    fn report(&mut self, error: &ValidationError<'_>) {
        match error.kind() {
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context }
            | ValidationErrorKind::OneOfMultipleValid { context } => {
                self.report_best_branch(error, context);
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                self.unknown_keys(&path_of(error), unexpected);
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let place = self.place(&path_of(error));
                let what = self.describe(&path_of(error));
                let example = self.example_of(&path_of(error), name);
                self.notes
                    .error("missing-key", place, format!("{what} lacks `{name}`"))
                    .hint(format!("add `{name}: {example}` to it"));
            }
            _ => self.wrong_value(error),
        }
    }

    /// Reports the errors of a value that may also be null: those of the only branch that isn't null.
    fn report_best_branch(&mut self, error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) {
        let of_null = |error: &ValidationError<'_>| {
            let ValidationErrorKind::Type { kind } = error.kind() else { return false };
            matches!(kind, TypeKind::Single(JsonType::Null))
        };
        let branches: Vec<_> = context.iter().filter(|errors| !errors.iter().any(of_null)).collect();
        match branches.as_slice() {
            [only] => only.iter().for_each(|error| self.report(error)),
            _ => self.wrong_value(error),
        }
    }

    /// Rejects `1.0` in place of `1`. JSON Schema treats both as the same number, but the consumers of the value don't.
    fn whole_numbers(&mut self, node: &Node, path: &mut Vec<Segment>) -> bool {
        let mut sound = true;
        match &node.value {
            // Other numbers are reported by the schema.
            Value::Float(number)
                if !(number.is_finite() && number.fract() != 0.0) && self.is_whole_at(path) =>
            {
                let place = self.source.word(node.origin.offset as usize);
                let what = path.last().map_or_else(|| "the document".to_owned(), segment_words);
                let written = self.source.word_at(node.origin.offset as usize);
                let note = self.notes.error(
                    "wrong-value",
                    place,
                    format!("{what} must be a whole number, not `{written}`"),
                );
                if number.abs() < 1e15 {
                    note.hint(format!("write `{number:.0}`"));
                } else {
                    note.hint("write it with digits only");
                }
                sound = false;
            }
            Value::Mapping(mapping) => {
                for entry in mapping.iter() {
                    path.push(Segment::Key(entry.key.name.clone()));
                    sound &= self.whole_numbers(&entry.value, path);
                    path.pop();
                }
            }
            Value::Sequence(items) => {
                for (at, item) in items.iter().enumerate() {
                    path.push(Segment::Item(at));
                    sound &= self.whole_numbers(item, path);
                    path.pop();
                }
            }
            _ => {}
        }
        sound
    }

    fn is_whole_at(&self, path: &[Segment]) -> bool {
        let says = |schema: &Json, kind: &str| {
            let types = &schema["type"];
            types == kind || types.as_array().is_some_and(|kinds| kinds.iter().any(|one| one == kind))
        };
        let here = schemas_at(self.schema, path);
        here.iter().any(|schema| says(schema, "integer")) && !here.iter().any(|schema| says(schema, "number"))
    }

    fn unknown_keys(&mut self, path: &[Segment], names: &[String]) {
        let known = properties_at(self.schema, path);
        let what = self.describe(path);
        for (at, name) in names.iter().enumerate() {
            let parent = self.node(path);
            let entry = parent.as_mapping().and_then(|mapping| mapping.entry(name));
            let origin = entry.map_or(parent.origin, |entry| entry.key.origin);
            let place = self.source.word(origin.offset as usize);
            let name = abridged(name);
            let note = self.notes.error("unknown-key", place, format!("{what} has no key `{name}`"));
            if at >= MOST_ALIKE {
                // Messages beyond this limit are only counted, so they need no suggestion.
                continue;
            }
            match closest(&name, known.iter().map(String::as_str)) {
                Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                None => note.hint(format!("use one of {}", list(&known))),
            };
        }
    }

    fn wrong_value(&mut self, error: &ValidationError<'_>) {
        let path = path_of(error);
        let node = self.node(&path).clone();
        let place = self.place(&path);
        let what = path.last().map_or_else(|| "the document".to_owned(), segment_words);
        let written = abridged(self.source.word_at(node.origin.offset as usize)).into_owned();
        let expected = self.expected(error, &path);
        let advice =
            match self.example(&path).filter(|_| node.as_str().is_none() && expected.takes(JsonType::String))
            {
                Some(example) if node.kind() != "a number" => format!("write text, such as `{example}`"),
                _ => advice(&node, &written, &expected),
            };
        let message = match error.kind() {
            ValidationErrorKind::MinItems { .. } => format!("{what} {expected}"),
            ValidationErrorKind::MaxItems { .. } | ValidationErrorKind::MaxProperties { .. } => {
                let items = node.as_sequence().map_or(0, <[Node]>::len);
                let count = node.as_mapping().map_or(items, Mapping::len);
                format!("{what} {expected}, but has {count}")
            }
            _ if matches!(expected, Expected::Entry(_)) => format!("{what} {expected}"),
            _ => format!("{what} {expected}, not {}", shown(&node, &written)),
        };
        self.notes.error("wrong-value", place, message).hint(advice);
    }

    /// An example of a text value, from the schema.
    fn example(&self, path: &[Segment]) -> Option<&str> {
        let found = schemas_at(self.schema, path).into_iter().find_map(|schema| schema["examples"].get(0))?;
        found.as_str()
    }

    /// An example value for a missing key, from the examples of the kind.
    fn example_of(&self, path: &[Segment], name: &str) -> String {
        const ROOM: usize = 80;
        let whole = [path, &[Segment::Key(name.into())]].concat();
        let into = |value: &Json, step: &Segment| match step {
            Segment::Key(name) => value.get(&**name).cloned(),
            Segment::Item(_) => value.get(0).cloned(),
        };
        let examples = self.schema["examples"].as_array().into_iter().flatten();
        let mut examples =
            examples.filter_map(|root| whole.iter().try_fold(root.clone(), |value, step| into(&value, step)));
        let example = |schema: &Json| schema["examples"].get(0).or_else(|| schema.get("const")).cloned();
        let own = || schemas_at(self.schema, &whole).into_iter().find_map(example);
        let text = examples.next().or_else(own).map(|value| value.to_string());
        text.filter(|text| text.len() <= ROOM).unwrap_or_else(|| "…".to_owned())
    }

    /// The permitted words, if a value may only be one of a few.
    fn options(&self, error: &ValidationError<'_>, path: &[Segment]) -> Vec<String> {
        match error.kind() {
            ValidationErrorKind::Enum { options } => {
                options.as_array().into_iter().flatten().map(plain_json).collect()
            }
            ValidationErrorKind::Constant { expected_value } => vec![plain_json(expected_value)],
            ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
                let listed = schemas_at(self.schema, path).into_iter();
                let mut options: Vec<_> =
                    listed.filter_map(|schema| schema.get("const")).map(plain_json).collect();
                options.sort();
                options
            }
            _ => Vec::new(),
        }
    }

    fn expected(&self, error: &ValidationError<'_>, path: &[Segment]) -> Expected {
        let options = self.options(error, path);
        if !options.is_empty() {
            return Expected::OneOf(options);
        }
        if let Some(inner) = of_its_type(error) {
            let expected = self.expected(inner, path);
            let is_entry = inner.instance_path() != error.instance_path();
            return if is_entry { Expected::Entry(Box::new(expected)) } else { expected };
        }
        match error.kind() {
            ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => Expected::Type(vec![*kind]),
            ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
                Expected::Type(in_order(kinds.iter()))
            }
            ValidationErrorKind::Minimum { limit } => Expected::Minimum(limit.to_string()),
            ValidationErrorKind::Maximum { limit } => Expected::Maximum(limit.to_string()),
            ValidationErrorKind::MinItems { limit } => Expected::LeastEntries(*limit),
            ValidationErrorKind::MaxItems { limit } | ValidationErrorKind::MaxProperties { limit } => {
                Expected::MostEntries(*limit)
            }
            ValidationErrorKind::Pattern { pattern } => Expected::Pattern(pattern.clone()),
            ValidationErrorKind::MaxLength { limit } => Expected::MostCharacters(*limit),
            _ => types_at(self.schema, path),
        }
    }

    fn node(&self, path: &[Segment]) -> &Node {
        let mut node = self.root;
        for step in path {
            let next = match step {
                Segment::Key(name) => node.get(name),
                Segment::Item(at) => node.as_sequence().and_then(|items| items.get(*at)),
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    fn place(&self, path: &[Segment]) -> Place {
        self.source.word(self.node(path).origin.offset as usize)
    }

    fn describe(&self, path: &[Segment]) -> String {
        let keys: Vec<_> = path.iter().map(segment_text).collect();
        if keys.is_empty() {
            let kind = self.root.get("kind").and_then(Node::as_str);
            return kind.map_or_else(|| "the document".to_owned(), |kind| format!("`{kind}`"));
        }
        format!("`{}`", keys.join(".").replace(".[", "["))
    }
}

fn segment_text(segment: &Segment) -> String {
    match segment {
        Segment::Key(name) => name.to_string(),
        Segment::Item(at) => format!("[{at}]"),
    }
}

fn segment_words(segment: &Segment) -> String {
    match segment {
        Segment::Key(name) => format!("`{name}`"),
        Segment::Item(at) => format!("entry {}", at + 1),
    }
}

fn path_of(error: &ValidationError<'_>) -> Vec<Segment> {
    let step = |segment: LocationSegment<'_>| match segment {
        LocationSegment::Property(name) => Segment::Key(name.as_ref().into()),
        LocationSegment::Index(at) => Segment::Item(at),
    };
    error.instance_path().into_iter().map(step).collect()
}

/// The schemas that apply at a path, with references and alternatives resolved.
fn schemas_at<'a>(root: &'a Json, path: &[Segment]) -> Vec<&'a Json> {
    let mut here = expand(root, vec![root]);
    for step in path {
        let next = here.iter().filter_map(|schema| match step {
            Segment::Key(name) => {
                schema["properties"].get(&**name).or_else(|| schema.get("additionalProperties"))
            }
            Segment::Item(_) => schema.get("items"),
        });
        here = expand(root, next.collect());
    }
    here
}

fn expand<'a>(root: &'a Json, mut open: Vec<&'a Json>) -> Vec<&'a Json> {
    let mut found = Vec::new();
    while let Some(schema) = open.pop() {
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
            open.push(&root["$defs"][name]);
        }
        for word in ["anyOf", "oneOf", "allOf"] {
            open.extend(schema[word].as_array().into_iter().flatten());
        }
        found.push(schema);
    }
    found
}

fn properties_at(root: &Json, path: &[Segment]) -> Vec<String> {
    let mut names: Vec<_> = schemas_at(root, path)
        .into_iter()
        .filter_map(|schema| schema["properties"].as_object())
        .flat_map(|properties| properties.keys().cloned())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The types that the schemas at a path allow.
fn types_at(root: &Json, path: &[Segment]) -> Expected {
    let types = schemas_at(root, path).into_iter().flat_map(|schema| match &schema["type"] {
        Json::String(name) => vec![name.as_str()],
        Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    });
    let types = in_order(types.filter_map(|name| name.parse().ok()).filter(|kind| *kind != JsonType::Null));
    if types.is_empty() { Expected::Other } else { Expected::Type(types) }
}

/// Sorts types as messages name them.
fn in_order(types: impl Iterator<Item = JsonType>) -> Vec<JsonType> {
    const TYPES: [JsonType; 6] = [
        JsonType::Array,
        JsonType::Object,
        JsonType::Number,
        JsonType::String,
        JsonType::Integer,
        JsonType::Boolean,
    ];
    let mut types: Vec<_> = types.collect();
    types.sort_by_key(|kind| TYPES.iter().position(|one| one == kind));
    types.dedup();
    types
}

/// Of a value that fits none of several schemas: what is wrong with it by the one for its type.
fn of_its_type<'a>(error: &'a ValidationError<'_>) -> Option<&'a ValidationError<'static>> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return None;
    };
    let is_type = |inner: &ValidationError<'_>| matches!(inner.kind(), ValidationErrorKind::Type { .. });
    context.iter().find(|errors| !errors.iter().any(is_type))?.first()
}

fn plain_json(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn shown(node: &Node, written: &str) -> String {
    match node.kind() {
        kind @ ("a list" | "a map" | "null") => kind.to_owned(),
        _ => format!("`{written}`"),
    }
}

fn list(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
