//! What to do about a proposal, from what git and the forge say.

/// The trailer with which a commit names its own tree. Whoever amends the commit changes the tree, and the trailer no longer
/// fits: that is how commits of the program are told from those of people.
pub const TREE: &str = "Stackloom-Tree";

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its name.
    pub id: String,
    /// Its tree.
    pub tree: String,
    /// Its parents.
    pub parents: Vec<String>,
    /// Its message.
    pub message: String,
    /// Who wrote it.
    pub author: String,
}

impl Commit {
    /// Whether the program made it, and nobody changed it since.
    pub fn is_own(&self) -> bool {
        let claimed = self.message.lines().rev().find_map(|line| line.strip_prefix(TREE)?.strip_prefix(": "));
        self.parents.len() == 1 && claimed == Some(&self.tree)
    }
}

/// A branch of the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its newest commit.
    pub tip: String,
    /// Its commits that the base does not have, the newest first.
    pub commits: Vec<Commit>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// It can be merged.
    Open,
    /// It was merged.
    Merged,
    /// Somebody closed it.
    Closed,
}

/// A request to merge the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub number: u64,
    /// What became of it.
    pub state: RequestState,
    /// The branch that it is to be merged into.
    pub base: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Its page.
    pub page: String,
}

/// What git and the forge say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The newest commit of the base.
    pub base: String,
    /// The branch, if the remote has it.
    pub branch: Option<Branch>,
    /// The requests of this branch into the base, the newest first; none without a forge.
    pub requests: Option<Vec<Request>>,
    /// The comments on the open request.
    pub comments: Vec<String>,
}

/// What is to be proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A step.
    Step(Proposed),
    /// Nothing, and why: what was proposed before is no longer needed.
    Nothing(String),
    /// It cannot be said, and why: what was proposed before stays.
    Unsure(String),
}

/// A step as a commit and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    /// The commit, which nothing names yet.
    pub commit: Commit,
    /// The title of the request.
    pub title: String,
    /// Its text.
    pub body: String,
    /// What names the step: a request that a person closed is not opened again for the same one.
    pub step: String,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Have the branch name this commit (none: delete it), if it still names `old` (none: if it does not exist).
    Push {
        /// The commit that it names now.
        old: Option<String>,
        /// The commit that it is to name.
        new: Option<String>,
    },
    /// Open a request.
    Create {
        /// Its title.
        title: String,
        /// Its text.
        body: String,
    },
    /// Replace title and text of a request.
    Update {
        /// Its number.
        number: u64,
        /// Its title.
        title: String,
        /// Its text.
        body: String,
    },
    /// Comment on a request.
    Comment {
        /// Its number.
        number: u64,
        /// The comment.
        text: String,
    },
    /// Close a request.
    Close {
        /// Its number.
        number: u64,
    },
}

/// How a run ends, once its actions are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The step is proposed.
    Proposed,
    /// There is nothing to propose, and why.
    Nothing(String),
    /// A person closed the request for this step.
    Declined(u64),
    /// The branch has commits of people: the authors.
    Stopped(Vec<String>),
}

/// What to do, and how the run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// In this order.
    pub actions: Vec<Action>,
    /// How the run ends.
    pub outcome: Outcome,
}

/// Decides. Commits of people are never pushed over, and nothing of theirs is closed or deleted.
pub fn decide(seen: &Seen, wish: &Wish) -> Decision {
    let open = seen.requests.iter().flatten().find(|one| one.state == RequestState::Open);
    let authors = authors(seen);
    match (wish, &seen.branch) {
        (Wish::Unsure(why), _) => Decision { actions: Vec::new(), outcome: Outcome::Nothing(why.clone()) },
        (_, Some(branch)) if !authors.is_empty() => {
            let comment = open.and_then(|open| stop(open, branch, wish, &authors, &seen.comments));
            Decision { actions: comment.into_iter().collect(), outcome: Outcome::Stopped(authors) }
        }
        (Wish::Nothing(why), _) => {
            Decision { actions: retire(seen, open, why), outcome: Outcome::Nothing(why.clone()) }
        }
        (Wish::Step(step), _) => propose(seen, open, step),
    }
}

