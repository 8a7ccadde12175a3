//! Reports plaintext secrets in a cluster's `.d` folder, as [`super::secret_scan`] finds them. `plaintext-secret`
//! does the same for generated files and their sources.

use super::{Check, Finder, Rule, kustomize_folder, secret_scan};
use crate::{
    note::{Notes, Place},
    plan::ClusterPlan,
    world::is_yaml,
    yaml::{Node, SYNTAX, Source},
};

pub(super) static RULE: Rule = Rule {
    name: "unencrypted-secret",
    docs: "A file in a `<cluster>.d/` folder contains a credential: a Secret with unencrypted data, a private key, a known \
           kind of token, an address with a password, or a value under a key such as `password`. The check reads objects, \
           comments and all other files. Values that SOPS encrypted, SealedSecrets and ExternalSecrets pass. The object's \
           annotation `stackloom.dev/allow-plaintext-secret: <reason>` or the cluster's definition can allow a false alarm.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, _cluster: &Node, finder: &mut Finder<'_>) {
    // All files are checked, even if the engine does not apply them: git stores every file, and a later change may use it.
    let folder = kustomize_folder::folder(&plan.cluster.file);
    let (texts, mut reported) = (finder.texts, Vec::new());
    for source in texts.beside.below(&folder) {
        let mut found = Notes::new();
        for spot in secret_scan::in_file(source, &mut found) {
            reported.push((spot.place.file.clone(), spot.place.line));
            secret_scan::tell(RULE.name, spot.place, &spot.found, finder);
        }
        report_unread(source, &found, finder);
        report_unsearched(source, finder);
    }
    let mut generated = kustomize_folder::generated(&folder, texts);
    generated.retain(|spot| !reported.contains(&(spot.place.file.clone(), spot.place.line)));
    for spot in generated {
        secret_scan::tell(RULE.name, spot.place, &spot.found, finder);
    }
}

/// Reports what keeps an applied file from being read. A file that no reader accepts blocks everything that is applied with it.
/// In a file that only this program does not read, no check would look at the objects.
fn report_unread(source: &Source, found: &Notes, finder: &mut Finder<'_>) {
    for note in found.iter().filter(|_| kustomize_folder::is_read(&source.path)) {
        let place = note.place.clone().map(|place| Place { source: String::new(), ..place });
        let reported = finder.notes.error(note.code, place, note.message.clone());
        reported.hints.clone_from(&note.hints);
        if note.code == SYNTAX {
            reported.hint("the engine applies this folder as it is, and one file that it cannot read keeps it from applying all of them: rename a file that is not YAML");
        } else {
            reported.hint("the objects in this folder are checked before they are applied, and stackloom cannot read these");
        }
    }
}

/// Reports a file that is not text. Nothing finds a secret in a text of two bytes per letter, or in an archive.
fn report_unsearched(source: &Source, finder: &mut Finder<'_>) {
    let is_text = !source.text.contains([char::REPLACEMENT_CHARACTER, '\0']);
    // Another rule refuses objects that are not text.
    if is_text || is_yaml(&source.path) {
        return;
    }
    let (is_allowed, hint) = secret_scan::allowed(finder, &source.path, secret_scan::UNREADABLE);
    if !is_allowed {
        let message = "this file is not UTF-8 text, so it cannot be searched for secrets";
        let note = finder.notes.error(RULE.name, Place::file(&*source.path), message);
        note.hint("save it as UTF-8, or keep it outside the repository");
        if let Some(hint) = hint {
            note.hint(hint);
        }
    }
}
