//! The committer and the signature. These tests run in separate processes, isolated from the user's settings.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use stackloom::{
    io::{
        disk::Workspace,
        git::{CommitSink, Repository},
    },
    note::Fault,
};

use crate::{
    environment,
    sandbox::{self, Sandbox, base, cluster, git_in, run},
};

/// Not a test of its own: commits in a given folder.
#[test]
fn the_process_that_commits() {
    let Ok(root) = std::env::var("STACKLOOM_TEST_COMMIT") else { return };
    let workspace = Workspace::open(root.as_ref()).unwrap();
    let commit = || -> Result<(), Fault> {
        if Repository::find(&workspace)?.is_none() {
            Repository::init(&workspace)?;
        }
        let mut sink = CommitSink::open(&workspace)?;
        run(&mut sink, vec![base(), cluster("one", "a")]).0.map(drop)
    };
    if let Err(fault) = commit() {
        eprintln!("fault: {fault}: {:?}", std::error::Error::source(&fault).map(ToString::to_string));
        for hint in fault.hints() {
            eprintln!("hint: {hint}");
        }
        panic!("the commit failed");
    }
}

/// Commits in another process, with an empty home folder.
fn commit(sandbox: &Sandbox, environment: &[(&str, &str)]) -> Output {
    let home = sandbox.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "identity::the_process_that_commits", "--nocapture"]);
    for (key, _) in std::env::vars_os() {
        if key.to_string_lossy().starts_with("GIT_") || key == "EMAIL" {
            command.env_remove(key);
        }
    }
    command
        .env("STACKLOOM_TEST_COMMIT", &sandbox.root)
        .env("HOME", &home)
        .env("XDG_CONFIG_HOME", &home)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn output_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_missing_identity_is_reported_with_the_commands_that_set_it() {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q"]);
    let output = commit(&sandbox, &[]);
    assert!(!output.status.success());
    let printed = output_of(&output);
    assert!(printed.contains("git does not know who you are"), "{printed}");
    assert!(printed.contains("hint: git config --global user.name \"Your Name\""), "{printed}");
    assert!(printed.contains("hint: git config --global user.email you@example.org"), "{printed}");
    assert!(!sandbox.has("generated") && !sandbox.has(".git/index.lock"));
}

#[test]
fn the_environment_names_author_and_committer() {
    let sandbox = Sandbox::new();
    let output = commit(
        &sandbox,
        &[
            ("GIT_AUTHOR_NAME", "An Author"),
            ("GIT_AUTHOR_EMAIL", "author@example.org"),
            ("GIT_COMMITTER_NAME", "A Bot"),
            ("GIT_COMMITTER_EMAIL", "bot@example.org"),
            ("GIT_AUTHOR_DATE", "1700000000 +0200"),
        ],
    );
    assert!(output.status.success(), "{}", output_of(&output));
    let printed = sandbox.git(&["log", "-1", "--format=%an|%ae|%at|%cn|%ce"]);
    assert_eq!(printed.trim(), "An Author|author@example.org|1700000000|A Bot|bot@example.org");
}

#[test]
fn a_date_that_cannot_be_read_is_named() {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q"]);
    let person = [
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ];
    for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        let output = commit(&sandbox, &[&person[..], &[(name, "not a date")]].concat());
        assert!(!output.status.success());
        let printed = output_of(&output);
        assert!(printed.contains(&format!("the date in `{name}` cannot be read")), "{printed}");
        assert!(!sandbox.has("generated") && !sandbox.has(".git/index.lock"));
    }
}

#[test]
fn the_users_own_configuration_counts() {
    let sandbox = Sandbox::new();
    let config = sandbox.outside().join("config");
    fs::write(&config, "[user]\nname = Global\nemail = global@example.org\n[init]\ndefaultBranch = trunk\n")
        .unwrap();
    let output = commit(&sandbox, &[("GIT_CONFIG_GLOBAL", config.to_str().unwrap())]);
    assert!(output.status.success(), "{}", output_of(&output));
    assert_eq!(sandbox.git(&["log", "-1", "--format=%an", "trunk"]).trim(), "Global");
}

