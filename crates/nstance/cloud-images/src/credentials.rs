//! What AWS's configuration says: credentials, endpoint, attempts.

use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_types::service_config::ServiceConfigKey;
use fetch::Client;

use crate::http::Http;

/// How long a connection may take to be made, unless AWS's configuration sets it.
const CONNECT: Duration = Duration::from_secs(5);
/// How long loading credentials may take: the command of a profile's `credential_process` has no limit of its own.
const LOADING: Duration = Duration::from_secs(60);
const TOO_LONG: &str = "it takes too long to get AWS credentials";

/// All that a request needs.
pub(crate) struct Session {
    /// The URL of EC2.
    pub(crate) endpoint: String,
    /// The region that requests are signed for.
    pub(crate) signing_region: String,
    pub(crate) credentials: Credentials,
    /// How often a request is sent at most.
    pub(crate) attempts: u32,
    pub(crate) connect: Duration,
    first_pause: Duration,
    longest_pause: Duration,
}

impl Session {
    /// The pause after an attempt (from 1): exponential, a random part of it.
    pub(crate) fn pause(&self, attempt: u32, part: f64) -> Duration {
        let doubled = 2u32.saturating_pow(attempt.saturating_sub(1).min(30));
        self.first_pause.saturating_mul(doubled).min(self.longest_pause).mul_f64(part)
    }
}

/// Loads what AWS's variables, files and services say.
///
/// # Errors
/// Why there are no credentials, without any part of them.
pub(crate) fn load(client: &Client, region: &str) -> Result<Session, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("the credentials cannot be loaded: {error}"))?;
    runtime.block_on(async {
        let config = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new(region.to_owned()))
            .http_client(Http::new(client.clone()))
            .sleep_impl(TokioSleep::new())
            .load()
            .await;
        let provider = config.credentials_provider().ok_or("AWS's configuration has no credentials")?;
        let credentials = tokio::time::timeout(LOADING, provider.provide_credentials()).await;
        let credentials = credentials.map_err(|_| TOO_LONG.to_owned())?.map_err(|error| describe(&error))?;
        session(&config, region, credentials)
    })
}

fn session(config: &SdkConfig, region: &str, credentials: Credentials) -> Result<Session, String> {
    let key = ServiceConfigKey::builder().service_id("EC2").env("AWS_ENDPOINT_URL").profile("endpoint_url").build();
    let of_ec2 = key.ok().and_then(|key| config.service_config()?.load_config(key));
    let configured = of_ec2.or_else(|| config.endpoint_url().map(str::to_owned));
    let is_set = |flag: Option<bool>| flag.unwrap_or_default();
    let endpoint = match configured {
        Some(url) => url,
        None => endpoint(region, is_set(config.use_fips()), is_set(config.use_dual_stack()))?,
    };
    let retry = config.retry_config();
    let timeout = config.timeout_config().and_then(aws_smithy_types::timeout::TimeoutConfig::connect_timeout);
    Ok(Session {
        endpoint,
        signing_region: region.to_owned(),
        credentials,
        attempts: retry.map_or(3, aws_smithy_types::retry::RetryConfig::max_attempts),
        connect: timeout.unwrap_or(CONNECT),
        first_pause: retry.map_or(Duration::from_secs(1), aws_smithy_types::retry::RetryConfig::initial_backoff),
        longest_pause: retry.map_or(Duration::from_secs(20), aws_smithy_types::retry::RetryConfig::max_backoff),
    })
}

/// EC2's URL in a region, by AWS's naming of its partitions.
fn endpoint(region: &str, fips: bool, dual_stack: bool) -> Result<String, String> {
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !region.bytes().all(is_label) || region.starts_with('-') || region.ends_with('-') || region.len() > 63 {
        return Err("provider.Region is not the name of a region".into());
    }
    let (plain, dual) = match region.split('-').take(2).collect::<Vec<_>>()[..] {
        ["cn", _] => ("amazonaws.com.cn", "api.amazonwebservices.com.cn"),
        ["us", "iso"] => ("c2s.ic.gov", "api.aws.ic.gov"),
        ["us", "isob"] => ("sc2s.sgov.gov", "api.aws.scloud"),
        ["us", "isof"] => ("csp.hci.ic.gov", "api.aws.hci.ic.gov"),
        ["eu", "isoe"] => ("cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
        ["eusc", _] => ("amazonaws.eu", "api.amazonwebservices.eu"),
        _ => ("amazonaws.com", "api.aws"),
    };
    // The plain endpoints of the US government's regions are FIPS endpoints.
    let service = if fips && !region.starts_with("us-gov-") { "ec2-fips" } else { "ec2" };
    Ok(format!("https://{service}.{region}.{}/", if dual_stack { dual } else { plain }))
}

/// Why there are no credentials. Only the kinds of errors count: the messages of services may quote what they were sent.
fn describe(error: &CredentialsError) -> String {
    match error {
        CredentialsError::CredentialsNotLoaded(_) => {
            "AWS credentials were not found: neither variables, nor a profile, a web identity, a container or an instance has any"
                .into()
        }
        CredentialsError::ProviderTimedOut(_) => TOO_LONG.into(),
        CredentialsError::InvalidConfiguration(_) => "the configuration of AWS credentials is invalid".into(),
        _ => format!("the AWS credentials cannot be loaded{}", causes(error)),
    }
}

/// The codes and kinds of the errors below one.
fn causes(error: &dyn std::error::Error) -> String {
    let mut kinds = Vec::new();
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(failure) = error.downcast_ref::<fetch::Failure>() {
            kinds.push(failure.to_string());
        } else if let Some(error) = error.downcast_ref::<std::io::Error>() {
            kinds.push(error.kind().to_string());
        }
        next = error.source();
    }
    if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_follow_partitions() {
        for (region, fips, dual, expected) in [
            ("us-west-2", false, false, "https://ec2.us-west-2.amazonaws.com/"),
            ("us-west-2", true, false, "https://ec2-fips.us-west-2.amazonaws.com/"),
            ("us-west-2", false, true, "https://ec2.us-west-2.api.aws/"),
            ("us-west-2", true, true, "https://ec2-fips.us-west-2.api.aws/"),
            ("us-gov-west-1", true, false, "https://ec2.us-gov-west-1.amazonaws.com/"),
            ("cn-north-1", false, false, "https://ec2.cn-north-1.amazonaws.com.cn/"),
            ("us-iso-east-1", false, false, "https://ec2.us-iso-east-1.c2s.ic.gov/"),
            ("us-isob-east-1", false, false, "https://ec2.us-isob-east-1.sc2s.sgov.gov/"),
        ] {
            assert_eq!(endpoint(region, fips, dual).as_deref(), Ok(expected));
        }
        for bad in ["a.b", "a/b", "x@y", "-a", "a-", "ü", &"a".repeat(64)] {
            assert!(endpoint(bad, false, false).is_err(), "{bad}");
        }
    }

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let session = Session {
            endpoint: String::new(),
            signing_region: String::new(),
            credentials: Credentials::new("a", "b", None, None, "test"),
            attempts: 9,
            connect: CONNECT,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(20),
        };
        let seconds = |attempt| session.pause(attempt, 1.0).as_secs();
        assert_eq!([seconds(1), seconds(2), seconds(5), seconds(6), seconds(u32::MAX)], [1, 2, 16, 20, 20]);
        assert_eq!(session.pause(2, 0.25), Duration::from_millis(500));
    }
}
