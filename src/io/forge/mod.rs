//! Forges: GitHub, GitLab, Forgejo and Gitea, as far as requests to merge a branch need them.
//!
//! The token comes from a named environment variable, goes to the forge's own host alone, and is never printed. What may have
//! been done although no answer came is looked up before it is done again, so that one proposal makes one request.

mod client;
mod forgejo;
mod github;
mod gitlab;

use reqwest::Method;
use serde_json::Value as Json;

use crate::{
    model::ForgeKind,
    note::Fault,
    propose::{Address, Limits, Request, RequestState},
};

use client::{Answer, Client, Problem};

/// What is asked of a forge.
struct Call {
    method: Method,
    /// Below the address of the API, with the query.
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

/// How a forge wants to be asked, and how it answers.
trait Dialect {
    /// The value of `Authorization`.
    fn authorization(&self, token: &str) -> String;
    /// The requests of a branch into a base, in any state. Other requests may be among them.
    fn list(&self, base: &str, branch: &str) -> Call;
    /// A request as the forge describes it, with the branch that it is from; none for what is not one.
    fn read(&self, one: &Json) -> Option<(String, Request)>;
    /// Opens a request.
    fn create(&self, base: &str, branch: &str, title: &str, body: &str) -> Call;
    /// Whether the answer to [`Self::create`] means that there is one already.
    fn is_there(&self, answer: &Answer) -> bool;
    /// Replaces title and text.
    fn update(&self, number: u64, title: &str, body: &str) -> Call;
    /// Closes a request.
    fn close(&self, number: u64) -> Call;
    /// Adds a comment.
    fn comment(&self, number: u64, text: &str) -> Call;
    /// The comments on a request.
    fn comments(&self, number: u64) -> Call;
    /// Which permissions the token needs.
    fn permissions(&self) -> &'static str;
}

/// A repository of a forge.
pub struct Forge<'a> {
    address: Address,
    dialect: Box<dyn Dialect>,
    client: Client<'a>,
}

impl std::fmt::Debug for Forge<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forge").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The environment variables that may hold a token, the first one first.
pub fn token_variables(kind: ForgeKind) -> &'static [&'static str] {
    match kind {
        ForgeKind::GitHub => &["STACKLOOM_FORGE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"],
        ForgeKind::GitLab => &["STACKLOOM_FORGE_TOKEN", "GITLAB_TOKEN"],
        ForgeKind::Forgejo => &["STACKLOOM_FORGE_TOKEN", "FORGEJO_TOKEN", "GITEA_TOKEN"],
    }
}

/// How long a text may be there, in bytes. GitHub takes 65,536 characters, and GitLab 1,048,576
/// (<https://docs.gitlab.com/administration/instance_limits/>); Forgejo names no limit.
pub fn limits(kind: ForgeKind) -> Limits {
    match kind {
        ForgeKind::GitLab => Limits { body: 1_000_000 },
        ForgeKind::GitHub | ForgeKind::Forgejo => Limits { body: 65_000 },
    }
}

impl<'a> Forge<'a> {
    /// Opens a forge with the token of the environment; nothing is sent yet. `tell` hears of each pause before something is tried
    /// again.
    pub fn open(address: &Address, tell: impl Fn(&str) + 'a) -> Result<Self, Fault> {
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
                .hint("--no-forge pushes the branch, and opens no request")
        })?;
        let token = std::env::var(variable).unwrap_or_default();
        let authorization = dialect.authorization(token.trim());
        let client = Client::open(&address.api(), &authorization, variable, Box::new(tell))?;
        Ok(Self { address: address.clone(), dialect, client })
    }

    /// The requests of a branch into a base, the newest first.
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
                made.map(Some).ok_or_else(|| self.unexpected(what))
            }
            Ok(answer) if self.dialect.is_there(&answer) => Ok(None),
            Ok(answer) => Err(self.refused(what, &answer)),
            // It may have been opened all the same.
            Err(problem) => {
                let found = self.requests(base, branch).unwrap_or_default();
                let open = found.into_iter().find(|one| one.state == RequestState::Open);
                open.map(Some).ok_or_else(|| self.failed(what, &problem))
            }
        }
    }

    /// Replaces title and text of a request.
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
            Ok(answer) => Err(self.refused(what, &answer)),
            Err(problem) => {
                let is_there =
                    self.comments(number).is_ok_and(|all| all.iter().any(|one| one.trim() == text.trim()));
                if is_there { Ok(()) } else { Err(self.failed(what, &problem)) }
            }
        }
    }

    fn done(&self, call: &Call, what: &str) -> Result<(), Fault> {
        let answer = self.client.send(call).map_err(|problem| self.failed(what, &problem))?;
        if answer.is_success() { Ok(()) } else { Err(self.refused(what, &answer)) }
    }

    /// All pages of a list.
    fn all(&self, first: Call, what: &str) -> Result<Vec<Json>, Fault> {
        /// More pages than any branch has.
        const PAGES: usize = 200;
        let mut found = Vec::new();
        let mut next = Some(first);
        for _ in 0..PAGES {
            let Some(call) = next else { return Ok(found) };
            let answer = self.client.send(&call).map_err(|problem| self.failed(what, &problem))?;
            if !answer.is_success() {
                return Err(self.refused(what, &answer));
            }
            let Json::Array(page) = answer.json else { return Err(self.unexpected(what)) };
            found.extend(page);
            next = answer.next.map(Call::get);
        }
        Err(Fault::new(format!("cannot {what} at {}: there are more than {PAGES} pages", self.address.url))
            .hint("close or delete old ones"))
    }

    fn unexpected(&self, what: &str) -> Fault {
        Fault::new(format!("cannot {what}: {} answered with something else", self.address.url))
            .hint("look at `forge` in stackloom.yaml: is this the right kind of forge, and its start page?")
    }

    fn failed(&self, what: &str, problem: &Problem) -> Fault {
        Fault::new(format!("cannot {what} at {}: {problem}", self.address.url)).hint(problem.hint())
    }

    fn refused(&self, what: &str, answer: &Answer) -> Fault {
        let Address { url, project, .. } = &self.address;
        let variable = self.client.variable;
        let reported = answer.words();
        let reported = if reported.is_empty() { String::new() } else { format!(": {reported}") };
        let fault = Fault::new(format!("cannot {what} of `{project}` at {url}: {}{reported}", answer.status));
        match answer.status.as_u16() {
            401 => fault.hint(format!("the token in `{variable}` is wrong or has expired")),
            403 => fault
                .hint(format!("the token in `{variable}` must be allowed to {}", self.dialect.permissions())),
            404 => fault.hint(format!(
                "look whether `{project}` is right, and whether the token in `{variable}` may see it"
            )),
            _ => fault.hint("what the forge says names the reason"),
        }
    }
}
