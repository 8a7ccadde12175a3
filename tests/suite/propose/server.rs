//! A local forge: the part of each API that the program uses, with pages, limits and failures. It stops when dropped.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use serde_json::{Value as Json, json};
use stackloom::model::ForgeKind;

use super::call::{Call, decoded, read};

/// The number of entries per page.
const PAGE: usize = 2;

/// The token that it accepts.
pub(crate) const TOKEN: &str = "t0ken-of-the-test";

/// A failure of the next call.
#[derive(Clone, Debug)]
pub(crate) enum Accident {
    /// Responds with this answer and does nothing else.
    Answer(u16, Vec<(&'static str, String)>, &'static str),
    /// Performs the action, then closes the connection without a response.
    Deaf,
    /// Never responds; whether the action is performed.
    Stalled(bool),
    /// No failure.
    None,
}

/// A stored merge request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) number: u64,
    /// `open`, `merged` or `closed`.
    pub(crate) state: &'static str,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) head: String,
    pub(crate) base: String,
    pub(crate) comments: Vec<String>,
    /// The people and teams whose review was asked for.
    pub(crate) reviewers: Vec<String>,
    pub(crate) labels: Vec<String>,
    /// Whether the branch is in another repository.
    pub(crate) is_fork: bool,
}

/// The state of the forge.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) requests: Vec<Stored>,
    /// The repository with the branches of requests.
    pub(crate) remote: Option<PathBuf>,
    /// A request that another run opens at the moment of the next one. Gitea then refuses neither.
    pub(crate) rival: Option<Stored>,
    /// The people that it knows; others are refused.
    pub(crate) people: Vec<&'static str>,
    /// The labels of the repository.
    pub(crate) labels: Vec<&'static str>,
    pub(crate) accidents: VecDeque<Accident>,
    /// The method and path of each call.
    pub(crate) calls: Vec<String>,
    /// The commits that were pushed, each with its statuses: context and state, the latest last.
    pub(crate) commits: BTreeMap<String, Vec<(String, &'static str)>>,
    /// The commits that requests brought into their base, with when that was.
    pub(crate) merges: BTreeMap<String, &'static str>,
    /// A report on health, published without a forge.
    pub(crate) report: Option<String>,
    /// Whether a call came without the right token.
    pub(crate) was_denied: bool,
    /// Whether a client is waiting for a response that never comes.
    pub(crate) is_stalled: bool,
}

/// A running forge.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) state: Arc<Mutex<State>>,
    _listening: Listening,
}

/// What answers on a local port until it is dropped.
pub(crate) struct Listening {
    pub(crate) url: String,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    /// Serves each connection in a thread of its own. `serve` gets the address, too.
    pub(crate) fn start(serve: impl Fn(&TcpStream, &str) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let ended = Arc::new(AtomicBool::new(false));
        let (end, base, serve) = (Arc::clone(&ended), url.clone(), Arc::new(serve));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (serve, base) = (Arc::clone(&serve), base.clone());
                thread::spawn(move || serve(&stream, &base));
            }
        });
        Self { url, ended, thread: Some(thread) }
    }
}

impl Server {
    pub(crate) fn start(kind: ForgeKind) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let listening = Listening::start(move |stream, base| serve(stream, kind, base, &shared));
        Self { url: listening.url.clone(), state, _listening: listening }
    }

    pub(crate) fn with<T>(&self, use_it: impl FnOnce(&mut State) -> T) -> T {
        use_it(&mut self.state.lock().unwrap())
    }
}

impl State {
    fn has(&self, branch: &str) -> bool {
        self.remote.as_ref().is_none_or(|remote| remote.join("refs/heads").join(branch).exists())
    }

