//! Writes the initial fuzzing corpora and dictionaries. The corpora contain the templates, rules, patches and schemas of
//! this repository's tests and releases, split into inputs for the targets. The dictionaries contain the words of their
//! languages.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds` writes them to `fuzz/corpus/<target>/` and
//! `fuzz/corpus/<target>.dict`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::{Map, Value, json};
use gotmpl::yaml;

/// The words of the rule language: macros, functions that Kubernetes adds, and operators.
const CEL: &[&str] = &[
    "self",
    "oldSelf",
    "has(",
    ".all(",
    ".exists(",
    ".exists_one(",
    ".map(",
    ".filter(",
    "size(",
    ".startsWith(",
    ".endsWith(",
    ".contains(",
    ".matches(",
    "duration(",
    "timestamp(",
    "string(",
    "int(",
    "uint(",
    "double(",
    "bytes(",
    "dyn(",
    "type(",
    "bool(",
    ".split(",
    ".join(",
    ".replace(",
    ".substring(",
    ".indexOf(",
    ".lastIndexOf(",
    ".trim()",
    ".lowerAscii()",
    ".upperAscii()",
    ".charAt(",
    ".format(",
    "quantity(",
    "isQuantity(",
    "url(",
    "isURL(",
    "ip(",
    "isIP(",
    "cidr(",
    "isCIDR(",
    ".containsIP(",
    "semver(",
    "isSemver(",
    "format.",
    ".validate(",
    ".isSorted()",
    ".sum()",
    ".min()",
    ".max()",
    ".find(",
    ".findAll(",
    "optional.of(",
    "optional.none()",
    ".orValue(",
    ".?",
    "[?",
    "in ",
    "&&",
    "||",
    "? ",
    " : ",
    "==",
    "!=",
    "<=",
    ">=",
    "null",
    "true",
    "false",
    "b'",
    "r'",
    "'''",
    "1u",
    "0x",
    "1e9",
];

/// The words of JSON patches.
const PATCH: &[&str] = &[
    "\"op\"",
    "\"add\"",
    "\"replace\"",
    "\"remove\"",
    "\"path\"",
    "\"value\"",
    "/spec",
    "/template",
    "/-",
    "/0",
    "~0",
    "~1",
    "\"/spec/",
    "[0]",
    "builtin.",
];

/// The words of schemas.
const SCHEMA: &[&str] = &[
    "\"type\"",
    "\"object\"",
    "\"array\"",
    "\"string\"",
    "\"integer\"",
    "\"number\"",
    "\"boolean\"",
    "\"properties\"",
    "\"additionalProperties\"",
    "\"items\"",
    "\"required\"",
    "\"default\"",
    "\"example\"",
    "\"enum\"",
    "\"format\"",
    "\"pattern\"",
    "\"minimum\"",
    "\"maximum\"",
    "\"exclusiveMinimum\"",
    "\"exclusiveMaximum\"",
    "\"minLength\"",
    "\"maxLength\"",
    "\"minItems\"",
    "\"maxItems\"",
    "\"uniqueItems\"",
    "\"minProperties\"",
    "\"maxProperties\"",
    "\"allOf\"",
    "\"anyOf\"",
    "\"oneOf\"",
    "\"not\"",
    "\"x-kubernetes-validations\"",
    "\"rule\"",
    "\"message\"",
    "\"messageExpression\"",
    "\"fieldPath\"",
    "\"reason\"",
    "\"x-kubernetes-int-or-string\"",
    "\"x-kubernetes-preserve-unknown-fields\"",
    "\"x-metadata\"",
    "\"nullable\"",
    "\"date-time\"",
    "\"ipv4\"",
    "\"cidr\"",
    "\"duration\"",
    "\"uuid\"",
    "\"email\"",
    "\"hostname\"",
    "\"uri\"",
];

