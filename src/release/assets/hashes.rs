//! The file `hashes.json`, by which csctl determines whether there is something to release. It contains the digests of the
//! release's content in csctl's notation.

use super::super::Content;

/// Writes the file.
pub(super) fn text(content: &Content) -> String {
    let hashes = serde_json::json!({
        "clusterStack": form(&content.whole),
        "clusterAddonDir": form(&content.cluster_addon),
        "clusterAddonValues": "",
        "nodeImageDir": form(&content.node_image),
    });
    format!("{}\n", serde_json::to_string_pretty(&hashes).unwrap_or_default())
}

/// Encodes a digest as Base64 in lower case, without characters that are invalid in names.
fn form(digest: &str) -> String {
    let hex = digest.trim_start_matches("sha256:").as_bytes();
    let nibble = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default();
    let bits: Vec<u32> = hex.iter().flat_map(|byte| (0..4).rev().map(|at| nibble(*byte) >> at & 1)).collect();
    let six = |bits: &[u32]| (0..6).fold(0, |sum, at| sum << 1 | bits.get(at).copied().unwrap_or_default());
    bits.chunks(6).filter_map(|chunk| letter(six(chunk))).collect()
}

fn letter(value: u32) -> Option<char> {
    const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789";
    LETTERS.get(value as usize).map(|byte| char::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::form;

    #[test]
    fn digests_have_the_form_of_csctl() {
        // `printf 'fb3f...' | xxd -r -p | base64`, in lower case and without `/`, `+` and `=`.
        assert_eq!(
            form("sha256:00108310518720928b30d38f41149351559761969b71d79f"),
            "abcdefghijklmnopqrstuvwxyzabcdef"
        );
        assert_eq!(form("sha256:fbefbe"), "");
        assert_eq!(form("sha256:00"), "aa");
    }
}
