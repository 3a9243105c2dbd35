//! The HTTP client of `aws-config`: the one that requests to EC2 use too.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use fetch::{Client, Failure, Limits};

/// How long a service may take to answer, unless AWS's crates want less.
const TIME: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(5);
/// The largest answer, in bytes.
const SIZE: u64 = 1 << 20;

/// Calls services one after the other; a call blocks, because nothing else happens meanwhile.
#[derive(Debug)]
pub(crate) struct Http {
    client: Client,
}

#[derive(Debug)]
struct Connector {
    client: Client,
    limits: Limits,
}

impl Http {
    pub(crate) fn new(client: Client) -> Http {
        Http { client }
    }
}

impl HttpClient for Http {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        let connect = settings.connect_timeout().unwrap_or(CONNECT);
        let read = settings.read_timeout().unwrap_or(TIME);
        let limits = Limits { connect, time: connect.saturating_add(read), size: SIZE };
        SharedHttpConnector::new(Connector { client: self.client.clone(), limits })
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::ready(self.send(request))
    }
}

impl Connector {
    fn send(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let invalid = |error| ConnectorError::user(Box::new(error));
        let request = request.try_into_http1x().map_err(invalid)?;
        let request = request.map(|body| body.bytes().unwrap_or_default().to_vec());
        let response = self.client.send(request, self.limits).map_err(|failure| match failure {
            Failure::Timeout => ConnectorError::timeout(Box::new(failure)),
            Failure::Permanent(_) => ConnectorError::user(Box::new(failure)),
            Failure::Connection(_) => ConnectorError::io(Box::new(failure)),
        })?;
        HttpResponse::try_from(response.map(SdkBody::from)).map_err(|error| ConnectorError::user(Box::new(error)))
    }
}
