//! The boundary to the engines: only their renderers and the addon deliveries know an engine's objects. The crates know none,
//! but for the files of `capi-topology` that predict what an apply keeps.

use stackloom::model::{AddonDelivery, Engine};

use super::rust_files;

/// The names of engines' kinds, API groups and annotations.
const WORDS: [&str; 11] = [
    "fluxcd.io",
    "argoproj.io",
    "projectsveltos",
    "stackhpc.com",
    "Kustomization",
    "HelmRelease",
    "HelmChart",
    "OCIRepository",
    // Field managers.
    "kustomize-controller",
    "argocd-controller",
    // The files of deliveries below `addons/`.
    "\".manifests",
];

/// The folders that may use these names.
const RENDERERS: [&str; 3] = ["src/render/argocd/", "src/render/flux/", "src/render/delivery/"];

/// Files that use these names for other reasons.
const ALLOWED: [(&str, &str); 15] = [
    (
        "crates/capi-topology/src/import/applier.rs",
        "what an apply removes depends on the field manager, and on what the object asks of Flux",
    ),
    (
        "crates/capi-topology/src/import/flux_exceptions.rs",
        "the annotations with which objects ask Flux to skip or recreate them",
    ),
    (
        "crates/capi-topology/src/predict/one_by_one.rs",
        "Flux applies classes before Clusters, which decides what an object that is refused leaves behind",
    ),
    ("src/check/kustomize_file.rs", "kustomize's own kind"),
    ("src/check/own_object.rs", "kustomize's own kind, which changes what is built of a folder"),
    ("src/cli/secrets.rs", "kustomize's own kind, whose generators make Secrets"),
    (
        "src/definition/addon.rs",
        "`HelmRelease` is the type of the field `release`: a release of Helm, and no object",
    ),
    ("src/definition/release.rs", "the same"),
    ("src/definition/mod.rs", "the same"),
    ("src/definition/fleet.rs", "the kinds of sources that a fleet may name"),
    ("src/definition/lower/engine.rs", "the names of the deliveries"),
    ("src/definition/lower/fleet.rs", "the kinds of sources that a fleet may name"),
    ("src/model/delivery.rs", "the names of the deliveries"),
    ("src/render/generated_text.rs", "reads the names of files that deliveries write"),
    ("src/world/mod.rs", "kustomize's own file, which Flux builds where it finds it"),
];

/// The code of a text, without comments and unit tests.
fn code(text: &str) -> String {
    let tested = text.split_once("\n#[cfg(test)]\nmod tests").map_or(text, |(code, _)| code);
    tested.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The code of the program and of the crates, without their tests.
fn sources() -> Vec<(String, String)> {
    let of_crate = |(path, _): &(String, String)| path.split('/').nth(2) == Some("src");
    rust_files("src").into_iter().chain(rust_files("crates").into_iter().filter(of_crate)).collect()
}

/// The first such name in a file.
fn word(text: &str) -> Option<&'static str> {
    let code = code(text);
    WORDS.into_iter().find(|word| code.contains(word))
}

#[test]
fn only_renderers_know_an_engine() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        // It explains what engines do to live objects, and decides nothing about the tree.
        let elsewhere = path.starts_with("src/cli/topology/");
        let known = ALLOWED.iter().any(|(file, _)| *file == path);
        if elsewhere || known || RENDERERS.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        found.extend(word(&text).map(|word| format!("{path} says {word}")));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_exception_is_left_over() {
    let files = sources();
    for (file, why) in ALLOWED {
        let text = files.iter().find(|(path, _)| path == file).map(|(_, text)| text);
        assert!(text.is_some_and(|text| word(text).is_some()), "{file} needs no exception: {why}");
    }
}

#[test]
fn a_delivery_of_addons_is_one_file_and_one_line() {
    const FOLDER: &str = "src/render/delivery/";
    let files = rust_files(FOLDER.trim_end_matches('/'));
    let text_of = |name: &str| files.iter().find(|(path, _)| *path == format!("{FOLDER}{name}.rs")).unwrap();
    let (_, table) = text_of("mod");
    let entries = table.lines().filter_map(|line| line.trim().strip_prefix('&')?.strip_suffix("::DELIVERY,"));
    let mut entries: Vec<_> = entries.collect();
    let declares = |text: &str| text.contains("\npub(super) static DELIVERY: Delivery = Delivery {\n");
    let declared = files.iter().filter(|(_, text)| declares(text));
    let mut declared: Vec<_> =
        declared.map(|(path, _)| path.strip_prefix(FOLDER).unwrap().strip_suffix(".rs").unwrap()).collect();
    declared.sort_unstable();
    assert!(entries.is_sorted() && entries.len() >= 6, "{entries:?}");
    entries.dedup();
    assert_eq!(entries, declared);
    // No other code knows a delivery: neither the checks nor the engines, except for their own.
    for (path, text) in rust_files("src") {
        let known =
            path.starts_with(FOLDER) || path == "src/model/delivery.rs" || path.starts_with("src/render/");
        let code = code(&text);
        let is_of_engine =
            |one: &AddonDelivery| Engine::ALL.iter().any(|engine| AddonDelivery::of(*engine) == *one);
        let variant = AddonDelivery::all()
            .filter(|one| !is_of_engine(one))
            .find(|one| code.contains(&format!("AddonDelivery::{one:?}")));
        assert!(known || variant.is_none(), "{path} says {variant:?}");
    }
}

#[test]
fn a_word_of_an_engine_is_caught_in_code_alone() {
    assert_eq!(word("fn f() -> &str { \"kustomize.toolkit.fluxcd.io/prune\" }"), Some("fluxcd.io"));
    assert_eq!(word("/// A Kustomization.\nfn f() {}\n"), None);
    assert_eq!(word("fn f() {}\n#[cfg(test)]\nmod tests {\n    // HelmRelease\n}\n"), None);
}
