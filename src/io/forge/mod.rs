//! Requests to merge a branch on forges: GitHub, GitLab, Forgejo and Gitea.
//!
//! The token comes from a named environment variable, is sent only to the forge's own host, and is never printed. A call
//! without an answer may have succeeded. Its effect is looked up before it is repeated, so that one proposal opens one
//! request.

mod client;
mod forgejo;
mod github;
mod gitlab;

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use reqwest::Method;
use serde_json::{Value as Json, json};

use crate::{
    model::ForgeKind,
    note::Fault,
    pull_request::{DOUBLE, Limits, RepositoryAddress, Request, RequestState, ReviewsAndLabels},
    rollout::{CommitState, CommitStatus},
};

use client::{Answer, Client, Problem};

/// A call to a forge's API.
struct Call {
    method: Method,
    /// Relative to the address of the API, including the query.
    path: String,
    body: Option<Json>,
}

impl Call {
    fn get(path: String) -> Self {
        Self { method: Method::GET, path, body: None }
    }

    fn with(method: Method, path: String, body: Json) -> Self {
        Self { method, path, body: Some(body) }
    }
}

/// The API of one kind of forge: its calls, and how to read its answers.
trait Dialect {
    /// The value of the `Authorization` header.
    fn authorization(&self, token: &str) -> String;
    /// Lists the requests of a branch into a base, in any state. The answer may contain other requests.
    fn list(&self, base: &str, branch: &str) -> Call;
    /// Reads a request and its source branch from the forge's JSON; None if it is not a request, or comes from a fork.
    fn read(&self, one: &Json) -> Option<(String, Request)>;
    fn create(&self, base: &str, branch: &str, title: &str, body: &str) -> Call;
    /// Reports whether the answer to [`Self::create`] means that the request already exists.
    fn is_there(&self, answer: &Answer) -> bool;
    /// Whether the forge opens two requests for a branch if they arrive at the same moment.
    fn may_open_two(&self) -> bool {
        false
    }
    /// Replaces the title and text of a request.
    fn update(&self, number: u64, title: &str, body: &str) -> Call;
    fn close(&self, number: u64) -> Call;
    fn comment(&self, number: u64, text: &str) -> Call;
    /// Lists the comments on a request.
    fn comments(&self, number: u64) -> Call;
    /// Asks a person or team, such as `@ada`, for a review of a request. The inner error says why the forge does not do it.
    fn review(&self, send: Send<'_>, number: u64, reviewer: &str) -> Result<Result<(), String>, Problem>;
    /// Lists the labels of the repository.
    fn labels(&self) -> Call;
    /// Adds labels to a request and removes others. `known` is the forge's own list of labels.
    fn label(&self, number: u64, known: &[Json], add: &[String], remove: &[String]) -> Vec<Call>;
    /// The permissions that the token needs for requests.
    fn permissions(&self) -> &'static str;
    fn statuses(&self, commit: &str) -> Call;
    /// Reads a status from the forge's JSON, with its number, which increases; none if it is not a status.
    fn read_status(&self, one: &Json) -> Option<(u64, CommitStatus)>;
    /// The permission that the token needs to read statuses.
    fn permission_to_read_statuses(&self) -> &'static str;
    /// The requests that brought a commit into their base.
    fn merges(&self, commit: &str) -> Call;
}

type Send<'a> = &'a dyn Fn(&Call) -> Result<Answer, Problem>;

/// A repository on a forge.
pub struct ForgeRepository<'a> {
    address: RepositoryAddress,
    dialect: Box<dyn Dialect>,
    client: Client<'a>,
}

impl std::fmt::Debug for ForgeRepository<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forge").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The environment variables that may hold a token, in order of precedence.
pub fn token_variables(kind: ForgeKind) -> &'static [&'static str] {
    match kind {
        ForgeKind::GitHub => &["STACKLOOM_FORGE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"],
        ForgeKind::GitLab => &["STACKLOOM_FORGE_TOKEN", "GITLAB_TOKEN"],
        ForgeKind::Forgejo => &["STACKLOOM_FORGE_TOKEN", "FORGEJO_TOKEN", "GITEA_TOKEN"],
    }
}

