//! What a request says: its query, its body, and the formats that its client reads.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use dialect_kubernetes_templates::{Format, Node, read};
use percent_encoding::percent_decode_str;

use crate::budget::{Budget, SMALL, Share};
use crate::patch::{JSON_PATCH, MERGE_PATCH, Patch, STRATEGIC_MERGE_PATCH};
use crate::status::Failure;

/// The media types of documents.
const DOCUMENTS: &str = "application/json, application/yaml";

/// The query of a request. Of several values of a name the first one counts, as in Kubernetes.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Query {
        let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        Query(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (decoded(name), decoded(value)))
                .collect(),
        )
    }

    /// The value of a name, if it is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.first(name).filter(|value| !value.is_empty())
    }

    fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether a name is set to true.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        // A name without value is true, and whatever else Kubernetes takes for it: clients write `True`.
        self.first(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Whether nothing is to be stored.
    ///
    /// # Errors
    /// 422 for another value than `All`.
    pub(crate) fn is_dry_run(&self) -> Result<bool, Failure> {
        match self.get("dryRun") {
            None => Ok(false),
            Some("All") => Ok(true),
            Some(_) => Err(Failure::bad_request("dryRun: must be All")),
        }
    }

    /// A whole number.
    ///
    /// # Errors
    /// 400 for something else.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let parsed =
            |value: &str| value.parse().map_err(|_| Failure::bad_request(format!("{name}: must be a whole number")));
        self.get(name).map(parsed).transpose()
    }
}

/// A header as text; empty if it is absent.
pub(crate) fn header(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// A media type without its parameters, in lower case.
fn media_type(header: &str) -> String {
    header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The format of a body.
fn format(headers: &HeaderMap) -> Result<Format, Failure> {
    match media_type(header(headers, CONTENT_TYPE)).as_str() {
        "" | "application/json" => Ok(Format::Json),
        "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml" => Ok(Format::Yaml),
        _ => Err(Failure::unsupported(DOCUMENTS)),
    }
}

/// A body arrives within this time,
const LONGEST_BODY: Duration = Duration::from_secs(60);
/// and each part of it within this one.
const LONGEST_PART: Duration = Duration::from_secs(15);

/// A body, and its share of the memory for bodies.
pub(crate) struct Content {
    pub(crate) bytes: Vec<u8>,
    _share: Share,
}

/// The content of a request. It waits for others, which are given up after a time.
///
/// # Errors
/// 413 for more than `limit`, 400 for a body that does not arrive, 429 if there is no memory for it in time.
pub(crate) async fn content(headers: &HeaderMap, body: Body, limit: u64, budget: &Budget) -> Result<Content, Failure> {
    let late = |_| Failure::bad_request("the body of the request did not arrive in time");
    tokio::time::timeout(LONGEST_BODY, received(headers, body, limit, budget)).await.map_err(late)?
}

async fn received(headers: &HeaderMap, mut body: Body, limit: u64, budget: &Budget) -> Result<Content, Failure> {
    if header(headers, CONTENT_LENGTH).parse::<u64>().is_ok_and(|length| length > limit) {
        return Err(Failure::too_large(limit));
    }
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let announced = body.size_hint().upper().and_then(|length| usize::try_from(length).ok()).unwrap_or(most).min(most);
    let (mut bytes, mut share) = (Vec::new(), None);
    loop {
        let part = tokio::time::timeout(LONGEST_PART, poll_fn(|context| Pin::new(&mut body).poll_frame(context))).await;
        let part = part.map_err(|_| Failure::bad_request("the body of the request did not arrive in time"))?;
        let Some(part) = part else { break };
        let part = part.map_err(|_| Failure::bad_request("the body is incomplete"))?;
        let Ok(part) = part.into_data() else { continue };
        if bytes.len() + part.len() > most {
            return Err(Failure::too_large(limit));
        }
        // Clients that announce much and send nothing have no share: they would stop everybody.
        if share.is_none() && bytes.len() + part.len() > SMALL {
            share = Some(budget.body(announced).await);
        }
        bytes.extend_from_slice(&part);
    }
    Ok(Content { bytes, _share: share.unwrap_or_else(Share::nothing) })
}

/// The document of a body.
///
/// # Errors
/// 415 for another media type, 400 for what cannot be read.
pub(crate) fn document(headers: &HeaderMap, bytes: &[u8]) -> Result<Node, Failure> {
    let format = format(headers)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Failure::bad_request("the body of the request is empty"));
    }
    parsed(bytes, format)
}

