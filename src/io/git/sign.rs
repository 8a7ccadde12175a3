//! Signs commits and tags as git's settings `commit.gpgsign` and `tag.gpgsign` require, with git's configured programs.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

use git2::{Config, ErrorCode, Signature};

use super::Repository;
use crate::{
    io::program::{self, Limits},
    note::Fault,
};

/// The setting for the time limit of a signing program, in seconds.
const TIMEOUT: &str = "stackloom.signingTimeout";

/// The object to sign, and the settings that require its signature.
#[derive(Clone, Copy, Debug)]
pub(super) enum Signed {
    Commit,
    Tag,
}

impl Signed {
    fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Commit => &["commit.gpgsign"],
            Self::Tag => &["tag.gpgsign", "tag.forcesignannotated"],
        }
    }
}

/// Signs a commit or an annotated tag, if git's settings require it.
pub(super) fn sign(
    repository: &Repository,
    what: Signed,
    committer: &Signature,
    content: &str,
) -> Result<Option<String>, Fault> {
    let config = repository
        .inner
        .config()
        .and_then(|mut config| config.snapshot())
        .map_err(|error| Fault::because("cannot read git's configuration", error))?;
    if !what.settings().iter().any(|key| config.get_bool(key).unwrap_or(false)) {
        return Ok(None);
    }
    let format = config.get_string("gpg.format").unwrap_or_else(|_| "openpgp".to_owned());
    let signature = match format.as_str() {
        "openpgp" => {
            let program = first(&config, &["gpg.openpgp.program", "gpg.program"], "gpg");
            with_gpg(repository, &config, &program, committer, content)
        }
        "x509" => {
            let program = first(&config, &["gpg.x509.program"], "gpgsm");
            with_gpg(repository, &config, &program, committer, content)
        }
        "ssh" => with_ssh(repository, &config, content),
        other => Err(Fault::new(format!("`gpg.format` is `{other}`, which is unknown"))
            .hint("use one of `openpgp`, `ssh`, `x509`")),
    };
    signature.map(Some).map_err(|fault| {
        fault
            .hint("run `git commit --allow-empty` in this repository to see whether git itself can sign")
            .hint("to allow more time, set `git config stackloom.signingTimeout <seconds>`")
    })
}

/// A signature is short. The time limit leaves room for typing a passphrase or touching a security key.
fn limits(config: &Config) -> Result<Limits, Fault> {
    let seconds = match config.get_i64(TIMEOUT) {
        Ok(seconds) => u64::try_from(seconds).ok().filter(|seconds| *seconds > 0),
        Err(error) if error.code() == ErrorCode::NotFound => Some(300),
        Err(_) => None,
    };
    let Some(seconds) = seconds else {
        let written = config.get_string(TIMEOUT).unwrap_or_default();
        return Err(Fault::new(format!("`{TIMEOUT}` is `{written}`, which is not a number of seconds")));
    };
    Ok(Limits { bytes: 1024 * 1024, time: Some(Duration::from_secs(seconds)) })
}

fn first(config: &Config, keys: &[&str], otherwise: &str) -> String {
    keys.iter().find_map(|key| config.get_string(key).ok()).unwrap_or_else(|| otherwise.to_owned())
}

fn with_gpg(
    repository: &Repository,
    config: &Config,
    program: &str,
    committer: &Signature,
    content: &str,
) -> Result<String, Fault> {
    let name = String::from_utf8_lossy(committer.name_bytes()).into_owned();
    let email = String::from_utf8_lossy(committer.email_bytes()).into_owned();
    let key = first(config, &["user.signingkey"], &format!("{name} <{email}>"));
    let arguments = ["--status-fd=2", "-bsau", key.as_str()];
    let output =
        program::run(program, &arguments, &repository.work_tree, content.as_bytes(), limits(config)?)?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !said.contains("[GNUPG:] SIG_CREATED ") {
        return Err(failed(program, &output));
    }
    text(program, output.stdout)
}

fn with_ssh(repository: &Repository, config: &Config, content: &str) -> Result<String, Fault> {
    let program = first(config, &["gpg.ssh.program"], "ssh-keygen");
    let key = SshKey::find(repository, config)?;
    let file = key.file.to_string_lossy();
    let mut arguments = vec!["-Y", "sign", "-n", "git", "-f", &file];
    // For a public key given in the settings, the private key is in the agent.
    arguments.extend(key.temporary.then_some("-U"));
    let output =
        program::run(&program, &arguments, &repository.work_tree, content.as_bytes(), limits(config)?)?;
    if !output.status.success() {
        return Err(failed(&program, &output));
    }
    text(&program, output.stdout)
}

/// The file of a key.
struct SshKey {
    file: PathBuf,
    temporary: bool,
}

impl SshKey {
    fn find(repository: &Repository, config: &Config) -> Result<Self, Fault> {
        if let Ok(key) = config.get_string("user.signingkey") {
            return match literal(&key) {
                Some(key) => Self::write(repository.inner.path(), key),
                None => Ok(Self {
                    file: config
                        .get_path("user.signingkey")
                        .map_err(|error| Fault::because("cannot read `user.signingkey`", error))?,
                    temporary: false,
                }),
            };
        }
        let missing = || {
            Fault::new("commits or tags must be signed with ssh, but no key is set")
                .hint("git config --global user.signingkey ~/.ssh/id_ed25519.pub")
        };
        let command = config.get_string("gpg.ssh.defaultKeyCommand").map_err(|_| missing())?;
        let output = program::run("sh", &["-c", &command], &repository.work_tree, b"", limits(config)?)?;
        let said = String::from_utf8_lossy(&output.stdout);
        let key = said.lines().find_map(literal).ok_or_else(missing)?;
        Self::write(repository.inner.path(), key)
    }

    fn write(git_folder: &Path, key: &str) -> Result<Self, Fault> {
        let file = git_folder.join(format!("stackloom-{}.pub", std::process::id()));
        let written = OpenOptions::new().write(true).create(true).truncate(true).open(&file);
        written
            .and_then(|mut file| writeln!(file, "{key}"))
            .map_err(|error| Fault::because(format!("cannot write `{}`", file.display()), error))?;
        Ok(Self { file, temporary: true })
    }
}

impl Drop for SshKey {
    fn drop(&mut self) {
        if self.temporary {
            // It is a public key, so it does no harm if it stays.
            fs::remove_file(&self.file).ok();
        }
    }
}

/// A public key given in place of a file name.
fn literal(key: &str) -> Option<&str> {
    key.strip_prefix("key::").or_else(|| key.starts_with("ssh-").then_some(key))
}

fn text(program: &str, bytes: Vec<u8>) -> Result<String, Fault> {
    String::from_utf8(bytes)
        // The header adds the final line break itself.
        .map(|text| text.replace("\r\n", "\n").trim_end().to_owned())
        .map_err(|error| Fault::because(format!("`{program}` returned a signature that is not text"), error))
}

fn failed(program: &str, output: &Output) -> Fault {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let why = match (said.is_empty(), output.status.success()) {
        (true, true) => "it reported no signature".to_owned(),
        (true, false) => format!("it ended with {}", output.status),
        // A program that was killed may have said something else before.
        (false, _) if output.status.code().is_none() => format!("it ended with {}: {said}", output.status),
        (false, _) => said,
    };
    Fault::new(format!("`{program}` could not sign: {why}"))
}
