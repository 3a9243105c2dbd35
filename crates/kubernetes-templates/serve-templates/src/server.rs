//! Listening, and ending.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cluster::Cluster;
use problem::{IoContext, Problem, Result, code};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::access::Guard;
use crate::api::Api;
use crate::connections;
use crate::options::{self, Options};
use crate::router::Server;
use crate::store::{Memory, Secrets, Store};
use crate::template::Rules;
use crate::tls::{self, Files, Listener, Own, Place, Shown};

/// Requests that are not answered within this time after the signal are cut off.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Certificates and the configuration of the aggregation layer are read again this often.
const REFRESH: Duration = Duration::from_secs(10);

/// What a server with TLS has in addition to the API.
struct Secured {
    guard: Arc<Guard>,
    shown: Arc<Shown>,
    source: Source,
}

/// Where the server's certificate comes from.
enum Source {
    Files(Files),
    Own(Box<Own>),
}

/// Serves until a signal ends it.
pub(crate) fn serve(options: &Options) -> Result<u8> {
    // What the server needs of the cluster is there before anybody connects.
    let cluster = match options.insecure {
        true => None,
        false => Some(Arc::new(Cluster::connect(&options.connection)?)),
    };
    let store = store(options, cluster.as_ref())?;
    let secured = cluster.map(|cluster| secured(options, cluster)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Problem::internal("cannot start the server").because(e))?;
    let done = runtime.block_on(listen(options, store, secured));
    // Do not wait for work whose client has gone.
    runtime.shutdown_background();
    done.map(|()| 0)
}

fn store(options: &Options, cluster: Option<&Arc<Cluster>>) -> Result<Store> {
    match (options.store(), cluster) {
        (options::Store::Secrets, Some(cluster)) => Ok(Store::Secrets(Secrets::new(cluster.clone(), &options.group)?)),
        _ => {
            // Clients that know versions of an earlier run get new lists.
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            Ok(Store::Memory(Memory::new(u64::try_from(since.as_millis()).unwrap_or_default())))
        }
    }
}

fn secured(options: &Options, cluster: Arc<Cluster>) -> Result<Secured> {
    let guard = Arc::new(Guard::new(cluster.clone())?);
    let (source, key) = match &options.tls_dir {
        Some(directory) => {
            let (files, key) = Files::open(directory)?;
            (Source::Files(files), key)
        }
        None => {
            let place = Place { service: options.service.clone(), group: options.group.clone() };
            let (own, key) = Own::open(cluster, place)?;
            (Source::Own(Box::new(own)), key)
        }
    };
    Ok(Secured { guard, shown: Arc::new(Shown::new(key)), source })
}

/// Keeps certificates and the configuration of the aggregation layer current, as long as the process runs. A failure changes nothing.
fn keep_current(guard: &Guard, shown: &Shown, mut source: Source) {
    loop {
        std::thread::sleep(REFRESH);
        let key = match &mut source {
            Source::Files(files) => files.changed(),
            Source::Own(own) => own.renewed(),
        };
        match key {
            Ok(Some(key)) => {
                shown.set(key);
                tracing::info!("the server has another certificate");
            }
            Ok(None) => {}
            Err(problems) => tracing::warn!("the certificate stays: {problems}"),
        }
        if let Err(problems) = guard.refresh() {
            tracing::warn!("the configuration of the aggregation layer stays: {problems}");
        }
    }
}

async fn listen(options: &Options, store: Store, secured: Option<Secured>) -> Result<()> {
    let listener = TcpListener::bind(options.listen()).await.map_err(|e| {
        let message = format!("cannot listen on {}", options.listen());
        Problem::internal(message).code(code::PORT_UNAVAILABLE).because(e)
    })?;
    // Before the first line is printed: its reader may end the server.
    let failed = |e| Problem::internal("cannot take over the handling of signals").because(e);
    let mut term = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let address = listener.local_addr().map_err(|e| Problem::internal("cannot read the address").because(e))?;
    let config = secured.as_ref().map(|secured| tls::config(secured.shown.clone())).transpose()?;
    let mut stdout = std::io::stdout();
    let scheme = if secured.is_some() { "https" } else { "http" };
    writeln!(stdout, "listening on {scheme}://{address}")
        .and_then(|()| stdout.flush())
        .io("write", std::path::Path::new("standard output"))?;
    let (stop, stopping) = watch::channel(false);
    let api = Api { rules: rules(options), store, max_body: options.max_body };
    let guard = secured.as_ref().map(|secured| secured.guard.clone());
    let router = Server::new(api, guard, stopping.clone()).router();
    if let Some(Secured { guard, shown, source }) = secured {
        std::thread::spawn(move || keep_current(&guard, &shown, source));
    }
    let server = async {
        match config {
            Some(config) => connections::serve(Listener::start(listener, config), router, stopping).await,
            None => connections::serve(listener, router, stopping).await,
        }
    };
    tokio::pin!(server);
    tokio::select! {
        () = &mut server => {}
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.send_replace(true);
    if tokio::time::timeout(LONGEST_END, server).await.is_err() {
        tracing::warn!("some requests were not answered within {LONGEST_END:?}");
    }
    Ok(())
}

fn rules(options: &Options) -> Rules {
    Rules {
        group: options.group.clone(),
        options: options.processing(),
        syntax: options.syntax(),
        label_selectors: options.label_selectors,
    }
}
