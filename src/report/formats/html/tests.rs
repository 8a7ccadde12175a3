//! Tests a page that would be too large.

use super::*;
use crate::{
    compare::{FieldChange, FieldPath, PathSegment},
    model::{ClusterId, Label},
    report::{
        change::{CausingField, Change, Effect, Revert, Subject},
        cluster::{ClusterReport, Sides},
        group,
    },
};

/// A cluster with many long fields that no other has.
fn cluster(name: &str) -> ClusterReport {
    let label = |text: &str| Label::new(text).unwrap();
    let field = |at: usize| FieldChange {
        path: FieldPath(vec![PathSegment::Key(format!("field{at}"))]),
        before: None,
        // The length differs per cluster; if only the names differed, the clusters would be grouped.
        after: Some("x".repeat(1_000 + usize::from(name.as_bytes()[0])).into()),
    };
    let changed = Change::new(Subject::Cluster, Effect::Changed, Risk::InPlace, Revert::Undoes);
    ClusterReport {
        cluster: ClusterId { management: label("m"), namespace: label("n"), name: label(name) },
        has_namesake: false,
        owners: Vec::new(),
        release: Sides::default(),
        kubernetes: Sides::default(),
        risk: Risk::InPlace,
        changes: vec![Change { fields: (0..200).map(field).collect(), ..changed }],
        steps: Vec::new(),
        pools_at_once: 0,
        notes: Vec::new(),
    }
}

#[test]
fn a_large_page_loses_values_and_fields_and_never_a_cluster_or_a_count() {
    let clusters: Vec<ClusterReport> = ["a", "b", "c"].map(cluster).into();
    let groups = group::groups(&clusters);
    let report = Report { total: 3, clusters, groups, ..Report::default() };
    let notes = Notes::new();
    let page = Page { report: Some(&report), compared: "before", notes: &notes };
    let rows = |limit: usize| {
        let made = below(&page, limit);
        for name in ["n/a", "n/b", "n/c"] {
            assert!(made.contains(&format!(">{name}</h3>")), "{limit}: {name}");
        }
        assert_eq!(made.matches("200 fields").count(), 3, "{limit}");
        (made.len(), made.matches("<th scope=\"row\"><code>").count())
    };
    assert_eq!(rows(LIMIT).1, 600);
    let (size, shown) = rows(200_000);
    assert!(size <= 200_000 && shown < 600 && shown > 0, "{size} {shown}");
    assert_eq!(rows(0).1, 0);
}

/// Ten thousand clusters with a different change each: the page stays below its limit and still names them all.
#[test]
fn the_page_of_a_large_fleet_can_be_opened() {
    const COUNT: usize = 10_000;
    let one = |at: usize| {
        let mut one = cluster(&format!("prod-eu-central-{at:05}"));
        let text = |what: &str| format!("{what} {at}: {}", "a long reason ".repeat(45));
        let refused = Change::new(Subject::Whole, Effect::Refused, Risk::Refused, Revert::Nothing);
        one.changes = vec![
            Change { reasons: ["first", "second", "third"].map(text).into(), ..refused },
            Change {
                fields: [].into(),
                causes: vec![CausingField { field: text("spec"), is_name: false }],
                ..one.changes.remove(0)
            },
        ];
        one.risk = Risk::Refused;
        one
    };
    let clusters: Vec<ClusterReport> = (0..COUNT).map(one).collect();
    let groups = group::groups(&clusters);
    assert_eq!(groups.len(), COUNT);
    let report = Report { total: COUNT, clusters, groups, ..Report::default() };
    let notes = Notes::new();
    let made = html(&Page { report: Some(&report), compared: "before", notes: &notes });
    assert!(made.len() <= LIMIT, "{}", made.len());
    assert_eq!(made.matches("n/prod-eu-central-").count(), COUNT + made.matches("</h3>").count());
    assert!(made.contains("more changes of 9500 clusters, which"), "folded");
}