/// The maximum length of a request's text, in bytes. GitHub allows 65,536 characters, and GitLab 1,048,576
/// (<https://docs.gitlab.com/administration/instance_limits/>); Forgejo documents no limit.
pub fn limits(kind: ForgeKind) -> Limits {
    match kind {
        ForgeKind::GitLab => Limits { kind, body: 1_000_000 },
        ForgeKind::GitHub | ForgeKind::Forgejo => Limits { kind, body: 65_000 },
    }
}

/// What a forge does not do of what it was asked for.
#[derive(Debug, Default)]
pub struct NotAsked {
    /// The people and teams whose review it does not ask for.
    pub reviewers: BTreeSet<String>,
    /// Why, for each reviewer and label.
    pub reasons: Vec<String>,
}

impl<'a> ForgeRepository<'a> {
    /// Opens a forge with a token from the environment; nothing is sent yet. `tell` receives a message before each pause.
    pub fn open(address: &RepositoryAddress, tell: impl Fn(&str) + 'a) -> Result<Self, Fault> {
        let project = &address.project;
        let dialect: Box<dyn Dialect> = match address.kind {
            ForgeKind::GitHub => Box::new(github::GitHub::new(project)),
            ForgeKind::GitLab => Box::new(gitlab::GitLab::new(project)),
            ForgeKind::Forgejo => Box::new(forgejo::Forgejo::new(project)),
        };
        let variables = token_variables(address.kind);
        let set = |name: &&&'static str| std::env::var(name).is_ok_and(|token| !token.trim().is_empty());
        let variable = variables.iter().find(set).copied().ok_or_else(|| {
            let names = variables.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            Fault::new(format!("no token for {} is set: none of {names}", address.url))
                .hint(format!("create one that may {}, and set `{}`", dialect.permissions(), variables[0]))
                .hint("use --no-forge to push the branch without opening a request")
        })?;
        let token = std::env::var(variable).unwrap_or_default();
        let authorization = dialect.authorization(token.trim());
        let client = Client::open(&address.api(), &authorization, variable, Box::new(tell))?;
        Ok(Self { address: address.clone(), dialect, client })
    }

    /// The requests of a branch into a base, newest first.
    pub fn requests(&self, base: &str, branch: &str) -> Result<Vec<Request>, Fault> {
        let listed = self.all(self.dialect.list(base, branch), "list the requests of the branch")?;
        let read = listed.iter().filter_map(|one| self.dialect.read(one));
        let mut found: Vec<Request> =
            read.filter(|(from, one)| from == branch && one.base == base).map(|(_, one)| one).collect();
        found.sort_by_key(|one| std::cmp::Reverse(one.number));
        Ok(found)
    }

    /// The comments on a request.
    pub fn comments(&self, number: u64) -> Result<Vec<String>, Fault> {
        let listed = self.all(self.dialect.comments(number), "list the comments of the request")?;
        Ok(listed.iter().filter_map(|one| Some(one["body"].as_str()?.to_owned())).collect())
    }

    /// The statuses of a commit, the latest first; none if the forge does not have the commit.
    pub fn statuses(&self, commit: &str) -> Result<Option<Vec<CommitStatus>>, Fault> {
        let what = "list the statuses of a commit";
        let listed = match self.pages(self.dialect.statuses(commit), what)? {
            Ok(listed) => listed,
            // GitHub answers with 422 for an unknown commit, the others with 404, as for an unknown repository.
            Err(answer) if matches!(answer.status.as_u16(), 404 | 422) => return Ok(None),
            Err(answer) => {
                return Err(self.refused(what, &answer, self.dialect.permission_to_read_statuses()));
            }
        };
        let mut found: Vec<_> = listed.iter().filter_map(|one| self.dialect.read_status(one)).collect();
        found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        Ok(Some(found.into_iter().map(|(_, status)| status).collect()))
    }

    /// When a request brought a commit into its base; none if the forge knows of no such request.
    pub fn merged(&self, commit: &str) -> Result<Option<DateTime<Utc>>, Fault> {
        let what = "look up when a commit was merged";
        let answer =
            self.client.send(&self.dialect.merges(commit)).map_err(|problem| self.failed(what, &problem))?;
        if matches!(answer.status.as_u16(), 404 | 422) {
            return Ok(None);
        }
        if !answer.is_success() {
            return Err(self.denied(what, &answer));
        }
        let all = answer.json.as_array().map_or(std::slice::from_ref(&answer.json), Vec::as_slice);
        let times =
            all.iter().filter_map(|one| DateTime::parse_from_rfc3339(one["merged_at"].as_str()?).ok());
        Ok(times.map(|time| time.to_utc()).max())
    }

