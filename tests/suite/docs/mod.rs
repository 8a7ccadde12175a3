//! The documentation is true: schemas, the committed tree, and terminal output in the documents.

mod console;
mod paragraphs;

use std::{collections::BTreeMap, fs};

use stackloom::definition::DefinitionKind;

use super::{sandbox, support};

/// The committed schemas, by file name.
fn schemas() -> BTreeMap<String, String> {
    let folder = support::package().join("schemas");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (sandbox::name(&path).to_owned(), fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn schemas_are_what_the_program_emits() {
    let committed = schemas();
    let files: Vec<_> = DefinitionKind::ALL.iter().map(|kind| kind.schema_file()).collect();
    assert_eq!(committed.keys().map(String::as_str).collect::<Vec<_>>(), files);
    for kind in DefinitionKind::ALL {
        let emitted = format!("{}\n", serde_json::to_string_pretty(&kind.schema()).unwrap());
        assert!(
            committed[kind.schema_file()] == emitted,
            "{}: `stackloom schema --write schemas`",
            kind.schema_file()
        );
    }
}

/// The generated `release.yaml` of each release in this repository.
fn frozen() -> Vec<serde_json::Value> {
    let releases = sandbox::folders(&support::package().join("generated/releases"));
    let text = |folder: &std::path::PathBuf| fs::read_to_string(folder.join("release.yaml")).unwrap();
    releases.iter().map(|folder| serde_yaml::from_str(&text(folder)).unwrap()).collect()
}

#[test]
fn schemas_take_their_own_examples_and_nothing_beside() {
    for kind in DefinitionKind::ALL {
        let schema = kind.schema();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let examples =
            schema["examples"].as_array().unwrap_or_else(|| panic!("{} has no example", kind.name()));
        let frozen = if kind == DefinitionKind::Release { frozen() } else { Vec::new() };
        assert!(!examples.is_empty(), "{} has no example", kind.name());
        for example in examples.iter().chain(&frozen) {
            let faults: Vec<_> = validator.iter_errors(example).map(|error| error.to_string()).collect();
            assert!(faults.is_empty(), "{}: {faults:?}", kind.name());
            let mut wrong = example.clone();
            wrong["spec"]["notThere"] = true.into();
            assert!(!validator.is_valid(&wrong), "{} takes any key", kind.name());
            assert_eq!(example["kind"], kind.name());
        }
        assert!(schema["description"].as_str().is_some_and(|text| text.len() > 20), "{}", kind.name());
    }
}

/// Every key of every schema has a description, which editors show.
#[test]
fn schemas_describe_every_key() {
    for kind in DefinitionKind::ALL {
        let schema = kind.schema();
        let mut open = vec![(kind.name().to_owned(), &schema)];
        while let Some((at, schema)) = open.pop() {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{at}.{name}");
                let reference = property["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/"));
                let described = |schema: &serde_json::Value| schema["description"].is_string();
                let by_reference = reference.is_some_and(|name| described(&kind.schema()["$defs"][name]));
                assert!(described(property) || by_reference, "{path} has no description");
                open.push((path, property));
            }
            for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
                open.push((format!("{at}#{name}"), definition));
            }
        }
    }
}

#[test]
fn the_committed_tree_is_what_the_sources_say() {
    let generation = sandbox::compared(&support::package());
    let files: Vec<_> = generation.changes.files.keys().map(ToString::to_string).collect();
    assert!(files.is_empty(), "`cargo run -- generate` writes {files:#?}");
}
