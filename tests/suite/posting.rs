//! The posting jobs of docs/review/, run with bash against a local server that answers as the forge does: lists in pages,
//! notes of other people, forks that cannot be read.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufReader, Write as _},
    path::Path,
    process::{Command, Output},
    sync::{Arc, Mutex},
};

use serde_json::{Value as Json, json};

use super::{
    environment,
    propose::{
        call::{Call, read},
        server::{Listening, TOKEN},
    },
    support::package,
};

/// The number of entries per page, whatever a client asks for.
const PAGE: usize = 2;

/// A forge with lists and single answers by path, and the notes of each list.
#[derive(Default)]
struct Forge {
    answers: BTreeMap<String, Json>,
    files: BTreeMap<String, String>,
    notes: BTreeMap<String, Vec<Json>>,
    /// The method and path of each call that writes.
    written: Vec<String>,
    was_denied: bool,
}

impl Forge {
    fn answer(&mut self, call: &Call) -> (u16, String) {
        let asked =
            |name: &str| call.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let page = |all: &[Json]| {
            let number: usize = asked("page").unwrap_or("1").parse().unwrap();
            all.iter().skip((number - 1) * PAGE).take(PAGE).cloned().collect::<Json>()
        };
        let path = call.path.as_str();
        if call.method == "GET" {
            if let Some(text) = self.files.get(path) {
                return (200, text.clone());
            }
            let found = match (self.notes.get(path), self.answers.get(path)) {
                (Some(notes), _) => page(notes),
                (_, Some(Json::Array(all))) => {
                    let head = asked("head");
                    let is_asked = |one: &&Json| head.is_none_or(|head| one["head"]["label"] == head);
                    page(&all.iter().filter(is_asked).cloned().collect::<Vec<_>>())
                }
                (_, Some(one)) => one.clone(),
                _ => return (404, json!({ "message": "404 Not Found" }).to_string()),
            };
            return (200, found.to_string());
        }
        self.written.push(format!("{} {path}", call.method));
        let body = call.body["body"].clone();
        if let Some(notes) = self.notes.get_mut(path) {
            let id = 1000 + notes.len();
            notes.push(json!({ "id": id, "body": body, "author": { "id": 7 }, "user": { "login": "github-actions[bot]" } }));
            return (201, "{}".to_owned());
        }
        let id = path.rsplit_once('/').and_then(|(_, id)| id.parse::<u64>().ok());
        let mut all = self.notes.values_mut().flatten();
        let Some(note) = all.find(|one| one["id"].as_u64() == id) else { return (404, "{}".to_owned()) };
        note["body"] = body;
        (200, "{}".to_owned())
    }
}

fn start(forge: Forge) -> (Listening, Arc<Mutex<Forge>>) {
    let forge = Arc::new(Mutex::new(forge));
    let shared = Arc::clone(&forge);
    let listening = Listening::start(move |mut stream, _| {
        let mut reader = BufReader::new(stream);
        while let Some((call, is_allowed)) = read(&mut reader) {
            let mut forge = shared.lock().unwrap();
            forge.was_denied |= !is_allowed;
            let (status, body) = forge.answer(&call);
            drop(forge);
            let head = format!("HTTP/1.1 {status} Status\r\nContent-Length: {}\r\n\r\n", body.len());
            if stream.write_all((head + &body).as_bytes()).is_err() {
                return;
            }
        }
    });
    (listening, forge)
}

/// Whether a machine can run the scripts.
fn has_programs() -> bool {
    let is_there =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|one| one.status.success());
    let missing = ["bash", "curl", "jq"].into_iter().find(|name| !is_there(name));
    if let Some(name) = missing {
        environment::is_missing(&format!("`{name}`"), "install it");
    }
    missing.is_none()
}

/// A script of an example.
fn script(file: &str, keys: &[&str]) -> String {
    let text = fs::read_to_string(package().join("docs/review").join(file)).unwrap();
    let document: Json = serde_yaml::from_str(&text).unwrap();
    let step = |value: &Json, key: &&str| match key.parse::<usize>() {
        Ok(index) => value[index].clone(),
        Err(_) => value[*key].clone(),
    };
    keys.iter().fold(document, |value, key| step(&value, key)).as_str().unwrap().to_owned()
}

