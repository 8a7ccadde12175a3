//! The API of Forgejo and Gitea: <https://codeberg.org/api/swagger>, <https://forgejo.org/docs/latest/user/api-usage/>.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::{
    Answer, Call, Dialect, Problem, Send,
    client::escaped,
    github::{self, GitHub},
    status,
};
use crate::{pull_request::Request, rollout::CommitStatus};

/// A repository on Forgejo. For requests, comments and reviews, its API has the calls of GitHub's.
pub(super) struct Forgejo(GitHub);

impl Forgejo {
    pub(super) fn new(project: &str) -> Self {
        Self(GitHub::new(project))
    }
}

impl Dialect for Forgejo {
    fn authorization(&self, token: &str) -> String {
        format!("token {token}")
    }

    /// All requests, most recently updated first. There is no filter by branch, and a page has 50.
    fn list(&self, _base: &str, _branch: &str) -> Call {
        Call::get(format!("{}/pulls?state=all&sort=recentupdate&limit=50", self.0.repository))
    }

    /// Once the branch is deleted, `ref` is `refs/pull/<number>/head`; `label` remains its name.
    fn read(&self, one: &Json) -> Option<(String, Request)> {
        github::read(one, "label")
    }

    fn create(&self, base: &str, branch: &str, title: &str, body: &str) -> Call {
        self.0.create(base, branch, title, body)
    }

    fn is_there(&self, answer: &Answer) -> bool {
        answer.status.as_u16() == 409
    }

    /// Gitea 1.24.6 opened four requests for four equal calls at once, and answered 409 only to a later one.
    fn may_open_two(&self) -> bool {
        true
    }

    fn update(&self, number: u64, title: &str, body: &str) -> Call {
        self.0.update(number, title, body)
    }

    fn close(&self, number: u64) -> Call {
        self.0.close(number)
    }

    fn comment(&self, number: u64, text: &str) -> Call {
        self.0.comment(number, text)
    }

    fn comments(&self, number: u64) -> Call {
        Call::get(format!("{}/issues/{number}/comments", self.0.repository))
    }

    fn review(&self, send: Send<'_>, number: u64, reviewer: &str) -> Result<Result<(), String>, Problem> {
        self.0.review(send, number, reviewer)
    }

    fn labels(&self) -> Call {
        Call::get(format!("{}/labels?limit=50", self.0.repository))
    }

    /// Labels have numbers.
    fn label(&self, number: u64, known: &[Json], add: &[String], remove: &[String]) -> Vec<Call> {
        let path = format!("{}/issues/{number}/labels", self.0.repository);
        let id = |name: &String| known.iter().find(|one| one["name"] == name.as_str())?["id"].as_u64();
        let ids: Vec<u64> = add.iter().filter_map(id).collect();
        let added =
            (!ids.is_empty()).then(|| Call::with(Method::POST, path.clone(), json!({ "labels": ids })));
        let removed = remove.iter().filter_map(id);
        let removed = removed.map(|id| Call::with(Method::DELETE, format!("{path}/{id}"), Json::Null));
        added.into_iter().chain(removed).collect()
    }

    fn permissions(&self) -> &'static str {
        "read and write issues and the repository (`write:issue`, `write:repository`)"
    }

    fn statuses(&self, commit: &str) -> Call {
        Call::get(format!("{}/commits/{}/statuses?limit=50", self.0.repository, escaped(commit)))
    }

    fn merges(&self, commit: &str) -> Call {
        Call::get(format!("{}/commits/{}/pull", self.0.repository, escaped(commit)))
    }

    fn read_status(&self, one: &Json) -> Option<(u64, CommitStatus)> {
        status(one, "context", "status")
    }

    fn permission_to_read_statuses(&self) -> &'static str {
        "read the repository (`read:repository`)"
    }
}
