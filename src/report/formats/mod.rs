//! The formats of a report: one file for each, a function from [`Report`](super::Report) to text.

mod html;
mod json;
mod markdown;
mod text;

pub use html::{Page, html};
pub use json::{digest, document};
pub use markdown::{LIMIT, markdown, markdown_of_nothing, markdown_within};
pub use text::lines;
