//! Releases transferred through a real local registry. The program is `tests/conformance/cmd/registry`, named by
//! `STACKLOOM_REGISTRY`. Without it, these tests are skipped with a message.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use serde_json::{Value as Json, json};
use stackloom::{
    io::oci::Registry,
    model::OciRepository,
    release::{Artifact, ReleaseOrigin, artifact, pack, sha256},
};

use crate::{
    environment,
    release::{commit, edit, ends, fleet, output_of},
    sandbox::{self, Sandbox},
    share::{NAME, generate_the_same, json, publisher},
    update::Server,
};

/// The repository for releases in the registry.
fn repository(server: &Server) -> String {
    format!("oci://{}/platform/releases", server.address)
}

/// A separate connection, to upload what the program would not.
fn open(server: &Server) -> Registry {
    Registry::open(&OciRepository::parse(&repository(server)).unwrap()).unwrap()
}

/// Publishes the releases of a repository. Returns the address of [`NAME`] with its digest.
fn publish(from: &Sandbox, server: &Server) -> String {
    let (code, document) = json(from, &["release", "push", &repository(server)]);
    assert_eq!(code, Some(0), "{document}");
    let digest = document["releases"][0]["digest"].as_str().unwrap();
    format!("{}@{digest}", repository(server))
}

#[test]
fn a_release_that_came_from_a_registry_generates_the_same_bytes() {
    let Some(server) = Server::start(&[]) else { return };
    let (from, to) = (publisher(), fleet());
    let printed = ends(&from, &["release", "push", "--dry-run", &repository(&server)], 0);
    assert!(printed.contains("would be pushed"), "{printed}");
    let source = publish(&from, &server);
    let printed = ends(&from, &["release", "push", &repository(&server)], 0);
    assert!(printed.contains("was already there") && !printed.contains(" pushed"), "{printed}");
    let tag = format!("{}:{NAME}", repository(&server));
    let printed = ends(&to, &["pull", &tag], 1);
    let digest = source.rsplit_once('@').unwrap().1;
    assert!(
        printed.contains("no-digest") && printed.contains(&format!("stackloom pull {tag}@{digest}")),
        "{printed}"
    );
    ends(&to, &["pull", &format!("{tag}@{digest}")], 0);
    let lock = to.read("stackloom.lock").unwrap();
    assert!(lock.contains(&format!("source: {source}")), "{lock}");
    assert_eq!(to.git(&["status", "--porcelain"]), "");
    generate_the_same(&from, &to);
}

/// Uses Flux's own client code; `STACKLOOM_FLUXPULL` names the program of `tests/conformance/cmd/fluxpull`.
#[test]
fn flux_reads_the_artifact() {
    let program = environment::named("STACKLOOM_FLUXPULL", "the program of `tests/conformance/cmd/fluxpull`");
    let Some(program) = program else { return };
    let Some(server) = Server::start(&[]) else { return };
    let from = publisher();
    let source = publish(&from, &server);
    let folder = from.outside().join("pulled");
    let output =
        Command::new(program).arg(source.strip_prefix("oci://").unwrap()).arg(&folder).output().unwrap();
    assert!(output.status.success(), "{}", output_of(&output));
    let printed: Json = serde_json::from_slice(&output.stdout).unwrap();
    let commit = from.git(&["rev-parse", &format!("{NAME}^{{commit}}")]);
    assert_eq!(printed["source_revision"], format!("{NAME}@sha1:{}", commit.trim()));
    assert_eq!(printed["source_url"], "https://git.example.org/fleet.git");
    let here = from.root.join("generated/releases").join(NAME);
    let difference = Command::new("diff").arg("-r").arg(&folder).arg(&here).output().unwrap();
    assert!(difference.status.success(), "{}", output_of(&difference));
}

