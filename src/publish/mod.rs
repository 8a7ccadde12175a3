//! stub
pub fn message(_c: &crate::tree::Changes) -> String { String::new() }
