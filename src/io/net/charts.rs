//! Charts: in classic repositories, which have an index and archives, and in registries, which have tags and manifests.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Url;
use semver::Version;

use super::{
    Answer,
    helm::{self, Login},
    http::{Http, shown},
    images::known,
};
use crate::{
    io::oci::Registry,
    lock::{self, FoundChart, IMAGES, IndexEntry},
    model::{Chart, ChartVersion, Digest, OciRepository},
    note::Fault,
    release::{Layer, sha256},
};

/// The longest index; the largest public ones have some 30 MB.
const INDEX_LIMIT: usize = 128 * 1024 * 1024;

/// The longest archive of a chart; Helm's own limit for what it unpacks is 100 MB.
const CHART_LIMIT: usize = 64 * 1024 * 1024;

/// The longest description of a chart.
const DESCRIPTION_LIMIT: usize = 4 * 1024 * 1024;

/// What is asked of a repository: versions of charts, each with the digest that is known.
#[derive(Clone, Debug, Default)]
pub struct ChartQuestion {
    /// The repository's address.
    pub repository: String,
    /// By chart and version.
    pub charts: BTreeMap<String, BTreeMap<Version, Option<Digest>>>,
}

/// What a repository says of its charts. What is known already is not downloaded again.
pub fn charts(question: &ChartQuestion) -> Answer {
    let mut answer = Answer::default();
    if question.repository.starts_with("oci://") {
        for (name, versions) in &question.charts {
            let chart = Chart { repository: question.repository.clone(), name: name.clone() };
            if let Err(fault) = in_registry(&chart, versions, &mut answer) {
                answer.faults.push(fault);
            }
        }
    } else if let Err(fault) = in_repository(question, &mut answer) {
        answer.faults.push(fault);
    }
    answer
}

/// A classic repository that was opened.
struct Repository<'a> {
    http: &'a Http,
    /// Its address, with a slash at its end.
    base: Url,
    login: Option<Login>,
}

fn in_repository(question: &ChartQuestion, answer: &mut Answer) -> Result<(), Fault> {
    let address = &question.repository;
    let wrong = |error| {
        Fault::because(format!("`{address}` is no address"), error).hint("look at `chart.repository`")
    };
    let http = Http::open()?;
    let base = Url::parse(&format!("{address}/")).map_err(wrong)?;
    let repository = Repository { http: &http, login: helm::login(address)?, base };
    let names: BTreeSet<&str> = question.charts.keys().map(String::as_str).collect();
    let index = repository.index(&names)?;
    for (name, versions) in &question.charts {
        let chart = Chart { repository: address.clone(), name: name.clone() };
        let entries = index.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let entries: Vec<_> = entries.iter().filter_map(|one| Some((exact(&one.version)?, one))).collect();
        let available = entries.iter().map(|(version, _)| version.clone()).collect();
        answer.found.available.insert(chart.clone(), available);
        for (version, locked) in versions {
            let key = ChartVersion { chart: chart.clone(), version: version.clone() };
            let Some((_, entry)) = entries.iter().find(|(one, _)| one == version) else {
                answer.found.missing.insert(key);
                continue;
            };
            match repository.chart(&key, entry, locked.as_ref()) {
                Ok(found) => drop(answer.found.charts.insert(key, found)),
                Err(fault) => answer.faults.push(fault),
            }
        }
    }
    Ok(())
}

