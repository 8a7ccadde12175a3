//! `stackloom diff --before`: what runs in management clusters, as files.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use crate::{
    cli::{Global, topology::objects_of},
    compare::Export,
    generate::Failure,
    model::{Fleet, ManagementCluster},
    note::Notes,
    render,
    topology::import::Objects,
};

/// Reads exports, each written as `FILE` or `MANAGEMENT=FILE`.
pub(super) fn read(
    given: &[String],
    fleet: &Fleet,
    global: &Global,
    notes: &mut Notes,
) -> Result<Vec<Export>, Failure> {
    let mut files = BTreeMap::<String, (Arc<ManagementCluster>, Vec<PathBuf>)>::new();
    for one in given {
        let Some((management, file)) = of(one, fleet) else {
            let names: Vec<_> = fleet.management_clusters.iter().map(|one| one.name.as_str()).collect();
            notes
                .error(
                    "unknown-management-cluster",
                    None,
                    format!("`{one}` does not say which management cluster it is from"),
                )
                .hint(format!(
                    "write `{}={one}`; the fleet has {}",
                    names.first().unwrap_or(&"NAME"),
                    names.join(", ")
                ));
            continue;
        };
        let of_management = files.entry(management.name.to_string());
        of_management.or_insert_with(|| (management, Vec::new())).1.push(global.path(&PathBuf::from(file)));
    }
    let mut exports = Vec::new();
    for (management, files) in files.into_values() {
        // The files of the fleet do not have what engines note on running objects.
        let unnoted = Objects::default().ignoring(render::bookkeeping().map(str::to_owned).collect());
        let objects = objects_of(&files, unnoted, notes)?;
        exports.push(Export { management, objects });
    }
    notes.halt(exports).map_err(Failure::from)
}

/// The management cluster of an export, and its file. A name before `=` counts only if a management cluster has it.
fn of<'a>(one: &'a str, fleet: &Fleet) -> Option<(Arc<ManagementCluster>, &'a str)> {
    let all = &fleet.management_clusters;
    let named = one.split_once('=').and_then(|(name, file)| {
        all.iter().find(|management| management.name.as_str() == name).map(|found| (found.clone(), file))
    });
    named.or_else(|| match all.as_slice() {
        [only] => Some((only.clone(), one)),
        _ => None,
    })
}
