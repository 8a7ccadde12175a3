//! Edits of realistic hand-written files.

use super::*;
use crate::yaml::{FileId, Value};

fn source(text: &str) -> Source {
    Source::new(FileId(0), "clusters/one.yaml", text)
}

fn done(text: &str, edit: impl FnOnce(&Source, &mut Notes) -> Option<Edit>) -> String {
    let (source, mut notes) = (source(text), Notes::new());
    let made = edit(&source, &mut notes);
    made.unwrap_or_else(|| panic!("{:?}", notes.sorted())).apply(text)
}

fn path(text: &str) -> Vec<Locator<'_>> {
    text.split('/').map(|part| part.strip_prefix('=').map_or(Locator::Key(part), Locator::Named)).collect()
}

fn put(text: &str, at: &str, value: impl Into<Node>) -> String {
    done(text, |source, notes| set(source, &path(at), &value.into(), notes))
}

fn cut(text: &str, at: &str) -> String {
    done(text, |source, notes| remove(source, &path(at), notes))
}

fn refused(text: &str, at: &str) -> String {
    let (source, mut notes) = (source(text), Notes::new());
    assert_eq!(remove(&source, &path(at), &mut notes), None);
    notes.sorted()[0].message.clone()
}

fn removal(step: &str) -> Node {
    let mut mapping = Mapping::new();
    mapping.set("reason", "the site closes: see #12");
    mapping.set("step", step);
    mapping.into()
}

const FULL: &str = "\
# yaml-language-server: $schema=../schemas/cluster-definition.schema.json

# The cluster of the billing team.
apiVersion: stackloom.dev/v1alpha1   # fixed
kind: ClusterDefinition
metadata: { name: billing , namespace: 'team-b', labels: {tier: gold,}}   # all on one line

spec:   # what it is
    # indented by four, on purpose
    release: \"openstack-scs-1-35-v7\"  # pinned

    controlPlane:
        replicas:   3   # odd

    # one pool per zone
    nodePools:
    # the first
    - name: az1        # do not rename
      class: default-worker
      replicas: 2
      # labels: {gpu: none}

    # the second
    - class: default-worker
      name: az2
      # autoscale: { min: 1, max: 2 }

    variables:
        motd: |
            hello

            world
        flavor: 'SCS-4V-8'
        # zone: b
    # the end of the spec
# the end of the file
";

/// The lines that an edit removed and added.
fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (before.split('\n').collect(), after.split('\n').collect());
    let front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - front;
    let back = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count().min(most);
    let show =
        |mark: &str, lines: &[&str]| -> String { lines.iter().flat_map(|line| [mark, line, "\n"]).collect() };
    show("-", &old[front..old.len() - back]) + &show("+", &new[front..new.len() - back])
}

#[test]
fn ten_edits_change_the_lines_that_they_are_about_and_no_other() {
    let check = |after: String, expected: &str| assert_eq!(difference(FULL, &after), expected);
    check(
        put(FULL, "spec/release", "openstack-scs-1-36-v1"),
        "-    release: \"openstack-scs-1-35-v7\"  # pinned\n+    release: \"openstack-scs-1-36-v1\"  # pinned\n",
    );
    check(
        put(FULL, "spec/controlPlane/replicas", 5_i64),
        "-        replicas:   3   # odd\n+        replicas:   5   # odd\n",
    );
    check(
        put(FULL, "spec/variables/flavor", "SCS-8V-16"),
        "-        flavor: 'SCS-4V-8'\n+        flavor: 'SCS-8V-16'\n",
    );
    check(
        put(FULL, "spec/variables/motd", "bye"),
        "-        motd: |\n-            hello\n-\n-            world\n+        motd: bye\n",
    );
    check(
        put(FULL, "spec/removal", removal("detach")),
        "+    removal:\n+      reason: 'the site closes: see #12'\n+      step: detach\n",
    );
    check(
        put(FULL, "spec/nodePools/=az1/removal", removal("detach")),
        "+      removal:\n+        reason: 'the site closes: see #12'\n+        step: detach\n",
    );
    check(
        put(FULL, "spec/addons/cilium/version", "1.18.9"),
        "+    addons:\n+      cilium:\n+        version: '1.18.9'\n",
    );
    check(
        put(FULL, "metadata/labels/env", "prod"),
        "-metadata: { name: billing , namespace: 'team-b', labels: {tier: gold,}}   # all on one line\n\
         +metadata: { name: billing , namespace: 'team-b', labels: {tier: gold, env: prod}}   # all on one line\n",
    );
    check(
        cut(FULL, "spec/nodePools/=az2"),
        "-    - class: default-worker\n-      name: az2\n-      # autoscale: { min: 1, max: 2 }\n",
    );
    check(cut(FULL, "spec/variables/motd"), "-        motd: |\n-            hello\n-\n-            world\n");
    check(
        cut(FULL, "spec/controlPlane/replicas"),
        "-    controlPlane:\n-        replicas:   3   # odd\n+    controlPlane: {}\n",
    );
}

