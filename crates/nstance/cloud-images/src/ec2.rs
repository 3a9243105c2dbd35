//! `DescribeImages`: signed requests, their pages and their repetition.

use std::cmp::Ordering;
use std::thread;
use std::time::{Duration, SystemTime};

use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use dialect_nstance::{Image, Order, Sort};
use fetch::http::header::CONTENT_TYPE;
use fetch::http::{Request, Response};
use fetch::{Client, Failure, Limits};

use crate::credentials::{self, Session};
use crate::query::Query;
use crate::response::{self, Found};

/// How long one request may take.
const TIME: Duration = Duration::from_secs(60);
/// The largest page, in bytes; a page of 1,000 images has about 2 MB.
const PAGE_SIZE: u64 = 32 << 20;
/// The most pages that are read: a million images.
const MOST_PAGES: usize = 1_000;
const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";
/// Errors after which a request is sent again; so are those with status 429 or 5xx.
const TRANSIENT: [&str; 14] = [
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "InternalError",
    "InternalFailure",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "Unavailable",
];

/// EC2 in a region. Credentials are loaded once, for the first request.
pub(crate) struct Ec2 {
    client: Client,
    region: String,
    session: Option<Result<Session, String>>,
}

/// Why a request failed.
struct Failed {
    why: String,
    is_transient: bool,
}

impl Ec2 {
    pub(crate) fn new(client: Client, region: &str) -> Ec2 {
        Ec2 { client, region: region.to_owned(), session: None }
    }

    /// The id of the image that is the first one in the order that the image's description asks for.
    ///
    /// # Errors
    /// Why there is none, without credentials.
    pub(crate) fn look_up(&mut self, image: &Image, query: &Query) -> Result<String, String> {
        if self.region.is_empty() {
            return Err("the lookup needs a region: provider.Region is not set".into());
        }
        let session = self.session.get_or_insert_with(|| credentials::load(&self.client, &self.region));
        let session = session.as_ref().map_err(Clone::clone)?;
        let mut best: Option<Found> = None;
        let mut next = None;
        for _ in 0..MOST_PAGES {
            let page = call(&self.client, session, &query.body(next.as_deref()))?;
            for found in page.images {
                if best.as_ref().is_none_or(|best| compare(image, &found, best).is_lt()) {
                    best = Some(found);
                }
            }
            match page.next {
                Some(token) if next.as_ref() != Some(&token) => next = Some(token),
                Some(_) => return Err("EC2 repeats a page".into()),
                None => return best.map(|found| found.id).ok_or_else(|| "no image matches the filters".into()),
            }
        }
        Err(format!("EC2 has more than {MOST_PAGES} pages of images"))
    }
}

/// The order of two images: bytewise by the sorted field, in the order that is configured; with equal fields, the lower id
/// comes first.
fn compare(image: &Image, left: &Found, right: &Found) -> Ordering {
    let by_field = match image.sort {
        Sort::CreationDate => left.created.as_bytes().cmp(right.created.as_bytes()),
        Sort::Name => left.name.as_bytes().cmp(right.name.as_bytes()),
    };
    let by_field = match image.order {
        Order::Ascending => by_field,
        Order::Descending => by_field.reverse(),
    };
    by_field.then_with(|| left.id.as_bytes().cmp(right.id.as_bytes()))
}

/// Requests a page, again after failures that may pass.
fn call(client: &Client, session: &Session, body: &str) -> Result<response::Page, String> {
    let mut attempt = 1;
    loop {
        match call_once(client, session, body) {
            Ok(page) => return Ok(page),
            Err(failed) if failed.is_transient && attempt < session.attempts => {
                thread::sleep(session.pause(attempt, fastrand::f64()));
                attempt += 1;
            }
            Err(Failed { why, .. }) if attempt > 1 => return Err(format!("{why} ({attempt} attempts)")),
            Err(Failed { why, .. }) => return Err(why),
        }
    }
}

