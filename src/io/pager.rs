//! The pager for long text, chosen and started as git does it.

use std::{
    io::{IsTerminal as _, Write as _},
    process::{Command, Stdio},
};

use super::git;

/// The width of standard output in columns, if it is a terminal: `COLUMNS`, else that of the terminal.
pub fn width() -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(wide(std::env::var("COLUMNS").ok().as_deref(), columns.into()))
}

fn wide(variable: Option<&str>, columns: usize) -> usize {
    variable.and_then(|text| text.trim().parse().ok()).filter(|own| *own > 0).unwrap_or(columns)
}

/// The pager to use, as in git: `GIT_PAGER`, else `core.pager` of git's configuration, else `PAGER`, else `less`. None if
/// standard output is not a terminal, or if the first of these is empty or `cat`.
pub fn chosen() -> Option<String> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let variable = |name| std::env::var(name).ok();
    from(variable("GIT_PAGER").or_else(git::pager).or_else(|| variable("PAGER")))
}

fn from(own: Option<String>) -> Option<String> {
    let command = own.unwrap_or_else(|| "less".to_owned());
    let name = command.trim();
    (!name.is_empty() && name != "cat").then(|| name.to_owned())
}

/// The exit code of `sh` if the program does not exist.
const NOT_FOUND: i32 = 127;

/// Shows a text and waits until the user has read it. Reports whether the pager could be started.
///
/// Unless `LESS` is set, `less` exits if the text fits on the screen, shows colours, and leaves the text on the screen.
pub fn show(command: &str, text: &str) -> bool {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::piped());
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if std::env::var_os(name).is_none() {
            shell.env(name, value);
        }
    }
    let Ok(mut child) = shell.spawn() else { return false };
    outlive_interrupts();
    if let Some(mut input) = child.stdin.take() {
        // A user may quit before the end.
        input.write_all(text.as_bytes()).ok();
    }
    !matches!(child.wait(), Ok(status) if status.code() == Some(NOT_FOUND))
}

/// Leaves Ctrl+C to the pager. Otherwise this program would end first, and the pager and the shell would both read the
/// keyboard.
fn outlive_interrupts() {
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::default()).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_chooses() {
        for (variable, expected) in [
            (None, Some("less")),
            (Some(""), None),
            (Some("cat"), None),
            (Some(" most -s "), Some("most -s")),
        ] {
            assert_eq!(from(variable.map(str::to_owned)).as_deref(), expected);
        }
    }

    #[test]
    fn columns_count_if_they_are_a_number() {
        for (variable, expected) in
            [(None, 80), (Some("40"), 40), (Some("0"), 80), (Some("-1"), 80), (Some("x"), 80)]
        {
            assert_eq!(wide(variable, 80), expected, "{variable:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_pager_gets_the_whole_text_and_may_quit_early() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shown");
        let text = "a line\n".repeat(100_000);
        assert!(show(&format!("cat > '{}'", file.display()), &text));
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
        assert!(show("true", &text));
        assert!(!show("stackloom-has-no-such-pager 2> /dev/null", &text));
    }
}
