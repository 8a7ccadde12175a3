//! `migrate`: each case consists of edits of the small fleet, and the resulting changes to its files.

use stackloom::{
    generate,
    migrate::migrate,
    note::Notes,
    world::{Files, Snapshot},
};

use super::{sandbox, support};

const CLASS: &str = "stacks/test/tiny/cluster-class/class.yaml";
const STACK: &str = "stacks/test/tiny/stack.yaml";
const DEFAULTS: &str = "clusters/_defaults.yaml";
const ONE: &str = "clusters/blue/one.yaml";

/// The small fleet. Its class has the variables `banner` and `count`, which had other names before.
fn fleet() -> Files {
    let mut files = support::fleet(&support::package().join("tests/cases/_base"));
    let variable = |name: &str, kind: &str| {
        format!(
            "    - {{ name: {name}, required: false, schema: {{ openAPIV3Schema: {{ type: {kind} }} }} }}\n"
        )
    };
    let variables =
        format!("\n  variables:\n{}{}", variable("banner", "string"), variable("count", "integer"));
    let class = files.0.get_mut(CLASS).unwrap();
    *class = class.replacen("\n  variables:\n", &variables, 1);
    let migrations = "
  migrations:
    - { variable: greeting, renameTo: welcome }
    - { variable: amount, renameTo: count, type: integer }
    - { variable: welcome, renameTo: banner }
    - { variable: count, type: integer }
    - { variable: banner, type: string }
";
    files.0.get_mut(STACK).unwrap().push_str(migrations.trim_start_matches('\n'));
    files
}

/// The changed lines of each file, and the messages.
fn reported(files: &Files) -> String {
    let mut notes = Notes::new();
    let snapshot = Snapshot::read(files).unwrap();
    let (fleet, _) =
        generate::understand_sound(&snapshot, &mut notes).unwrap_or_else(|_| panic!("{notes:?}"));
    let mut lines = Vec::new();
    for one in migrate(&fleet, &snapshot.input, &|_| true, &mut notes) {
        lines.push(format!("{} for {}", one.file, one.clusters.len()));
        let pairs = one.before.lines().zip(one.after.lines());
        assert_eq!(one.before.lines().count(), one.after.lines().count());
        for (before, after) in pairs.filter(|(before, after)| before != after) {
            lines.extend([format!("< {before}"), format!("> {after}")]);
        }
    }
    let messages = sandbox::messages(&notes);
    lines.extend(messages.lines().filter(|line| !line.starts_with("  |")).map(str::to_owned));
    lines.push(String::new());
    if lines.len() > 1 { lines.join("\n") } else { String::new() }
}

/// The title, the edits (text to append to a file; for a class, a variable `greeting`), and the result.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);

const CASES: [Case; 8] = [
        ("nothing to do", &[(ONE, "  variables: { motd: hi }\n")], ""),
        (
            "two renames in a row, and layout stays",
            &[(ONE, "  variables:\n    # said at login\n    greeting:   'hi'   # short\n    region: us\n")],
            "clusters/blue/one.yaml for 1\n<     greeting:   'hi'   # short\n>     banner:   'hi'   # short\n",
        ),
        (
            "pools and the control plane have variables, too; a new type comes with a new name",
            &[(ONE, "      variables: { amount: \"12\" } # a dozen\n  controlPlane: { variables: { \"amount\": '3', count: null } }\n  variables: { greeting: yes-it-is, count: \"7\" }\n")],
            "clusters/blue/one.yaml for 1
<       variables: { amount: \"12\" } # a dozen
>       variables: { count: 12 } # a dozen
<   variables: { greeting: yes-it-is, count: \"7\" }
>   variables: { banner: yes-it-is, count: 7 }
error[migration] clusters/blue/one.yaml:12:42: `amount` is called `count` in the release `test-tiny-1-35-v0-sha.X`, and both are set here
  hint: keep one of the two values under the new name
",
        ),
        (
            "numbers and booleans become text; what could be read in two ways does not change",
            &[(ONE, "  variables: { greeting: 12 }\n"), ("clusters/green/two.yaml", "  variables: { banner: 1.50, count: \"07\" }\n")],
            "clusters/blue/one.yaml for 1
<   variables: { greeting: 12 }
>   variables: { banner: '12' }
error[migration] clusters/green/two.yaml:19:24: `banner` is of type string in the release `test-tiny-1-36-v0-sha.X`, and this value is not
  hint: write the value by hand: it can be read in more than one way
error[migration] clusters/green/two.yaml:19:37: `count` is of type integer in the release `test-tiny-1-36-v0-sha.X`, and this value is not
  hint: write the value by hand: it can be read in more than one way
",
        ),
        (
            "defaults change once for all clusters below them",
            &[(DEFAULTS, "    greeting: hi\n")],
            "clusters/_defaults.yaml for 2\n<     greeting: hi\n>     banner: hi\n",
        ),
        (
            "a definition with errors may need the defaults as they are",
            &[(DEFAULTS, "    greeting: hi\n"), ("clusters/green/two.yaml", "  colour: red\n")],
            "error[migration] clusters/_defaults.yaml:18:5: `greeting` cannot change here, because definitions below the folder have errors: `clusters/green/two.yaml`
  hint: move these clusters to the release as well; or write the value into the definitions that need it, and remove it here
",
        ),
        (
            "so may a cluster of another release",
            &[(DEFAULTS, "    greeting: hi\n"), ("stacks/test/tiny/1-36/cluster-class/class.yaml", "")],
            "error[migration] clusters/_defaults.yaml:18:5: `greeting` cannot change here, because other clusters below the folder do not need the same change: green/two (test-tiny-1-36-v0-sha.X)
  hint: move these clusters to the release as well; or write the value into the definitions that need it, and remove it here
",
        ),
        (
            "a variable that came back stays",
            &[(ONE, "  variables: { greeting: hi }\n"), (CLASS, "GREETING")],
            "",
        ),
];

#[test]
fn definitions_get_the_variables_of_their_release() {
    let hashed = regex::Regex::new("v0-sha\\.[a-z0-9]+").unwrap();
    for (name, edits, expected) in CASES {
        let mut files = fleet();
        let own =
            "    - { name: greeting, required: false, schema: { openAPIV3Schema: { type: string } } }\n";
        let with_greeting =
            |class: &str| class.replacen("\n  variables:\n", &format!("\n  variables:\n{own}"), 1);
        for (path, text) in edits {
            let class = with_greeting(&files.0[CLASS]);
            match (*path, *text) {
                (CLASS, _) => drop(files.0.insert(CLASS.to_owned(), class)),
                (path, "") => drop(files.0.insert(path.to_owned(), class)),
                (path, text) => files.0.get_mut(path).unwrap().push_str(text),
            }
        }
        let found = reported(&files);
        assert_eq!(hashed.replace_all(&found, "v0-sha.X"), expected, "{name}\n{found}");
    }
}