/// A version as written in an index or a tag.
fn exact(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

impl Repository<'_> {
    fn index<'n>(&self, names: &BTreeSet<&'n str>) -> Result<BTreeMap<&'n str, Vec<IndexEntry>>, Fault> {
        let url = self.join("index.yaml")?;
        let bytes = self.http.get(&url, INDEX_LIMIT, self.login.as_ref())?;
        let wrong = |why: &str| {
            Fault::new(format!("`{}` is no index of a repository of charts: {why}", shown(&url))).hint(
                "look whether the address is that of a Helm repository; a registry is written `oci://…`",
            )
        };
        let text = std::str::from_utf8(&bytes).map_err(|_| wrong("it is no text"))?;
        lock::index(text, names).map_err(|why| wrong(&why))
    }

    fn chart(
        &self,
        key: &ChartVersion,
        entry: &IndexEntry,
        locked: Option<&Digest>,
    ) -> Result<FoundChart, Fault> {
        let said = match entry.digest.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => {
                Some(known(&format!("sha256:{}", text.trim_start_matches("sha256:")), &key.to_string())?)
            }
            None => None,
        };
        let digest = match said {
            Some(said) if Some(&said) == locked => said,
            said => self.download(key, entry, said)?,
        };
        let images = match &entry.images {
            Some(text) => named_images(text, key)?,
            None => BTreeSet::new(),
        };
        Ok(FoundChart { digest, images: Some(images) })
    }

    /// The digest of the archive, which must be what the index says, if it says anything.
    fn download(
        &self,
        key: &ChartVersion,
        entry: &IndexEntry,
        said: Option<Digest>,
    ) -> Result<Digest, Fault> {
        let Some(address) = entry.urls.first() else {
            return Err(Fault::new(format!("the index says no address for {key}"))
                .hint("ask those who publish it to make the index anew"));
        };
        let url = self.join(address)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Fault::new(format!("the archive of {key} lies in a registry")).hint(
                "write `chart.repository` as the index has it, without the name of the chart: `oci://…`",
            ));
        }
        // A login is for the host that it was given for.
        let own = url.origin() == self.base.origin();
        let bytes = self.http.get(&url, CHART_LIMIT, self.login.as_ref().filter(|_| own))?;
        let found = known(&sha256(&bytes), &key.to_string())?;
        match said {
            Some(said) if said != found => {
                Err(Fault::new(format!("the archive of {key} is `{found}`, and its index says `{said}`"))
                    .hint("the repository, or something on the way to it, changed it: nothing was taken"))
            }
            _ => Ok(found),
        }
    }

    fn join(&self, address: &str) -> Result<Url, Fault> {
        self.base.join(address).map_err(|error| {
            Fault::because(format!("`{address}` of `{}` is no address", shown(&self.base)), error)
                .hint("ask those who publish it to make the index anew")
        })
    }
}

fn named_images(text: &str, key: &ChartVersion) -> Result<BTreeSet<String>, Fault> {
    lock::annotated_images(text).map_err(|why| {
        Fault::new(format!("the annotation `{IMAGES}` of {key} cannot be read: {why}"))
            .hint("ask those who publish it")
    })
}

fn in_registry(
    chart: &Chart,
    versions: &BTreeMap<Version, Option<Digest>>,
    answer: &mut Answer,
) -> Result<(), Fault> {
    let address = format!("{}/{}", chart.repository, chart.name);
    let repository = OciRepository::parse(&address)
        .map_err(|why| Fault::new(why).hint("look at `chart.repository` and `chart.name`"))?;
    let registry = Registry::open(&repository)?;
    let tags = registry.tags()?;
    let available = tags.iter().filter_map(|tag| Version::parse(&tag.replacen('_', "+", 1)).ok());
    answer.found.available.insert(chart.clone(), available.collect());
    for (version, locked) in versions {
        let key = ChartVersion { chart: chart.clone(), version: version.clone() };
        // A tag holds no plus sign; Helm writes an underscore there.
        let tag = version.to_string().replace('+', "_");
        match in_manifest(&registry, &key, &tag, locked.as_ref()) {
            Ok(Some(found)) => drop(answer.found.charts.insert(key, found)),
            Ok(None) => drop(answer.found.missing.insert(key)),
            Err(fault) => answer.faults.push(fault),
        }
    }
    Ok(())
}

fn in_manifest(
    registry: &Registry,
    key: &ChartVersion,
    tag: &str,
    locked: Option<&Digest>,
) -> Result<Option<FoundChart>, Fault> {
    let Some(text) = registry.digest_of(tag)? else { return Ok(None) };
    let digest = known(&text, &key.to_string())?;
    if locked == Some(&digest) {
        return Ok(Some(FoundChart { digest, images: None }));
    }
    let wrong = || {
        Fault::new(format!("`{digest}` is no manifest of a chart")).hint("look at what is published there")
    };
    let manifest = registry.manifest(digest.as_str())?;
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).map_err(|_| wrong())?;
    let config = &manifest["config"];
    let size = config["size"].as_u64().and_then(|size| usize::try_from(size).ok());
    let size = size.filter(|size| *size <= DESCRIPTION_LIMIT).ok_or_else(wrong)?;
    let layer = Layer { digest: config["digest"].as_str().ok_or_else(wrong)?.to_owned(), size };
    let description = registry.layer(digest.as_str(), &layer)?;
    let description: serde_json::Value = serde_json::from_slice(&description).map_err(|_| wrong())?;
    let images = match description["annotations"][IMAGES].as_str() {
        Some(text) => named_images(text, key)?,
        None => BTreeSet::new(),
    };
    Ok(Some(FoundChart { digest, images: Some(images) }))
}
