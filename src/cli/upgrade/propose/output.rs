//! Prints what a proposal did.

use serde_json::{Value as Json, json};

use super::{Ended, Target};
use crate::{
    cli::{Exit, Printer, printer::short_id, upgrade::next_step_output},
    model::ForgeKind,
    note::Notes,
    pull_request::{Action, Proposal, ProposalOutcome},
};

/// Reports that a branch is not updated although no request is open, in which a comment could say so.
pub(super) fn note_unseen(branch: &str, authors: &[String], notes: &mut Notes) {
    let message = format!("`{branch}` has commits by {}, and no request is open for it", authors.join(", "));
    notes.error("branch-of-people", None, message).hint(
        "if they are merged, delete the branch; otherwise, open a request, or move them to another branch",
    );
}

impl Target<'_> {
    pub(super) fn tell(&self, ended: &Ended, notes: &Notes, printer: &Printer) -> Exit {
        printer.notes(notes);
        next_step_output::edits(&ended.found, printer);
        for line in self.lines(ended) {
            printer.result(&line);
        }
        let exit = ended.found.outcome.exit;
        let mut document =
            next_step_output::document(&self.subject.asked(), &ended.found, ended.generation.as_ref());
        document["written"] = json!(false);
        document["request"] = self.document(ended);
        printer.document(exit, notes, document);
        exit
    }

    pub(super) fn kind(&self) -> ForgeKind {
        self.address.as_ref().map_or(ForgeKind::GitHub, |one| one.kind)
    }

    /// Lists the actions taken, and what comes next.
    fn lines(&self, ended: &Ended) -> Vec<String> {
        let kind = self.kind();
        let noun = kind.request();
        let mut lines: Vec<String> =
            ended.decision.actions.iter().filter_map(|action| self.line(action, ended, noun)).collect();
        let page = ended.request.as_ref().map(|one| one.page.as_str());
        match &ended.decision.outcome {
            ProposalOutcome::Proposed => {
                if lines.is_empty() {
                    lines.push(format!("{} is up to date", page.unwrap_or(&ended.branch)));
                }
                if let (Proposal::Step(step), true) = (&ended.wish, self.is_dry) {
                    lines.extend([String::new(), step.title.clone(), String::new(), step.body.clone()]);
                }
                if self.forge.is_none() {
                    lines.push(match &self.address {
                        Some(address) => format!("open the {noun}: {}", address.page(&self.base, &ended.branch)),
                        None => "open the request at your forge, or configure `forge` in stackloom.yaml so that stackloom opens it".to_owned(),
                    });
                }
            }
            ProposalOutcome::Nothing(why) => {
                lines.push(format!("nothing to propose: {why}"));
                if self.forge.is_none() && ended.has_branch && matches!(ended.wish, Proposal::Later(_)) {
                    lines.push(format!("the step in {} must wait: do not merge it now", ended.branch));
                }
            }
            ProposalOutcome::Declined(number) => lines.push(format!(
                "a person closed {noun} {} for this step: it is not reopened until the step changes; to propose it again, reopen it",
                kind.reference(*number)
            )),
            ProposalOutcome::Stopped(authors) => lines.push(format!(
                "`{}` contains commits by {}, and was left unchanged; to continue, move them to another branch and delete this one",
                ended.branch,
                authors.join(", ")
            )),
        }
        if self.is_dry {
            lines.push(
                "nothing was pushed; to propose the step, run the same command without --dry-run".to_owned(),
            );
        }
        lines
    }

    fn line(&self, action: &Action, ended: &Ended, noun: &str) -> Option<String> {
        let would =
            |done: &str, will: &str| if self.is_dry { format!("would {will}") } else { done.to_owned() };
        let kind = self.kind();
        let branch = &ended.branch;
        let page = ended.request.as_ref().map(|one| format!(": {}", one.page)).unwrap_or_default();
        Some(match action {
            Action::Push { new: Some(commit), old } => {
                let how = if old.is_some() { ", in place of what it had" } else { "" };
                format!(
                    "{} {branch} to {}: {}{how}",
                    would("pushed", "push"),
                    self.remote.name,
                    short_id(commit)
                )
            }
            Action::Push { new: None, .. } => {
                format!("{} {branch} from {}", would("deleted", "delete"), self.remote.name)
            }
            Action::Create { .. } => format!("{} a {noun}{page}", would("opened", "open")),
            Action::Update { number, .. } if matches!(ended.wish, Proposal::Later(_)) => {
                let number = kind.reference(*number);
                format!("{} {noun} {number}: it must not be merged now{page}", would("marked", "mark"))
            }
            Action::Update { number, .. } => {
                format!("{} {noun} {}{page}", would("updated", "update"), kind.reference(*number))
            }
            Action::Ask { new, .. } if new.reviewers.is_empty() => return None,
            Action::Ask { new, .. } => {
                let reviewers: Vec<_> = new.reviewers.iter().map(String::as_str).collect();
                format!("{} {} for a review", would("asked", "ask"), reviewers.join(", "))
            }
            Action::Comment { number, .. } => {
                format!("{} {noun} {}{page}", would("commented on", "comment on"), kind.reference(*number))
            }
            Action::Close { number } => {
                format!("{} {noun} {}", would("closed", "close"), kind.reference(*number))
            }
        })
    }

    fn document(&self, ended: &Ended) -> Json {
        let outcome = match &ended.decision.outcome {
            ProposalOutcome::Proposed => "proposed",
            ProposalOutcome::Nothing(_) => "nothing",
            ProposalOutcome::Declined(_) => "declined",
            ProposalOutcome::Stopped(_) => "stopped",
        };
        let action = |action: &Action| match action {
            Action::Push { new: Some(_), .. } => "push",
            Action::Push { new: None, .. } => "delete-branch",
            Action::Create { .. } => "open",
            Action::Update { .. } => "update",
            Action::Ask { .. } => "ask",
            Action::Comment { .. } => "comment",
            Action::Close { .. } => "close",
        };
        let text = if let Proposal::Step(step) = &ended.wish { Some(step) } else { None };
        json!({
            "outcome": outcome,
            "actions": ended.decision.actions.iter().map(action).collect::<Vec<_>>(),
            "done": !self.is_dry,
            "remote": self.remote.name,
            "base": self.base,
            "branch": ended.branch,
            "commit": ended.commit,
            "forge": self.address.as_ref().filter(|_| self.forge.is_some()).map(|one| json!({ "url": one.url, "project": one.project })),
            "number": ended.request.as_ref().map(|one| one.number),
            "page": ended.request.as_ref().map(|one| &one.page),
            "reviewers": text.map(|one| &one.asks.reviewers),
            "labels": text.map(|one| &one.asks.labels),
            "title": text.map(|one| &one.title),
            "body": text.map(|one| &one.body),
        })
    }
}
