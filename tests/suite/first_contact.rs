//! The first hour with the program: the files written by `new`, lists, and running in different folders.

use std::{fs, path::Path, process::Command};

use super::{
    cli::{ends, environment, fleet, json},
    mistakes::refused,
    sandbox,
};

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap()
}

fn commit(root: &Path) {
    ends(root, &["generate", "--commit"], 0);
    for arguments in [&["add", "."][..], &["commit", "--quiet", "--allow-empty", "-m", "change"]] {
        let mut command = Command::new("git");
        environment(&mut command);
        assert!(command.args(arguments).current_dir(root).status().unwrap().success());
    }
}

const DEFAULTS: &str = "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefaults\nmetadata:\n  namespace: team-p\nspec:\n  \
                        managementCluster: mgmt\n  stack: docker/scs\n  kubernetes: '1.35'\n  release: head\n  controlPlane: { replicas: 3 }\n  \
                        network: { pods: [10.0.0.0/16] }\n";

#[test]
fn a_new_cluster_says_what_its_folder_does_not() {
    let root = fleet();
    let root = root.path();
    sandbox::write(&root.join("clusters/prod/_defaults.yaml"), DEFAULTS);
    let made = ends(root, &["new", "cluster", "prod-1", "--namespace", "team-p"], 0);
    assert!(made.err.contains("inherited from clusters/prod/_defaults.yaml:"), "{}", made.err);
    assert!(made.err.contains("  spec.controlPlane.replicas: 3\n"), "{}", made.err);
    let text = read(root, "clusters/prod/prod-1.yaml");
    for word in
        ["namespace", "controlPlane", "release", "stack", "kubernetes", "network", "managementCluster"]
    {
        assert!(!text.contains(&format!("{word}:")), "{word} appears again:\n{text}");
    }
    assert!(text.contains("class: default-worker"), "{text}");
    let reported =
        json(root, &["new", "cluster", "prod-2", "--folder", "clusters/prod", "--kubernetes", "1.36"], 0);
    let replicas = serde_json::json!({ "value": 3, "file": "clusters/prod/_defaults.yaml", "line": 10 });
    assert_eq!(reported["inherited"]["spec.controlPlane.replicas"], replicas);
    assert!(reported["inherited"].get("spec.kubernetes").is_none(), "{reported:#}");
    let text = read(root, "clusters/prod/prod-2.yaml");
    assert!(text.contains("kubernetes: '1.36'") && !text.contains("release:"), "{text}");
}

#[test]
fn a_new_cluster_asks_for_its_folder() {
    let root = fleet();
    let root = root.path();
    sandbox::write(&root.join("clusters/prod/_defaults.yaml"), DEFAULTS);
    let asked = ends(root, &["new", "cluster", "x-1"], 1);
    for choice in
        ["`--folder clusters/dev` (namespace team-a)", "`--folder clusters/prod` (namespace team-p)"]
    {
        assert!(asked.err.contains(choice), "{}", asked.err);
    }
    let unknown = ends(root, &["new", "cluster", "x-1", "--namespace", "team-x"], 1);
    assert!(unknown.err.contains("no folder has clusters in the namespace `team-x`"), "{}", unknown.err);
    ends(&root.join("clusters/prod"), &["new", "cluster", "x-1"], 0);
    assert!(root.join("clusters/prod/x-1.yaml").is_file());
    ends(&root.join("clusters"), &["new", "cluster", "x-2", "--folder", "prod"], 0);
    // Paths relative to the root are also accepted, since messages use them.
    ends(&root.join("clusters"), &["new", "cluster", "x-3", "--folder", "clusters/prod"], 0);
    assert!(root.join("clusters/prod/x-3.yaml").is_file());
}

