//! Reads the built-in data. A test ensures that this always succeeds.

use serde::Deserialize;

use super::{EndOfLife, FactSource, Knowledge, KnownComponent, Row, Skew};
use crate::{
    model::{Chart, Date, Minor, VersionRange},
    note::Notes,
    yaml::{self, FileId, Source, to_json},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Minors {
    minors: Vec<WrittenMinor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WrittenMinor {
    minor: String,
    end_of_life: String,
    source: String,
    looked_up: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Skews {
    rules: Vec<WrittenSkew>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WrittenSkew {
    name: String,
    minors: u64,
    source: String,
    looked_up: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Components {
    components: Vec<WrittenComponent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenComponent {
    name: String,
    title: String,
    claim: String,
    charts: Vec<WrittenChart>,
    rows: Vec<WrittenRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenChart {
    repository: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WrittenRow {
    versions: String,
    kubernetes: String,
    since: Option<Vec<Since>>,
    source: String,
    looked_up: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    minor: String,
    version: String,
}

pub(super) fn read() -> Knowledge {
    let minors: Minors = parse("kubernetes.yaml", include_str!("data/kubernetes.yaml"));
    let components: Components = parse("components.yaml", include_str!("data/components.yaml"));
    let skews: Skews = parse("skew.yaml", include_str!("data/skew.yaml"));
    let knowledge = || -> Result<Knowledge, String> {
        Ok(Knowledge {
            minors: minors.minors.into_iter().map(end_of_life).collect::<Result<_, _>>()?,
            components: components.components.into_iter().map(component).collect::<Result<_, _>>()?,
            skews: skews.rules.into_iter().map(skew).collect::<Result<_, _>>()?,
        })
    };
    knowledge().unwrap_or_else(|wrong| panic!("the built-in data is wrong: {wrong}"))
}

fn parse<T: for<'de> Deserialize<'de>>(name: &str, text: &str) -> T {
    let mut notes = Notes::new();
    let node = yaml::read(&Source::new(FileId(0), name, text.to_owned()), &mut notes);
    let node = node.unwrap_or_else(|| panic!("{name} is not valid YAML: {:?}", notes.sorted()));
    serde_json::from_value(to_json(&node)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn end_of_life(written: WrittenMinor) -> Result<EndOfLife, String> {
    found(written.source, &written.looked_up)?;
    Ok(EndOfLife { minor: minor(&written.minor)?, date: date(&written.end_of_life)? })
}

fn skew(written: WrittenSkew) -> Result<Skew, String> {
    found(written.source, &written.looked_up)?;
    Ok(Skew { name: written.name, minors: written.minors })
}

fn component(written: WrittenComponent) -> Result<KnownComponent, String> {
    let WrittenComponent { name, title, claim, charts, rows } = written;
    let charts =
        charts.into_iter().map(|WrittenChart { repository, name }| Chart { repository, name }).collect();
    let rows = rows.into_iter().map(row).collect::<Result<_, _>>()?;
    Ok(KnownComponent { name, title, claim, charts, rows })
}

fn row(written: WrittenRow) -> Result<Row, String> {
    let since = |Since { minor: text, version }| {
        let version = semver::Version::parse(&version).map_err(|error| format!("{version}: {error}"))?;
        Ok::<_, String>((minor(&text)?, version))
    };
    Ok(Row {
        versions: VersionRange::parse(&written.versions)?,
        kubernetes: VersionRange::parse(&written.kubernetes)?,
        since: written.since.unwrap_or_default().into_iter().map(since).collect::<Result<_, _>>()?,
        found: found(written.source, &written.looked_up)?,
    })
}

fn found(source: String, looked_up: &str) -> Result<FactSource, String> {
    if !source.starts_with("https://") {
        return Err(format!("`{source}` is not a public address"));
    }
    Ok(FactSource { source, looked_up: date(looked_up)? })
}

fn minor(text: &str) -> Result<Minor, String> {
    Minor::parse(text).ok_or_else(|| format!("`{text}` is not a minor"))
}

fn date(text: &str) -> Result<Date, String> {
    Date::parse(text).ok_or_else(|| format!("`{text}` is not a date"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knowledge::{Fit, cluster_api, control_plane_step, installed_by},
        model::KubernetesVersion,
    };

    #[test]
    fn the_data_is_in_order_and_says_nothing_twice() {
        let knowledge = read();
        assert!(knowledge.minors.is_sorted_by(|a, b| a.minor < b.minor && a.date < b.date));
        let follows = |a: Minor, b: Minor| a.major == b.major && a.minor + 1 == b.minor;
        let mut pairs = knowledge.minors.windows(2);
        assert!(pairs.all(|pair| follows(pair[0].minor, pair[1].minor)), "a minor is missing");
        assert!(knowledge.components.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(control_plane_step(), 1);
        for component in &knowledge.components {
            let name = &component.name;
            assert!(!component.rows.is_empty() && !component.claim.is_empty(), "{name}");
            assert!(component.charts.iter().all(|chart| !chart.repository.ends_with('/')), "{name}");
            // Every possible version is in one row at most, and rows are ordered from oldest to newest.
            let versions = (0..100).flat_map(|minor| {
                (1..4).flat_map(move |major| [0, 50].map(|patch| semver::Version::new(major, minor, patch)))
            });
            let row = |version: &semver::Version| {
                let mut rows =
                    component.rows.iter().enumerate().filter(|(_, row)| row.versions.contains(version));
                let found = rows.next().map(|(at, _)| at);
                assert!(rows.next().is_none(), "{name} {version} is in two rows");
                found
            };
            let mut all: Vec<_> = versions.filter_map(|version| Some((row(&version)?, version))).collect();
            all.sort_by(|a, b| a.1.cmp(&b.1));
            assert!(all.is_sorted_by_key(|(at, _)| *at), "{name}");
            let used: std::collections::BTreeSet<_> = all.iter().map(|(at, _)| *at).collect();
            assert_eq!(used.len(), component.rows.len(), "{name} has a row that holds no version");
            for row in &component.rows {
                let minors: Vec<_> = (20..60)
                    .filter(|minor| row.kubernetes.contains(&semver::Version::new(1, *minor, 3)))
                    .collect();
                assert!(!minors.is_empty(), "{name} {} fits nothing", row.versions);
                let is_in = |(minor, version): &(Minor, semver::Version)| {
                    minors.contains(&minor.minor) && row.versions.contains(version)
                };
                assert!(row.since.iter().all(is_in), "{name} {}", row.versions);
            }
        }
    }

    #[test]
    fn versions_are_looked_up_by_chart_and_by_what_the_fleet_says() {
        let chart = |repository: &str| Chart { repository: repository.to_owned(), name: "cilium".to_owned() };
        let cilium = installed_by(&chart("https://helm.cilium.io")).unwrap();
        assert!(installed_by(&chart("https://charts.example.org")).is_none());
        let version = |text| semver::Version::parse(text).unwrap();
        let kubernetes = |text| KubernetesVersion::parse(text).unwrap();
        let fits =
            |text, minor| matches!(cilium.fit(&version(text), true, &kubernetes(minor), &[]), Fit::Fits);
        assert!(fits("1.18.9", "1.33.4") && !fits("1.18.9", "1.34.0"));
        assert!(fits("1.2.3", "1.34.0"), "nothing is known of it");
        let core = |text, exact| cluster_api().fit(&version(text), exact, &kubernetes("1.36.1"), &[]);
        assert!(matches!(core("1.12.7", true), Fit::Since(_, since) if *since == version("1.12.8")));
        assert!(
            matches!(core("1.12.0", false), Fit::Fits) && matches!(core("1.11.0", false), Fit::Unlisted(_))
        );
    }
}
