//! Lowers what depends on the engine of a management cluster: decryption, the addon delivery, and which sources it reads.

use super::fleet::ManagementLowering;
use crate::{
    definition as written,
    model::{AddonDelivery, Decryption, Engine, EngineSource, address},
    note::{Notes, Place},
};

impl ManagementLowering<'_> {
    #[expect(clippy::option_option, reason = "an error is `None`, a missing setting `Some(None)`")]
    pub(super) fn decryption(&self, engine: Engine, notes: &mut Notes) -> Option<Option<Decryption>> {
        let Some(decryption) = &self.management.decryption else { return Some(None) };
        let written::DecryptionProvider::Sops = decryption.provider;
        let secret = match &decryption.secret {
            None => None,
            Some(secret) => Some(self.subdomain(secret, "the Secret", &["decryption", "secret"], notes)?),
        };
        let plugin = decryption.plugin.clone();
        let name = engine.as_str();
        let wrong = match engine.decrypts() {
            true if plugin.is_some() => Some(("plugin", format!("{name} decrypts without a plugin"))),
            false if secret.is_some() => Some((
                "secret",
                format!("{name} decrypts nothing itself, so it has no use for the Secret with the keys"),
            )),
            false if plugin.is_none() => Some((
                "provider",
                format!("{name} decrypts nothing itself: it needs a config management plugin"),
            )),
            true | false => None,
        };
        if let Some((key, message)) = wrong {
            notes.error("engine", self.place(&["decryption", key]), message).hint(if engine.decrypts() {
                "remove `plugin`"
            } else {
                "name the plugin: `decryption: { provider: sops, plugin: <name> }`; it holds the keys"
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

    /// Checks that the engine can read the source, and also that of a delivery that reads the repository itself.
    pub(super) fn check_engine_reads(
        &self,
        source: &EngineSource,
        engine: Engine,
        delivery: Option<AddonDelivery>,
        notes: &mut Notes,
    ) -> Option<()> {
        let mut readers = std::iter::once(engine).chain(delivery.and_then(AddonDelivery::engine));
        match source {
            EngineSource::Git { url, .. } => {
                for reader in readers.clone() {
                    if let Some(special) = url.chars().find(|c| reader.special_in_addresses().contains(c)) {
                        let name = reader.as_str();
                        let message = format!(
                            "`{url}` is not an address that {name} takes as it is: in its projects, `{special}` has a meaning"
                        );
                        let place = self.place(&["source", "url"]);
                        notes.error("source", place, message).hint(SPECIAL_HINT);
                        return None;
                    }
                }
                let Some(long) = address::with_scheme(url) else { return Some(()) };
                let Some(reader) = readers.find(|one| one.needs_scheme()) else { return Some(()) };
                let name = reader.as_str();
                let message =
                    format!("`{url}` is not an address that {name} can read: it needs the scheme `ssh://`");
                let place = self.place(&["source", "url"]);
                notes.error("source", place, message).hint(format!("write `{long}`"));
                None
            }
            EngineSource::Existing { .. } if !engine.reads_source_objects() => {
                let name = engine.as_str();
                let message =
                    format!("{name} reads no source object: it needs the address of the repository");
                notes
                    .error("engine", self.place(&["source", "ref"]), message)
                    .hint("write `source: { url: https://…, branch: main }`");
                None
            }
            EngineSource::Existing { .. } => Some(()),
        }
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
    let hint = format!("add `engine: {}`, or write `addonDelivery: {usual}`", needed.word());
    notes.error("engine", place, message).hint(hint);
    None
}

/// The hint for an address with characters that an engine does not take literally.
const SPECIAL_HINT: &str = "use a name for the host, and a path without that character";
