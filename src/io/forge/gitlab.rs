//! The API of GitLab: <https://docs.gitlab.com/api/merge_requests/>, <https://docs.gitlab.com/api/notes/>,
//! <https://docs.gitlab.com/api/commits/#list-commit-statuses>, <https://docs.gitlab.com/api/users/>,
//! <https://docs.gitlab.com/api/labels/>.

use reqwest::Method;
use serde_json::{Value as Json, json};

use super::{Answer, Call, Dialect, Problem, Send, client::escaped, status, taken};
use crate::{
    pull_request::{Request, RequestState},
    rollout::CommitStatus,
};

/// A project on GitLab.
pub(super) struct GitLab {
    /// `projects/<path>`.
    project: String,
    /// `projects/<path>/merge_requests`.
    requests: String,
}

impl GitLab {
    pub(super) fn new(project: &str) -> Self {
        let project = format!("projects/{}", escaped(project));
        Self { requests: format!("{project}/merge_requests"), project }
    }
}

impl Dialect for GitLab {
    /// GitLab also accepts personal, project and group tokens in this form.
    fn authorization(&self, token: &str) -> String {
        format!("Bearer {token}")
    }

    fn list(&self, base: &str, branch: &str) -> Call {
        let (base, branch) = (escaped(base), escaped(branch));
        Call::get(format!(
            "{}?state=all&source_branch={branch}&target_branch={base}&per_page=100",
            self.requests
        ))
    }

    /// The list also has requests of forks.
    fn read(&self, one: &Json) -> Option<(String, Request)> {
        if one["source_project_id"] != one["target_project_id"] {
            return None;
        }
        let state = match one["state"].as_str()? {
            "opened" | "locked" => RequestState::Open,
            "merged" => RequestState::Merged,
            _ => RequestState::Closed,
        };
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        let request = Request {
            number: one["iid"].as_u64()?,
            state,
            base: one["target_branch"].as_str()?.to_owned(),
            title: text("title"),
            body: text("description"),
            page: text("web_url"),
        };
        Some((one["source_branch"].as_str()?.to_owned(), request))
    }

    fn create(&self, base: &str, branch: &str, title: &str, body: &str) -> Call {
        let text = json!({
            "title": title,
            "description": body,
            "target_branch": base,
            "source_branch": branch,
            "remove_source_branch": true,
        });
        Call::with(Method::POST, self.requests.clone(), text)
    }

    fn is_there(&self, answer: &Answer) -> bool {
        answer.status.as_u16() == 409
    }

    fn update(&self, number: u64, title: &str, body: &str) -> Call {
        let text = json!({ "title": title, "description": body });
        Call::with(Method::PUT, format!("{}/{number}", self.requests), text)
    }

    fn close(&self, number: u64) -> Call {
        Call::with(Method::PUT, format!("{}/{number}", self.requests), json!({ "state_event": "close" }))
    }

    fn comment(&self, number: u64, text: &str) -> Call {
        Call::with(Method::POST, format!("{}/{number}/notes", self.requests), json!({ "body": text }))
    }

    fn comments(&self, number: u64) -> Call {
        Call::get(format!("{}/{number}/notes?per_page=100", self.requests))
    }

    /// Reviewers have numbers, and a change replaces all of them. Groups cannot be asked.
    fn review(&self, send: Send<'_>, number: u64, reviewer: &str) -> Result<Result<(), String>, Problem> {
        let name = reviewer.trim_start_matches('@');
        if name.contains('/') {
            return Ok(Err("GitLab asks people, not groups".to_owned()));
        }
        let found = send(&Call::get(format!("users?username={}", escaped(name))))?;
        if let Err(why) = taken(&found) {
            return Ok(Err(why));
        }
        let Some(id) = found.json[0]["id"].as_u64() else {
            return Ok(Err("GitLab has no user of this name".to_owned()));
        };
        let path = format!("{}/{number}", self.requests);
        let request = send(&Call::get(path.clone()))?;
        if let Err(why) = taken(&request) {
            return Ok(Err(why));
        }
        let there = request.json["reviewers"].as_array().into_iter().flatten();
        let mut ids: Vec<u64> = there.filter_map(|one| one["id"].as_u64()).collect();
        if ids.contains(&id) {
            return Ok(Ok(()));
        }
        ids.push(id);
        Ok(taken(&send(&Call::with(Method::PUT, path, json!({ "reviewer_ids": ids })))?))
    }

    fn labels(&self) -> Call {
        Call::get(format!("{}/labels?per_page=100", self.project))
    }

    fn label(&self, number: u64, _known: &[Json], add: &[String], remove: &[String]) -> Vec<Call> {
        let text = json!({ "add_labels": add.join(","), "remove_labels": remove.join(",") });
        vec![Call::with(Method::PUT, format!("{}/{number}", self.requests), text)]
    }

    fn permissions(&self) -> &'static str {
        "use the API as a Developer of the project (scope `api`)"
    }

    /// GitLab lists the latest status of each name.
    fn statuses(&self, commit: &str) -> Call {
        Call::get(format!("{}/repository/commits/{}/statuses?per_page=100", self.project, escaped(commit)))
    }

    fn merges(&self, commit: &str) -> Call {
        Call::get(format!("{}/repository/commits/{}/merge_requests", self.project, escaped(commit)))
    }

    fn read_status(&self, one: &Json) -> Option<(u64, CommitStatus)> {
        status(one, "name", "status")
    }

    fn permission_to_read_statuses(&self) -> &'static str {
        "read the API as a Reporter of the project (scope `read_api`)"
    }
}