/// As in git: `author.*` and `committer.*` come before `user.*`, and after the environment.
#[test]
fn author_and_committer_may_be_set_apart() {
    let sandbox = Sandbox::new();
    let config = sandbox.outside().join("config");
    let apart = "[author]\nname = An Author\nemail = author@example.org\n[committer]\nname = A Bot\nemail = bot@example.org\n";
    let user = "[user]\nname = Global\nemail = global@example.org\n";
    let only_name = "[author]\nname = An Author\n[committer]\nname =\n";
    let named = [("GIT_AUTHOR_NAME", "Named"), ("GIT_COMMITTER_EMAIL", "named@example.org")];
    for (text, environment, expected) in [
        (apart.to_owned(), &[][..], "An Author|author@example.org|A Bot|bot@example.org"),
        (format!("{user}{apart}"), &[], "An Author|author@example.org|A Bot|bot@example.org"),
        (format!("{user}{only_name}"), &[], "An Author|global@example.org|Global|global@example.org"),
        (format!("{user}{apart}"), &named, "Named|author@example.org|A Bot|named@example.org"),
    ] {
        let sandbox = Sandbox::new();
        fs::write(&config, &text).unwrap();
        let environment = [&[("GIT_CONFIG_GLOBAL", config.to_str().unwrap())], environment].concat();
        let output = commit(&sandbox, &environment);
        assert!(output.status.success(), "{text}: {}", output_of(&output));
        let format = ["log", "-1", "--format=%an|%ae|%cn|%ce"];
        assert_eq!(sandbox.git(&format).trim(), expected, "{text}");
        let mut git = git_in(&sandbox.root);
        git.env_remove("GIT_AUTHOR_NAME").env_remove("GIT_AUTHOR_EMAIL");
        git.env_remove("GIT_COMMITTER_NAME").env_remove("GIT_COMMITTER_EMAIL");
        git.envs(environment).args(["commit", "-q", "--allow-empty", "-m", "git's own"]);
        assert!(git.status().unwrap().success());
        assert_eq!(sandbox.git(&format).trim(), expected, "{text}");
    }
}

/// Like git, drops line breaks. No git could read a commit with a line break in its header.
#[test]
fn line_ends_in_names_and_addresses_are_left_out() {
    let environment = [
        ("GIT_AUTHOR_NAME", "Ann\nOther\n"),
        ("GIT_AUTHOR_EMAIL", "ann@\nexample.org"),
        ("GIT_COMMITTER_NAME", "\nBo\n"),
        ("GIT_COMMITTER_EMAIL", "bo@example.org\n"),
    ];
    let format = ["log", "-1", "--format=%an|%ae|%cn|%ce"];
    for by_settings in [false, true] {
        let sandbox = Sandbox::repository();
        let environment: &[_] = if by_settings { &[] } else { &environment };
        if by_settings {
            sandbox.git(&["config", "user.name", "Ann\nOther"]);
            sandbox.git(&["config", "user.email", "ann@\nexample.org"]);
        }
        let output = commit(&sandbox, environment);
        assert!(output.status.success(), "{}", output_of(&output));
        let ours = sandbox.git(&format);
        sandbox.git(&["fsck", "--strict"]);
        let mut git = git_in(&sandbox.root);
        git.envs(environment.iter().copied()).args(["commit", "-q", "--allow-empty", "-m", "git's own"]);
        assert!(git.status().unwrap().success());
        assert_eq!(ours, sandbox.git(&format));
    }
}

/// One program prints without end, the other prints nothing and never ends.
#[test]
fn a_signing_program_that_does_not_end_is_ended() {
    let sandbox = Sandbox::repository();
    sandbox.commit(vec![base(), cluster("one", "a")]).unwrap();
    let program = sandbox.outside().join("gpg");
    for (name, value) in [
        ("commit.gpgsign", "true"),
        ("gpg.program", program.to_str().unwrap()),
        ("stackloom.signingTimeout", "1"),
    ] {
        sandbox.git(&["config", name, value]);
    }
    let deaf = "exec 0<&-\n";
    for (script, printed) in [
        ("exec yes".to_owned(), "wrote more than 1048576 bytes"),
        ("exec yes >&2".to_owned(), "wrote more than 1048576 bytes"),
        (format!("{deaf}exec sleep 600"), "took longer than 1 s"),
        (format!("{deaf}exec >/dev/null 2>&1; exec sleep 600"), "took longer than 1 s"),
    ] {
        sandbox::program(&program, &format!("#!/bin/sh\n{script}\n"));
        let mut sink = CommitSink::open(&sandbox.workspace()).unwrap();
        let fault = run(&mut sink, vec![base(), cluster("one", "b")]).0.unwrap_err();
        assert!(fault.to_string().contains(printed), "{script}: {fault}");
        drop(sink);
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        assert!(!sandbox.has(".git/index.lock"));
    }
}

