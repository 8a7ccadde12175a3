//! stub
pub use super::disk::DiskSink as CommitSink;
pub fn init(_root: &std::path::Path) -> Result<bool, crate::note::Fault> {
    Ok(false)
}
