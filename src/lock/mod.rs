//! `stackloom.lock`: which bytes came from elsewhere when someone looked, so that the same name and version is the same
//! content for everyone.
//!
//! Absent on purpose: the network. What was found there is handed in; here is only what that means.

mod write;

pub use write::write;