/// A process that a program leaves behind may keep its output open.
#[test]
fn what_a_signing_program_leaves_running_is_not_waited_for() {
    let sandbox = Sandbox::repository();
    let program = sandbox.outside().join("gpg");
    for (name, value) in [
        ("commit.gpgsign", "true"),
        ("gpg.program", program.to_str().unwrap()),
        ("stackloom.signingTimeout", "60"),
    ] {
        sandbox.git(&["config", name, value]);
    }
    let child = "(for i in 1 2 3 4 5 6 7 8 9 10; do echo more; sleep 2; done) &\n";
    for (script, printed) in [
        ("exit 1", "could not sign: it ended with exit status: 1"),
        ("echo no such key >&2; exit 2", "could not sign: no such key"),
    ] {
        sandbox::program(&program, &format!("#!/bin/sh\n{child}{script}\n"));
        let begin = Instant::now();
        let mut sink = CommitSink::open(&sandbox.workspace()).unwrap();
        let fault = run(&mut sink, vec![base(), cluster("one", "b")]).0.unwrap_err();
        assert!(fault.to_string().contains(printed), "{script}: {fault}");
        assert!(begin.elapsed() < Duration::from_secs(15), "{script}: {:?}", begin.elapsed());
    }
}

#[test]
fn a_signing_program_that_dies_without_a_word_is_reported() {
    let sandbox = Sandbox::repository();
    let program = sandbox.outside().join("gpg");
    for (name, value) in [("commit.gpgsign", "true"), ("gpg.program", program.to_str().unwrap())] {
        sandbox.git(&["config", name, value]);
    }
    let fault = || {
        let mut sink = CommitSink::open(&sandbox.workspace()).unwrap();
        run(&mut sink, vec![base(), cluster("one", "b")]).0.unwrap_err().to_string()
    };
    for (script, printed) in [
        ("cat >/dev/null; exit 3", "could not sign: it ended with exit status: 3"),
        ("kill -9 $$", "could not sign: it ended with signal: 9"),
        ("cat >/dev/null; echo wait >&2; kill -9 $$", "wait"),
        ("cat >/dev/null", "could not sign: it reported no signature"),
    ] {
        sandbox::program(&program, &format!("#!/bin/sh\n{script}\n"));
        let fault = fault();
        assert!(fault.contains(printed), "{script}: {fault}");
        assert!(!script.contains("kill") || fault.contains("signal: 9"), "{script}: {fault}");
    }
    for wrong in ["soon", "0", "-1"] {
        sandbox.git(&["config", "stackloom.signingTimeout", wrong]);
        assert_eq!(
            fault(),
            format!("`stackloom.signingTimeout` is `{wrong}`, which is not a number of seconds")
        );
    }
}

/// Gives a folder to another user, which only root can do. CI runs as root or may use `sudo`.
fn give_away(folder: &Path) -> bool {
    // Git must refuse the folder because of its owner, not because this user cannot write to it.
    let folder = folder.to_str().unwrap();
    assert!(Command::new("chmod").args(["-R", "a+rwX", folder]).status().unwrap().success());
    [&["chown"][..], &["sudo", "-n", "chown"]].into_iter().any(|words| {
        let given = Command::new(words[0]).args(&words[1..]).args(["-R", "12345", folder]).output();
        given.is_ok_and(|given| given.status.success())
    })
}

#[test]
fn a_repository_of_someone_else_must_be_trusted() {
    let sandbox = Sandbox::below("repository/fleets/one");
    let top = sandbox.outside().join("repository");
    Sandbox::init(&top);
    if !give_away(&top) {
        environment::is_missing("the right to `chown`", "run the tests as root, or allow `sudo`");
        return;
    }
    let output = commit(&sandbox, &[]);
    let trust = format!("git config --global --add safe.directory {}`", top.display());
    assert!(!output.status.success() && output_of(&output).contains(&trust), "{}", output_of(&output));
    let config = sandbox.outside().join("home/.gitconfig");
    for (trusted, works) in [("/somewhere/else", false), (top.to_str().unwrap(), true), ("*", true)] {
        fs::write(&config, format!("[safe]\n\tdirectory = {trusted}\n")).unwrap();
        let output = commit(&sandbox, &[]);
        assert_eq!(output.status.success(), works, "{trusted}: {}", output_of(&output));
    }
    let output = commit(&sandbox, &[("GIT_CONFIG_GLOBAL", config.to_str().unwrap()), ("HOME", "/nowhere")]);
    assert!(output_of(&output).contains("only `~/.gitconfig`"), "{}", output_of(&output));
}

