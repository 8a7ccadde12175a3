//! A progress bar on a terminal; elsewhere nothing.

use indicatif::{ProgressBar, ProgressStyle};

use super::Printer;

/// A progress bar, visible only if someone can see it.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(super) fn new(printer: &Printer, what: &'static str) -> Self {
        let bar = if printer.shows_progress() { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len}").expect("the template is one");
        bar.set_style(style);
        bar.set_message(what);
        Self { bar }
    }

    pub(super) fn at(&self, done: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
