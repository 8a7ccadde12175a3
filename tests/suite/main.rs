//! All integration tests in one binary, with a single build and shared code.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests own their sandbox and may panic")]

#[path = "../support/environment.rs"]
mod environment;
mod overlay;
mod rollouts;
mod sandbox;
#[path = "../support/mod.rs"]
mod support;

mod tidy;

mod cases;
mod cases_good;
mod language;

mod argocd_commits;
mod cli;
mod clusters;
mod compare;
mod deliveries;
mod diff;
mod docs;
mod draws;
mod findings;
mod first_contact;
mod hidden_secrets;
mod yaml_hazards;
mod house;
mod large;
mod lifecycle;
mod laws;
mod lost_clusters;
mod messages;
mod migrate;
mod mistakes;
mod killed_steps;
mod next;
mod origins;
mod output;
mod page;
mod plans;
mod posting;
mod partial;
mod removal;
mod rename;
mod projects;
mod propose;
mod random_changes;
mod replaced;
mod shells;
mod suppliers;
mod topology;
mod upgrades;
mod watch;
