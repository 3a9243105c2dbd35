//! The cache: a table `images` in a SQLite file.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

const TABLE: &str = "CREATE TABLE IF NOT EXISTS images (
    name TEXT NOT NULL,
    query TEXT NOT NULL,
    image_id TEXT NOT NULL,
    resolved_at TEXT NOT NULL,
    PRIMARY KEY (name, query)
)";
const PUT: &str = "INSERT INTO images (name, query, image_id, resolved_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (name, query) DO UPDATE SET image_id = excluded.image_id, resolved_at = excluded.resolved_at";
/// The id of the same query; that of an image of this name is preferred, then the latest.
const GET: &str = "SELECT image_id, resolved_at FROM images WHERE query = ?2
    ORDER BY name = ?1 DESC, resolved_at DESC LIMIT 1";

/// The cache, as far as it can be used. What fails is logged as a warning.
pub(crate) struct Cache<'p> {
    path: &'p Path,
    connection: Option<Connection>,
    /// Whether a warning about writing has been logged.
    warned: bool,
}

impl<'p> Cache<'p> {
    /// Opens the cache, and makes the file and its directory if they do not exist.
    pub(crate) fn open(path: &'p Path) -> Cache<'p> {
        if let Some(parent) = path.parent()
            && let Err(error) = std::fs::create_dir_all(parent)
        {
            tracing::warn!("the cache of images cannot be used: {}: {error}", parent.display());
            return Cache { path, connection: None, warned: true };
        }
        let mut cache = Cache { path, connection: None, warned: false };
        match Connection::open(path).and_then(|connection| connection.busy_timeout(BUSY).map(|()| connection)) {
            Ok(connection) => cache.connection = Some(connection),
            Err(error) => cache.warn("opened", &error),
        }
        cache
    }

    /// The cached id of a query, with the time when it was found.
    pub(crate) fn get(&mut self, name: &str, query: &str) -> Option<(String, String)> {
        let connection = self.connection.as_ref()?;
        let read = || {
            // A file that another version has written, or no file yet.
            let exists = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'images'";
            if connection.query_row(exists, [], |_| Ok(())).optional()?.is_none() {
                return Ok(None);
            }
            connection.query_row(GET, params![name, query], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        };
        match read() {
            Ok(found) => found,
            Err(error) => {
                self.warn("read", &error);
                None
            }
        }
    }

    /// Stores the id of a query.
    pub(crate) fn put(&mut self, name: &str, query: &str, id: &str, resolved_at: &str) {
        let Some(connection) = &self.connection else { return };
        let stored =
            connection.execute(TABLE, []).and_then(|_| connection.execute(PUT, params![name, query, id, resolved_at]));
        if let Err(error) = stored {
            self.warn("written", &error);
        }
    }

    fn warn(&mut self, what: &str, error: &rusqlite::Error) {
        if !self.warned {
            // The message of the code alone: others may quote the file's content.
            let why = error.sqlite_error().map_or_else(|| "its content is unexpected".to_owned(), ToString::to_string);
            tracing::warn!("the cache of images cannot be {what}: {}: {why}", self.path.display());
            self.warned = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_query_is_kept_for_any_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/images.db");
        {
            let mut cache = Cache::open(&path);
            assert_eq!(cache.get("n", "q"), None);
            cache.put("n", "q", "ami-1", "2026-01-01T00:00:00Z");
            cache.put("n", "other", "ami-2", "2026-01-01T00:00:00Z");
            cache.put("m", "q", "ami-3", "2026-01-02T00:00:00Z");
            cache.put("n", "q", "ami-4", "2026-01-01T12:00:00Z");
            assert!(!cache.warned);
        }
        let mut cache = Cache::open(&path);
        let get = |cache: &mut Cache<'_>, name, query| cache.get(name, query).map(|(id, at)| format!("{id} {at}"));
        assert_eq!(get(&mut cache, "n", "q").as_deref(), Some("ami-4 2026-01-01T12:00:00Z"));
        assert_eq!(get(&mut cache, "x", "q").as_deref(), Some("ami-3 2026-01-02T00:00:00Z"));
        assert_eq!(get(&mut cache, "n", "none"), None);
        assert!(!cache.warned);
    }

    #[test]
    fn a_damaged_cache_is_no_cache() {
        let dir = tempfile::tempdir().unwrap();
        let damaged = dir.path().join("damaged");
        std::fs::write(&damaged, "this is not a database, and it is longer than the header of one: ".repeat(50))
            .unwrap();
        let foreign = dir.path().join("foreign");
        Connection::open(&foreign).unwrap().execute("CREATE TABLE images (name, image_id)", []).unwrap();
        let truncated = dir.path().join("truncated");
        Cache::open(&truncated).put("n", "q", "ami-1", "t");
        let bytes = std::fs::read(&truncated).unwrap();
        std::fs::write(&truncated, &bytes[..bytes.len() / 2]).unwrap();
        for path in [&damaged, &foreign, &truncated, &dir.path().to_path_buf(), &damaged.join("below")] {
            let before = std::fs::read(path).ok();
            let mut cache = Cache::open(path);
            assert_eq!(cache.get("n", "q"), None, "{}", path.display());
            cache.put("n", "q", "ami-1", "t");
            assert!(cache.warned, "{}", path.display());
            assert_eq!(std::fs::read(path).ok(), before, "{}", path.display());
        }
    }

    #[test]
    fn a_cache_that_cannot_be_written_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("images.db");
        Cache::open(&path).put("n", "q", "ami-1", "t");
        let mut cache = Cache::open(&path);
        cache.connection.as_ref().unwrap().pragma_update(None, "query_only", true).unwrap();
        cache.put("n", "q", "ami-2", "t");
        assert!(cache.warned);
        assert_eq!(cache.get("n", "q").unwrap().0, "ami-1");
    }

    #[test]
    fn processes_write_at_the_same_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("images.db");
        let names: Vec<String> = (0..8).map(|number| format!("n{number}")).collect();
        std::thread::scope(|scope| {
            for name in &names {
                let path = &path;
                scope.spawn(move || {
                    let mut cache = Cache::open(path);
                    (0..10).for_each(|number| cache.put(name, &number.to_string(), "ami-1", "t"));
                    assert!(!cache.warned);
                });
            }
        });
        let mut cache = Cache::open(&path);
        for name in &names {
            assert!((0..10).all(|number| cache.get(name, &number.to_string()).is_some()));
        }
    }
}
