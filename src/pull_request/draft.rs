//! Marks requests that must not be merged yet: in the title, and at the beginning of the text.

use super::{decide::Request, text::prose};

/// Enclose what a request says while it must not be merged.
const BEGIN: &str = "<!-- stackloom-later -->";
const END: &str = "<!-- stackloom-later-end -->";

/// Says that a person had marked the request as a draft before.
const OF_PERSON: &str = "<!-- stackloom-draft-of-a-person -->";

/// The beginnings of titles, in lower case, that mark drafts.
///
/// Sources: <https://docs.gitlab.com/user/project/merge_requests/drafts/>, and `WORK_IN_PROGRESS_PREFIXES` of
/// <https://forgejo.org/docs/latest/admin/config-cheat-sheet/>.
const MARKS: [&str; 5] = ["draft:", "[draft]", "(draft)", "wip:", "[wip]"];

/// The mark at the beginning of a title, with the space after it.
fn mark(title: &str) -> &str {
    let is_mark =
        |mark: &&&str| title.get(..mark.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(mark));
    let Some(mark) = MARKS.iter().find(is_mark) else { return "" };
    let rest = title[mark.len()..].trim_start();
    &title[..title.len() - rest.len()]
}

/// Whether a person marked the request as a draft.
fn is_of_person(open: &Request) -> bool {
    let is_recorded = !open.body.contains(BEGIN) || open.body.contains(OF_PERSON);
    is_recorded && !mark(&open.title).is_empty()
}

/// The title and text of a request that says that it must not be merged now. `draft` precedes the title, unless a mark does
/// that the forge obeys: those of GitLab and GitHub are `Draft`, those of Forgejo `WIP`.
pub(super) fn deferred(draft: &str, open: &Request, why: &str) -> (String, String) {
    let kind = if draft.starts_with("WIP") { "wip" } else { "draft" };
    let is_obeyed = mark(&open.title).to_ascii_lowercase().contains(kind);
    let title = if is_obeyed { open.title.clone() } else { format!("{draft}{}", open.title) };
    let person = if is_of_person(open) { format!("{OF_PERSON}\n") } else { String::new() };
    let rest = without_reason(&open.body);
    let why = prose(why);
    (title, format!("{BEGIN}\n{person}\n**Do not merge this now:** {why}.\n\n{END}\n\n{rest}"))
}

/// A title for a request that may be merged. The mark of a person stays.
pub(super) fn ready(open: &Request, title: &str) -> String {
    let own = mark(&open.title);
    // The program's mark stands before one that the forge does not obey.
    let kept = match mark(&open.title[own.len()..]) {
        "" => own,
        of_person => of_person,
    };
    let kept = if is_of_person(open) { kept } else { "" };
    format!("{kept}{title}")
}

/// The title of a request that may be merged again.
pub(super) fn ready_again(open: &Request) -> String {
    let mut title = open.title.as_str();
    while !mark(title).is_empty() {
        title = &title[mark(title).len()..];
    }
    if open.body.contains(BEGIN) { ready(open, title) } else { open.title.clone() }
}

/// The text of a request without the reason not to merge it.
pub(super) fn without_reason(body: &str) -> String {
    let parts = body.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    parts.map_or_else(|| body.to_owned(), |(before, after)| format!("{before}{}", after.trim_start()))
}
