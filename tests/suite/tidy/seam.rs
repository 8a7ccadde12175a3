//! The boundary to the engines: only their renderers and the addon deliveries know an engine's objects, and only the list in
//! `model` and `render` say the name of one. The crates know none, but for the files of `capi-topology` that predict what an
//! apply keeps.

use stackloom::model::AddonDelivery;

use super::rust_files;

/// The names of engines' kinds, API groups and annotations.
const WORDS: [&str; 13] = [
    "fluxcd.io",
    "argoproj.io",
    "projectsveltos",
    "stackhpc.com",
    "Kustomization",
    "HelmRelease",
    "HelmChart",
    "GitRepository",
    "OCIRepository",
    "\"Bucket\"",
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
    (
        "src/definition/lower/fleet.rs",
        "the kinds of sources that a fleet may name, and which of them hold a whole repository",
    ),
    ("src/model/delivery.rs", "the names of the deliveries"),
    ("src/model/engine.rs", "the descriptions of the engines, which editors show"),
    ("src/render/generated_text.rs", "reads the names of files that deliveries write"),
    ("src/world/mod.rs", "kustomize's own file, which Flux builds where it finds it"),
];

/// The names of engines, in code and in messages. Code outside `render` asks the engine for its name.
const NAMES: [&str; 5] = ["Flux", "flux", "Argo CD", "ArgoCd", "argocd"];

/// Files outside `render` that name an engine, and why.
const NAMED: [(&str, &str); 16] = [
    ("src/model/engine.rs", "the list of engines"),
    ("src/model/delivery.rs", "the list of deliveries, each with the engine whose objects it writes"),
    ("src/model/argocd.rs", "the settings that Argo CD alone has"),
    ("src/model/fleet.rs", "holds these settings"),
    ("src/model/mod.rs", "exports these settings"),
    ("src/definition/fleet.rs", "the same settings as users write them, below the key `argocd`"),
    ("src/definition/mod.rs", "exports them"),
    ("src/definition/lower/mod.rs", "declares the module that lowers them"),
    ("src/definition/lower/argocd.rs", "lowers them"),
    ("src/definition/lower/fleet.rs", "calls it"),
    ("src/cli/argocd.rs", "the command `argocd`"),
    (
        "src/cli/topology/applier.rs",
        "the words of `--applied-by`, which also names programs that are not engines",
    ),
    ("src/cli/topology/mod.rs", "an example of this option in its help"),
    ("src/cli/mod.rs", "declares this command"),
    ("src/cli/init.rs", "an example of its help"),
    ("src/release/manifest.rs", "names the format of OCI artifacts, which is Flux's"),
];

/// Files of crates that name an engine: what an apply keeps depends on who applies.
const NAMED_IN_CRATES: [&str; 4] = [
    "crates/capi-topology/src/import/mod.rs",
    "crates/capi-topology/src/import/applier.rs",
    "crates/capi-topology/src/import/flux_exceptions.rs",
    "crates/capi-topology/src/predict/one_by_one.rs",
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

/// The first name of an engine's object in a file.
fn word(text: &str) -> Option<&'static str> {
    let code = code(text);
    WORDS.into_iter().find(|word| code.contains(word))
}

/// The first name of an engine in a file.
fn name(text: &str) -> Option<&'static str> {
    let code = code(text);
    NAMES.into_iter().find(|name| code.contains(name))
}

