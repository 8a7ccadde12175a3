//! Recognizes files with the texts of a user interface, in which `password: Passwort` is a label.

/// Folders of such files.
const FOLDERS: [&str; 9] =
    ["i18n", "l10n", "lang", "langs", "languages", "locale", "locales", "nls", "translations"];
/// Extensions of such files.
const EXTENSIONS: [&str; 6] = ["arb", "ftl", "po", "pot", "strings", "xliff"];
/// Extensions of files that are such files if they are named after a language.
const FORMATS: [&str; 6] = ["json", "properties", "resx", "toml", "yaml", "yml"];
/// Languages in which texts of programs are common. `id` and `no` are common names of other files.
const LANGUAGES: [&str; 33] = [
    "ar", "bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "he", "hr", "hu", "it", "ja", "ko",
    "lt", "lv", "nb", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "th", "tr", "uk", "vi", "zh",
];

/// Whether the name of a file, or of its folder, says that it contains texts of a user interface.
pub(super) fn is_translation(path: &str) -> bool {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let Some((stem, extension)) = file.rsplit_once('.') else { return false };
    if EXTENSIONS.contains(&extension) {
        return true;
    }
    let stem = stem.strip_prefix("messages").unwrap_or(stem).trim_start_matches(['_', '-', '.']);
    let language = stem.split(['_', '-']).next().unwrap_or_default();
    let is_named = LANGUAGES.contains(&language) && stem.len() <= "zh-Hant-TW".len();
    FORMATS.contains(&extension) && (is_named || folders.split('/').any(|one| FOLDERS.contains(&one)))
}

/// Whether a text is made of words alone, as labels are.
pub(super) fn is_label(text: &str) -> bool {
    let is_of_words = |c: char| {
        c.is_alphabetic()
            || c.is_whitespace()
            || matches!(c, '.' | ',' | ':' | ';' | '?' | '!' | '-' | '\'' | '’' | '…' | '(' | ')')
    };
    text.chars().all(|c| is_of_words(c) || !c.is_ascii()) && text.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translations_are_told_from_settings() {
        for path in [
            "a/de.yaml",
            "zh-Hant.json",
            "messages_pt_BR.properties",
            "x/i18n/all.json",
            "de.po",
            "b/Main.strings",
        ] {
            assert!(is_translation(path), "{path}");
        }
        for path in [
            "values.yaml",
            "id.yaml",
            "no.yml",
            "i18n/de.txt",
            "de",
            "deploy.yaml",
            "dev.json",
            "messages.yaml",
        ] {
            assert!(!is_translation(path), "{path}");
        }
        assert!(is_label("Mot de passe") && is_label("パスワード") && is_label("Forgot password?"));
        assert!(!is_label("hunter2") && !is_label("S3cr3t!") && !is_label("a=b") && !is_label("…"));
    }
}
