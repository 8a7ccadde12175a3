//! Charts in classic repositories (an index and archives) and in registries (tags and manifests).

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Url;

use super::{
    LookupAnswer,
    helm::{self, Login},
    http::{Http, shown},
    images::known,
};
use crate::{
    io::oci::Registry,
    lock::{self, FoundChart, IMAGES, IndexEntry},
    model::{AddonVersion, Chart, ChartVersion, Digest, OciRepository},
    note::Fault,
    release::{ArtifactLayer, sha256},
};

/// The largest index, in bytes; the largest public ones have about 30 MB.
const INDEX_LIMIT: usize = 128 * 1024 * 1024;

/// The largest archive of a chart, in bytes. Helm's own limit for the unpacked chart is 100 MB.
const CHART_LIMIT: usize = 64 * 1024 * 1024;

/// The largest description of a chart, in bytes.
const DESCRIPTION_LIMIT: usize = 4 * 1024 * 1024;

/// A query to a repository: versions of charts, each with its known digest, if any.
#[derive(Clone, Debug, Default)]
pub struct ChartQuestion {
    /// The repository's address.
    pub repository: String,
    /// Versions and known digests, by the name of the chart.
    pub charts: BTreeMap<String, BTreeMap<AddonVersion, Option<Digest>>>,
}

/// Looks up charts in a repository. What is already known is not downloaded again.
pub fn charts(question: &ChartQuestion) -> LookupAnswer {
    let mut answer = LookupAnswer::default();
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

/// An opened classic repository.
struct Repository<'a> {
    http: &'a Http,
    /// The repository's address, with a slash at its end.
    base: Url,
    login: Option<Login>,
}

fn listed_digest(entry: &IndexEntry, key: &ChartVersion) -> Result<Option<Digest>, Fault> {
    let text = entry.digest.as_deref().filter(|text| !text.is_empty());
    let text = text.map(|text| format!("sha256:{}", text.trim_start_matches("sha256:")));
    text.map(|text| known(&text, &key.to_string())).transpose()
}

fn in_repository(question: &ChartQuestion, answer: &mut LookupAnswer) -> Result<(), Fault> {
    let address = &question.repository;
    let http = Http::open()?;
    let repository = Repository::open(address, &http)?;
    let names: BTreeSet<&str> = question.charts.keys().map(String::as_str).collect();
    let index = repository.index(&names)?;
    for (name, versions) in &question.charts {
        let chart = Chart { repository: address.clone(), name: name.clone() };
        let entries = index.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let entries: Vec<_> =
            entries.iter().filter_map(|one| Some((AddonVersion::parse(&one.version).ok()?, one))).collect();
        let available = entries.iter().map(|(version, _)| version.clone()).collect();
        answer.found.available.insert(chart.clone(), available);
        for (version, locked) in versions {
            let key = ChartVersion { chart: chart.clone(), version: version.clone() };
            let Some((_, entry)) = entries.iter().find(|(one, _)| one.is_same(version)) else {
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

impl<'a> Repository<'a> {
    fn open(address: &str, http: &'a Http) -> Result<Self, Fault> {
        let base = Url::parse(&format!("{address}/")).map_err(|error| {
            Fault::because(format!("`{address}` is not a valid address"), error)
                .hint("check `chart.repository`")
        })?;
        Ok(Self { http, login: helm::login(address)?, base })
    }

    fn index<'n>(&self, names: &BTreeSet<&'n str>) -> Result<BTreeMap<&'n str, Vec<IndexEntry>>, Fault> {
        let url = self.join("index.yaml")?;
        let bytes = self.http.get(&url, INDEX_LIMIT, self.login.as_ref())?;
        let wrong = |why: &str| {
            Fault::new(format!("`{}` is not the index of a chart repository: {why}", shown(&url)))
                .hint("check that the address is the one of a Helm repository; write a registry as `oci://…`")
        };
        let text = std::str::from_utf8(&bytes).map_err(|_| wrong("it is not text"))?;
        lock::index(text, names).map_err(|why| wrong(&why))
    }

    fn chart(
        &self,
        key: &ChartVersion,
        entry: &IndexEntry,
        locked: Option<&Digest>,
    ) -> Result<FoundChart, Fault> {
        let (digest, values) = match listed_digest(entry, key)? {
            Some(said) if Some(&said) == locked => (said, None),
            said => {
                let (digest, archive) = self.download(key, entry, said.as_ref())?;
                (digest, Some(lock::values::describe(&archive)))
            }
        };
        let images = match &entry.images {
            Some(text) => named_images(text, key)?,
            None => BTreeSet::new(),
        };
        Ok(FoundChart { digest, images: Some(images), values })
    }

    /// Downloads the archive. It must match the digest in the index, if there is one.
    fn download(
        &self,
        key: &ChartVersion,
        entry: &IndexEntry,
        said: Option<&Digest>,
    ) -> Result<(Digest, Vec<u8>), Fault> {
        let Some(address) = entry.urls.first() else {
            return Err(Fault::new(format!("the index has no address for {key}"))
                .hint("ask the publisher to rebuild the index"));
        };
        let url = self.join(address)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Fault::new(format!("the archive of {key} is in a registry"))
                .hint("write `chart.repository` as in the index, without the name of the chart: `oci://…`"));
        }
        // A login is sent only to the host it belongs to.
        let own = url.origin() == self.base.origin();
        let bytes = self.http.get(&url, CHART_LIMIT, self.login.as_ref().filter(|_| own))?;
        let found = known(&sha256(&bytes), &key.to_string())?;
        match said {
            Some(said) if *said != found => {
                Err(Fault::new(format!("the archive of {key} is `{found}`, but its index says `{said}`"))
                    .hint("it was changed in the repository, or on the way from it, and is not used"))
            }
            _ => Ok((found, bytes)),
        }
    }

    fn join(&self, address: &str) -> Result<Url, Fault> {
        self.base.join(address).map_err(|error| {
            Fault::because(format!("`{address}` of `{}` is not a valid address", shown(&self.base)), error)
                .hint("ask the publisher to rebuild the index")
        })
    }
}

