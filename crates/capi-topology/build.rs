//! Lists what the webhooks of infrastructure providers let change, so that a new kind is a new file and nothing else.

#![expect(clippy::disallowed_methods, reason = "cargo speaks to a build script by its environment and files")]

use std::{env, error::Error, fs, path::PathBuf};

const FOLDER: &str = "src/data/mutable";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join(FOLDER);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.to_str().ok_or("the path of the sources is not text")?;
            files.push(format!("    include_str!({name:?}),\n"));
        }
    }
    files.sort();
    let list = PathBuf::from(env::var("OUT_DIR")?).join("mutable.rs");
    fs::write(list, format!("&[\n{}]\n", files.concat()))?;
    Ok(())
}