#[test]
fn a_new_cluster_takes_the_newest_release() {
    let root = fleet();
    let root = root.path();
    sandbox::write(&root.join("clusters/prod/_defaults.yaml"), DEFAULTS);
    commit(root);
    ends(root, &["release", "--no-tag", "--kubernetes", "1.35"], 0);
    ends(root, &["new", "folder", "clusters/stage"], 0);
    let of = |name: &str, more: &[&str], code: i32| {
        let cluster = ["new", "cluster", name, "--folder", "clusters/stage"];
        ends(root, &[&cluster, more].concat(), code).err
    };
    of("a-1", &[], 0);
    assert!(read(root, "clusters/stage/a-1.yaml").contains("  release: docker-scs-1-35-v1\n"));
    of("a-2", &["--release", "head", "--kubernetes", "1.36"], 0);
    let text = read(root, "clusters/stage/a-2.yaml");
    assert!(text.contains("release: head") && text.contains("kubernetes: '1.36'"), "{text}");
    let none = of("a-3", &["--kubernetes", "1.36"], 1);
    assert!(none.contains("no numbered release of `docker/scs` for Kubernetes 1.36"), "{none}");
    assert!(none.contains("--release head"), "{none}");
    let none = of("a-3", &["--release", "docker-scs-1-35-v9"], 1);
    assert!(none.contains("did you mean `docker-scs-1-35-v1`?"), "{none}");
    of("a-3", &["--release", "docker-scs-1-35-v1", "--kubernetes", "1.34"], 1);
    // The folder's defaults explicitly request the head release.
    ends(root, &["new", "cluster", "p-1", "--folder", "clusters/prod"], 0);
    assert!(!read(root, "clusters/prod/p-1.yaml").contains("release"));
    ends(root, &["new", "cluster", "p-2", "--folder", "clusters/prod", "--release", "docker-scs-1-35-v1"], 0);
    ends(root, &["check"], 0);
    let listed = json(root, &["clusters", "--release", "docker-scs-1-35-v1"], 0);
    let names: Vec<_> =
        listed["clusters"].as_array().unwrap().iter().map(|one| &one["cluster"]["name"]).collect();
    assert_eq!(names, ["a-1", "p-2"]);
    assert_eq!(listed["clusters"][0]["stack"], "docker/scs");
}

#[test]
fn a_folder_that_is_new_brings_a_network_of_pods() {
    let root = fleet();
    let root = root.path();
    ends(root, &["new", "cluster", "b-1", "--folder", "clusters/fresh", "--namespace", "team-f"], 0);
    let text = read(root, "clusters/fresh/_defaults.yaml");
    assert!(text.contains("namespace: team-f") && text.contains("192.168.0.0/16"), "{text}");
    ends(root, &["new", "folder", "clusters/fresh/eu", "--pods", "10.1.0.0/16"], 0);
    let text = read(root, "clusters/fresh/eu/_defaults.yaml");
    assert!(text.contains("10.1.0.0/16") && !text.contains("namespace"), "{text}");
    ends(root, &["new", "folder", "clusters/fresh"], 1);
    ends(root, &["new", "folder", "elsewhere"], 1);
    let checked = ends(root, &["check"], 0);
    assert!(checked.err.is_empty(), "{}", checked.err);
}

