//! Accepted risks: the acceptance of one change says nothing about another one of the same cluster.

use crate::{
    diff::{ONE, fleet, generate_unguarded, replace, save, says},
    diff_guards::id_of,
    release::ends,
    sandbox::Sandbox,
};

const CHECK: [&str; 3] = ["check", "--against", "origin/main"];
const DIFF: [&str; 2] = ["diff", "origin/main"];

const WITHOUT_EXTRA: &str = "extra: { enabled: false }\n";

/// A fleet in which nodes need two addons.
fn two_needed_addons() -> Sandbox {
    let sandbox = fleet();
    let notes = "stacks/dev/inmemory/addons/notes/addon.yaml";
    replace(&sandbox, notes, "stage: default", "stage: bootstrap");
    // It depends on one of the two.
    replace(&sandbox, ONE, "  nodePools:\n", &format!("  addons:\n    {WITHOUT_EXTRA}  nodePools:\n"));
    generate_unguarded(&sandbox);
    save(&sandbox, "needed addons");
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    sandbox
}

fn turn_off(sandbox: &Sandbox, addons: &[&str]) {
    let off = addons
        .iter()
        .map(|addon| format!("    {addon}: {{ enabled: false }}\n"))
        .collect::<Vec<_>>()
        .concat();
    replace(sandbox, ONE, WITHOUT_EXTRA, &format!("{WITHOUT_EXTRA}{off}"));
}

fn accept(sandbox: &Sandbox, risks: &[(&str, &str)]) {
    let one = |(risk, change): &(&str, &str)| {
        format!("    - {{ risk: {risk}, reason: as agreed, change: {change} }}\n")
    };
    let all = risks.iter().map(one).collect::<Vec<_>>().concat();
    let text = sandbox.read(ONE).unwrap();
    sandbox.write(ONE, format!("{text}  accept:\n{all}"));
}

const LEFT: &str = "nothing defines the addon";

#[test]
fn an_acceptance_of_one_lost_addon_does_not_accept_the_other() {
    let sandbox = two_needed_addons();
    turn_off(&sandbox, &["demo", "notes"]);
    let ids = ["demo", "notes"].map(|addon| id_of(&sandbox, &format!("addon/{addon}"), "deletes"));
    let text = sandbox.read(ONE).unwrap();
    for (own, accepted, other) in [(&ids[0], "demo", "notes"), (&ids[1], "notes", "demo")] {
        sandbox.write(ONE, &text);
        accept(&sandbox, &[("deletes", own)]);
        for arguments in [&CHECK[..], &DIFF] {
            let said = ends(&sandbox, arguments, 1);
            assert!(said.contains(&format!("error[abandoned]: {LEFT} `{other}`")), "{said}");
            assert!(said.contains(&format!("warning[abandoned]: {LEFT} `{accepted}`")), "{said}");
            assert_eq!(said.matches("this risk is accepted").count(), 1, "{said}");
        }
    }
    sandbox.write(ONE, &text);
    accept(&sandbox, &[("deletes", &ids[0]), ("deletes", &ids[1])]);
    says(&sandbox, &CHECK, 0, "this risk is accepted: as agreed");
    ends(&sandbox, &DIFF, 0);
}

#[test]
fn an_accepted_refusal_does_not_accept_a_lost_addon() {
    let sandbox = two_needed_addons();
    turn_off(&sandbox, &["demo"]);
    replace(&sandbox, ONE, "name: md-0", "name: md-1");
    let refused = id_of(&sandbox, "cluster", "refused");
    let left = id_of(&sandbox, "addon/demo", "deletes");
    let text = sandbox.read(ONE).unwrap();
    for (risk, id, code) in [("refused", &refused, "abandoned"), ("deletes", &left, "removal")] {
        sandbox.write(ONE, &text);
        accept(&sandbox, &[(risk, id)]);
        for arguments in [&CHECK[..], &DIFF] {
            let said = ends(&sandbox, arguments, 1);
            assert_eq!(said.matches("error[").count(), 1, "{said}");
            assert!(said.contains(&format!("error[{code}]")), "{said}");
        }
    }
    sandbox.write(ONE, &text);
    accept(&sandbox, &[("refused", &refused), ("deletes", &left)]);
    ends(&sandbox, &CHECK, 0);
    ends(&sandbox, &DIFF, 0);
}