fn named_images(text: &str, key: &ChartVersion) -> Result<BTreeSet<String>, Fault> {
    lock::annotated_images(text).map_err(|why| {
        Fault::new(format!("the annotation `{IMAGES}` of {key} cannot be read: {why}"))
            .hint("ask the publisher to correct it")
    })
}

fn in_registry(
    chart: &Chart,
    versions: &BTreeMap<AddonVersion, Option<Digest>>,
    answer: &mut LookupAnswer,
) -> Result<(), Fault> {
    let repository = oci_repository(chart)?;
    let registry = Registry::open(&repository)?;
    let tags = registry.tags()?;
    let available = tags.iter().filter_map(|tag| AddonVersion::of_tag(tag).ok());
    answer.found.available.insert(chart.clone(), available.collect());
    for (version, locked) in versions {
        let key = ChartVersion { chart: chart.clone(), version: version.clone() };
        match in_manifest(&registry, &key, &version.tag(), locked.as_ref()) {
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
        return Ok(Some(FoundChart { digest, images: None, values: None }));
    }
    let wrong = || {
        Fault::new(format!("`{digest}` is not the manifest of a chart")).hint("check what is published there")
    };
    let manifest = registry.manifest(digest.as_str())?;
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).map_err(|_| wrong())?;
    let layer = described(&manifest["config"], DESCRIPTION_LIMIT).ok_or_else(wrong)?;
    let description = registry.layer(digest.as_str(), &layer)?;
    let description: serde_json::Value = serde_json::from_slice(&description).map_err(|_| wrong())?;
    let images = match description["annotations"][IMAGES].as_str() {
        Some(text) => named_images(text, key)?,
        None => BTreeSet::new(),
    };
    let (_, archive) = archive_in_registry(key, Some(&digest))?;
    let values = Some(lock::values::describe(&archive));
    Ok(Some(FoundChart { digest, images: Some(images), values }))
}

/// The media type of the layer that holds a chart's archive.
const ARCHIVE: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// Downloads the archive of a chart. It must match the locked digest, if there is one.
pub fn chart_archive(key: &ChartVersion, locked: Option<&Digest>) -> Result<Vec<u8>, Fault> {
    let (found, bytes) = if key.chart.repository.starts_with("oci://") {
        archive_in_registry(key, locked)?
    } else {
        archive_in_repository(key)?
    };
    match locked {
        Some(locked) if *locked != found => {
            Err(Fault::new(format!("{key} is now `{found}`, but the release was made with `{locked}`"))
                .hint("other content was published under the same version: ask the publisher"))
        }
        _ => Ok(bytes),
    }
}

fn missing(key: &ChartVersion) -> Fault {
    Fault::new(format!("there is no {key}")).hint("check the repository, and the versions of the addon")
}

fn archive_in_repository(key: &ChartVersion) -> Result<(Digest, Vec<u8>), Fault> {
    let http = Http::open()?;
    let repository = Repository::open(&key.chart.repository, &http)?;
    let index = repository.index(&BTreeSet::from([key.chart.name.as_str()]))?;
    let mut entries = index.values().flatten();
    let is_meant = |one: &AddonVersion| one.is_same(&key.version);
    let entry = entries.find(|entry| AddonVersion::parse(&entry.version).is_ok_and(|one| is_meant(&one)));
    let entry = entry.ok_or_else(|| missing(key))?;
    repository.download(key, entry, listed_digest(entry, key)?.as_ref())
}

fn archive_in_registry(key: &ChartVersion, locked: Option<&Digest>) -> Result<(Digest, Vec<u8>), Fault> {
    let repository = oci_repository(&key.chart)?;
    let registry = Registry::open(&repository)?;
    let digest = match locked {
        Some(digest) => digest.clone(),
        None => {
            let text = registry.digest_of(&key.version.tag())?.ok_or_else(|| missing(key))?;
            known(&text, &key.to_string())?
        }
    };
    let wrong = || {
        Fault::new(format!("`{digest}` is not the manifest of a chart")).hint("check what is published there")
    };
    let manifest: serde_json::Value =
        serde_json::from_slice(&registry.manifest(digest.as_str())?).map_err(|_| wrong())?;
    let layers = manifest["layers"].as_array().into_iter().flatten();
    let layer = layers.into_iter().find(|layer| layer["mediaType"] == ARCHIVE).ok_or_else(wrong)?;
    let layer = described(layer, CHART_LIMIT).ok_or_else(wrong)?;
    let bytes = registry.layer(digest.as_str(), &layer)?;
    Ok((digest, bytes))
}

/// The layer that a manifest describes, if it is not too large.
fn described(descriptor: &serde_json::Value, limit: usize) -> Option<ArtifactLayer> {
    let size = usize::try_from(descriptor["size"].as_u64()?).ok().filter(|size| *size <= limit)?;
    Some(ArtifactLayer { digest: descriptor["digest"].as_str()?.to_owned(), size })
}

fn oci_repository(chart: &Chart) -> Result<OciRepository, Fault> {
    let address = format!("{}/{}", chart.repository, chart.name);
    OciRepository::parse(&address)
        .map_err(|why| Fault::new(why).hint("check `chart.repository` and `chart.name`"))
}
