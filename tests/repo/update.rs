//! `stackloom update` with a real local registry and chart repository. The program is `tests/conformance/cmd/registry`,
//! named by `STACKLOOM_REGISTRY`. Without it, these tests are skipped with a message.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use flate2::{Compression, write::GzEncoder};
use stackloom::{
    io::oci::Registry,
    model::OciRepository,
    release::{Artifact, sha256},
};

use crate::{
    environment,
    release::{edit, fleet, output_of},
    sandbox::Sandbox,
};

/// A server that stops when dropped, because its input ends.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Option<Self> {
        let program =
            environment::named("STACKLOOM_REGISTRY", "the program of `tests/conformance/cmd/registry`")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Some(Self { child, address: address.trim().to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

/// A chart archive that only contains its description.
fn archive(description: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut header = tar::Header::new_ustar();
    header.set_size(description.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "net/Chart.yaml", description.as_bytes()).unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

/// An archive with these files.
fn archive_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (path, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// A chart with a schema, a template, and a subchart with a schema of its own.
fn chart_with_values(version: &str, schema: &str) -> Vec<u8> {
    let description = format!(
        "apiVersion: v2\nname: net\nversion: {version}\nkubeVersion: \">=1.30.0-0\"\ndependencies:\n- {{ name: sub, alias: db, version: 1.0.0, condition: db.enabled }}\n"
    );
    archive_of(&[
        ("net/Chart.yaml", &description),
        ("net/values.yaml", "relay: { enabled: false, replicas: 1 }\ndb: { enabled: true }\n"),
        ("net/values.schema.json", schema),
        ("net/templates/net.yaml", "cluster: {{ .Values.cluster }}\npods: {{ .Values.pods }}\n"),
        ("net/charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n"),
        ("net/charts/sub/values.yaml", "size: 1\n"),
        ("net/charts/sub/values.schema.json", r#"{"properties": {"size": {"type": "integer"}}}"#),
    ])
}

/// Publishes such charts, with an index that contains their digests.
fn publish_with_values(folder: &Path, versions: &[&str], schema: &str) {
    let mut index = "apiVersion: v1\nentries:\n  net:\n".to_owned();
    for version in versions {
        let bytes = chart_with_values(version, schema);
        let digest = sha256(&bytes);
        fs::write(folder.join(format!("net-{version}.tgz")), bytes).unwrap();
        let digest = digest.trim_start_matches("sha256:");
        let entry = format!(
            "  - {{ apiVersion: v2, name: net, version: {version}, digest: {digest}, urls: [net-{version}.tgz] }}\n"
        );
        index.push_str(&entry);
    }
    fs::write(folder.join("index.yaml"), index).unwrap();
}

#[test]
fn values_are_checked_against_what_update_has_found() {
    let files = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&["-files", files.path().to_str().unwrap()]) else { return };
    let schema = r#"{"$schema": "http://json-schema.org/draft-07/schema#", "required": ["token"],
        "properties": {"relay": {"properties": {"replicas": {"maximum": 2}}}}}"#;
    publish_with_values(files.path(), &["1.0.0", "1.1.0"], schema);
    let sandbox = fleet_of(&format!("http://{}/files", server.address));
    let check = |code| crate::release::ends(&sandbox, &["check"], code);
    let kept = || {
        let folder = fs::read_dir(sandbox.root.join("charts/values")).unwrap();
        folder.map(|file| file.unwrap().path()).collect::<Vec<_>>()
    };
    check(0);
    ends(&sandbox, &["--dry-run"], 0);
    assert!(!sandbox.has("charts"), "a dry run writes nothing");
    ends(&sandbox, &[], 0);
    assert_eq!(
        (kept().len(), sandbox.read("stackloom.lock").unwrap().matches("values: sha256:").count()),
        (1, 2)
    );
    assert!(fs::read_to_string(&kept()[0]).unwrap().contains(r#""kubeVersion": ">=1.30.0-0""#));
    let printed = check(1);
    assert!(
        printed
            .contains(r#"Helm refuses the values of `net` for the chart `net` 1.1.0: "token" is a required"#),
        "{printed}"
    );
    // The value may come from a Secret, but values that are set must be valid anyway.
    edit(
        &sandbox,
        "addons/net/addon.yaml",
        "spec:\n",
        "spec:\n  valuesFrom: [{ secret: net, key: values.yaml }]\n",
    );
    check(0);
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3\ndb:\n  size: much");
    let printed = check(1);
    assert!(printed.contains("Helm refuses the value `relay.replicas`"), "{printed}");
    assert!(
        printed.contains("Helm refuses the value `db.size`") && printed.contains("addons/net/values.yaml:7"),
        "{printed}"
    );
    edit(&sandbox, "addons/net/values.yaml", "replicas: 3\ndb:\n  size: much", "replicas: 2");
    // Missing or damaged files are reported and repaired.
    let lock = sandbox.read("stackloom.lock");
    fs::write(&kept()[0], "{}\n").unwrap();
    assert!(check(1).contains("was changed"));
    fs::remove_file(&kept()[0]).unwrap();
    assert!(check(1).contains("is missing"));
    assert!(ends(&sandbox, &[], 0).contains("stays as it is"));
    assert_eq!((kept().len(), sandbox.read("stackloom.lock")), (1, lock));
    check(0);
    // Different content is in a different file.
    publish_with_values(files.path(), &["1.0.0", "1.1.0"], "true");
    ends(&sandbox, &["--accept", "net"], 0);
    assert_eq!(kept().len(), 1, "the other one goes");
    check(0);
    // A schema with external references is not fetched.
    publish_with_values(files.path(), &["1.0.0", "1.1.0"], r#"{"$ref": "https://example.org/x.json"}"#);
    let printed = ends(&sandbox, &["--accept", "net"], 0);
    assert!(printed.contains("cannot be checked") && printed.contains("cannot be used offline"), "{printed}");
    assert!(kept().is_empty() && !sandbox.read("stackloom.lock").unwrap().contains("values:"));
    check(0);
    // A schema that is too long is not kept.
    let long = format!(r#"{{"title": "{}"}}"#, "x".repeat(2 * 1024 * 1024));
    publish_with_values(files.path(), &["1.0.0", "1.1.0"], &long);
    let printed = ends(&sandbox, &["--accept", "net"], 0);
    assert!(printed.contains("cannot be checked: its values and schemas have"), "{printed}");
    assert!(kept().is_empty());
    check(0);
}

/// Publishes versions of the chart `net` in a folder. Returns the digest of each.
pub(crate) fn publish(folder: &Path, versions: &[&str], salt: &str, image: Option<&str>) -> Vec<String> {
    let mut index = "apiVersion: v1\ngenerated: 2026-11-21T10:00:00Z\nentries:\n  net:\n".to_owned();
    let mut digests = Vec::new();
    for version in versions {
        let bytes = archive(&format!("apiVersion: v2\nname: net\nversion: {version}\n# {salt}\n"));
        let digest = sha256(&bytes);
        fs::write(folder.join(format!("net-{version}.tgz")), bytes).unwrap();
        let images = image.map(|image| {
            format!("    annotations:\n      artifacthub.io/images: |\n        - name: net\n          image: {image}\n")
        });
        let entry = format!(
            "  - apiVersion: v2\n    appVersion: 1.10\n    name: net\n    version: {version}\n    digest: {}\n    urls: [net-{version}.tgz]\n{}",
            digest.trim_start_matches("sha256:"),
            images.unwrap_or_default()
        );
        index.push_str(&entry);
        digests.push(digest);
    }
    fs::write(folder.join("index.yaml"), index).unwrap();
    digests
}

/// The base fleet, with its chart from a local repository.
fn fleet_of(repository: &str) -> Sandbox {
    let sandbox = fleet();
    edit(&sandbox, "addons/net/addon.yaml", "https://charts.example.org/", repository);
    sandbox
}

/// Runs the program with only the test's own logins.
fn update(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let home = sandbox.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
    command.current_dir(&sandbox.root).arg("update").args(arguments);
    command
        .env("HOME", &home)
        .env("DOCKER_CONFIG", home.join("docker"))
        .env("NO_COLOR", "1")
        .env("STACKLOOM_TODAY", "2026-11-23");
    for name in ["HELM_CONFIG_HOME", "HELM_REPOSITORY_CONFIG", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

#[track_caller]
pub(crate) fn ends(sandbox: &Sandbox, arguments: &[&str], code: i32) -> String {
    let output = update(sandbox, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{}", output_of(&output));
    output_of(&output)
}

/// Uploads an image or a chart: a manifest with a description and one layer.
fn push(address: &str, path: &str, tag: &str, description: &str) -> String {
    let (config, layer) = (description.as_bytes().to_vec(), archive(description));
    let manifest = format!(
        "{{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\
         \"config\":{{\"mediaType\":\"application/vnd.cncf.helm.config.v1+json\",\"digest\":\"{}\",\"size\":{}}},\
         \"layers\":[{{\"mediaType\":\"application/vnd.cncf.helm.chart.content.v1.tar+gzip\",\"digest\":\"{}\",\"size\":{}}}]}}",
        sha256(&config),
        config.len(),
        sha256(&layer),
        layer.len()
    )
    .into_bytes();
    let digest = sha256(&manifest);
    let repository = OciRepository { registry: address.to_owned(), path: path.to_owned() };
    let artifact = Artifact { manifest, digest: digest.clone(), config, layer };
    Registry::open(&repository).unwrap().push(tag, &artifact).unwrap();
    digest
}

#[test]
fn charts_of_a_repository_are_locked_once_and_held_to_it() {
    let files = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&["-files", files.path().to_str().unwrap()]) else { return };
    let image = push(&server.address, "apps/net", "1", "{}");
    let named = format!("{}/apps/net:1", server.address);
    let digests = publish(files.path(), &["1.0.0", "1.1.0", "1.2.0"], "", Some(&named));
    let sandbox = fleet_of(&format!("http://{}/files", server.address));
    let printed = ends(&sandbox, &["--dry-run"], 0);
    assert!(printed.contains(&digests[1]) && !sandbox.has("stackloom.lock"), "{printed}");
    let printed = ends(&sandbox, &[], 0);
    assert!(printed.contains("newer: net 1.2.0"), "{printed}");
    let lock = sandbox.read("stackloom.lock").unwrap();
    for digest in [&digests[0], &digests[1], &image] {
        assert!(lock.contains(digest), "{digest}\n{lock}");
    }
    assert!(!lock.contains(&digests[2]), "only what a stack lists");
    assert!(ends(&sandbox, &[], 0).contains("stays as it is"));
    assert_eq!(sandbox.read("stackloom.lock").unwrap(), lock);
    // Different content under the same versions.
    let other = publish(files.path(), &["1.0.0", "1.1.0", "1.2.0"], "other", Some(&named));
    let printed = ends(&sandbox, &[], 1);
    assert!(
        printed.contains("digest-changed") && printed.contains(&digests[1]) && printed.contains(&other[1]),
        "{printed}"
    );
    assert_eq!(sandbox.read("stackloom.lock").unwrap(), lock);
    ends(&sandbox, &["--accept", "net"], 0);
    assert!(sandbox.read("stackloom.lock").unwrap().contains(&other[1]));
    // Entries that no stack lists any more are removed.
    edit(&sandbox, "addons/net/addon.yaml", "    - version: 1.0.0\n      kubernetes: \">=1.34 <1.37\"\n", "");
    let printed = ends(&sandbox, &[], 0);
    assert!(printed.contains("- net 1.0.0"), "{printed}");
    assert!(!sandbox.read("stackloom.lock").unwrap().contains(&other[0]));
}

#[test]
fn an_archive_that_differs_from_its_index_is_refused() {
    let files = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&["-files", files.path().to_str().unwrap()]) else { return };
    publish(files.path(), &["1.0.0", "1.1.0"], "", None);
    let mut bytes = fs::read(files.path().join("net-1.1.0.tgz")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(files.path().join("net-1.1.0.tgz"), bytes).unwrap();
    let sandbox = fleet_of(&format!("http://{}/files", server.address));
    let printed = ends(&sandbox, &[], 4);
    assert!(printed.contains("its index says"), "{printed}");
    let lock = sandbox.read("stackloom.lock").unwrap();
    assert!(lock.contains("version: '1.0.0'") && !lock.contains("version: '1.1.0'"), "{lock}");
}

#[test]
fn a_version_that_is_not_published_is_the_stacks_fault() {
    let files = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&["-files", files.path().to_str().unwrap()]) else { return };
    publish(files.path(), &["1.0.0"], "", None);
    let sandbox = fleet_of(&format!("http://{}/files", server.address));
    let printed = ends(&sandbox, &[], 1);
    assert!(printed.contains("no-chart") && printed.contains("addons/net/addon.yaml:10:16"), "{printed}");
    assert!(sandbox.has("stackloom.lock"), "the rest holds");
}

/// Adds a stack without charts, whose images are not looked up.
fn add_small_stack(sandbox: &Sandbox) {
    let from = sandbox.root.join("stacks/test/tiny");
    for folder in ["cluster-class", "cluster"] {
        for entry in fs::read_dir(from.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            sandbox.write(&format!("stacks/test/small/{folder}/{name}"), fs::read(&path).unwrap());
        }
    }
    let stack = sandbox.read("stacks/test/tiny/stack.yaml").unwrap();
    let (stack, _) = stack.split_once("  compatibility:").unwrap();
    sandbox.write("stacks/test/small/stack.yaml", stack.replace("name: tiny", "name: small"));
    sandbox.write(
        "stacks/test/small/node-images.yaml",
        sandbox.read("stacks/test/tiny/node-images.yaml").unwrap().replace("name: tiny", "name: small"),
    );
}

#[test]
fn a_stack_with_errors_is_left_out_and_keeps_what_is_locked() {
    let sandbox = fleet();
    add_small_stack(&sandbox);
    let digest = format!("sha256:{}", "1".repeat(64));
    let lock = format!(
        "# Written by stackloom update. Do not edit.\napiVersion: stackloom.dev/v1alpha1\nkind: Lock\nspec:\n  charts:\n    - repository: 'https://charts.example.org'\n      name: net\n      version: '1.1.0'\n      digest: '{digest}'\n"
    );
    sandbox.write("stackloom.lock", lock.clone());
    edit(&sandbox, "addons/net/addon.yaml", ">=1.35 <1.37", "newest");
    sandbox.write("clusters/red/wrong.yaml", "kind: ClusterDefinition\n");
    let printed = ends(&sandbox, &[], 0);
    assert!(printed.contains("left-out") && printed.contains("addons/net/addon.yaml"), "{printed}");
    assert!(printed.contains("it holds 1 chart"), "{printed}");
    assert!(sandbox.read("stackloom.lock").unwrap().contains(&digest));
    ends(&sandbox, &["test/small"], 0);
    let printed = ends(&sandbox, &["test/tiny"], 1);
    assert!(printed.contains("error[wrong-range]") && !printed.contains("left-out"), "{printed}");
    let printed = ends(&sandbox, &["test/none"], 1);
    assert!(printed.contains("unknown-stack"), "{printed}");
    fs::remove_dir_all(sandbox.root.join("stacks/test/small")).unwrap();
    let printed = ends(&sandbox, &[], 1);
    assert!(printed.contains("error[wrong-range]"), "{printed}");
}

#[test]
fn an_unreachable_repository_does_not_affect_the_others() {
    let files = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&["-files", files.path().to_str().unwrap()]) else { return };
    let digests = publish(files.path(), &["1.0.0", "1.1.0"], "", None);
    let sandbox = fleet_of(&format!("http://{}/files", server.address));
    // A port on which presumably nobody listens.
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let addon = "apiVersion: stackloom.dev/v1alpha1\nkind: Addon\nmetadata:\n  name: dead\nspec:\n  chart: \
        {repository: 'http://DEAD', name: dead}\n  versions: [{version: 1.0.0, kubernetes: '>=1.30'}]\n";
    sandbox.write("stacks/test/tiny/addons/dead/addon.yaml", addon.replace("DEAD", &dead.to_string()));
    let printed = ends(&sandbox, &[], 4);
    assert!(printed.contains(&format!("http://{dead}/index.yaml")), "{printed}");
    assert!(sandbox.read("stackloom.lock").unwrap().contains(&digests[1]));
    let output = update(&sandbox, &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["exit"], json["faults"].as_array().unwrap().len()), (&4.into(), 1), "{json}");
}

#[test]
fn redirects_are_followed_and_end() {
    let files = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&["-files", files.path().to_str().unwrap()]) else { return };
    publish(files.path(), &["1.0.0", "1.1.0"], "", None);
    let sandbox = fleet_of(&format!("http://{}/hop", server.address));
    ends(&sandbox, &[], 0);
    let sandbox = fleet_of(&format!("http://{}/round", server.address));
    let printed = ends(&sandbox, &[], 4);
    assert!(printed.contains("more than 5 redirects"), "{printed}");
}

#[test]
fn logins_of_helm_are_used_and_never_printed() {
    let files = tempfile::tempdir().unwrap();
    let arguments = ["-files", files.path().to_str().unwrap(), "-login", "robot:hunter2"];
    let Some(server) = Server::start(&arguments) else { return };
    publish(files.path(), &["1.0.0", "1.1.0"], "", None);
    let repository = format!("http://{}/files", server.address);
    let sandbox = fleet_of(&repository);
    let printed = ends(&sandbox, &[], 4);
    assert!(printed.contains("401") && printed.contains("helm repo add"), "{printed}");
    let folder = sandbox.outside().join("home/.config/helm");
    let folder = if cfg!(target_os = "macos") {
        sandbox.outside().join("home/Library/Preferences/helm")
    } else {
        folder
    };
    fs::create_dir_all(&folder).unwrap();
    let mut file = fs::File::create(folder.join("repositories.yaml")).unwrap();
    write!(file, "repositories:\n- {{name: r, url: {repository}, username: robot, password: hunter2}}\n")
        .unwrap();
    let printed = ends(&sandbox, &["--verbose"], 0);
    assert!(!printed.contains("hunter2") && !sandbox.read("stackloom.lock").unwrap().contains("hunter2"));
}

#[test]
fn charts_of_a_registry_are_locked_by_their_manifests() {
    let Some(server) = Server::start(&[]) else { return };
    let address = &server.address;
    let image = push(address, "apps/net", "1", "{}");
    let description = format!(
        "{{\"name\":\"net\",\"annotations\":{{\"artifacthub.io/images\":\"- name: net\\n  image: {address}/apps/net:1\\n\"}}}}"
    );
    let digests = ["1.0.0", "1.1.0", "1.2.0"].map(|version| {
        push(address, "charts/net", version, &format!("{description} {}", " ".repeat(version.len())))
    });
    let sandbox = fleet_of(&format!("oci://{address}/charts"));
    let printed = ends(&sandbox, &[], 0);
    assert!(printed.contains("newer: net 1.2.0"), "{printed}");
    let lock = sandbox.read("stackloom.lock").unwrap();
    assert!(lock.contains(&digests[1]) && lock.contains(&image), "{lock}");
    assert!(ends(&sandbox, &[], 0).contains("stays as it is"));
    let generated = crate::release::stackloom(&sandbox, &["generate"]);
    assert!(generated.status.success(), "{}", output_of(&generated));
    let folder = sandbox.root.join("generated/management/mgmt/flux/charts");
    let source =
        fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    assert!(source.collect::<String>().contains(&format!("digest: {}", digests[1])));
    // The tag was moved: the manifest is a different one.
    let moved = push(address, "charts/net", "1.1.0", "{\"name\":\"net\"}");
    let printed = ends(&sandbox, &[], 1);
    assert!(printed.contains(&digests[1]) && printed.contains(&moved), "{printed}");
}

/// A fleet whose stack has nothing that the cluster stack operator does not support.
pub(crate) fn plain_fleet(repository: &str) -> Sandbox {
    let sandbox = fleet_of(repository);
    edit(&sandbox, "addons/notes/manifests/notes.yaml", "namespace: default", "namespace: kube-system");
    for folder in ["namespace", "cluster"] {
        fs::remove_dir_all(sandbox.root.join("stacks/test/tiny").join(folder)).unwrap();
    }
    edit(
        &sandbox,
        "addons/net/values.yaml",
        "pods: ${{ cluster.network.pods }}\n",
        "template: '{{ .kept }}'\n",
    );
    edit(
        &sandbox,
        "cluster-class/templates.yaml",
        "      image: ${{ images[0].name }}\n",
        "      image: ${{ images[0].name }}\n      note: '{{ ds.meta_data.local_hostname }}'\n",
    );
    crate::release::commit(&sandbox, "plain");
    sandbox
}

/// The files in an archive, as text.
pub(crate) fn unpacked(path: &Path) -> BTreeMap<String, String> {
    let file = fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (entry.path().unwrap().display().to_string(), text)
    });
    entries.collect()
}