    /// GitHub and Forgejo close a request once its branch is deleted.
    fn close_without_branch(&mut self, kind: ForgeKind) {
        let gone: Vec<bool> = self.requests.iter().map(|one| !one.is_fork && !self.has(&one.head)).collect();
        let all = self.requests.iter_mut().zip(gone);
        for (one, _) in all.filter(|(one, gone)| *gone && one.state == "open" && kind != ForgeKind::GitLab) {
            one.state = "closed";
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes up the listener, which waits for a connection.
        TcpStream::connect(self.url.trim_start_matches("http://")).ok();
        self.thread.take().map(JoinHandle::join);
    }
}

fn serve(stream: &TcpStream, kind: ForgeKind, base: &str, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    while let Some((call, is_allowed)) = read(&mut reader) {
        let mut state = state.lock().unwrap();
        state.calls.push(format!("{} {}", call.method, call.path));
        state.was_denied |= !is_allowed;
        let accident = state.accidents.pop_front().unwrap_or(Accident::None);
        let (status, headers, body) = match accident {
            Accident::Answer(status, headers, body) => (status, headers, body.to_owned()),
            Accident::None if !is_allowed => (401, Vec::new(), r#"{"message":"Bad credentials"}"#.to_owned()),
            Accident::Stalled(is_done) => {
                if is_done {
                    answer(kind, base, &call, &mut state);
                }
                state.is_stalled = true;
                drop(state);
                // Wait until the client is gone.
                reader.read_line(&mut String::new()).ok();
                return;
            }
            accident @ (Accident::None | Accident::Deaf) => {
                let (status, body, next) = answer(kind, base, &call, &mut state);
                if matches!(accident, Accident::Deaf) {
                    return;
                }
                (status, next.map(|link| ("Link", link)).into_iter().collect(), body.to_string())
            }
        };
        drop(state);
        let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let headers = headers.collect::<Vec<_>>().concat();
        let text = format!(
            "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = stream;
        if stream.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

/// The status, the body, and the header for the next page.
fn answer(kind: ForgeKind, base: &str, call: &Call, state: &mut State) -> (u16, Json, Option<String>) {
    let root = match kind {
        ForgeKind::GitHub => "/api/v3/repos/platform/fleet",
        ForgeKind::GitLab => "/api/v4/projects/platform%2Ffleet",
        ForgeKind::Forgejo => "/api/v1/repos/platform/fleet",
    };
    if let ("/health.json", Some(report)) = (call.path.as_str(), &state.report) {
        return (200, serde_json::from_str(report).unwrap(), None);
    }
    if call.path == "/api/v4/users" {
        let asked = call.query.iter().find(|(key, _)| key == "username").map(|(_, name)| name.as_str());
        let found = state.people.iter().position(|one| Some(*one) == asked);
        return (200, found.map(|at| json!({ "id": at })).into_iter().collect(), None);
    }
    state.close_without_branch(kind);
    let Some(path) = call.path.strip_prefix(root) else {
        return (404, json!({ "message": "Not Found" }), None);
    };
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (call.method.as_str(), parts.as_slice()) {
        ("GET", ["pulls" | "merge_requests"]) => {
            let asked =
                |name: &str| call.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
            let head = match kind {
                ForgeKind::GitHub => asked("head").and_then(|head| head.strip_prefix("platform:")),
                ForgeKind::GitLab => asked("source_branch"),
                ForgeKind::Forgejo => None,
            };
            let all = state.requests.iter().rev().filter(|one| head.is_none_or(|head| one.head == head));
            page((kind, base), call, all.map(|one| shown((kind, state), one)).collect())
        }
        ("POST", ["pulls" | "merge_requests"]) => create(kind, call, state),
        ("GET", ["commits", commit, "statuses"] | ["repository", "commits", commit, "statuses"]) => {
            let found = state.commits.get(*commit).map(|all| page((kind, base), call, statuses(kind, all)));
            found.unwrap_or_else(|| no_commit(kind))
        }
        (
            "GET",
            ["commits", commit, "pull" | "pulls"] | ["repository", "commits", commit, "merge_requests"],
        ) => merges(kind, state.merges.get(*commit).copied()),
        ("GET", ["labels"]) => {
            let all = state.labels.iter().enumerate().map(|(at, name)| json!({ "id": at, "name": name }));
            page((kind, base), call, all.collect())
        }
        ("POST", ["pulls", number, "requested_reviewers"]) => review(call, number, state),
        (method, ["issues", number, "labels", rest @ ..]) => label(kind, (method, call), number, rest, state),
        (_, ["pulls" | "merge_requests", number]) => {
            let people = state.people.clone();
            let one = state.requests.iter_mut().find(|one| one.number.to_string() == *number).unwrap();
            change(call, one, &people);
            let ids = one.reviewers.iter().filter_map(|name| people.iter().position(|one| one == name));
            let ids: Json = ids.map(|id| json!({ "id": id })).collect();
            let one = one.clone();
            let mut told = shown((kind, state), &one);
            told["reviewers"] = ids;
            (200, told, None)
        }
        (method, ["issues" | "merge_requests", number, "comments" | "notes"]) => {
            let one = state.requests.iter_mut().find(|one| one.number.to_string() == *number).unwrap();
            if method == "GET" {
                return page(
                    (kind, base),
                    call,
                    one.comments.iter().map(|text| json!({ "body": text })).collect(),
                );
            }
            one.comments.push(call.body["body"].as_str().unwrap().to_owned());
            (201, json!({ "body": call.body["body"] }), None)
        }
        _ => (404, json!({ "message": "Not Found" }), None),
    }
}

fn no_commit(kind: ForgeKind) -> (u16, Json, Option<String>) {
    let code = if kind == ForgeKind::GitHub { 422 } else { 404 };
    (code, json!({ "message": "No commit found" }), None)
}

/// Forgejo answers with the one request that brought a commit into its base, the others with a list.
fn merges(kind: ForgeKind, time: Option<&str>) -> (u16, Json, Option<String>) {
    let one = time.map(|time| json!({ "merged_at": time }));
    match (kind, one) {
        (ForgeKind::Forgejo, None) => (404, json!({ "message": "Not Found" }), None),
        (ForgeKind::Forgejo, Some(one)) => (200, one, None),
        (_, one) => (200, one.into_iter().collect(), None),
    }
}

/// GitHub lists the latest first, GitLab the latest of each name, Forgejo all in some order.
fn statuses(kind: ForgeKind, all: &[(String, &'static str)]) -> Vec<Json> {
    let numbered: Vec<(usize, &(String, &'static str))> = all.iter().enumerate().collect();
    let entry = |(number, (context, state)): (usize, &(String, &'static str))| match kind {
        ForgeKind::GitHub => json!({ "id": number + 1, "context": context, "state": state }),
        ForgeKind::Forgejo => json!({ "id": number + 1, "context": context, "status": state }),
        ForgeKind::GitLab => {
            let state = if *state == "failure" { "failed" } else { state };
            json!({ "id": number + 1, "name": context, "status": state })
        }
    };
    match kind {
        ForgeKind::GitHub => numbered.into_iter().rev().map(entry).collect(),
        ForgeKind::Forgejo => numbered.into_iter().map(entry).collect(),
        ForgeKind::GitLab => {
            let is_last = |(number, (context, _)): &(usize, &(String, &str))| {
                all.iter().rposition(|(other, _)| other == context) == Some(*number)
            };
            numbered.into_iter().filter(is_last).map(entry).collect()
        }
    }
}

/// Forgejo writes the address in its own configuration, which may be another than the one that it was asked at.
fn page((kind, base): (ForgeKind, &str), call: &Call, all: Vec<Json>) -> (u16, Json, Option<String>) {
    let base = if kind == ForgeKind::Forgejo { "https://forge.example.org" } else { base };
    let number =
        call.query.iter().find(|(key, _)| key == "page").map_or(1, |(_, value)| value.parse().unwrap());
    let query =
        call.query.iter().filter(|(key, _)| key != "page").map(|(key, value)| format!("{key}={value}&"));
    let query = query.collect::<Vec<_>>().concat();
    let next = (all.len() > number * PAGE).then(|| {
        format!("<{base}{}?{query}page={}>; rel=\"next\", <{base}/x>; rel=\"last\"", call.path, number + 1)
    });
    let entries: Vec<Json> = all.into_iter().skip((number - 1) * PAGE).take(PAGE).collect();
    (200, Json::Array(entries), next)
}

fn create(kind: ForgeKind, call: &Call, state: &mut State) -> (u16, Json, Option<String>) {
    let text =
        |one: &str, other: &str| call.body[one].as_str().or(call.body[other].as_str()).unwrap().to_owned();
    let (head, base) = (text("head", "source_branch"), text("base", "target_branch"));
    let rival = state.rival.take();
    let is_alone = rival.is_none();
    state.requests.extend(rival);
    if is_alone
        && state
            .requests
            .iter()
            .any(|one| one.state == "open" && one.head == head && one.base == base && !one.is_fork)
    {
        return match kind {
            ForgeKind::GitHub => {
                let reported = format!("A pull request already exists for platform:{head}.");
                (
                    422,
                    json!({ "message": "Validation Failed", "errors": [{ "resource": "PullRequest", "message": reported }] }),
                    None,
                )
            }
            ForgeKind::GitLab => (
                409,
                json!({ "message": ["Another open merge request already exists for this source branch: !1"] }),
                None,
            ),
            ForgeKind::Forgejo => {
                (409, json!({ "message": "pull request already exists for these targets" }), None)
            }
        };
    }
    let number = state.requests.len() as u64 + 1;
    let (title, body) = (text("title", "title"), text("body", "description"));
    state.requests.push(Stored { number, state: "open", title, body, head, base, ..Stored::default() });
    (201, shown((kind, state), state.requests.last().unwrap()), None)
}

/// GitHub and Forgejo refuse people who may not read the repository.
fn review(call: &Call, number: &str, state: &mut State) -> (u16, Json, Option<String>) {
    let names = |key: &str| call.body[key].as_array().cloned().unwrap_or_default();
    let people: Vec<String> = names("reviewers").iter().map(|one| one.as_str().unwrap().to_owned()).collect();
    if people.iter().any(|one| !state.people.contains(&one.as_str())) {
        let told = "Reviews may only be requested from collaborators.";
        return (422, json!({ "message": told }), None);
    }
    let one = state.requests.iter_mut().find(|one| one.number.to_string() == *number).unwrap();
    let teams = names("team_reviewers").into_iter().map(|one| format!("team {}", one.as_str().unwrap()));
    for name in people.into_iter().chain(teams) {
        if !one.reviewers.contains(&name) {
            one.reviewers.push(name);
        }
    }
    (201, json!({}), None)
}

/// GitHub names labels, and Forgejo numbers them.
fn label(
    kind: ForgeKind,
    (method, call): (&str, &Call),
    number: &str,
    rest: &[&str],
    state: &mut State,
) -> (u16, Json, Option<String>) {
    let name = |one: &Json| match kind {
        ForgeKind::Forgejo => {
            let id = one.as_u64().or_else(|| one.as_str()?.parse().ok()).unwrap();
            state.labels[usize::try_from(id).unwrap()].to_owned()
        }
        _ => decoded(one.as_str().unwrap()),
    };
    let added: Vec<String> = call.body["labels"].as_array().into_iter().flatten().map(name).collect();
    let removed = rest.first().map(|one| name(&json!(one)));
    let one = state.requests.iter_mut().find(|one| one.number.to_string() == *number).unwrap();
    if method == "DELETE" {
        one.labels.retain(|label| Some(label) != removed.as_ref());
    } else {
        one.labels.extend(added);
    }
    (200, json!([]), None)
}

/// GitLab replaces all reviewers, and names labels.
fn change(call: &Call, one: &mut Stored, people: &[&'static str]) {
    if let Some(ids) = call.body["reviewer_ids"].as_array() {
        let name = |id: &Json| people[usize::try_from(id.as_u64().unwrap()).unwrap()].to_owned();
        one.reviewers = ids.iter().map(name).collect();
    }
    for (key, is_added) in [("add_labels", true), ("remove_labels", false)] {
        let names = call.body[key].as_str().unwrap_or_default().split(',').filter(|name| !name.is_empty());
        for name in names {
            one.labels.retain(|label| label != name);
            one.labels.extend(is_added.then(|| name.to_owned()));
        }
    }
    let text = |name: &str| call.body[name].as_str().map(str::to_owned);
    if let Some(title) = text("title") {
        one.title = title;
    }
    if let Some(body) = text("body").or_else(|| text("description")) {
        one.body = body;
    }
    if call.body["state"] == "closed" || call.body["state_event"] == "close" {
        one.state = "closed";
    }
}

/// Forgejo names the branch in `label`; its `ref` changes when the branch is deleted.
fn shown((kind, state): (ForgeKind, &State), one: &Stored) -> Json {
    let page = format!("https://forge.example.org/platform/fleet/{}", one.number);
    let project = if one.is_fork { 2 } else { 1 };
    if kind == ForgeKind::GitLab {
        return json!({
            "iid": one.number, "state": if one.state == "open" { "opened" } else { one.state }, "title": one.title,
            "description": one.body, "source_branch": one.head, "target_branch": one.base, "web_url": page,
            "source_project_id": project, "target_project_id": 1,
        });
    }
    let mut head =
        json!({ "ref": one.head, "label": format!("platform:{}", one.head), "repo": { "id": project } });
    let base = json!({ "ref": one.base, "repo": { "id": 1 } });
    if kind == ForgeKind::Forgejo {
        head["label"] = json!(one.head);
        if !state.has(&one.head) {
            head["ref"] = json!(format!("refs/pull/{}/head", one.number));
        }
    }
    json!({
        "number": one.number, "state": if one.state == "open" { "open" } else { "closed" },
        "merged_at": if one.state == "merged" { json!("2026-11-23T10:00:00Z") } else { Json::Null },
        "title": one.title, "body": one.body, "head": head, "base": base, "html_url": page,
    })
}
