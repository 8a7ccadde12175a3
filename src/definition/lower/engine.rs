//! Lowers the engine settings of a management cluster: how Argo CD applies the tree, decryption, and the addon delivery.

use super::{fleet::One, label};
use crate::{
    definition as written,
    model::{
        AddonDelivery, ArgoCd, ClusterNames, Decryption, Destination, Engine, EngineSource, Registration,
        address,
    },
    note::{Notes, Place},
};

impl One<'_> {
    pub(super) fn argocd(&self, engine: Engine, notes: &mut Notes) -> Option<ArgoCd> {
        let mut argocd = ArgoCd::default();
        let Some(written) = &self.management.argocd else { return Some(argocd) };
        let before = notes.errors();
        if engine != Engine::ArgoCd {
            notes
                .error("engine", self.place(&["argocd"]), "`argocd` has no effect: the engine is Flux")
                .hint("add `engine: argocd`, or remove `argocd`");
        }
        if let Some(namespace) = written.namespace.as_ref().and_then(|namespace| {
            label(namespace, "the namespace", Some(self.place(&["argocd", "namespace"])), notes)
        }) {
            argocd.namespace = namespace;
        }
        if let Some(project) = written
            .project
            .as_ref()
            .and_then(|project| self.subdomain(project, "the project", &["argocd", "project"], notes))
        {
            argocd.project = project;
        }
        if let Some(destination) = written.destination.as_ref().and_then(|text| self.destination(text, notes))
        {
            argocd.destination = destination;
        }
        if let Some(names) = written.cluster_names.as_ref().and_then(|text| self.cluster_names(text, notes)) {
            argocd.cluster_names = names;
        }
        argocd.registration = written.registration.map(|registration| match registration {
            written::Registration::Capi2argo => Registration::Capi2argo,
            written::Registration::Other => Registration::Other,
        });
        argocd.automated = written.automated.unwrap_or(true);
        (notes.errors() == before).then_some(argocd)
    }

    fn destination(&self, text: &str, notes: &mut Notes) -> Option<Destination> {
        if text.chars().all(|c| !c.is_whitespace() && !c.is_control() && !"*@\"'".contains(c)) {
            let is_address = text.contains("://");
            if !is_address || text.starts_with("https://") {
                let make = if is_address { Destination::Server } else { Destination::Name };
                return Some(make(text.to_owned()));
            }
        }
        notes
            .error(
                "engine",
                self.place(&["argocd", "destination"]),
                format!("`{}` is not the name or the address of a cluster", text.escape_debug()),
            )
            .hint("run `argocd cluster list` to see the names and the addresses that Argo CD knows");
        None
    }

    fn cluster_names(&self, pattern: &str, notes: &mut Notes) -> Option<ClusterNames> {
        let names = ClusterNames::new(pattern);
        if names.is_none() {
            notes
                .error(
                    "engine",
                    self.place(&["argocd", "clusterNames"]),
                    format!("`{}` is not a pattern for names of clusters", pattern.escape_debug()),
                )
                .hint(format!(
                    "it must contain `{{cluster}}`; it may contain {}, and letters, digits, dots, dashes and underscores",
                    ClusterNames::PLACEHOLDERS.map(|one| format!("`{one}`")).join(", ")
                ));
        }
        names
    }

    #[expect(clippy::option_option, reason = "an error is `None`, a missing setting `Some(None)`")]
    pub(super) fn decryption(&self, engine: Engine, notes: &mut Notes) -> Option<Option<Decryption>> {
        let Some(decryption) = &self.management.decryption else { return Some(None) };
        let written::DecryptionProvider::Sops = decryption.provider;
        let secret = match &decryption.secret {
            None => None,
            Some(secret) => Some(self.subdomain(secret, "the Secret", &["decryption", "secret"], notes)?),
        };
        let plugin = decryption.plugin.clone();
        let wrong = match engine {
            Engine::Flux if plugin.is_some() => Some(("plugin", "Flux decrypts without a plugin")),
            Engine::ArgoCd if secret.is_some() => Some((
                "secret",
                "Argo CD decrypts nothing itself, so it has no use for the Secret with the keys",
            )),
            Engine::ArgoCd if plugin.is_none() => {
                Some(("provider", "Argo CD decrypts nothing itself: it needs a config management plugin"))
            }
            Engine::Flux | Engine::ArgoCd => None,
        };
        if let Some((key, message)) = wrong {
            notes.error("engine", self.place(&["decryption", key]), message).hint(match engine {
                Engine::Flux => "remove `plugin`",
                Engine::ArgoCd => {
                    "name the plugin: `decryption: { provider: sops, plugin: <name> }`; it holds the keys"
                }
            });
            return None;
        }
        Some(Some(Decryption { provider: "sops", secret, plugin }))
    }

    pub(super) fn addon_delivery(&self, engine: Engine, notes: &mut Notes) -> Option<AddonDelivery> {
        let spec = &self.written.value.spec;
        let Some(delivery) = self.management.addon_delivery.as_ref().or(spec.addon_delivery.as_ref()) else {
            return Some(AddonDelivery::of(engine));
        };
        let place = Some(self.place(&["addonDelivery"]));
        delivery_of(delivery, engine, place, notes)
    }

    /// Checks that the engine can read the source. Argo CD reads git by address, with credentials that are registered there.
    pub(super) fn check_engine_reads(
        &self,
        source: &EngineSource,
        engine: Engine,
        delivery: Option<AddonDelivery>,
        notes: &mut Notes,
    ) -> Option<()> {
        let is_read_by_flux = delivery.and_then(AddonDelivery::engine) == Some(Engine::Flux);
        if let EngineSource::Git { url, .. } = source
            && let Some(long) = address::with_scheme(url)
            && (engine == Engine::Flux || is_read_by_flux)
        {
            let message =
                format!("`{url}` is not an address that Flux can read: it needs the scheme `ssh://`");
            notes.error("source", self.place(&["source", "url"]), message).hint(format!("write `{long}`"));
            return None;
        }
        let (key, message, hint) = match (engine, source) {
            (Engine::ArgoCd, EngineSource::Existing { .. }) => (
                "ref",
                "Argo CD reads no source object: it needs the address of the repository",
                "write `source: { url: https://…, branch: main }`",
            ),
            _ => return Some(()),
        };
        notes.error("engine", self.place(&["source", key]), message).hint(hint);
        None
    }
}

/// Looks up the addon delivery with this name, and checks that it works with the engine.
pub(super) fn delivery_of(
    word: &str,
    engine: Engine,
    place: Option<Place>,
    notes: &mut Notes,
) -> Option<AddonDelivery> {
    let delivery = AddonDelivery::of_word(word)?;
    let Some(needed) = delivery.needs().filter(|needed| *needed != engine) else { return Some(delivery) };
    let usual = AddonDelivery::of(engine).as_str();
    let message = format!("`{word}` needs {}, and the engine is {}", needed.as_str(), engine.as_str());
    let hint = match needed {
        Engine::ArgoCd => format!("add `engine: argocd`, or write `addonDelivery: {usual}`"),
        Engine::Flux => format!("add `engine: flux`, or write `addonDelivery: {usual}`"),
    };
    notes.error("engine", place, message).hint(hint);
    None
}