#[test]
fn commits_are_signed_with_ssh() {
    let sandbox = Sandbox::repository();
    sandbox.sign_with_ssh();
    sandbox.commit(vec![base(), cluster("one", "a")]).unwrap();
    let verified = sandbox.try_git(&["verify-commit", "-v", "HEAD"]);
    assert!(verified.status.success(), "{}", output_of(&verified));
    assert!(
        output_of(&verified).contains("Good \"git\" signature for test@example.org"),
        "{}",
        output_of(&verified)
    );

    sandbox.git(&["config", "user.signingkey", "/nowhere/key.pub"]);
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    let (result, _) =
        run(&mut CommitSink::open(&sandbox.workspace()).unwrap(), vec![base(), cluster("one", "b")]);
    let fault = result.unwrap_err();
    assert!(fault.to_string().contains("could not sign"), "{fault}");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");

    sandbox.git(&["config", "--unset", "user.signingkey"]);
    sandbox.git(&["config", "gpg.ssh.defaultKeyCommand", "true"]);
    let (result, _) =
        run(&mut CommitSink::open(&sandbox.workspace()).unwrap(), vec![base(), cluster("one", "b")]);
    assert!(result.unwrap_err().to_string().contains("no key is set"));
}

#[test]
fn a_commit_of_sources_and_tree_is_signed_or_not_made() {
    let sandbox = crate::release::fleet();
    let all = ["generate", "--commit", "--all"];
    sandbox.sign_with_ssh();
    let one = "clusters/blue/one.yaml";
    let text = sandbox.read(one).unwrap();
    sandbox.write(one, format!("{text}# signed\n"));
    crate::release::ends(&sandbox, &all, 0);
    let verified = sandbox.try_git(&["verify-commit", "-v", "HEAD"]);
    assert!(
        output_of(&verified).contains("Good \"git\" signature for test@example.org"),
        "{}",
        output_of(&verified)
    );
    assert!(sandbox.git(&["show", "--format=", "--name-only", "HEAD"]).contains(one));

    sandbox.git(&["config", "user.signingkey", "/nowhere/key.pub"]);
    sandbox.write(one, format!("{text}# not signed\n"));
    let before = (sandbox.git(&["rev-parse", "HEAD"]), sandbox.git(&["status", "--porcelain"]));
    let printed = crate::release::ends(&sandbox, &all, 4);
    assert!(printed.contains("could not sign"), "{printed}");
    assert_eq!((sandbox.git(&["rev-parse", "HEAD"]), sandbox.git(&["status", "--porcelain"])), before);
    assert_eq!(sandbox.read(one).unwrap(), format!("{text}# not signed\n"));
}

/// A fake gpg: only its input and its required output matter.
#[test]
fn commits_are_signed_with_gpg() {
    let sandbox = Sandbox::repository();
    let program = sandbox.outside().join("gpg");
    let script = "#!/bin/sh\necho \"$@\" > \"$(dirname \"$0\")/arguments\"\ncat > \"$(dirname \"$0\")/commit\"\n\
        echo '[GNUPG:] SIG_CREATED D 1' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nabc\\n-----END PGP SIGNATURE-----\\n'\n";
    sandbox::program(&program, script);
    sandbox.git(&["config", "commit.gpgsign", "true"]);
    sandbox.git(&["config", "gpg.program", program.to_str().unwrap()]);
    sandbox.commit(vec![base()]).unwrap();
    let read = |name: &str| fs::read_to_string(sandbox.outside().join(name)).unwrap();
    assert_eq!(read("arguments"), "--status-fd=2 -bsau Test <test@example.org>\n");
    let raw = sandbox.git(&["cat-file", "commit", "HEAD"]);
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n";
    assert_eq!(raw.replace(signature, ""), read("commit"));
    assert!(raw.contains(signature), "{raw}");

    sandbox::program(&program, "#!/bin/sh\necho 'no secret key' >&2\nexit 2\n");
    let (result, _) =
        run(&mut CommitSink::open(&sandbox.workspace()).unwrap(), vec![base(), cluster("one", "a")]);
    let fault = result.unwrap_err();
    assert!(fault.to_string().contains("no secret key"), "{fault}");
    sandbox.git(&["config", "gpg.program", "/nowhere/gpg"]);
    let (result, _) =
        run(&mut CommitSink::open(&sandbox.workspace()).unwrap(), vec![base(), cluster("one", "a")]);
    assert!(result.unwrap_err().to_string().contains("cannot run `/nowhere/gpg`"));
    assert!(git_in(&sandbox.root).args(["diff", "--quiet", "HEAD"]).status().unwrap().success());
}