fn call_once(client: &Client, session: &Session, body: &str) -> Result<response::Page, Failed> {
    let permanent = |why: String| Failed { why, is_transient: false };
    let request = signed(session, body).map_err(|why| permanent(why.to_owned()))?;
    let limits = Limits { connect: session.connect, time: TIME, size: PAGE_SIZE };
    let response = client.send(request, limits).map_err(|failure| Failed {
        why: format!("{}: {failure}", fetch::shown(&session.endpoint)),
        is_transient: !matches!(failure, Failure::Permanent(_)),
    })?;
    read(response)
}

fn read(response: Response<Vec<u8>>) -> Result<response::Page, Failed> {
    let status = response.status().as_u16();
    let text = String::from_utf8_lossy(response.body());
    if status == 200 {
        return response::page(&text).map_err(|why| Failed { why, is_transient: true });
    }
    let code = response::error_code(&text);
    let is_transient = status == 429 || status >= 500 || code.as_deref().is_some_and(|code| TRANSIENT.contains(&code));
    let why = match code.as_deref() {
        None => format!("EC2 answers with the HTTP status {status}"),
        Some(code) => match meaning(code) {
            Some(meaning) => format!("EC2 answers {code}: {meaning}"),
            None => format!("EC2 answers {code} (HTTP status {status})"),
        },
    };
    Err(Failed { why, is_transient })
}

/// What a code of EC2 means for the operator.
fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "AuthFailure" | "InvalidClientTokenId" | "SignatureDoesNotMatch" | "UnrecognizedClientException" => {
            "the credentials are not valid"
        }
        "ExpiredToken" | "ExpiredTokenException" | "RequestExpired" => {
            "the credentials have expired, or the clock of this machine is wrong"
        }
        "UnauthorizedOperation" | "AccessDenied" => "the credentials do not permit ec2:DescribeImages",
        "OptInRequired" => "the account has not enabled the region",
        _ => return None,
    })
}

/// The request for a page, signed with the time of now.
fn signed(session: &Session, body: &str) -> Result<Request<Vec<u8>>, &'static str> {
    let invalid = |_| "the endpoint of EC2 is not a valid URL";
    let request = Request::post(&session.endpoint).header(CONTENT_TYPE, FORM).body(body.as_bytes().to_vec());
    let mut request = request.map_err(invalid)?;
    let failed = "the request cannot be signed";
    let identity = session.credentials.clone().into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(&session.signing_region)
        .name("ec2")
        .time(SystemTime::now())
        .settings(SigningSettings::default())
        .build()
        .map_err(|_| failed)?
        .into();
    let headers = [(CONTENT_TYPE.as_str(), FORM)].into_iter();
    let signable = SignableRequest::new("POST", &session.endpoint, headers, SignableBody::Bytes(body.as_bytes()));
    let output = sign(signable.map_err(|_| failed)?, &parameters).map_err(|_| failed)?;
    output.into_parts().0.apply_to_request_http1x(&mut request);
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect_nstance::Configuration;

    #[test]
    fn images_are_sorted_bytewise_with_ties_by_id() {
        let found = |id: &str, name: &str| Found { id: id.into(), name: name.into(), created: format!("of {name}") };
        let all =
            [found("ami-3", "B"), found("ami-2", "a"), found("ami-1", "a"), found("ami-9", "B"), found("ami-4", "Z")];
        for (sort, order, expected) in [
            ("name", "asc", ["ami-3", "ami-9", "ami-4", "ami-1", "ami-2"]),
            ("name", "desc", ["ami-1", "ami-2", "ami-4", "ami-3", "ami-9"]),
            ("creation-date", "asc", ["ami-3", "ami-9", "ami-4", "ami-1", "ami-2"]),
            ("creation-date", "desc", ["ami-1", "ami-2", "ami-4", "ami-3", "ami-9"]),
        ] {
            let text = format!(
                r#"{{"images": {{"i": {{"provider": "aws", "filters": [{{"name": "n", "values": ["v"]}}], "sort": "{sort}", "order": "{order}"}}}}}}"#
            );
            let (configuration, _) = Configuration::read("c", text.as_bytes()).unwrap();
            let mut sorted = all.clone();
            sorted.sort_by(|left, right| compare(&configuration.images["i"], left, right));
            assert_eq!(sorted.each_ref().map(|found| &*found.id), expected, "{sort} {order}");
        }
    }
}
