//! Tests of reading the sources.

use std::{fs, os::unix::fs::symlink};

use stackloom::{
    note::Notes,
    world::{Files, Input, World as _},
};

use crate::sandbox::{Sandbox, codes};

fn read(sandbox: &Sandbox) -> (Input, Notes) {
    let mut notes = Notes::new();
    let input = sandbox.workspace().read(&mut notes).unwrap();
    (input, notes)
}

fn paths(input: &Input) -> Vec<&str> {
    input.sources.iter().map(|source| &*source.path).collect()
}

#[test]
fn reads_what_a_world_in_memory_reads() {
    let sandbox = Sandbox::new();
    let text =
        |path: &str| format!("# {path}\n{}", if path.contains("eu-2.d") { "" } else { "---\nkind: A\n" });
    let all = [
        "stackloom.yaml",
        "README.md",
        "stacks/docker/scs/stack.yaml",
        "stacks/docker/scs/addons/cilium/values.yaml",
        "stacks/docker/scs/.DS_Store",
        "stacks/docker/scs/NOTES.md",
        "clusters/_defaults.yaml",
        "clusters/prod/eu-1.yaml",
        "clusters/prod/eu-2.yml",
        "clusters/prod/README.md",
        "clusters/prod/.eu-1.yaml.swp",
        "clusters/prod/eu-1.d/secret.yaml",
        "clusters/prod/eu-1.d/deep/er.yaml",
        "clusters/prod/eu-2.d/later.yaml",
        "clusters/prod/eu-3.d/README.md",
        "generated/releases/docker-scs-1-35-v7/release.yaml",
        "generated/releases/docker-scs-1-35-v7/NOTES.md",
        "generated/releases/docker-scs-1-35-v7/.hidden/of-a-release.yaml",
        "generated/releases/docker-scs-1-35-v0-beta.1/release.yaml",
        "generated/releases/docker-scs-1-35-v0-sha.a1b2c3d/release.yaml",
        "generated/releases/stray.yaml",
        "generated/management/mgmt/flux/entry.yaml",
    ];
    for path in all {
        sandbox.write(path, text(path));
    }
    fs::create_dir_all(sandbox.root.join("clusters/prod/empty.d/inner")).unwrap();
    let (input, notes) = read(&sandbox);
    assert!(notes.is_empty(), "{notes:?}");
    let memory = Files(all.iter().map(|path| ((*path).to_owned(), text(path))).collect());
    let expected = memory.read(&mut Notes::new()).unwrap();
    assert_eq!(paths(&input), paths(&expected));
    assert_eq!(input.companions, expected.companions);
    assert_eq!(input.companions.iter().collect::<Vec<_>>(), ["clusters/prod/eu-1.d"]);
    let read = &input.sources.at("clusters/prod/eu-1.yaml").unwrap().text;
    assert_eq!(**read, text("clusters/prod/eu-1.yaml"));
}

#[test]
fn an_empty_folder_is_an_empty_input() {
    let (input, notes) = read(&Sandbox::new());
    assert!(paths(&input).is_empty() && notes.is_empty());
}

#[test]
fn every_fault_is_reported_in_one_run() {
    let sandbox = Sandbox::new();
    sandbox.write("stackloom.yaml", "kind: Fleet\n");
    sandbox.write("clusters/latin.yaml", b"kind: A\nname: caf\xe9\n");
    sandbox.write("clusters/wide.yaml", b"\xff\xfek\0i\0");
    sandbox.write("clusters/large.yaml", vec![b'#'; 4 * 1024 * 1024 + 1]);
    sandbox.write("clusters/good.d/large.yaml", vec![b'#'; 4 * 1024 * 1024 + 1]);
    sandbox.write("clusters/good.yaml", vec![b'#'; 4 * 1024 * 1024]);
    sandbox.write("clusters/new\nline.yaml", "a: 1\n");
    let at = |path: &str| sandbox.root.join(path);
    fs::write(sandbox.outside().join("secret.yaml"), "a: 1\n").unwrap();
    symlink(sandbox.outside().join("secret.yaml"), at("clusters/out.yaml")).unwrap();
    symlink("../..", at("clusters/up")).unwrap();
    symlink("..", at("clusters/loop")).unwrap();
    symlink("nowhere.yaml", at("clusters/broken.yaml")).unwrap();
    symlink("nowhere", at("clusters/.#lock")).unwrap();
    symlink("nowhere", at("clusters/folder")).unwrap();
    sandbox.write("clusters/json.json", "{}\n");
    assert!(std::process::Command::new("mkfifo").arg(at("rollouts")).status().unwrap().success());
    symlink("/etc/passwd", at("clusters/passwd.yaml")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("clusters/pipe.yaml")).status().unwrap().success());
    let (input, notes) = read(&sandbox);
    assert_eq!(paths(&input), ["clusters/good.yaml", "stackloom.yaml"]);
    let expected = [
        "unreadable clusters/broken.yaml",
        "unreadable clusters/folder",
        "too-large clusters/good.d/large.yaml",
        "bad-file-name clusters/json.json",
        "too-large clusters/large.yaml",
        "not-utf8 clusters/latin.yaml:2:10",
        "link-loop clusters/loop",
        "bad-file-name clusters/new\\nline.yaml",
        "link-outside clusters/out.yaml",
        "link-outside clusters/passwd.yaml",
        "special-file clusters/pipe.yaml",
        "link-loop clusters/up",
        "not-utf8 clusters/wide.yaml:1:1",
        "special-file rollouts",
    ];
    assert_eq!(codes(&notes), expected);
}

#[test]
fn links_within_the_root_are_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("stacks/docker/scs/addons/cilium/values.yaml", "a: 1\n");
    fs::create_dir_all(sandbox.root.join("stacks/openstack/scs")).unwrap();
    symlink("../../docker/scs/addons", sandbox.root.join("stacks/openstack/scs/addons")).unwrap();
    let (input, notes) = read(&sandbox);
    assert!(notes.is_empty(), "{notes:?}");
    assert!(paths(&input).contains(&"stacks/openstack/scs/addons/cilium/values.yaml"));
}

#[test]
fn links_into_the_output_and_below_it_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("generated/releases/docker-scs-1-35-v7/release.yaml", "a: 1\n");
    sandbox.write("generated/management/a.yaml", "a: 1\n");
    sandbox.write("clusters/a.yaml", "a: 1\n");
    symlink("../generated/management", sandbox.root.join("clusters/copy")).unwrap();
    symlink("../../../clusters/a.yaml", sandbox.root.join("generated/releases/docker-scs-1-35-v7/b.yaml"))
        .unwrap();
    let (input, notes) = read(&sandbox);
    assert_eq!(codes(&notes), ["link-outside clusters/copy"]);
    let damaged = codes(&input.damaged["docker-scs-1-35-v7"]);
    assert_eq!(damaged, ["linked-output generated/releases/docker-scs-1-35-v7/b.yaml"]);
}
