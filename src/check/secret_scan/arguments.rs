//! Finds passwords in command lines that are lists: `command: [racadm]` beside `args: [-p, …]`.

use super::{Found, Tree, commands, patterns};

/// The maximum number of words of a command line.
const MOST: usize = 100;
/// The maximum length of a word. Longer ones are scripts, which are searched by themselves.
const LONGEST: usize = 256;

/// Handles a list of words, or the two lists of a container.
pub(super) fn of_arguments<'a, T: Tree>(path: &str, node: &'a T, found: &mut Vec<(&'a T, Found)>) {
    let list = |name: &str| node.child(name).map(Tree::items).unwrap_or_default();
    let whole: Vec<&T> = match (list("command"), list("args")) {
        ([], _) | (_, []) => node.items().iter().collect(),
        (command, arguments) => command.iter().chain(arguments).collect(),
    };
    let words: Vec<_> = whole.iter().map_while(|item| item.text()).collect();
    let is_line = words.len() == whole.len() && (2..=MOST).contains(&words.len());
    if !is_line || !words.iter().any(|word| word.starts_with(['-', '/'])) {
        return;
    }
    let plain = |word: &str| word.len() <= LONGEST && !word.contains(char::is_whitespace);
    let words: Vec<&str> = words.iter().map(|word| if plain(word) { &**word } else { "_" }).collect();
    if !hands_over(path, &words) {
        return;
    }
    let last = (2..words.len()).find(|count| hands_over(path, &words[..*count])).unwrap_or(words.len());
    let item = whole[last - 1];
    if !found.iter().any(|(known, _)| std::ptr::eq(*known, item)) {
        let what = "a password in a command line";
        found.push((item, Found::new("credential", what, 0)));
    }
}

fn hands_over(path: &str, words: &[&str]) -> bool {
    let is_of_tool = || {
        let line = words.join(" ");
        patterns::scan(path, &line).iter().any(|hit| patterns::is_of_tool(hit.rule))
    };
    commands::logs_in(words) || is_of_tool()
}