#[test]
fn a_tag_that_holds_another_release_is_never_overwritten() {
    let Some(server) = Server::start(&[]) else { return };
    let (one, other) = (publisher(), fleet());
    let source = publish(&one, &server);
    edit(&other, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(&other, "an edit");
    ends(&other, &["release"], 0);
    let printed = ends(&other, &["release", "push", &repository(&server), NAME], 1);
    let digest = source.rsplit_once('@').unwrap().1;
    assert!(
        printed.contains("release-exists") && printed.contains(digest) && printed.contains("other files"),
        "{printed}"
    );
    assert_eq!(open(&server).digest_of(NAME).unwrap().as_deref(), Some(digest));
    // The same release tagged on another commit would have another digest; equal files are not uploaded again.
    one.git(&["tag", "-d", NAME]);
    one.write("README.md", "words\n");
    commit(&one, "later");
    one.git(&["tag", "-am", "again", NAME]);
    let (code, document) = json(&one, &["release", "push", &repository(&server), NAME]);
    assert_eq!((code, &document["releases"][0]["digest"]), (Some(0), &Json::from(digest)));
}

fn provenance() -> ReleaseOrigin {
    ReleaseOrigin {
        created: "2026-11-21T10:00:00Z".to_owned(),
        source: None,
        revision: "x@sha1:0".to_owned(),
    }
}

/// Uploads an artifact under a tag. Returns its address with the digest.
fn put(server: &Server, made: &Artifact) -> String {
    open(server).push("made-up", made).unwrap();
    format!("{}@{}", repository(server), made.digest)
}

fn refused(source: &str, code: &str, words: &str) {
    let to = fleet();
    let printed = ends(&to, &["pull", source], 1);
    assert!(printed.contains(code) && printed.contains(words), "{printed}");
    assert!(!to.has("generated") && !to.has("stackloom.lock"), "{printed}");
}

#[test]
fn artifacts_that_are_no_release_are_refused_by_what_they_are() {
    let Some(server) = Server::start(&[]) else { return };
    let from = publisher();
    let folder = from.root.join("generated/releases").join(NAME);
    let files: BTreeMap<String, String> = walkdir::WalkDir::new(&folder)
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let path = entry.path().strip_prefix(&folder).unwrap().display().to_string();
            (path, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    let made = |change: &dyn Fn(&mut BTreeMap<String, String>)| {
        let mut files = files.clone();
        change(&mut files);
        artifact(pack(&files).unwrap(), &provenance())
    };
    let text = |files: &mut BTreeMap<String, String>, path: &str, old: &str, new: &str| {
        let text = files.get_mut(path).unwrap();
        assert!(text.contains(old));
        *text = text.replace(old, new);
    };
    let values = made(&|files| text(files, "addons/net/values.yaml", "replicas: 2", "replicas: 3"));
    refused(&put(&server, &values), "release-changed", "addons/net/values.yaml");
    let renamed = made(&|files| text(files, "release.yaml", "version: v1", "version: v2"));
    refused(&put(&server, &renamed), "wrong-name", "release.yaml");
    let nameless = made(&|files| drop(files.remove("release.yaml")));
    refused(&put(&server, &nameless), "no-release", "does not name one");
    let mut links = made(&|_| {});
    links.layer = b"not an archive".to_vec();
    let manifest = String::from_utf8(links.manifest.clone()).unwrap();
    let mut manifest: Json = serde_json::from_str(&manifest).unwrap();
    manifest["layers"][0]["digest"] = json!(sha256(&links.layer));
    manifest["layers"][0]["size"] = json!(links.layer.len());
    let remade = |manifest: &Json, layer: &[u8]| {
        let manifest = manifest.to_string().into_bytes();
        Artifact { digest: sha256(&manifest), manifest, layer: layer.to_vec(), ..links.clone() }
    };
    refused(&put(&server, &remade(&manifest, &links.layer)), "no-release", "not a gzipped tarball");
    manifest["layers"][0]["mediaType"] = json!("application/octet-stream");
    refused(&put(&server, &remade(&manifest, &links.layer)), "no-release", "octet-stream");
    let escapes = put(&server, &remade_with_path(&links, "../../clusters/evil.yaml"));
    refused(&escapes, "no-release", "`../../clusters/evil.yaml`");
}

/// An artifact whose archive has a file with a crafted path.
fn remade_with_path(like: &Artifact, path: &str) -> Artifact {
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_size(5);
    header.set_cksum();
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gzip);
    tar.append(&header, b"a: 1\n".as_slice()).unwrap();
    let layer = tar.into_inner().unwrap().finish().unwrap();
    let mut manifest: Json = serde_json::from_slice(&like.manifest).unwrap();
    manifest["layers"][0]["digest"] = json!(sha256(&layer));
    manifest["layers"][0]["size"] = json!(layer.len());
    let manifest = manifest.to_string().into_bytes();
    Artifact { digest: sha256(&manifest), manifest, layer, config: like.config.clone() }
}

/// A proxy that changes the last byte of responses if the path contains a word.
struct Meddler {
    address: String,
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Meddler {
    fn start(server: &Server, word: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let over = Arc::new(AtomicBool::new(false));
        let (upstream, ends) = (server.address.clone(), over.clone());
        let thread = thread::spawn(move || {
            for client in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    break;
                }
                meddle(client.unwrap(), &upstream, word);
            }
        });
        Self { address, over, thread: Some(thread) }
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(&self.address));
        self.thread.take().map(thread::JoinHandle::join);
    }
}