    /// Opens a request; none if there is one already.
    pub fn create(
        &self,
        base: &str,
        branch: &str,
        title: &str,
        body: &str,
    ) -> Result<Option<Request>, Fault> {
        let what = "open the request";
        match self.client.send(&self.dialect.create(base, branch, title, body)) {
            Ok(answer) if answer.is_success() => {
                let made = self.dialect.read(&answer.json).map(|(_, made)| made);
                let made = made.ok_or_else(|| self.unexpected(what))?;
                if self.dialect.may_open_two() {
                    self.unless_double(base, branch, made)
                } else {
                    Ok(Some(made))
                }
            }
            Ok(answer) if self.dialect.is_there(&answer) => Ok(None),
            Ok(answer) => Err(self.denied(what, &answer)),
            // It may have been opened nevertheless.
            Err(problem) => {
                let found = self.requests(base, branch).unwrap_or_default();
                let open = found.into_iter().find(|one| one.state == RequestState::Open);
                open.map(Some).ok_or_else(|| self.failed(what, &problem))
            }
        }
    }

    /// A new request; none if it was closed, because another run opened one at the same moment.
    fn unless_double(&self, base: &str, branch: &str, made: Request) -> Result<Option<Request>, Fault> {
        let all = self.requests(base, branch)?;
        if !all.iter().any(|one| one.state == RequestState::Open && one.number < made.number) {
            return Ok(Some(made));
        }
        self.update(made.number, &made.title, DOUBLE)?;
        self.close(made.number)?;
        Ok(None)
    }

    /// Replaces the title and text of a request.
    pub fn update(&self, number: u64, title: &str, body: &str) -> Result<(), Fault> {
        self.done(&self.dialect.update(number, title, body), "update the request")
    }

    /// Closes a request.
    pub fn close(&self, number: u64) -> Result<(), Fault> {
        self.done(&self.dialect.close(number), "close the request")
    }

    /// Comments on a request.
    pub fn comment(&self, number: u64, text: &str) -> Result<(), Fault> {
        let what = "comment on the request";
        match self.client.send(&self.dialect.comment(number, text)) {
            Ok(answer) if answer.is_success() => Ok(()),
            Ok(answer) => Err(self.denied(what, &answer)),
            Err(problem) => {
                let is_there =
                    self.comments(number).is_ok_and(|all| all.iter().any(|one| one.trim() == text.trim()));
                if is_there { Ok(()) } else { Err(self.failed(what, &problem)) }
            }
        }
    }

    /// The names of the repository's labels; none if the forge does not list them.
    pub fn labels(&self) -> Vec<String> {
        let known = self.known_labels().unwrap_or_default();
        known.iter().filter_map(|one| Some(one["name"].as_str()?.to_owned())).collect()
    }

    fn known_labels(&self) -> Result<Vec<Json>, Fault> {
        self.all(self.dialect.labels(), "list the labels")
    }

    /// Asks for reviews, adds labels and removes others. Gives what the forge does not do. `Err` if it does not answer.
    pub fn ask(&self, number: u64, new: &ReviewsAndLabels, old: &[String]) -> Result<NotAsked, Fault> {
        let mut refused = NotAsked::default();
        let send = |call: &Call| self.client.send(call);
        let what = "ask for a review of the request";
        for reviewer in &new.reviewers {
            let done = self.dialect.review(&send, number, reviewer);
            if let Err(why) = done.map_err(|problem| self.failed(what, &problem))? {
                refused.reasons.push(format!("`{reviewer}` could not be asked for a review: {why}"));
                refused.reviewers.insert(reviewer.clone());
            }
        }
        if new.labels.is_empty() && old.is_empty() {
            return Ok(refused);
        }
        let (known, add) = (self.known_labels()?, new.labels.iter().cloned().collect::<Vec<_>>());
        for call in self.dialect.label(number, &known, &add, old) {
            let answer = send(&call).map_err(|problem| self.failed("label the request", &problem))?;
            // Someone has removed it already.
            let is_gone = call.method == Method::DELETE && answer.status.as_u16() == 404;
            if !is_gone && let Err(why) = taken(&answer) {
                refused.reasons.push(format!("a label could not be changed: {why}"));
            }
        }
        Ok(refused)
    }

