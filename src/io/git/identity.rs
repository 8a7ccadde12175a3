//! Who writes a commit, as git decides it: by the environment, then `author.*` or `committer.*`, then `user.*` in its
//! configuration. libgit2 does not know the second of these.

use std::env;

use git2::{Config, ErrorCode, Signature};

use crate::note::{Fault, in_words};

/// The author or the committer (`role`). `person` is what libgit2 finds.
pub(super) fn configured(
    person: Result<Signature<'_>, git2::Error>,
    role: &str,
    config: &Config,
) -> Result<Signature<'static>, git2::Error> {
    let variable = |part: &str| format!("GIT_{}_{part}", role.to_uppercase());
    let set = |part: &str| env::var(variable(&part.to_uppercase())).ok();
    let own = |part: &str| {
        set(part)
            .or_else(|| config.get_string(&format!("{role}.{part}")).ok().filter(|text| !text.is_empty()))
    };
    let (name, email) = (own("name"), own("email"));
    match (person, name, email) {
        (Ok(person), name, email) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let name = name.unwrap_or_else(|| text(person.name_bytes()));
            let email = email.unwrap_or_else(|| text(person.email_bytes()));
            Signature::new(&plain(&name), &plain(&email), &person.when())
        }
        // Without `user.*`, libgit2 does not get as far as the date.
        (Err(error), Some(name), Some(email))
            if error.code() == ErrorCode::NotFound && env::var_os(variable("DATE")).is_none() =>
        {
            Signature::now(&plain(&name), &plain(&email))
        }
        (Err(error), ..) => Err(error),
    }
}

/// Removes line breaks, as git does: libgit2 would write a commit that git cannot read.
fn plain(text: &str) -> String {
    text.replace('\n', "")
}

/// Why there is no identity.
pub(super) fn missing(error: git2::Error) -> Fault {
    if error.code() == ErrorCode::NotFound {
        return Fault::new("git does not know who you are, so nothing can be committed")
            .hint("git config --global user.name \"Your Name\"")
            .hint("git config --global user.email you@example.org");
    }
    // libgit2 reads both dates for either identity, and sets no message of its own for one that it cannot read: `error` has that
    // of an earlier error.
    let dates = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].into_iter();
    let dates: Vec<_> =
        dates.filter(|name| env::var_os(name).is_some()).map(|name| format!("`{name}`")).collect();
    if error.class() != git2::ErrorClass::Invalid && !dates.is_empty() {
        let dates = in_words(&dates, "or");
        return Fault::new(format!("the date in {dates} cannot be read"))
            .hint(format!("write it as `2026-01-31T12:00:00Z`, or unset {dates}"));
    }
    Fault::because("git cannot tell who you are", error)
        .hint("check `git config user.name` and `git config user.email`")
}