#[test]
fn line_ends_of_windows_stay_and_a_last_line_without_one_stays_so() {
    let dos = "spec:\r\n  a: 1 # one\r\n  b: 2\r\n";
    assert_eq!(
        put(dos, "spec/removal", removal("delete")),
        "spec:\r\n  a: 1 # one\r\n  b: 2\r\n  removal:\r\n    reason: 'the site closes: see #12'\r\n    step: delete\r\n"
    );
    assert_eq!(cut(dos, "spec/a"), "spec:\r\n  b: 2\r\n");
    assert_eq!(put("spec:\n  a: 1", "spec/b", 2_i64), "spec:\n  a: 1\n  b: 2");
    assert_eq!(cut("spec:\n  a: 1\n  b: 2", "spec/b"), "spec:\n  a: 1");
}

#[test]
fn a_line_keeps_its_own_end_among_others() {
    let text = "spec:\n  variables: null\n  controlPlane: {replicas: 1}\r\n";
    let after = put(text, "spec/removal", removal("detach"));
    assert!(after.starts_with(text), "{after:?}");
    let text = "spec:\r\n  variables: null\r\n  controlPlane: {replicas: 1}\n";
    assert!(put(text, "spec/removal", removal("detach")).starts_with(text));
}

#[test]
fn values_change_between_one_line_and_many() {
    let mut map = Mapping::new();
    map.set("x", 1_i64);
    assert_eq!(put("a: 1 # why\nb: 2\n", "a", map.clone()), "a: # why\n  x: 1\nb: 2\n");
    assert_eq!(put("a: # why\n  x: 1\n  w: 2\nb: 2\n", "a", "z"), "a: z # why\nb: 2\n");
    assert_eq!(put("a:\nb: 2\n", "a", map.clone()), "a:\n  x: 1\nb: 2\n");
    assert_eq!(put("a:\nb: 2\n", "a", 3_i64), "a: 3\nb: 2\n");
    assert_eq!(put("a:\nb: 2\n", "a/c/d", 3_i64), "a:\n  c:\n    d: 3\nb: 2\n");
    assert_eq!(put("a: {}\n", "a/c", map), "a: { c: { x: 1 } }\n");
    assert_eq!(put("a: ~ # none\n", "a", Value::Null), "a: null # none\n");
    assert_eq!(put("a: 'it''s'\n", "a", "isn't"), "a: 'isn''t'\n");
}

#[test]
fn a_block_scalar_of_one_line_stays_one() {
    assert_eq!(put("a: >- # why\n    old\n\nb: 2\n", "a", "new"), "a: >- # why\n    new\n\nb: 2\n");
    assert_eq!(
        put("a: |-\r\n  old\r\n  # text\r\nb: 2\r\n", "b", "3"),
        "a: |-\r\n  old\r\n  # text\r\nb: '3'\r\n"
    );
    assert_eq!(put("a: |-\r\n  old\r\nb: 2\r\n", "a", "new: 1 #"), "a: |-\r\n  new: 1 #\r\nb: 2\r\n");
    assert_eq!(put("s:\n  a: >-\n     old", "s/a", "new"), "s:\n  a: >-\n     new");
    // Another value would end in a line break.
    assert_eq!(put("a: >\n  old\nb: 2\n", "a", "new"), "a: new\nb: 2\n");
    assert_eq!(put("a: >-\n  old\nb: 2\n", "a", Value::Null), "a: null\nb: 2\n");
}