fn parsed(bytes: &[u8], format: Format) -> Result<Node, Failure> {
    read(bytes, format).map_err(|error| {
        let at = error.position;
        let place = if at.line > 0 { format!("line {}, column {}: ", at.line, at.column) } else { String::new() };
        Failure::bad_request(format!("the body of the request cannot be read: {place}{error}"))
    })
}

/// Whether a body may have anchors: their aliases are copies, which take more memory than its bytes.
pub(crate) fn has_anchors(headers: &HeaderMap, bytes: &[u8]) -> bool {
    format(headers) == Ok(Format::Yaml) && bytes.contains(&b'&')
}

/// Checks the media type before the body is read.
pub(crate) fn check_document(headers: &HeaderMap) -> Result<(), Failure> {
    format(headers).map(drop)
}

/// The patch of a body.
///
/// # Errors
/// 415 for another media type, 400 for what cannot be read.
pub(crate) fn patch(headers: &HeaderMap, bytes: &[u8]) -> Result<Patch, Failure> {
    match media_type(header(headers, CONTENT_TYPE)).as_str() {
        MERGE_PATCH => parsed(bytes, Format::Json).map(Patch::Merge),
        STRATEGIC_MERGE_PATCH => Patch::strategic(parsed(bytes, Format::Json)?),
        JSON_PATCH => Patch::operations(parsed(bytes, Format::Json)?),
        _ => Err(Failure::unsupported(&format!("{JSON_PATCH}, {MERGE_PATCH}, {STRATEGIC_MERGE_PATCH}"))),
    }
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) format: Format,
    pub(crate) wanted: Wanted,
}

/// What is shown of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Object,
    Table,
    Metadata,
}

/// The format that a client likes best, and the first of those that it likes equally.
///
/// # Errors
/// 406 if the server has none of them.
pub(crate) fn accepted(headers: &HeaderMap) -> Result<Accepted, Failure> {
    let mut best = None;
    for range in header(headers, ACCEPT).split(',').map(str::trim).filter(|range| !range.is_empty()) {
        let Some((quality, accepted)) = of_range(range) else {
            best = best.or(Some((0.0, None)));
            continue;
        };
        if best.is_none_or(|(before, _)| quality > before) {
            best = Some((quality, Some(accepted)));
        }
    }
    match best {
        None => Ok(Accepted { format: Format::Json, wanted: Wanted::Object }),
        Some((_, accepted)) => accepted.ok_or_else(Failure::not_acceptable),
    }
}

