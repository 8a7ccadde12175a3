//! The API of GitHub: <https://docs.github.com/en/rest/pulls/pulls>, <https://docs.github.com/en/rest/issues/comments>,
//! <https://docs.github.com/en/rest/commits/statuses>, <https://docs.github.com/en/rest/pulls/review-requests>,
//! <https://docs.github.com/en/rest/issues/labels>.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::{Answer, Call, Dialect, Problem, Send, client::escaped, review_of, status, taken};
use crate::{
    pull_request::{Request, RequestState},
    rollout::CommitStatus,
};

/// A repository on GitHub.
pub(super) struct GitHub {
    owner: String,
    /// `repos/<owner>/<name>`.
    pub(super) repository: String,
}

impl GitHub {
    pub(super) fn new(project: &str) -> Self {
        let (owner, name) = project.split_once('/').unwrap_or((project, ""));
        Self { owner: owner.to_owned(), repository: format!("repos/{}/{}", escaped(owner), escaped(name)) }
    }
}

impl Dialect for GitHub {
    fn authorization(&self, token: &str) -> String {
        format!("Bearer {token}")
    }

    fn list(&self, base: &str, branch: &str) -> Call {
        let head = escaped(&format!("{}:{branch}", self.owner));
        let Self { repository, .. } = self;
        Call::get(format!("{repository}/pulls?state=all&head={head}&base={}&per_page=100", escaped(base)))
    }

    fn read(&self, one: &Json) -> Option<(String, Request)> {
        read(one, "ref")
    }

    fn create(&self, base: &str, branch: &str, title: &str, body: &str) -> Call {
        let text = json!({ "title": title, "body": body, "base": base, "head": branch });
        Call::with(Method::POST, format!("{}/pulls", self.repository), text)
    }

    fn is_there(&self, answer: &Answer) -> bool {
        answer.status.as_u16() == 422 && answer.words().contains("already exists")
    }

    fn update(&self, number: u64, title: &str, body: &str) -> Call {
        let text = json!({ "title": title, "body": body });
        Call::with(Method::PATCH, format!("{}/pulls/{number}", self.repository), text)
    }

    fn close(&self, number: u64) -> Call {
        Call::with(Method::PATCH, format!("{}/pulls/{number}", self.repository), json!({ "state": "closed" }))
    }

    fn comment(&self, number: u64, text: &str) -> Call {
        let path = format!("{}/issues/{number}/comments", self.repository);
        Call::with(Method::POST, path, json!({ "body": text }))
    }

    fn comments(&self, number: u64) -> Call {
        Call::get(format!("{}/issues/{number}/comments?per_page=100", self.repository))
    }

    fn review(&self, send: Send<'_>, number: u64, reviewer: &str) -> Result<Result<(), String>, Problem> {
        let Some(body) = review_of(reviewer, &self.owner) else {
            return Ok(Err(format!("it is not a team of `{}`", self.owner)));
        };
        let path = format!("{}/pulls/{number}/requested_reviewers", self.repository);
        Ok(taken(&send(&Call::with(Method::POST, path, body))?))
    }

    fn labels(&self) -> Call {
        Call::get(format!("{}/labels?per_page=100", self.repository))
    }

    fn label(&self, number: u64, _known: &[Json], add: &[String], remove: &[String]) -> Vec<Call> {
        let path = format!("{}/issues/{number}/labels", self.repository);
        let added =
            (!add.is_empty()).then(|| Call::with(Method::POST, path.clone(), json!({ "labels": add })));
        let removed = remove
            .iter()
            .map(|name| Call::with(Method::DELETE, format!("{path}/{}", escaped(name)), Json::Null));
        added.into_iter().chain(removed).collect()
    }

    fn permissions(&self) -> &'static str {
        "read and write pull requests of the repository"
    }

    fn statuses(&self, commit: &str) -> Call {
        Call::get(format!("{}/commits/{}/statuses?per_page=100", self.repository, escaped(commit)))
    }

    fn merges(&self, commit: &str) -> Call {
        Call::get(format!("{}/commits/{}/pulls", self.repository, escaped(commit)))
    }

    fn read_status(&self, one: &Json) -> Option<(u64, CommitStatus)> {
        status(one, "context", "state")
    }

    fn permission_to_read_statuses(&self) -> &'static str {
        "read commit statuses of the repository"
    }
}

/// Reads a pull request from the JSON of GitHub or Forgejo; none if its branch is in another repository, such as a fork. `name`
/// is the key of the branch's name.
pub(super) fn read(one: &Json, name: &str) -> Option<(String, Request)> {
    if one["head"]["repo"]["id"] != one["base"]["repo"]["id"] {
        return None;
    }
    let state = match one["state"].as_str()? {
        "open" => RequestState::Open,
        _ if one["merged_at"].is_string() => RequestState::Merged,
        _ => RequestState::Closed,
    };
    let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let request = Request {
        number: one["number"].as_u64()?,
        state,
        base: one["base"]["ref"].as_str()?.to_owned(),
        title: text("title"),
        body: text("body"),
        page: text("html_url"),
    };
    Some((one["head"][name].as_str()?.to_owned(), request))
}