    fn done(&self, call: &Call, what: &str) -> Result<(), Fault> {
        let answer = self.client.send(call).map_err(|problem| self.failed(what, &problem))?;
        if answer.is_success() { Ok(()) } else { Err(self.denied(what, &answer)) }
    }

    fn all(&self, first: Call, what: &str) -> Result<Vec<Json>, Fault> {
        self.pages(first, what)?.map_err(|answer| self.denied(what, &answer))
    }

    /// All pages of a list, or the answer by which the forge refuses it.
    fn pages(&self, first: Call, what: &str) -> Result<Result<Vec<Json>, Answer>, Fault> {
        /// More pages than any branch has.
        const PAGES: usize = 200;
        let mut found = Vec::new();
        let mut next = Some(first);
        for _ in 0..PAGES {
            let Some(call) = next else { return Ok(Ok(found)) };
            let answer = self.client.send(&call).map_err(|problem| self.failed(what, &problem))?;
            if !answer.is_success() {
                return Ok(Err(answer));
            }
            let Json::Array(page) = answer.json else { return Err(self.unexpected(what)) };
            found.extend(page);
            next = answer.next.map(Call::get);
        }
        Err(Fault::new(format!("cannot {what} at {}: there are more than {PAGES} pages", self.address.url))
            .hint("close or delete old ones"))
    }

    fn unexpected(&self, what: &str) -> Fault {
        Fault::new(format!("cannot {what}: unexpected answer from {}", self.address.url))
            .hint("check `forge` in stackloom.yaml: the kind of forge, and the address of its start page")
    }

    fn failed(&self, what: &str, problem: &Problem) -> Fault {
        Fault::new(format!("cannot {what} at {}: {problem}", self.address.url)).hint(problem.hint())
    }

    fn denied(&self, what: &str, answer: &Answer) -> Fault {
        self.refused(what, answer, self.dialect.permissions())
    }

    fn refused(&self, what: &str, answer: &Answer, permissions: &str) -> Fault {
        let RepositoryAddress { url, project, .. } = &self.address;
        let variable = self.client.variable;
        let words = answer.words();
        let is_said = words.is_empty() || answer.status.canonical_reason() == Some(&*words);
        let words = if is_said { String::new() } else { format!(": {words}") };
        let fault = Fault::new(format!("cannot {what} of `{project}` at {url}: {}{words}", answer.status));
        match answer.status.as_u16() {
            401 => fault.hint(format!("the token in `{variable}` is wrong or has expired")),
            403 => fault.hint(format!("the token in `{variable}` must be allowed to {permissions}")),
            404 => fault.hint(format!(
                "check that `{project}` is right, and that the token in `{variable}` may see it"
            )),
            _ => fault.hint("see the answer of the forge for the reason"),
        }
    }
}

/// Whether the forge did what it was asked for; the error is its answer in words.
fn taken(answer: &Answer) -> Result<(), String> {
    if answer.is_success() {
        return Ok(());
    }
    let words = answer.words();
    Err(if words.is_empty() { answer.status.to_string() } else { words })
}

/// The body of a review request at GitHub and Forgejo; none if the team belongs to another organization than the repository.
fn review_of(reviewer: &str, owner: &str) -> Option<Json> {
    let name = reviewer.trim_start_matches('@');
    match name.split_once('/') {
        None => Some(json!({ "reviewers": [name] })),
        Some((of, team)) if of.eq_ignore_ascii_case(owner) => Some(json!({ "team_reviewers": [team] })),
        Some(_) => None,
    }
}

/// A commit status whose state and context have these fields.
fn status(one: &Json, context: &str, state: &str) -> Option<(u64, CommitStatus)> {
    let state = match one[state].as_str()? {
        "success" => CommitState::Success,
        "failure" | "failed" | "error" | "canceled" => CommitState::Failure,
        _ => CommitState::Pending,
    };
    Some((one["id"].as_u64()?, CommitStatus { context: one[context].as_str()?.to_owned(), state }))
}
