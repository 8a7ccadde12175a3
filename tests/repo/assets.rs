//! `stackloom release --assets`: the files for the cluster stack operator, and what these cannot express exactly.

use crate::{
    release::{commit, edit, ends},
    sandbox::Sandbox,
    update::{plain_fleet, unpacked},
};

const DRY: [&str; 4] = ["release", "--assets", "out", "--dry-run"];

const NOTES: &str = "stacks/test/tiny/addons/notes/manifests/notes.yaml";

/// A fleet whose only addon consists of manifests, so that the network is not needed.
fn manifests_only() -> Sandbox {
    let sandbox = plain_fleet("https://charts.example.org/");
    edit(&sandbox, "addons/net/addon.yaml", "stage: bootstrap", "stage: bootstrap\n  enabled: false");
    commit(&sandbox, "manifests only");
    sandbox
}

/// The output for a stack with `old` replaced in a manifest.
fn with_notes(old: &str, new: &str, code: i32) -> String {
    let sandbox = manifests_only();
    edit(&sandbox, "addons/notes/manifests/notes.yaml", old, new);
    commit(&sandbox, "notes");
    ends(&sandbox, &DRY, code)
}

#[test]
fn texts_with_names_in_them_arrive_unchanged() {
    let sandbox = manifests_only();
    let text = sandbox.read(NOTES).unwrap();
    let more = "  title: cluster - ${{ cluster.name }}\n  dotted: ${{ cluster.name }}.5\n  block: |\n    name: ${{ \
                cluster.namespace }}\n  query: '{${{ cluster.name }}} {{ x }}'\n  zz: \"end\\n\\n\"\n";
    sandbox.write(NOTES, text + more);
    commit(&sandbox, "texts");
    ends(&sandbox, &["release", "--kubernetes", "1.35", "--assets", "out"], 0);
    let archive = sandbox.root.join("out/test-tiny-1-35-v1/test-tiny-1-35-cluster-addon-v1.tgz");
    let files = unpacked(&archive);
    let manifest = &files["notes/templates/000.yaml"];
    for line in [
        r#"  cluster: "{{ .Values.clusterName }}""#,
        r#"  title: "cluster - {{ .Values.clusterName }}""#,
        r#"  dotted: "{{ .Values.clusterName }}.5""#,
        r#"  block: "name: {{ .Values.clusterNamespace }}\n""#,
        r#"  query: "{{ "{" }}{{ .Values.clusterName }}} {{ "{{" }} x }}""#,
        r#"  zz: "end\n\n""#,
    ] {
        assert!(manifest.lines().any(|found| found == line), "{line}: {manifest}");
    }
}

#[test]
fn an_object_that_the_operator_would_send_elsewhere_is_refused() {
    let printed = with_notes("namespace: kube-system", "namespace: ${{ cluster.namespace }}", 1);
    for word in [
        "ConfigMap `notes` goes to the namespace `${{ cluster.namespace }}`",
        NOTES,
        "`enabled: false` in its addon.yaml",
    ] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    let printed = with_notes("  namespace: kube-system\n", "", 1);
    assert!(printed.contains("ConfigMap `notes` has no namespace"), "{printed}");
    // Objects that are not namespaced have no namespace.
    let all = "kind: ConfigMap\nmetadata:\n  name: notes\n  namespace: kube-system\n";
    with_notes(all, "kind: Namespace\nmetadata:\n  name: notes\n", 0);
}

#[test]
fn the_quickstart_stack_has_assets_once_its_sandbox_is_optional() {
    let sandbox = Sandbox::repository();
    ends(&sandbox, &["init"], 0);
    commit(&sandbox, "begin");
    let printed = ends(&sandbox, &DRY, 1);
    assert!(printed.contains("LimitRange `defaults` goes to the namespace `sandbox`"), "{printed}");
    let file = "stacks/docker/scs/addons/namespace-defaults/addon.yaml";
    let text = sandbox.read(file).unwrap();
    sandbox.write(file, text.replace("  stage: default\n", "  stage: default\n  enabled: false\n"));
    commit(&sandbox, "not for all");
    ends(&sandbox, &DRY, 0);
}

#[test]
fn a_version_of_addons_never_has_two_contents() {
    for (old, new) in [
        ("${{ cluster.name }}", "${{ release.name }}"),
        ("${{ cluster.name }}", "${{ kubernetes.version }}"),
        ("${{ cluster.name }}", "x${{ images[0].name }}"),
    ] {
        let printed = with_notes(old, new, 1);
        assert!(printed.contains("may differ in the next release") && printed.contains(NOTES), "{printed}");
    }
    with_notes("${{ cluster.name }}", "${{ kubernetes.minor }} ${{ stack.name }} ${{ addon.name }}", 0);
}

#[test]
fn two_addons_never_share_a_folder() {
    let sandbox = plain_fleet("https://charts.example.org/");
    let net = sandbox.read("stacks/test/tiny/addons/net/addon.yaml").unwrap();
    sandbox.write(
        "stacks/test/tiny/addons/net-manifests/addon.yaml",
        net.replace("  name: net\nspec:", "  name: net-manifests\nspec:"),
    );
    let notes = sandbox.read(NOTES).unwrap();
    sandbox.write("stacks/test/tiny/addons/net/manifests/notes.yaml", notes.replace(": notes", ": of-net"));
    commit(&sandbox, "two");
    let printed = ends(&sandbox, &DRY, 1);
    assert!(
        printed.contains("the addons `net` and `net-manifests` both use the folder `net-manifests`"),
        "{printed}"
    );
}