#[test]
fn a_cluster_keeps_its_network() {
    let root = fleet();
    let root = root.path();
    commit(root);
    let file = root.join("clusters/dev/_defaults.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let before = sandbox::snapshot(&root.join("generated"));
    for (old, new) in [
        ("pods: [192.168.0.0/16]", "pods: [10.0.0.0/16]"),
        ("    pods: [192.168.0.0/16]\n", ""),
        ("services: [10.128.0.0/12]", "services: [10.96.0.0/16]"),
    ] {
        fs::write(&file, text.replace(old, new)).unwrap();
        for arguments in [&["generate"][..], &["generate", "--commit"], &["generate", "--check"]] {
            let refused = ends(root, arguments, 1);
            assert!(refused.err.contains("error[network-changed]"), "{new}: {}", refused.err);
            assert!(before == sandbox::snapshot(&root.join("generated")), "{new}");
        }
    }
    // A cluster without pod network gets one, with a warning.
    let folder = root.join("clusters/bare");
    ends(root, &["new", "cluster", "c-1", "--folder", "clusters/bare"], 0);
    fs::write(&file, &text).unwrap();
    let defaults = fs::read_to_string(folder.join("_defaults.yaml")).unwrap();
    let (bare, network) = defaults.split_once("  network:\n").unwrap();
    fs::write(folder.join("_defaults.yaml"), bare).unwrap();
    let warned = ends(root, &["generate"], 0);
    assert!(warned.err.contains("warning[pod-network]"), "{}", warned.err);
    fs::write(folder.join("_defaults.yaml"), format!("{bare}  network:\n{network}")).unwrap();
    let warned = ends(root, &["generate"], 0);
    assert!(warned.err.contains("warning[network-changed]"), "{}", warned.err);
}

#[test]
fn a_new_pool_leaves_the_rest_of_the_file_alone() {
    let root = fleet();
    let root = root.path();
    let file = "clusters/dev/dev-1.yaml";
    let before =
        read(root, file).replace("    - name: md-0\n", "    # The first one.\n    - name: md-0   # small\n");
    fs::write(root.join(file), &before).unwrap();
    ends(root, &["new", "pool", "dev-1", "gpu", "--autoscale", "0-3", "--failure-domain", "az1"], 0);
    let after = read(root, file);
    let added = after.strip_prefix(before.trim_end()).unwrap_or_else(|| panic!("{after}"));
    assert!(added.contains("    - name: gpu\n") && added.contains("max: 3"), "{added}");
    for (arguments, why) in [
        (&["dev-1", "gpu"][..], "already has a pool `gpu`"),
        (&["dev-9", "gpu"], "there is no cluster `dev-9`"),
        (&["dev-1", "b", "--class", "default-wroker"], "did you mean `--class default-worker`?"),
        (&["dev-1", "b", "--autoscale", "3-1"], "is not a valid range"),
        (&["dev-1", "B"], "cannot be the name of a pool"),
    ] {
        let refused = ends(root, &[&["new", "pool"], arguments].concat(), 1);
        assert!(refused.err.contains(why), "{}", refused.err);
    }
    assert_eq!(after, read(root, file));
    ends(root, &["check"], 0);
}

#[test]
fn the_fleet_is_found_from_any_folder_below_it() {
    let root = fleet();
    let root = root.path();
    let dev = root.join("clusters/dev");
    let generated = ends(&dev, &["generate"], 0);
    assert!(root.join("generated/management").is_dir() && !dev.join("generated").exists());
    let shown = root.canonicalize().unwrap().display().to_string();
    assert!(generated.err.contains(&format!("relative to the fleet's root, {shown}")), "{}", generated.err);
    ends(&dev, &["affects", "_defaults.yaml:9"], 0);
    ends(&dev, &["affects", "clusters/dev/_defaults.yaml"], 0);
    ends(&dev, &["affects", "../../../elsewhere.yaml"], 1);
    let tree = "management/mgmt/clusters/team-a/dev-1/cluster/cluster.yaml:3";
    let reported = ends(&root.join("generated"), &["explain", tree], 0);
    assert!(reported.out.starts_with("generated/management/"), "{}", reported.out);
    ends(root, &["-C", "clusters", "explain", &format!("../generated/{tree}")], 0);
    ends(&dev, &["generate", "--only", "dev-1.yaml"], 0);
    ends(&dev, &["generate", "--only", "."], 0);
    ends(&dev, &["generate", "--only", "dev-1"], 0);
    ends(&root.join("clusters"), &["-C", "dev", "affects", "dev-1.yaml"], 0);
    fs::write(dev.join("dev-2.yaml"), "kind: [").unwrap();
    let faulty = ends(&dev, &["check"], 1);
    assert!(faulty.err.contains("--> clusters/dev/dev-2.yaml:1:7"), "{}", faulty.err);
    // A repository inside the fleet's folder does not belong to the fleet.
    fs::create_dir_all(root.join("clusters/other/.git")).unwrap();
    let none = ends(&root.join("clusters/other"), &["check"], 1);
    assert!(none.err.contains("no `stackloom.yaml` here or in a folder above"), "{}", none.err);
}

#[test]
fn variables_and_schemas_are_those_of_the_class() {
    let root = fleet();
    let root = root.path();
    let of_stack = json(root, &["variables", "docker/scs", "--kubernetes", "1.35"], 0);
    let find = |document: &serde_json::Value, name: &str| {
        let all = document["variables"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {document:#}")).clone()
    };
    let enforce = find(&of_stack, "podSecurityStandard.enforce");
    assert_eq!((&enforce["default"], &enforce["required"]), (&"baseline".into(), &false.into()));
    assert!(enforce.get("values").is_none());
    fs::write(
        root.join("clusters/dev/dev-1.yaml"),
        read(root, "clusters/dev/dev-1.yaml")
            + "  variables:\n    podSecurityStandard: { enforce: restricted }\n",
    )
    .unwrap();
    let of_cluster = json(root, &["variables", "team-a/dev-1"], 0);
    let value = &find(&of_cluster, "podSecurityStandard.enforce")["values"][0];
    assert_eq!(value["value"], "restricted");
    assert_eq!(value["file"], "clusters/dev/dev-1.yaml");
    let inherited = &find(&of_cluster, "podSecurityStandard.warn")["values"][0];
    assert_eq!(inherited["file"], "stacks/docker/scs/cluster-class/cluster-class.yaml", "{inherited}");
    ends(root, &["variables", "docker/nothing"], 1);

    let written = ends(root, &["schema", "--stacks", "--write", "schemas/stacks"], 0);
    assert!(written.err.contains("# yaml-language-server: $schema=../../schemas/stacks/"), "{}", written.err);
    ends(root, &["schema", "--stacks", "--write", "schemas/stacks", "--check"], 0);
    let schema: serde_json::Value =
        serde_json::from_str(&read(root, "schemas/stacks/docker-scs-1-35.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let definition: serde_json::Value = serde_yaml::from_str(&read(root, "clusters/dev/dev-1.yaml")).unwrap();
    assert!(validator.is_valid(&definition));
    for (path, wrong) in [
        ("/spec/variables", serde_json::json!({ "podSecurityStandrad": {} })),
        ("/spec/variables", serde_json::json!({ "podSecurityStandard": { "enforce": "none" } })),
        ("/spec/nodePools/0/class", serde_json::json!("other")),
        ("/spec/variables", serde_json::json!({ "certSANs": "one" })),
    ] {
        let mut faulty = definition.clone();
        *faulty.pointer_mut(path).unwrap() = wrong;
        assert!(!validator.is_valid(&faulty), "{faulty:#}");
    }
    let mut faulty = definition.clone();
    faulty["spec"]["addons"] = serde_json::json!({ "cillium": {} });
    assert!(!validator.is_valid(&faulty));
    faulty["spec"]["addons"] = serde_json::json!({ "cilium": { "enabled": false } });
    faulty["spec"]["variables"] = serde_json::json!({ "certSANs": null });
    assert!(validator.is_valid(&faulty));
    ends(root, &["new", "cluster", "dev-2"], 0);
    let line = "# yaml-language-server: $schema=../../schemas/stacks/docker-scs-1-35.schema.json\n";
    assert!(read(root, "clusters/dev/dev-2.yaml").starts_with(line));
    fs::write(root.join("schemas/stacks/docker-scs-1-35.schema.json"), "{}").unwrap();
    let stale = ends(root, &["schema", "--stacks", "--write", "schemas/stacks", "--check"], 3);
    assert!(stale.out.contains("docker-scs-1-35.schema.json"), "{}", stale.out);
}

#[test]
fn secrets_are_listed_with_those_who_need_and_provide_them() {
    let root = sandbox::folder();
    sandbox::copy_fleet(&super::support::package(), root.path());
    let reported = json(root.path(), &["secrets", "prod-a-eu-1"], 0);
    let secrets = reported["clusters"][0]["secrets"].as_array().unwrap();
    let find =
        |name: &str| secrets.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{reported:#}"));
    let config = find("prod-a-eu-1-cloud-config");
    assert_eq!(
        config["providedBy"],
        serde_json::json!(["clusters/prod/eu-1/prod-a-eu-1.d/cloud-config.yaml"])
    );
    assert_eq!(
        config["neededBy"],
        serde_json::json!([
            "HelmRelease prod-a-eu-1.openstack-cinder-csi",
            "HelmRelease prod-a-eu-1.openstack-cloud-controller-manager"
        ])
    );
    let files = |secret: &serde_json::Value| -> Vec<String> {
        let lines = secret["referredToIn"].as_array().unwrap();
        lines.iter().map(|one| one["file"].as_str().unwrap().to_owned()).collect()
    };
    assert!(files(config).iter().all(|file| file.starts_with("generated/releases/")), "{config:#}");
    assert!(!files(config).is_empty(), "{config:#}");
    let identity = find("openstack");
    assert_eq!(files(find("sops-age")), ["stackloom.yaml"]);
    assert!(identity["neededBy"].as_array().unwrap().contains(&"OpenStackCluster".into()), "{identity:#}");
    assert_eq!(
        (&find("sops-age")["namespace"], &find("sops-age")["providedBy"]),
        (&"flux-system".into(), &serde_json::json!([]))
    );
    assert!(secrets.iter().all(|one| one["name"] != "prod-a-eu-1-kubeconfig"), "{reported:#}");
    let all = json(root.path(), &["secrets"], 0);
    let of = |name: &str| {
        all["clusters"].as_array().unwrap().iter().find(|one| one["cluster"]["name"] == name).unwrap().clone()
    };
    assert_eq!(of("dev-a-1")["secrets"], serde_json::json!([]));
    ends(root.path(), &["secrets", "nothing"], 1);
}

#[test]
fn an_ambiguous_cluster_name_lists_the_full_names() {
    let root = fleet();
    let root = root.path();
    let text = read(root, "stackloom.yaml");
    assert!(text.contains("    - name: mgmt\n"), "{text}");
    sandbox::write(
        &root.join("stackloom.yaml"),
        text.replace("    - name: mgmt\n", "    - name: mgmt\n    - name: other\n"),
    );
    for management in ["mgmt", "other"] {
        let own = format!("clusters/{management}");
        ends(root, &["new", "folder", &own, "--namespace", "team-t", "--management-cluster", management], 0);
        ends(root, &["new", "cluster", "twin", "--folder", &own], 0);
    }
    for command in ["explain", "variables", "topology"] {
        for name in ["twin", "team-t/twin"] {
            let asked = ends(root, &[command, name], 1);
            for whole in ["mgmt/team-t/twin", "other/team-t/twin"] {
                assert!(asked.err.contains(whole), "{command}: {}", asked.err);
                ends(root, &[command, whole], 0);
            }
        }
    }
}

#[test]
fn a_file_that_is_named_almost_like_that_of_a_fleet_is_pointed_out() {
    let root = fleet();
    let root = root.path();
    for name in ["stackloom.yml", "Stackloom.yaml"] {
        fs::rename(root.join("stackloom.yaml"), root.join(name)).unwrap();
        for arguments in [&["check"][..], &["generate"], &["clusters"], &["release", "tag"]] {
            refused(root, arguments, &["error[no-fleet]", &format!("`mv {name} stackloom.yaml`")]);
            assert_eq!(json(root, arguments, 1)["diagnostics"].as_array().unwrap().len(), 1, "{arguments:?}");
        }
        fs::rename(root.join(name), root.join("stackloom.yaml")).unwrap();
    }
}