#[test]
fn entries_go_from_every_kind_of_collection() {
    assert_eq!(cut("a: { x: 1, w: 2, z: 3 }\n", "a/x"), "a: { w: 2, z: 3 }\n");
    assert_eq!(cut("a: { x: 1, w: 2, z: 3 }\n", "a/w"), "a: { x: 1, z: 3 }\n");
    assert_eq!(cut("a: { x: 1, w: 2, z: 3 }\n", "a/z"), "a: { x: 1, w: 2 }\n");
    assert_eq!(cut("a: { x: 1 }\n", "a/x"), "a: {}\n");
    assert_eq!(cut("a: [{name: x}, {name: w}]\n", "a/=w"), "a: [{name: x}]\n");
    assert_eq!(cut("a:\n- name: x\n  b: 1\n- name: w\n", "a/=x/name"), "a:\n- b: 1\n- name: w\n");
    assert_eq!(cut("a:\n  # only\n  - name: x # this\n", "a/=x"), "a: []\n  # only\n");
    assert_eq!(cut("a: # all\n  -\n    name: x\n  - name: w\n", "a/=x"), "a: # all\n  - name: w\n");
}

#[test]
fn impossible_edits_are_refused_with_a_reason() {
    assert_eq!(refused("a: &x 1\nb: *x\n", "a"), "cannot edit `a`: the layout of the file is not supported");
    assert_eq!(refused("a: 1\n", "b"), "cannot edit `b`: there is no such value");
    assert_eq!(refused("a: 1\n", "a"), "cannot edit `a`: it is the only content of the file");
    assert_eq!(
        refused("a: [1, # one\n  {name: x}]\n", "a/=x"),
        "cannot edit `a[x]`: there is a comment between this entry and the next"
    );
}

#[test]
fn an_entry_is_removed_from_a_list_indented_like_its_key() {
    let wide = "spec:\n  nodePools:\n  - { name: md-1, class: w }\n  -   class: w\n      name: md-2\n";
    assert_eq!(cut(wide, "spec/nodePools/=md-1"), "spec:\n  nodePools:\n  -   class: w\n      name: md-2\n");
    assert_eq!(cut(wide, "spec/nodePools/=md-2"), "spec:\n  nodePools:\n  - { name: md-1, class: w }\n");
    let commented = wide.replace("class: w }\n", "class: w } # one\n");
    assert_eq!(
        cut(&commented, "spec/nodePools/=md-1"),
        "spec:\n  nodePools:\n  -   class: w\n      name: md-2\n"
    );
}

#[test]
fn a_key_gets_another_name_and_nothing_else_changes() {
    let named =
        |text: &str, at: &str, to: &str| done(text, |source, notes| rename(source, &path(at), to, notes));
    for (text, at, to, expected) in [
        ("a:   1  # one\nb: 2\n", "a", "c", "c:   1  # one\nb: 2\n"),
        ("v: { \"a\" : 1, b: 2 }\n", "v/a", "c", "v: { \"c\" : 1, b: 2 }\n"),
        (
            "l:\n- name: x\n  v:\n    # why\n    a:\n      - 1\n",
            "l/=x/v/a",
            "yes",
            "l:\n- name: x\n  v:\n    # why\n    'yes':\n      - 1\n",
        ),
    ] {
        assert_eq!(named(text, at, to), expected);
    }
    let (source, mut notes) = (source("a: 1\nb: 2\n"), Notes::new());
    assert_eq!(rename(&source, &path("a"), "b", &mut notes), None);
    assert_eq!(notes.sorted()[0].message, "cannot edit `a`: the key `b` already exists");
}

#[test]
fn a_value_below_its_key_stays_there() {
    let text = "spec:\n  release: # a\n    # b\n    'old' # c\n  kubernetes:\n    \"1.34\"\n";
    let edited = put(text, "spec/release", "new");
    assert_eq!(edited, text.replace("old", "new"));
    assert_eq!(put(&edited, "spec/kubernetes", "1.35"), edited.replace("1.34", "1.35"));
}
