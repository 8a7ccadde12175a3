//! `stackloom release --assets` with charts from a real local repository.

use std::{fs, path::Path};

use crate::{
    environment,
    sandbox::Sandbox,
    update::{Server, ends, plain_fleet, publish, unpacked},
};

fn release(sandbox: &Sandbox, arguments: &[&str], code: i32) -> String {
    crate::release::ends(
        sandbox,
        &[&["release", "test/tiny", "--kubernetes", "1.35"], arguments].concat(),
        code,
    )
}

#[test]
fn assets_are_those_that_the_cluster_stack_operator_reads() {
    let files = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&["-files", files.path().to_str().unwrap()]) else { return };
    publish(files.path(), &["1.0.0", "1.1.0"], "", None);
    let sandbox = plain_fleet(&format!("http://{}/files", server.address));
    let printed = release(&sandbox, &["--assets", "out"], 0);
    assert!(printed.contains("5 assets"), "{printed}");
    let out = sandbox.root.join("out/test-tiny-1-35-v1");
    let class = unpacked(&out.join("test-tiny-1-35-cluster-class-v1.tgz"));
    assert!(class["test-tiny-1-35-cluster-class/Chart.yaml"].contains("version: v1"));
    let machine = &class["test-tiny-1-35-cluster-class/templates/testmachinetemplate.yaml"];
    assert!(machine.contains("{{ \"{{\" }} ds.meta_data.local_hostname }}"), "{machine}");
    let addons = unpacked(&out.join("test-tiny-1-35-cluster-addon-v1.tgz"));
    assert!(addons["net/Chart.yaml"].contains("version: 1.1.0"));
    let values = &addons["net/overwrite.yaml"];
    assert!(values.starts_with("values: |\n  cluster: \"{{ .Cluster.metadata.name }}\"\n"), "{values}");
    assert!(values.contains("{{ \"{{\" }} .kept }}"), "{values}");
    let notes = &addons["notes/templates/000.yaml"];
    assert!(notes.contains("cluster: \"{{ .Values.clusterName }}\""), "{notes}");
    let stages = fs::read_to_string(out.join("clusteraddon.yaml")).unwrap();
    assert!(stages.find("name: net").unwrap() < stages.find("name: notes").unwrap(), "{stages}");
    assert!(fs::read_to_string(out.join("metadata.yaml")).unwrap().contains("clusterStack: v1"));
    // Nothing changed: the same release, byte for byte.
    let printed = release(&sandbox, &["--assets", "again"], 0);
    assert!(printed.contains("nothing to release"), "{printed}");
    for entry in fs::read_dir(&out).unwrap() {
        let name = entry.unwrap().file_name();
        let again = sandbox.root.join("again/test-tiny-1-35-v1").join(&name);
        assert_eq!(fs::read(out.join(&name)).unwrap(), fs::read(again).unwrap(), "{}", name.display());
    }
    keep_for_helm(&out, &sandbox.root.join("generated/releases/test-tiny-1-35-v1/cluster-class"));
}

/// Keeps the assets and the class of their release for `tests/conformance/cmd/assets`, which reads them with Helm.
fn keep_for_helm(assets: &Path, class: &Path) {
    let what = "the folder from which `tests/conformance/cmd/assets` reads";
    let Some(root) = environment::named("STACKLOOM_ASSETS", what) else { return };
    for (from, to) in [(assets, "test-tiny-1-35-v1"), (class, "cluster-class")] {
        let folder = Path::new(&root).join(to);
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn assets_that_are_not_what_was_locked_are_not_made_and_nothing_is_released() {
    let files = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&["-files", files.path().to_str().unwrap()]) else { return };
    publish(files.path(), &["1.0.0", "1.1.0"], "", None);
    let sandbox = plain_fleet(&format!("http://{}/files", server.address));
    ends(&sandbox, &[], 0);
    crate::release::commit(&sandbox, "lock");
    publish(files.path(), &["1.0.0", "1.1.0"], "other", None);
    let printed = release(&sandbox, &["--assets", "out"], 4);
    assert!(printed.contains("but the release was made with"), "{printed}");
    assert!(!sandbox.has("out") && !sandbox.has("generated/releases/test-tiny-1-35-v1"));
}