/// The quality of a media range, and what it asks for.
fn of_range(range: &str) -> Option<(f32, Accepted)> {
    let format = match media_type(range).as_str() {
        "*/*" | "application/*" | "application/json" => Format::Json,
        "application/yaml" | "application/x-yaml" | "text/yaml" => Format::Yaml,
        _ => return None,
    };
    let parameters: Vec<&str> = range.split(';').skip(1).map(str::trim).collect();
    let parameter = |name: &str| parameters.iter().find_map(|one| one.strip_prefix(name)?.strip_prefix('='));
    let is_v1 = parameter("v").is_none_or(|v| v == "v1");
    let wanted = match parameter("as") {
        None => Wanted::Object,
        Some("Table") if is_v1 => Wanted::Table,
        Some("PartialObjectMetadata" | "PartialObjectMetadataList") if is_v1 => Wanted::Metadata,
        Some(_) => return None,
    };
    let quality = parameter("q").map_or(Some(1.0), |q| q.parse().ok()).unwrap_or_default();
    Some((quality, Accepted { format, wanted })).filter(|(quality, _)| *quality > 0.0)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn queries_are_decoded() {
        let query = Query::parse(Some("labelSelector=a%3Db%2Cc&watch&limit=500&fieldSelector=a+b&empty="));
        assert_eq!(query.get("labelSelector"), Some("a=b,c"));
        assert_eq!(query.get("fieldSelector"), Some("a b"));
        assert_eq!((query.get("empty"), query.get("other")), (None, None));
        assert!(query.is_true("watch") && query.is_true("limit") && !query.is_true("other"));
        let query = Query::parse(Some("watch=True&a=t&b=0&c=False&d=1&d=0&labelSelector=a%3Db&labelSelector="));
        assert_eq!(["watch", "a", "b", "c", "d"].map(|name| query.is_true(name)), [true, true, false, false, true]);
        assert_eq!(query.get("labelSelector"), Some("a=b"));
        let query = Query::parse(Some("watch&limit=500"));
        assert_eq!(query.number("limit").unwrap(), Some(500));
        assert_eq!(query.number("watch").unwrap(), None);
        assert_eq!(Query::parse(Some("limit=x")).number("limit").unwrap_err().code, 400);
        assert!(Query::parse(Some("dryRun=All")).is_dry_run().unwrap());
        assert_eq!(Query::parse(Some("dryRun=x")).is_dry_run().unwrap_err().code, 400);
    }

    #[test]
    fn bodies_are_json_or_yaml() {
        let read = |kind: &str, text: &str| document(&headers(CONTENT_TYPE, kind), text.as_bytes()).map_err(|f| f.code);
        assert!(read("application/json", "{}").is_ok());
        assert!(read("application/json; charset=utf-8", "{}").is_ok());
        assert!(read("application/yaml", "a: b").is_ok());
        assert!(document(&HeaderMap::new(), b"{}").is_ok());
        assert_eq!(read("application/json", "a: b").unwrap_err(), 400);
        assert_eq!(read("application/json", " ").unwrap_err(), 400);
        assert_eq!(read("application/vnd.kubernetes.protobuf", "k8s").unwrap_err(), 415);
        assert_eq!(read("text/plain", "{}").unwrap_err(), 415);
        let failure = document(&HeaderMap::new(), b"{\"a\":\n}").unwrap_err();
        assert_eq!(
            failure.message,
            "the body of the request cannot be read: line 2, column 1: invalid JSON: expected a value"
        );
        assert_eq!(patch(&headers(CONTENT_TYPE, "application/apply-patch+yaml"), b"{}").unwrap_err().code, 415);
        assert!(patch(&headers(CONTENT_TYPE, STRATEGIC_MERGE_PATCH), b"{}").is_ok());
    }

    #[test]
    fn answers_have_a_format_that_the_client_accepts() {
        let form =
            |accept: &str| accepted(&headers(ACCEPT, accept)).map(|one| (one.format, one.wanted)).map_err(|f| f.code);
        assert_eq!(accepted(&HeaderMap::new()).unwrap().format, Format::Json);
        for (accept, expected) in [
            ("*/*", Ok((Format::Json, Wanted::Object))),
            ("application/json", Ok((Format::Json, Wanted::Object))),
            ("application/yaml", Ok((Format::Yaml, Wanted::Object))),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
                Ok((Format::Json, Wanted::Table)),
            ),
            ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Ok((Format::Json, Wanted::Object))),
            ("application/vnd.kubernetes.protobuf, application/json", Ok((Format::Json, Wanted::Object))),
            (
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
                Ok((Format::Json, Wanted::Object)),
            ),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                Ok((Format::Json, Wanted::Metadata)),
            ),
            ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Ok((Format::Json, Wanted::Metadata))),
            ("application/json;q=0.5, application/yaml;q=0.9, text/yaml;q=0.9", Ok((Format::Yaml, Wanted::Object))),
            ("application/json;q=0, application/yaml;q=0.1", Ok((Format::Yaml, Wanted::Object))),
            ("application/json;q=0", Err(406)),
            ("application/json;as=Other;v=v1;g=meta.k8s.io", Err(406)),
            ("text/html", Err(406)),
        ] {
            assert_eq!(form(accept), expected, "{accept}");
        }
    }
}