#[test]
fn only_renderers_and_the_list_name_an_engine() {
    let named = |path: &str| NAMED.iter().any(|(file, _)| *file == path) || NAMED_IN_CRATES.contains(&path);
    let outside = sources().into_iter().filter(|(path, _)| !path.starts_with("src/render/") && !named(path));
    let found: Vec<_> =
        outside.filter_map(|(path, text)| name(&text).map(|name| format!("{path} says {name}"))).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_name_of_an_engine_is_caught() {
    assert_eq!(name("match engine {\n    Engine::Flux => 1,\n}"), Some("Flux"));
    assert_eq!(name(".hint(\"run `argocd app list`\")"), Some("argocd"));
    assert_eq!(name("    docs: \"what Argo CD knows\","), Some("Argo CD"));
    assert_eq!(name("/// As in Argo CD.\nfn f(engine: Engine) {}\n"), None);
}

#[test]
fn only_renderers_know_an_engine() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        let known = ALLOWED.iter().any(|(file, _)| *file == path);
        if known || RENDERERS.iter().any(|folder| path.starts_with(folder)) {
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
    for file in NAMED.map(|(file, _)| file).into_iter().chain(NAMED_IN_CRATES) {
        let text = files.iter().find(|(path, _)| path == file).map(|(_, text)| text);
        assert!(
            text.is_some_and(|text| name(text).is_some()),
            "{file} needs no exception: it names no engine"
        );
    }
}

/// Where the name of a delivery may occur beside its file and its line in the list.
const NAMED_ELSEWHERE: [(&str, &str, &str); 1] = [(
    "src/render/argocd/health/mod.rs",
    "cluster-resource-set",
    "the health script of a kind is a file, whose name happens to be the same",
)];

/// The list of all deliveries.
const LIST: &str = "src/model/delivery.rs";

/// The number of times that a text says a word.
fn count(text: &str, word: &str) -> usize {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let ends = |rest: &str| !rest.starts_with(is_inside);
    let begins = |before: &str| !before.ends_with(is_inside);
    text.match_indices(word).filter(|(at, _)| begins(&text[..*at]) && ends(&text[at + word.len()..])).count()
}

/// How a file says the name of a delivery without being its own: as in definitions, or as that of its file.
fn strays(path: &str, text: &str, name: &str) -> Vec<String> {
    let module = name.replace('-', "_");
    if path == format!("src/render/delivery/{module}.rs") {
        return Vec::new();
    }
    let code = code(text);
    let is_allowed = |word: &str| {
        NAMED_ELSEWHERE.iter().any(|(file, known, _)| *file == path && *known == word)
            || path == LIST && word == module && count(&code, word) == 1
    };
    let said = [name, module.as_str()].into_iter().filter(|word| count(&code, word) > 0);
    said.filter(|word| !is_allowed(word)).map(|word| format!("{path} says {word}")).collect()
}

#[test]
fn a_delivery_of_addons_is_one_file_and_one_line() {
    const FOLDER: &str = "src/render/delivery/";
    let files = rust_files("src");
    let declares = |text: &str| text.contains("\npub(super) static DELIVERY: Delivery = Delivery {\n");
    let declared = files.iter().filter(|(_, text)| declares(text));
    let mut declared: Vec<_> = declared.map(|(path, _)| path.clone()).collect();
    let own = |name: &str| format!("{FOLDER}{}.rs", name.replace('-', "_"));
    let mut listed: Vec<_> = AddonDelivery::words().map(|(name, _)| own(name)).collect();
    declared.sort_unstable();
    listed.sort_unstable();
    assert!(listed.len() >= 6, "{listed:?}");
    assert_eq!(declared, listed);
    let strays_of = |(name, _): (&'static str, _)| {
        files.iter().flat_map(move |(path, text)| strays(path, text, name)).collect::<Vec<_>>()
    };
    let found: Vec<_> = AddonDelivery::words().flat_map(strays_of).collect();
    assert!(found.is_empty(), "{found:#?}");
    // No code can name one by a constant either.
    for (path, text) in &files {
        let mut after = text.match_indices("AddonDelivery::").map(|(at, found)| &text[at + found.len()..]);
        assert!(
            !after.any(|rest| rest.starts_with(char::is_uppercase)),
            "{path} has a constant of a delivery"
        );
    }
    for (path, name, why) in NAMED_ELSEWHERE {
        let text = files.iter().find(|(file, _)| file == path).map(|(_, text)| text);
        assert!(text.is_some_and(|text| count(&code(text), name) > 0), "{path} needs no exception: {why}");
    }
}

#[test]
fn a_delivery_that_is_named_elsewhere_is_caught() {
    let of = |path: &str, text: &str| strays(path, text, "sveltos-profile").len();
    assert_eq!(of("src/plan/mod.rs", "if name == \"sveltos-profile\" {}"), 1);
    assert_eq!(of("src/check/x.rs", ".hint(\"write `addonDelivery: sveltos-profile`\")"), 1);
    assert_eq!(of("src/render/delivery/mod.rs", "mod sveltos_profile;\n&sveltos_profile::DELIVERY,"), 1);
    assert_eq!(of(LIST, "    sveltos_profile: of_others(\"\"),\n"), 0);
    assert_eq!(of(LIST, "    sveltos_profile: of_others(\"\"),\n    &sveltos_profile::X\n"), 1);
    assert_eq!(of("src/render/delivery/sveltos_profile.rs", "\"sveltos-profile\""), 0);
    assert_eq!(of("src/render/delivery/x.rs", "fn old_sveltos_profile() {}\n// sveltos-profile\n"), 0);
}

#[test]
fn a_word_of_an_engine_is_caught_in_code_alone() {
    assert_eq!(word("fn f() -> &str { \"kustomize.toolkit.fluxcd.io/prune\" }"), Some("fluxcd.io"));
    assert_eq!(word("/// A Kustomization.\nfn f() {}\n"), None);
    assert_eq!(word("fn f() {}\n#[cfg(test)]\nmod tests {\n    // HelmRelease\n}\n"), None);
}
