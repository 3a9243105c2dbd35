//! The end of the server by a signal.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use problem::Result;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use super::{Event, refused};

/// What is in work may remove its temporary files for this long.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Reports that the server has ended.
pub(super) struct Ending(Sender<()>);

impl Ending {
    /// The process ends by itself from now on.
    pub(super) fn done(self) {
        drop(self.0);
    }
}

/// Ends the server at the first SIGINT, SIGTERM or SIGHUP, at the latest after [`MAX_WAIT`].
///
/// # Errors
/// The kernel refuses a pipe or a thread.
pub(super) fn on_signals(events: Sender<Event>) -> Result<Ending> {
    let (mut read, write) = UnixStream::pair().map_err(refused("make a pipe"))?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let write = write.try_clone().map_err(refused("make a pipe"))?;
        pipe::register(signal, write).map_err(refused("install a signal handler"))?;
    }
    let (done, ended): (Sender<()>, Receiver<()>) = channel();
    let work = move || {
        // The other end stays open as long as the process.
        if read.read_exact(&mut [0]).is_ok() && events.send(Event::End).is_ok() {
            match ended.recv_timeout(MAX_WAIT) {
                Err(RecvTimeoutError::Timeout) => process::exit(0),
                _ => thread::park(),
            }
        }
    };
    thread::Builder::new().name("signals".into()).spawn(work).map_err(refused("start a thread"))?;
    Ok(Ending(done))
}
