//! Makes a port of an instance reachable on the host: the listener was made in the host's network namespace, the
//! connections are made in the sandbox's.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

/// Forwards until killed.
pub(crate) fn run(fds: Vec<OwnedFd>, (address, port): (Ipv4Addr, u16)) -> io::Result<()> {
    let fd = fds.into_iter().next().ok_or_else(|| io::Error::other("a forwarder came without its listener"))?;
    let listener = TcpListener::from(fd);
    let target = SocketAddrV4::new(address, port);
    loop {
        match listener.accept() {
            Ok((client, _)) => {
                thread::spawn(move || TcpStream::connect(target).and_then(|server| both_ways(&client, &server)));
            }
            // The client may have gone before it was accepted, or there are too many at once: the others continue.
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Copies in both directions until both sides are done.
fn both_ways(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    thread::scope(|scope| {
        scope.spawn(|| copy(client, server));
        copy(server, client);
    });
    Ok(())
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    // Whatever ended it, the other side sees the end of the stream.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
