//! The request for an image: its parameters, and what identifies it in the cache.

use dialect_nstance::{Image, Order, Sort};
use serde_json::json;

/// The version of EC2's Query API.
const VERSION: &str = "2016-11-15";
/// The most images on a page: EC2's own limit. Without one, EC2 may time out.
const PAGE: &str = "1000";

/// A lookup.
pub(crate) struct Query {
    /// All that the result depends on, as JSON.
    pub(crate) identity: String,
    /// The parameters of `DescribeImages`.
    parameters: Vec<(String, String)>,
}

impl Query {
    pub(crate) fn of(image: &Image, region: &str) -> Query {
        let filters: Vec<_> =
            image.filters.iter().map(|filter| json!({"name": filter.name, "values": filter.values})).collect();
        let identity = json!({
            "provider": image.provider,
            "region": region,
            "filters": filters,
            "owners": image.owners,
            "sort": match image.sort {
                Sort::CreationDate => "creation-date",
                Sort::Name => "name",
            },
            "order": match image.order {
                Order::Ascending => "asc",
                Order::Descending => "desc",
            },
        });
        Query { identity: identity.to_string(), parameters: parameters(image) }
    }

    /// The body of the request for a page: `next` is the token that the page before it ended with.
    pub(crate) fn body(&self, next: Option<&str>) -> String {
        let mut body = format!("Action=DescribeImages&Version={VERSION}&MaxResults={PAGE}");
        let next = next.map(|token| ("NextToken".to_owned(), token.to_owned()));
        for (name, value) in self.parameters.iter().chain(next.as_ref()) {
            body.push('&');
            body.push_str(name);
            body.push('=');
            push_encoded(&mut body, value);
        }
        body
    }
}

fn parameters(image: &Image) -> Vec<(String, String)> {
    let mut parameters = Vec::new();
    for (index, filter) in image.filters.iter().enumerate() {
        let prefix = format!("Filter.{}", index + 1);
        parameters.push((format!("{prefix}.Name"), filter.name.clone()));
        for (index, value) in filter.values.iter().enumerate() {
            parameters.push((format!("{prefix}.Value.{}", index + 1), value.clone()));
        }
    }
    for (index, owner) in image.owners.iter().enumerate() {
        parameters.push((format!("Owner.{}", index + 1), owner.clone()));
    }
    parameters
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
fn push_encoded(out: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect_nstance::Configuration;

    fn image(fields: &str) -> Image {
        let text = format!(r#"{{"images": {{"i": {{{fields}, "provider": "aws"}}}}, "groups": {{}}}}"#);
        let (mut configuration, _) = Configuration::read("c", text.as_bytes()).unwrap();
        configuration.images.swap_remove("i").unwrap()
    }

    const IMAGE: &str = r#""filters": [{"name": "name", "values": ["debian-13-*", "ü &=+"]}, {"name": "owner-id", "values": ["1"]}],
        "owners": ["self", "amazon"], "sort": "creation-date", "order": "desc""#;

    #[test]
    fn filters_and_owners_are_sent_as_they_are() {
        let query = Query::of(&image(IMAGE), "us-west-2");
        let parameters = "Action=DescribeImages&Version=2016-11-15&MaxResults=1000&Filter.1.Name=name\
            &Filter.1.Value.1=debian-13-%2A&Filter.1.Value.2=%C3%BC%20%26%3D%2B&Filter.2.Name=owner-id&Filter.2.Value.1=1\
            &Owner.1=self&Owner.2=amazon";
        assert_eq!(query.body(None), parameters);
        assert_eq!(query.body(Some("a/b=")), format!("{parameters}&NextToken=a%2Fb%3D"));
    }

    #[test]
    fn the_identity_is_all_that_the_result_depends_on() {
        let identity = |fields: &str, region: &str| Query::of(&image(fields), region).identity;
        let first = identity(IMAGE, "us-west-2");
        assert_eq!(first, identity(&format!("{IMAGE}, \"fallback\": \"ami-1\""), "us-west-2"));
        assert_ne!(first, identity(IMAGE, "us-west-1"));
        for (from, to) in [
            ("desc", "asc"),
            ("creation-date", "name"),
            ("\"self\", ", ""),
            ("debian-13-*", "debian-14-*"),
            ("owner-id", "owner-alias"),
        ] {
            assert_ne!(first, identity(&IMAGE.replace(from, to), "us-west-2"), "{from}");
        }
    }
}
