//! A stand-in for EC2 that checks signatures (AWS Signature Version 4) without any of AWS's code.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

/// An access key that the stand-in accepts: its id, its secret, and the token that must come with it.
pub const KEYS: [(&str, &str, Option<&str>); 2] = [
    ("AKIDSTATIC", "static/secret+canary", None),
    ("ASIASESSION", "session/secret+canary", Some("session-token-canary")),
];

/// How much a request's time may differ from now.
const SKEW: Duration = Duration::from_secs(300);

/// A running stand-in; it lives as long as the test's process.
pub struct Ec2 {
    address: SocketAddr,
    calls: Arc<Mutex<Vec<Call>>>,
}

/// A request.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// `METHOD PATH`.
    pub line: String,
    /// The parameters of the form.
    pub parameters: BTreeMap<String, String>,
    /// The region that it is signed for.
    pub region: String,
    /// The headers, with lower-case names.
    pub headers: BTreeMap<String, String>,
}

/// An answer.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A status and a body.
    Text(u16, String),
    /// None: the connection stays open.
    Silence,
    /// None: the connection is closed.
    Close,
}

impl Reply {
    /// A page of images: id, name and creation date.
    pub fn images(images: &[(&str, &str, &str)], next: Option<&str>) -> Reply {
        let item = |(id, name, created): &(&str, &str, &str)| {
            format!(
                "<item><imageId>{id}</imageId><blockDeviceMapping><item><deviceName>d</deviceName></item></blockDeviceMapping><name>{name}</name><creationDate>{created}</creationDate></item>"
            )
        };
        let items: String = images.iter().map(item).collect();
        let next = next.map(|token| format!("<nextToken>{token}</nextToken>")).unwrap_or_default();
        let body = format!("<requestId>r</requestId><imagesSet>{items}</imagesSet>{next}");
        Reply::Text(
            200,
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<DescribeImagesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">{body}</DescribeImagesResponse>"
            ),
        )
    }

    /// An error of EC2.
    pub fn error(status: u16, code: &str) -> Reply {
        Reply::Text(
            status,
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>{code}</Code><Message>canary</Message></Error></Errors><RequestID>r</RequestID></Response>"
            ),
        )
    }
}

impl Ec2 {
    /// Starts one. `answer` is called for each request; one of EC2 is answered with an error before that if its signature is
    /// wrong.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn start(answer: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Ec2 {
        #[allow(clippy::expect_used, reason = "a test may panic")]
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        #[allow(clippy::expect_used, reason = "a test may panic")]
        let address = listener.local_addr().expect("an address");
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = calls.clone();
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answer) = (seen.clone(), answer.clone());
                thread::spawn(move || serve(stream, &seen, &*answer));
            }
        });
        Ec2 { address, calls }
    }

    /// Its URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far whose signature is right or not needed.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().map(|calls| calls.clone()).unwrap_or_default()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<Call>>, answer: &dyn Fn(&Call) -> Reply) {
    let Some((mut call, body)) = read(&stream) else { return };
    let action = form(&body).get("Action").cloned();
    call.parameters = form(&body);
    let checked = if action.as_deref() == Some("DescribeImages") { check(&mut call, &body) } else { Ok(()) };
    let reply = match checked {
        Err(code) => Reply::error(401, code),
        Ok(()) => {
            if let Ok(mut seen) = seen.lock() {
                seen.push(call.clone());
            }
            answer(&call)
        }
    };
    match reply {
        Reply::Text(status, body) => {
            let head =
                format!("HTTP/1.1 {status} Status\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            // The client may have gone.
            let _ = stream.write_all(&[head.as_bytes(), body.as_bytes()].concat());
        }
        Reply::Silence => std::mem::forget(stream),
        Reply::Close => {}
    }
}

fn read(stream: &TcpStream) -> Option<(Call, Vec<u8>)> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut call = Call { line: line.trim().rsplit_once(' ')?.0.to_owned(), ..Call::default() };
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        call.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = call.headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((call, body))
}

fn form(body: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(body);
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits: Vec<u8> = rest.by_ref().take(2).collect();
            let code = u8::from_str_radix(&String::from_utf8_lossy(&digits), 16);
            bytes.push(code.unwrap_or(b'?'));
        } else {
            bytes.push(if byte == b'+' { b' ' } else { byte });
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Checks the signature; the error is EC2's code.
fn check(call: &mut Call, body: &[u8]) -> Result<(), &'static str> {
    let header = |name: &str| call.headers.get(name).map(String::as_str);
    let authorization = header("authorization").ok_or("MissingAuthenticationToken")?;
    let fields = authorization.strip_prefix("AWS4-HMAC-SHA256 ").ok_or("IncompleteSignature")?;
    let field = |name: &str| fields.split(", ").find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    let (Some(scope), Some(signed), Some(signature)) =
        (field("Credential"), field("SignedHeaders"), field("Signature"))
    else {
        return Err("IncompleteSignature");
    };
    let (id, scope) = scope.split_once('/').ok_or("IncompleteSignature")?;
    let (_, secret, token) = KEYS.iter().find(|key| key.0 == id).ok_or("AuthFailure")?;
    if header("x-amz-security-token") != *token {
        return Err("AuthFailure");
    }
    let [date, region, service, end] = scope.split('/').collect::<Vec<_>>()[..] else {
        return Err("IncompleteSignature");
    };
    let time = header("x-amz-date").ok_or("IncompleteSignature")?;
    if service != "ec2" || end != "aws4_request" || !time.starts_with(date) || !is_now(time) {
        return Err("SignatureDoesNotMatch");
    }
    for needed in ["host", "x-amz-date"].into_iter().chain(token.map(|_| "x-amz-security-token")) {
        if !signed.split(';').any(|name| name == needed) {
            return Err("SignatureDoesNotMatch");
        }
    }
    let mut canonical = String::new();
    for name in signed.split(';') {
        canonical.push_str(&format!("{name}:{}\n", header(name).ok_or("SignatureDoesNotMatch")?));
    }
    let (method, path) = call.line.split_once(' ').ok_or("IncompleteSignature")?;
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let canonical = format!("{method}\n{path}\n{query}\n{canonical}\n{signed}\n{}", hex(&Sha256::digest(body)));
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in [date, region, service, end] {
        key = hmac(&key, part.as_bytes());
    }
    if hex(&hmac(&key, text.as_bytes())) != signature {
        return Err("SignatureDoesNotMatch");
    }
    call.region = region.to_owned();
    Ok(())
}

/// Whether a time such as `20260102T030405Z` is about now.
fn is_now(text: &str) -> bool {
    let number = |range: std::ops::Range<usize>| text.get(range).and_then(|digits| digits.parse::<i64>().ok());
    let parts = (number(0..4), number(4..6), number(6..8), number(9..11), number(11..13), number(13..15));
    let (Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)) = parts else { return false };
    // Days from the civil calendar: March is the first month, so that the leap day is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    u64::try_from(seconds).is_ok_and(|seconds| seconds.abs_diff(now) <= SKEW.as_secs())
}

/// HMAC-SHA256 (RFC 2104).
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = [0; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5C)).chain_update(inner).finalize().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_is_that_of_rfc_4231() {
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(&hmac(b"Jefe", b"what do ya want for nothing?")), expected);
        let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(hex(&hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First")), expected);
    }

    #[test]
    fn forms_are_decoded() {
        assert_eq!(form(b"a=%C3%BC+b&c=")["a"], "ü b");
    }
}