/// The inputs of each target.
type Corpora = BTreeMap<&'static str, BTreeSet<String>>;

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository around this package");
    let mut corpora = Corpora::new();
    for objects in classes(root)? {
        seeds_of(&objects, &mut corpora);
    }
    templates_of_the_tests(root, &mut corpora)?;
    let corpus = root.join("fuzz/corpus");
    for (target, inputs) in &corpora {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        for (number, input) in inputs.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:04}")), input)?;
        }
        println!("fuzz/corpus/{target}: {} inputs", inputs.len());
    }
    let functions = fs::read_to_string(root.join("crates/gotmpl/tests/corpus/functions.txt"))?;
    let keywords = [
        "{{ ",
        " }}",
        "{{- ",
        " -}}",
        "range ",
        "with ",
        "if ",
        "else ",
        "end",
        "define ",
        "template ",
        "block ",
        "$x := ",
        "| ",
        "break",
        "continue",
    ];
    let templates: Vec<&str> = functions.lines().chain(keywords).collect();
    for (target, words) in
        [("cel", CEL), ("json_patch", PATCH), ("schemas", SCHEMA), ("templates", templates.as_slice())]
    {
        let quoted =
            words.iter().map(|word| format!("\"{}\"\n", word.replace('\\', "\\\\").replace('"', "\\\"")));
        fs::write(corpus.join(format!("{target}.dict")), quoted.collect::<String>())?;
    }
    Ok(())
}

/// The objects of every worked example, every class of the conformance tests, and every numbered release.
fn classes(root: &Path) -> io::Result<Vec<Vec<Value>>> {
    let mut found = Vec::new();
    for group in entries(&root.join("crates/capi-topology/tests/topology/cases"))? {
        for archive in entries(&group)? {
            found.push(objects(&fs::read_to_string(archive)?));
        }
    }
    for file in entries(&root.join("tests/conformance/testdata/classes"))? {
        found.push(objects(&fs::read_to_string(file)?));
    }
    for release in entries(&root.join("generated/releases"))? {
        let files = entries(&release.join("cluster-class"))?;
        let texts = files.iter().map(fs::read_to_string).collect::<io::Result<Vec<_>>>()?;
        found.push(texts.iter().flat_map(|text| objects(text)).collect());
    }
    Ok(found)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The documents of a file, or of all files in an archive.
fn objects(text: &str) -> Vec<Value> {
    let divides = |line: &&str| *line == "---" || (line.starts_with("-- ") && line.ends_with(" --"));
    let lines: Vec<&str> = text.lines().collect();
    lines.split(|line| divides(&line)).filter_map(|lines| yaml::parse(&lines.join("\n")).ok()).collect()
}

fn seeds_of(objects: &[Value], corpora: &mut Corpora) {
    let given: Map<String, Value> = of_kind(objects, "Cluster")
        .flat_map(|cluster| list(&cluster["spec"]["topology"]["variables"]))
        .filter_map(|pair| Some((pair["name"].as_str()?.to_owned(), pair["value"].clone())))
        .collect();
    for class in of_kind(objects, "ClusterClass") {
        for variable in list(&class["spec"]["variables"]) {
            let schema = &variable["schema"]["openAPIV3Schema"];
            let name = variable["name"].as_str().unwrap_or_default();
            let value = given.get(name).cloned().unwrap_or_else(|| sample(schema));
            put(corpora, "schemas", &[&schema.to_string(), &value.to_string()]);
            rules(schema, &value, corpora);
        }
        for patch in list(&class["spec"]["patches"]) {
            let conditions = patch["enabledIf"].as_str();
            conditions.into_iter().for_each(|source| template(source, &given, corpora));
            for definition in list(&patch["definitions"]) {
                let kind = definition["selector"]["kind"].as_str().unwrap_or_default();
                patches(definition, of_kind(objects, kind).next(), &given, corpora);
            }
        }
    }
}

fn of_kind<'a>(objects: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn put(corpora: &mut Corpora, target: &'static str, parts: &[&str]) {
    corpora.entry(target).or_default().insert(parts.join("\n===\n"));
}

