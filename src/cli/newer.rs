//! `stackloom releases --check`: finds releases in the sources that are newer than those in the fleet.

use serde_json::{Value as Json, json};

use super::{
    Exit, Printer,
    printer::{counted, whole},
};
use crate::{
    io::{git, oci::Registry},
    model::{ClusterId, ReleaseAddress, ReleaseRepository, ReleaseSource},
    note::{Fault, Notes},
    release::{Newer, ReleaseList, newer},
};

/// A newer release, and its address.
struct NewerRelease {
    newer: Newer,
    address: ReleaseAddress,
}

/// Checks every source. If one does not answer, the others are still checked.
pub(super) fn run(release_list: &ReleaseList, notes: &Notes, printer: &Printer) -> Exit {
    let mut exit = Exit::Done;
    let mut sources = Vec::new();
    for source in &release_list.sources {
        let url = source.repository.to_string();
        match look(source, release_list) {
            Ok(found) => {
                print_result(&url, &found, printer);
                if !found.is_empty() && exit == Exit::Done {
                    exit = Exit::Changes;
                }
                sources
                    .push(json!({ "url": url, "releases": found.iter().map(describe).collect::<Vec<_>>() }));
            }
            Err(fault) => {
                exit = Exit::World;
                sources.push(json!({ "url": url, "fault": whole(&fault), "hints": fault.hints() }));
                if !printer.is_document() {
                    printer.result(&format!("{url}: not known"));
                    printer.fault(&fault);
                }
            }
        }
    }
    if release_list.sources.is_empty() {
        printer.result("no source of releases: add one to `spec.releases.sources` in stackloom.yaml");
    }
    printer.document(exit, notes, json!({ "sources": sources }));
    exit
}

fn look(source: &ReleaseSource, release_list: &ReleaseList) -> Result<Vec<NewerRelease>, Fault> {
    let found = match &source.repository {
        ReleaseRepository::Git(url) => {
            let found = newer(&git::list_tags(url)?, &source.stacks, release_list);
            let address = |one: &Newer| ReleaseAddress::Git { url: url.clone(), tag: one.name.clone() };
            found.into_iter().map(|newer| NewerRelease { address: address(&newer), newer }).collect()
        }
        ReleaseRepository::Oci(repository) => {
            let registry = Registry::open(repository)?;
            let mut found = Vec::new();
            for newer in newer(&registry.tags()?, &source.stacks, release_list) {
                // The tag may have been removed since it was listed.
                let Some(digest) = registry.digest_of(&newer.name)? else { continue };
                let address = ReleaseAddress::Oci {
                    repository: repository.clone(),
                    tag: Some(newer.name.clone()),
                    digest: Some(digest),
                };
                found.push(NewerRelease { newer, address });
            }
            found
        }
    };
    Ok(found)
}

fn print_result(url: &str, found: &[NewerRelease], printer: &Printer) {
    match found.len() {
        0 => printer.result(&format!("{url}: nothing newer")),
        count => printer.result(&format!("{url}: {}", counted(count, "newer release"))),
    }
    for NewerRelease { newer, address } in found {
        let than = match &newer.here {
            Some(here) => format!("newer than {here}"),
            None => format!("no release of {} {} in its channel is here", newer.stack, newer.minor),
        };
        let for_whom = match newer.clusters.as_slice() {
            [] => "no cluster uses an older one".to_owned(),
            [cluster] => format!("for {}", cluster.whole()),
            clusters => format!("for {}: {}", counted(clusters.len(), "cluster"), short(clusters)),
        };
        printer.result(&format!("  {}: {than}; {for_whom}", newer.name));
        printer.result(&format!("    stackloom pull {address}"));
    }
}

/// Shortens a list of names.
fn short(names: &[ClusterId]) -> String {
    const SHOWN: usize = 5;
    let some = names.iter().take(SHOWN).map(ClusterId::whole).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{some}, and {} more", names.len() - SHOWN) } else { some }
}

fn describe(found: &NewerRelease) -> Json {
    let NewerRelease { newer, address } = found;
    json!({
        "name": newer.name,
        "stack": newer.stack.to_string(),
        "kubernetes": newer.minor.to_string(),
        "channel": super::releases::channel(newer.channel),
        "here": newer.here,
        "clusters": super::cluster::ClusterName::all(&newer.clusters),
        "source": address.to_string(),
        "command": format!("stackloom pull {address}"),
    })
}