fn run(script: &str, folder: &Path, variables: &[(&str, &str)]) -> Output {
    Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
        .current_dir(folder)
        .envs(variables.iter().copied())
        .env("no_proxy", "127.0.0.1")
        .output()
        .unwrap()
}

/// A comment as the program writes it.
fn comment(text: &str, digit: char) -> String {
    format!("### {text}\n\n<!-- stackloom-diff sha256:{} -->\n", digit.to_string().repeat(64))
}

fn note(id: u64, author: u64, body: &str) -> Json {
    json!({ "id": id, "author": { "id": author }, "body": body, "user": { "login": if author == 7 { "github-actions[bot]" } else { "someone" } } })
}

const API: &str = "/api/v4/projects/3/merge_requests";

impl Forge {
    /// A merge request, with its pipeline in a project, and the comment in the files of its job.
    fn request(&mut self, number: u64, project: u64, file: Option<&str>, notes: Vec<Json>) {
        let pipeline = json!({ "id": 100 + number, "project_id": project });
        self.answers.insert(format!("{API}/{number}"), json!({ "iid": number, "head_pipeline": pipeline }));
        let all = self.answers.entry(API.to_owned()).or_insert_with(|| json!([]));
        all.as_array_mut().unwrap().push(json!({ "iid": number }));
        self.notes.insert(format!("{API}/{number}/notes"), notes);
        let Some(file) = file else { return };
        let job =
            |id: u64, name: &str| json!({ "id": id, "name": name, "finished_at": "2026-11-24T10:00:00Z" });
        let jobs = json!([job(1, "lint"), job(2, "test"), job(200 + number, "stackloom-diff")]);
        self.answers.insert(format!("/api/v4/projects/{project}/pipelines/{}/jobs", 100 + number), jobs);
        let path = format!("/api/v4/projects/{project}/jobs/{}/artifacts/report/comment.md", 200 + number);
        self.files.insert(path, file.to_owned());
    }
}

#[test]
fn gitlab_gets_one_comment_per_merge_request() {
    if !has_programs() {
        return;
    }
    let mut forge = Forge::default();
    forge.answers.insert("/api/v4/user".to_owned(), json!({ "id": 7 }));
    let fresh = comment("1 of 3 clusters changes", 'a');
    let other = |id| note(id, 8, "looks good");
    forge.request(1, 3, Some(&fresh), vec![other(11), note(12, 8, &comment("by someone else", 'a'))]);
    forge.request(2, 9, Some(&fresh), Vec::new());
    // A fork that the token cannot read.
    forge.request(3, 10, None, Vec::new());
    forge.request(
        4,
        3,
        Some(&fresh),
        vec![other(41), other(42), other(43), note(44, 7, &comment("old", 'b'))],
    );
    forge.request(5, 3, Some(&fresh), vec![other(51), note(52, 7, &fresh)]);
    forge.request(6, 3, Some("### hello @everyone\n"), Vec::new());
    forge.request(7, 3, Some(&format!("### {}{fresh}", "x".repeat(70_000))), Vec::new());
    forge.request(8, 3, Some(&fresh), Vec::new());
    forge.answers.insert(format!("{API}/8"), json!({ "iid": 8, "head_pipeline": null }));
    forge.request(9, 3, Some(&fresh), Vec::new());
    let (server, forge) = start(forge);
    let script = script("gitlab-ci.yml", &["stackloom-comment", "script", "0"]);
    let folder = tempfile::tempdir().unwrap();
    let api = format!("{}/api/v4", server.url);
    let variables = [("CI_API_V4_URL", api.as_str()), ("CI_PROJECT_ID", "3"), ("COMMENT_TOKEN", TOKEN)];
    let expected = [1, 2, 4, 9].map(|number| match number {
        4 => format!("PUT {API}/4/notes/44"),
        _ => format!("POST {API}/{number}/notes"),
    });
    // The second run finds everything as it should be.
    for _ in 0..2 {
        let output = run(&script, folder.path(), &variables);
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        for number in [3, 6, 7] {
            assert!(said.contains(&format!("merge request {number}: no comment was posted")), "{said}");
        }
        let forge = forge.lock().unwrap();
        assert_eq!(forge.written, expected, "{output:?}");
        assert!(!forge.was_denied);
        for number in [1, 2, 4, 5, 9] {
            let notes = &forge.notes[&format!("{API}/{number}/notes")];
            let own: Vec<_> = notes.iter().filter(|one| one["author"]["id"] == 7).collect();
            assert_eq!(own.len(), 1, "{notes:?}");
            assert_eq!(own[0]["body"].as_str().unwrap(), fresh);
        }
    }
}