/// Handles one request without a body, and its response.
fn meddle(mut client: TcpStream, upstream: &str, word: &str) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let Some(question) = head.lines().next() else { return };
    let meant = question.contains(word) && question.starts_with("GET");
    let mut server = TcpStream::connect(upstream).unwrap();
    let asked = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    server.write_all(asked.as_bytes()).unwrap();
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).unwrap();
    if let Some(last) = answer.last_mut().filter(|_| meant) {
        *last ^= 1;
    }
    client.write_all(&answer).ok();
}

#[test]
fn one_changed_byte_on_the_way_is_refused_and_named() {
    let Some(server) = Server::start(&[]) else { return };
    let source = publish(&publisher(), &server);
    let digest = source.rsplit_once('@').unwrap().1;
    for (word, what) in [("/manifests/", "cannot pull"), ("/blobs/", "the layer `sha256:")] {
        let meddler = Meddler::start(&server, word);
        let to = fleet();
        let printed =
            ends(&to, &["pull", &format!("oci://{}/platform/releases@{digest}", meddler.address)], 4);
        assert!(printed.contains(what) && printed.contains("is not used"), "{word}: {printed}");
        assert!(printed.contains("does not match the digest"), "{word}: {printed}");
        assert!(!to.has("generated") && !to.has("stackloom.lock"));
    }
    let meddler = Meddler::start(&server, "/nothing/");
    ends(&fleet(), &["pull", &format!("oci://{}/platform/releases@{digest}", meddler.address)], 0);
}

#[test]
fn the_login_is_the_one_that_docker_has() {
    let Some(server) = Server::start(&["-login", "me:word"]) else { return };
    let from = publisher();
    let folder = from.outside().join("docker");
    fs::create_dir(&folder).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
        command
            .current_dir(&from.root)
            .args(arguments)
            .env("DOCKER_CONFIG", &folder)
            .env("NO_COLOR", "1")
            .env("STACKLOOM_TODAY", "2026-11-23");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap()
    };
    let push = ["release", "push", &repository(&server)];
    let output = run(&push);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        output_of(&output).contains(&format!("docker login {}", server.address)),
        "{}",
        output_of(&output)
    );
    // base64 of me:word
    let config = json!({ "auths": { &server.address: { "auth": "bWU6d29yZA==" } } });
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let output = run(&push);
    assert_eq!(output.status.code(), Some(0), "{}", output_of(&output));
    assert!(!output_of(&output).contains("word"));
}