/// A sample value for a schema, which the schema may not accept.
fn sample(schema: &Value) -> Value {
    if let Some(told) = ["default", "example"].iter().find_map(|key| schema.get(key)) {
        return told.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Value::Object(fields.map(|(name, inner)| (name.clone(), sample(inner))).collect())
        }
        Some("array") => json!([sample(&schema["items"])]),
        Some("integer" | "number") => json!(3),
        Some("boolean") => json!(true),
        _ => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("sample")),
    }
}

/// Adds every rule in a schema, with its own schema and value.
fn rules(schema: &Value, value: &Value, corpora: &mut Corpora) {
    for rule in list(&schema["x-kubernetes-validations"]) {
        for text in ["rule", "messageExpression"].iter().filter_map(|key| rule[key].as_str()) {
            put(corpora, "cel", &[text, &schema.to_string(), &value.to_string()]);
        }
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let value = value.get(name).cloned().unwrap_or_else(|| sample(inner));
        rules(inner, &value, corpora);
    }
    if let Some(inner) = schema.get("items").or_else(|| schema.get("additionalProperties")) {
        rules(inner, &value.get(0).cloned().unwrap_or_else(|| sample(inner)), corpora);
    }
}

/// Adds a template with the part of the data that it may read.
fn template(source: &str, data: &Map<String, Value>, corpora: &mut Corpora) {
    let mut seen: Map<String, Value> = data.clone();
    seen.retain(|name, _| source.contains(&format!(".{name}")));
    if source.contains(".builtin") {
        let metadata = json!({ "labels": { "a": "b" } });
        let worker = json!({ "version": "v1.35.0", "class": "w", "topologyName": "md-0", "replicas": 2 });
        seen.entry("builtin").or_insert_with(|| {
            json!({
                "cluster": {
                    "name": "one", "namespace": "two", "metadata": metadata,
                    "topology": { "version": "v1.35.0", "class": "c" },
                    "network": { "services": ["10.96.0.0/12"], "pods": ["192.168.0.0/16"] },
                },
                "controlPlane": { "version": "v1.35.0", "replicas": 3 },
                "machineDeployment": worker, "machinePool": worker,
            })
        });
    }
    put(corpora, "templates", &[source, &Value::Object(seen).to_string()]);
}

fn patches(definition: &Value, document: Option<&Value>, data: &Map<String, Value>, corpora: &mut Corpora) {
    let mut operations = definition["jsonPatches"].clone();
    for operation in operations.as_array_mut().into_iter().flatten() {
        let Some(fields) = operation.as_object_mut() else { continue };
        let Some(from) = fields.remove("valueFrom") else { continue };
        if let Some(source) = from["template"].as_str() {
            template(source, data, corpora);
        }
        let value = from["variable"].as_str().and_then(|name| data.get(name)).cloned();
        fields.insert("value".to_owned(), value.unwrap_or_else(|| json!("sample")));
    }
    if let Some(document) = document {
        put(corpora, "json_patch", &[&document.to_string(), &operations.to_string()]);
    }
}

/// Adds the Go templates and YAML texts of the engine's tests.
fn templates_of_the_tests(root: &Path, corpora: &mut Corpora) -> io::Result<()> {
    let folder = root.join("crates/gotmpl/tests/corpus");
    let read =
        |name: &str| -> io::Result<Value> { Ok(serde_json::from_slice(&fs::read(folder.join(name))?)?) };
    let (cases, texts, data) = (read("templates.json")?, read("yaml.json")?, read("data.json")?);
    for case in list(&cases) {
        let source = case["template"].as_str().unwrap_or_default();
        template(source, data.as_object().unwrap_or(&Map::new()), corpora);
    }
    for case in list(&texts) {
        put(corpora, "templates", &[case["yaml"].as_str().unwrap_or_default(), "{}"]);
    }
    Ok(())
}