/// A list that cannot be read is an error, not a forge without merge requests.
#[test]
fn gitlab_job_fails_if_merge_requests_cannot_be_listed() {
    if !has_programs() {
        return;
    }
    let mut forge = Forge::default();
    forge.answers.insert("/api/v4/user".to_owned(), json!({ "id": 7 }));
    let (server, _) = start(forge);
    let script = script("gitlab-ci.yml", &["stackloom-comment", "script", "0"]);
    let folder = tempfile::tempdir().unwrap();
    let api = format!("{}/api/v4", server.url);
    let variables = [("CI_API_V4_URL", api.as_str()), ("CI_PROJECT_ID", "3"), ("COMMENT_TOKEN", TOKEN)];
    let output = run(&script, folder.path(), &variables);
    assert!(!output.status.success(), "{output:?}");
}

#[test]
fn github_gets_one_comment_per_pull_request() {
    if !has_programs() {
        return;
    }
    let repository = "/repos/platform/fleet";
    let mut forge = Forge::default();
    let pull = |number: u64, label: &str, sha: &str| json!({ "number": number, "head": { "label": label, "sha": sha } });
    let pulls = [
        pull(1, "stranger:a&b=c", "0"),
        pull(2, "stranger:a&b=c", "1"),
        pull(3, "stranger:a&b=c", "2"),
        pull(4, "platform:a&b=c", "2"),
        pull(5, "platform:both", "3"),
        pull(6, "platform:both", "4"),
        pull(7, "platform:both", "3"),
    ];
    forge.answers.insert(format!("{repository}/pulls"), Json::from_iter(pulls));
    let comments = format!("{repository}/issues/3/comments");
    let foreign = |id| note(id, 8, &comment("by someone else", 'a'));
    forge.notes.insert(comments.clone(), vec![foreign(31), foreign(32), foreign(33)]);
    let (server, forge) = start(forge);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (output, file) = (path("output"), path("comment.md"));
    let api = |extra: &[(&str, &str)], script: &str| {
        let own = [
            ("GITHUB_API_URL", server.url.as_str()),
            ("GITHUB_REPOSITORY", "platform/fleet"),
            ("GITHUB_OUTPUT", &output),
            ("GH_TOKEN", TOKEN),
        ];
        run(script, folder.path(), &[&own, extra].concat())
    };
    let find = script("post.yml", &["jobs", "find", "steps", "0", "run"]);
    for (head, sha, number) in [
        ("stranger:a&b=c", "2", "3"),
        ("stranger:a&b=c", "9", ""),
        ("nobody:x", "2", ""),
        ("platform:both", "3", ""),
    ] {
        fs::write(&output, "").unwrap();
        let found = api(&[("HEAD", head), ("SHA", sha)], &find);
        assert!(found.status.success(), "{found:?}");
        assert_eq!(fs::read_to_string(&output).unwrap(), format!("number={number}\n"));
    }
    // A forge that does not answer is no forge without pull requests.
    let lost = api(&[("HEAD", "x:y"), ("SHA", "2"), ("GITHUB_REPOSITORY", "no/such")], &find);
    assert!(!lost.status.success(), "{lost:?}");
    let post = script("post.yml", &["jobs", "comment", "steps", "1", "run"]);
    let posted = |text: &str| {
        fs::write(&file, text).unwrap();
        api(&[("FILE", &file), ("NUMBER", "3")], &post).status.success()
    };
    assert!(!posted("### not a report\n") && !posted(&comment("report", 'a').replace("###", "##")));
    assert!(!posted(&comment(&"x".repeat(70_000), 'a')));
    // It is created, left alone, and updated.
    assert!(
        posted(&comment("first", 'a')) && posted(&comment("first", 'a')) && posted(&comment("second", 'b'))
    );
    let forge = forge.lock().unwrap();
    assert_eq!(
        forge.written,
        [format!("POST {comments}"), format!("PATCH {repository}/issues/comments/1003")]
    );
    assert_eq!(forge.notes[&comments][3]["body"].as_str().unwrap(), comment("second", 'b'));
    assert!(!forge.was_denied);
}