#[test]
fn newer_releases_of_a_registry_are_listed_with_their_digests() {
    let Some(server) = Server::start(&[]) else { return };
    let (from, to) = (publisher(), fleet());
    let source = publish(&from, &server);
    ends(&to, &["pull", &source], 0);
    let text = to.read("stackloom.yaml").unwrap();
    to.write(
        "stackloom.yaml",
        format!(
            "{text}  releases:\n    sources:\n      - url: {}\n        stacks: [test/tiny]\n",
            repository(&server)
        ),
    );
    commit(&to, "a source");
    edit(&from, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(&from, "an edit");
    ends(&from, &["release", "--kubernetes", "1.35"], 0);
    publish(&from, &server);
    let (code, document) = json(&to, &["releases", "--check"]);
    assert_eq!(code, Some(3), "{document}");
    let first = &document["sources"][0]["releases"][0];
    assert_eq!(first["name"], "test-tiny-1-35-v2");
    let command = first["command"].as_str().unwrap();
    let words: Vec<_> = command.split(' ').skip(1).collect();
    ends(&to, &words, 0);
    assert!(to.has("generated/releases/test-tiny-1-35-v2/release.yaml"));
}

/// A fake cosign that records its arguments and exits as told. These tests cover that cosign is called and trusted, not
/// cosign itself.
#[cfg(unix)]
#[test]
fn a_key_is_held_against_the_signature_by_cosign() {
    let Some(server) = Server::start(&[]) else { return };
    let source = publish(&publisher(), &server);
    let to = fleet();
    let programs = to.outside().join("bin");
    fs::create_dir(&programs).unwrap();
    let pull = |arguments: &[&str]| {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
        command
            .current_dir(&to.root)
            .arg("pull")
            .args(arguments)
            .env("PATH", path)
            .env("NO_COLOR", "1")
            .env("STACKLOOM_TODAY", "2026-11-23");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().unwrap();
        (output.status.code(), output_of(&output))
    };
    let stand_in = |ending: &str| {
        let program = programs.join("cosign");
        sandbox::program(&program, &format!("#!/bin/sh\necho \"$@\" >>../called\n{ending}\n"));
    };
    let (code, printed) = pull(&["--key", "keys/releases.pub", &source]);
    assert!(code == Some(4) && printed.contains("the key `keys/releases.pub` does not exist"), "{printed}");
    let text = to.read("stackloom.yaml").unwrap();
    let sources = format!(
        "  releases:\n    sources:\n      - url: {}\n        key: keys/releases.pub\n",
        repository(&server)
    );
    to.write("stackloom.yaml", text + &sources);
    to.write("keys/releases.pub", "a key\n");
    commit(&to, "a source with a key");
    let (code, printed) = pull(&[&source]);
    assert!(
        code == Some(4) && printed.contains("cannot run `cosign`") && printed.contains("install cosign"),
        "{printed}"
    );
    stand_in("echo 'no matching signatures' >&2; exit 1");
    let (code, printed) = pull(&[&source]);
    assert!(code == Some(4) && printed.contains("no matching signatures"), "{printed}");
    assert!(!to.has("generated") && !to.has("stackloom.lock"));
    stand_in("exit 0");
    let (code, printed) = pull(&[&source]);
    assert!(code == Some(0) && printed.contains("signed with keys/releases.pub"), "{printed}");
    assert!(to.read("stackloom.lock").unwrap().contains("key: keys/releases.pub"));
    to.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let text = to.read("stackloom.yaml").unwrap();
    to.write("stackloom.yaml", text + "        transparencyLog: false\n");
    commit(&to, "a closed network");
    assert_eq!(pull(&[&source]).0, Some(0));
    let image = source.strip_prefix("oci://").unwrap();
    let called = fs::read_to_string(to.outside().join("called")).unwrap();
    let with_log = format!("verify --key keys/releases.pub --allow-http-registry {image}");
    let without =
        format!("verify --key keys/releases.pub --insecure-ignore-tlog --allow-http-registry {image}");
    assert_eq!(called.lines().collect::<Vec<_>>(), [&with_log, &with_log, &without]);
}
