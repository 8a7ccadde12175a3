//! No message shows a credential, whatever it is about.

use super::{
    cli::{fleet, ran},
    mistakes::{DEV, append},
    sandbox,
};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const PASSWORD: &str = "Zq8gPw2kLmX4";

/// Texts that end a definition, each with a fault, its code, and a credential on the line of the fault.
fn faults() -> Vec<(String, &'static str)> {
    vec![
        (format!("  suspend:\n    reason: token {TOKEN}\n"), "wrong-value"),
        (format!("  suspend: {{reason: token {TOKEN}, why: x}}\n"), "wrong-value"),
        (format!("  suspend: [{TOKEN}]\n"), "wrong-value"),
        (format!("  adminPassword: {PASSWORD}\n"), "unknown-key"),
        (format!("  owner: {{token: {PASSWORD}}}\n"), "wrong-value"),
        (format!("  addons: {{metrics-server: {{password: {PASSWORD}}}}}\n"), "unknown-key"),
        (format!("  variables: {{unheard: {TOKEN}}}\n"), "unknown-variable"),
        (format!("  variables:\n    podSecurityStandard: {{enforce: {TOKEN}}}\n"), "variable-value"),
        (format!("  token: \"{TOKEN}\" x\n"), "yaml-syntax"),
        (format!("  password: [{PASSWORD}\n"), "yaml-syntax"),
    ]
}

#[test]
fn a_credential_beside_another_fault_is_not_shown() {
    for (text, code) in faults() {
        let root = fleet();
        let root = root.path();
        append(root, DEV, &text);
        for format in ["text", "json", "yaml", "sarif", "github"] {
            let ran = ran(root, &["--format", format, "check"]);
            let said = ran.out + &ran.err;
            assert!(ran.code == 1 && said.contains(DEV), "{format}: {text}{said}");
            assert!(said.contains(code), "{format}: `{code}` is missing: {text}{said}");
            assert!(!said.contains(TOKEN) && !said.contains(PASSWORD), "{format}: {text}{said}");
        }
        let diff = ran(root, &["diff", "--verbose"]);
        let said = diff.out + &diff.err;
        assert!(!said.contains(TOKEN) && !said.contains(PASSWORD), "{text}{said}");
    }
}

#[test]
fn a_line_without_a_credential_is_shown() {
    let root = fleet();
    append(root.path(), DEV, "  adminPasswords: { secretName: admin }\n");
    let said = ran(root.path(), &["check"]).err;
    assert!(said.contains("adminPasswords: { secretName: admin }"), "{said}");
}

#[test]
fn a_credential_in_an_applied_file_is_not_shown_by_other_messages() {
    let root = fleet();
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{ name: a, namespace: team-a }}\nstringData: {{ x: {PASSWORD} }}\n"
    );
    for text in [
        secret.clone(),
        format!("{secret}data: {{ x: [{PASSWORD}] }}\n"),
        format!("{secret}  token: {PASSWORD}\n"),
    ] {
        sandbox::write(&root.path().join("clusters/dev/dev-1.d/a.yaml"), &text);
        let said = ran(root.path(), &["check"]).err;
        assert!(said.contains("error[") && !said.contains(PASSWORD), "{text}{said}");
    }
}
