//! Listening, and ending.

use std::io::Write;
use std::time::{Duration, SystemTime};

use problem::{IoContext, Problem, Result, code};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::api::Api;
use crate::options::Options;
use crate::router::Server;
use crate::store::Store;
use crate::template::Rules;

/// Requests that are not answered within this time after the signal are cut off.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Serves until a signal ends it.
pub(crate) fn serve(options: &Options) -> Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Problem::internal("cannot start the server").because(e))?;
    let done = runtime.block_on(listen(options));
    // What is worked on for nobody is not waited for.
    runtime.shutdown_background();
    done.map(|()| 0)
}

async fn listen(options: &Options) -> Result<()> {
    let listener = TcpListener::bind(options.listen).await.map_err(|e| {
        let message = format!("cannot listen on {}", options.listen);
        Problem::internal(message).code(code::PORT_UNAVAILABLE).because(e)
    })?;
    // Before the first line is printed: its reader may end the server.
    let failed = |e| Problem::internal("cannot take over the handling of signals").because(e);
    let mut term = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let address = listener.local_addr().map_err(|e| Problem::internal("cannot read the address").because(e))?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on http://{address}")
        .and_then(|()| stdout.flush())
        .io("write", std::path::Path::new("standard output"))?;
    let (stop, stopping) = watch::channel(false);
    let mut ended = stopping.clone();
    let graceful = async move {
        // The sender lives as long as the server.
        let _ = ended.wait_for(|is_stopping| *is_stopping).await;
    };
    let router = Server::new(api(options), stopping).router();
    let server = axum::serve(listener, router).with_graceful_shutdown(graceful);
    let server = std::future::IntoFuture::into_future(server);
    tokio::pin!(server);
    tokio::select! {
        done = &mut server => return done.map_err(|e| Problem::internal("the server failed").because(e).into()),
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.send_replace(true);
    if tokio::time::timeout(LONGEST_END, server).await.is_err() {
        tracing::warn!("some requests were not answered within {LONGEST_END:?}");
    }
    Ok(())
}

fn api(options: &Options) -> Api {
    let rules =
        Rules { group: options.group.clone(), options: options.processing(), label_selectors: options.label_selectors };
    // Clients that know versions of an earlier run get new lists.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let version = u64::try_from(since.as_millis()).unwrap_or_default();
    Api { rules, store: Store::new(version), max_body: options.max_body }
}
