//! Signals that ask the process to end. The first one ends the watch cleanly; the second one ends the process at once.

use std::sync::Arc;

use super::shared::Shared;
use crate::note::Fault;

#[cfg(unix)]
pub(super) fn listen(shared: &Arc<Shared>) -> Result<(), Fault> {
    use signal_hook::{
        consts::{SIGINT, SIGTERM},
        iterator::Signals,
        low_level::emulate_default_handler,
    };

    let failed = |error| Fault::because("cannot listen to SIGINT and SIGTERM", error);
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let shared = Arc::clone(shared);
    let listen = move || {
        for signal in signals.forever() {
            if shared.ask_to_stop() {
                // A second signal means that the user does not want to wait. The next run repairs what is left behind.
                emulate_default_handler(signal).ok();
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop).map_err(failed)
}

/// Other systems end the process themselves.
#[cfg(not(unix))]
pub(super) fn listen(_shared: &Arc<Shared>) -> Result<(), Fault> {
    Ok(())
}