/// The people who have commits on the branch.
fn authors(seen: &Seen) -> Vec<String> {
    let mut authors = Vec::new();
    for commit in seen.branch.iter().flat_map(|branch| &branch.commits) {
        if !commit.is_own() && !authors.contains(&commit.author) {
            authors.push(commit.author.clone());
        }
    }
    authors
}

/// Says once for each state of the branch that the run stops.
fn stop(
    open: &Request,
    branch: &Branch,
    wish: &Wish,
    authors: &[String],
    comments: &[String],
) -> Option<Action> {
    let marker = format!("<!-- stackloom-stopped {} -->", branch.tip);
    if comments.iter().any(|comment| comment.contains(&marker)) {
        return None;
    }
    let what = match wish {
        Wish::Step(_) => "This request is not updated any more",
        Wish::Nothing(_) | Wish::Unsure(_) => "This step is no longer needed, but the request stays open",
    };
    let text = format!(
        "{what}: the branch has commits of {}, which an update would overwrite.\n\n\
         To have stackloom go on, move these commits to another branch and delete this one.\n\n{marker}\n",
        authors.join(", ")
    );
    Some(Action::Comment { number: open.number, text })
}

/// Closes what is no longer needed: first the request, then the branch.
fn retire(seen: &Seen, open: Option<&Request>, why: &str) -> Vec<Action> {
    let mut actions = Vec::new();
    if let Some(Request { number, .. }) = open {
        const MARKER: &str = "<!-- stackloom-retired -->";
        if !seen.comments.iter().any(|comment| comment.contains(MARKER)) {
            let text = format!("Closed: {why}.\n\n{MARKER}\n");
            actions.push(Action::Comment { number: *number, text });
        }
        actions.push(Action::Close { number: *number });
    }
    if let Some(branch) = &seen.branch {
        actions.push(Action::Push { old: Some(branch.tip.clone()), new: None });
    }
    actions
}

fn propose(seen: &Seen, open: Option<&Request>, step: &Proposed) -> Decision {
    let newest = seen.requests.iter().flatten().next();
    if let Some(closed) =
        newest.filter(|one| one.state == RequestState::Closed && names(&one.body, &step.step))
    {
        return Decision { actions: Vec::new(), outcome: Outcome::Declined(closed.number) };
    }
    let mut actions = Vec::new();
    if !seen.branch.as_ref().is_some_and(|branch| is_there(branch, step)) {
        let old = seen.branch.as_ref().map(|branch| branch.tip.clone());
        actions.push(Action::Push { old, new: Some(step.commit.id.clone()) });
    }
    let Proposed { title, body, .. } = step;
    match open {
        Some(open) if open.title == *title && is_same(&open.body, body) => {}
        Some(Request { number, .. }) => {
            actions.push(Action::Update { number: *number, title: title.clone(), body: body.clone() });
        }
        None if seen.requests.is_some() => {
            actions.push(Action::Create { title: title.clone(), body: body.clone() });
        }
        None => {}
    }
    Decision { actions, outcome: Outcome::Proposed }
}

/// Whether the text of a request names a step.
fn names(body: &str, step: &str) -> bool {
    body.contains(&format!("<!-- stackloom-step {step} -->"))
}

/// Forges may store line ends and the end of a text in another way.
fn is_same(one: &str, other: &str) -> bool {
    one.lines().map(str::trim_end).eq(other.trim_end().lines().map(str::trim_end))
        || one.replace('\r', "").trim_end() == other.trim_end()
}

/// Whether the branch is the step already, on the same base: only the time of the commit may differ.
fn is_there(branch: &Branch, step: &Proposed) -> bool {
    let alike = |one: &Commit| {
        let Commit { tree, parents, message, .. } = &step.commit;
        (&one.tree, &one.parents, one.message.trim_end()) == (tree, parents, message.trim_end())
    };
    matches!(branch.commits.as_slice(), [one] if alike(one))
}
