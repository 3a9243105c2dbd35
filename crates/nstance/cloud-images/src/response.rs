//! What EC2 answers: pages of images, and errors.

use aws_smithy_xml::decode::{Document, ScopedDecoder, try_data};

/// An image of a page.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) created: String,
}

/// A page of images.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) images: Vec<Found>,
    /// The token of the next page.
    pub(crate) next: Option<String>,
}

/// Reads a page.
///
/// # Errors
/// It is not a complete page.
pub(crate) fn page(text: &str) -> Result<Page, String> {
    let invalid = || "the answer of EC2 is not valid XML of DescribeImages".to_owned();
    let mut document = Document::new(text);
    let mut page = Page::default();
    {
        let mut root = document.root_element().map_err(|_| invalid())?;
        if !root.start_el().matches("DescribeImagesResponse") {
            return Err(invalid());
        }
        while let Some(mut tag) = root.next_tag() {
            match tag.start_el().local() {
                "imagesSet" => {
                    while let Some(mut item) = tag.next_tag() {
                        page.images.push(image(&mut item).ok_or_else(invalid)?);
                    }
                }
                "nextToken" => page.next = Some(data(&mut tag).ok_or_else(invalid)?).filter(|token| !token.is_empty()),
                _ => {}
            }
        }
    }
    // A scope that ends because the text does looks like a complete one.
    if !text.trim_end().ends_with("</DescribeImagesResponse>") {
        return Err(invalid());
    }
    Ok(page)
}

fn image(item: &mut ScopedDecoder<'_, '_>) -> Option<Found> {
    let mut found = Found::default();
    while let Some(mut tag) = item.next_tag() {
        let field = match tag.start_el().local() {
            "imageId" => &mut found.id,
            "name" => &mut found.name,
            "creationDate" => &mut found.created,
            _ => continue,
        };
        *field = data(&mut tag)?;
    }
    (!found.id.is_empty()).then_some(found)
}

fn data(tag: &mut ScopedDecoder<'_, '_>) -> Option<String> {
    try_data(tag).ok().map(|text| text.trim().to_owned())
}

/// The code of an error, if the text is one: `UnauthorizedOperation`. The message that comes with it is not used: it may quote
/// the request, which has credentials in its headers.
pub(crate) fn error_code(text: &str) -> Option<String> {
    let mut document = Document::new(text);
    let mut root = document.root_element().ok()?;
    let mut errors = root.next_tag()?;
    let code = if errors.start_el().matches("Errors") {
        let mut error = errors.next_tag()?;
        code_of(&mut error)
    } else {
        code_of(&mut errors)
    };
    let is_name = |code: &String| {
        !code.is_empty() && code.len() <= 100 && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
    };
    code.filter(is_name)
}

fn code_of(error: &mut ScopedDecoder<'_, '_>) -> Option<String> {
    while let Some(mut tag) = error.next_tag() {
        if tag.start_el().matches("Code") {
            return data(&mut tag);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_id_name_and_date() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<DescribeImagesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
  <requestId>r</requestId>
  <imagesSet>
    <item>
      <imageId>ami-1</imageId>
      <blockDeviceMapping><item><deviceName>/dev/sda</deviceName><name>no</name></item></blockDeviceMapping>
      <name>a &amp; b</name>
      <creationDate>2024-01-01T00:00:00.000Z</creationDate>
      <tagSet/>
    </item>
    <item><imageId>ami-2</imageId></item>
  </imagesSet>
  <nextToken>t/1=</nextToken>
</DescribeImagesResponse>
"#;
        let found =
            |id: &str, name: &str, created: &str| Found { id: id.into(), name: name.into(), created: created.into() };
        let images = vec![found("ami-1", "a & b", "2024-01-01T00:00:00.000Z"), found("ami-2", "", "")];
        assert_eq!(page(text), Ok(Page { images, next: Some("t/1=".into()) }));
        let empty = "<DescribeImagesResponse><imagesSet/><nextToken/></DescribeImagesResponse>";
        assert_eq!(page(empty), Ok(Page::default()));
    }

    #[test]
    fn what_is_not_a_complete_page_is_an_error() {
        for text in [
            "",
            "x",
            "<html></html>",
            "<DescribeImagesResponse>",
            "<DescribeImagesResponse><imagesSet><item><imageId>ami-1</imageId></item>",
            "<DescribeImagesResponse><imagesSet><item><imageId>ami-1</im",
            "<DescribeImagesResponse><imagesSet><item><name>n</name></item></imagesSet></DescribeImagesResponse>",
            "<DescribeImagesResponse><imagesSet><item><imageId>&canary;</imageId></item></imagesSet></DescribeImagesResponse>",
        ] {
            assert!(page(text).is_err(), "{text}");
        }
        let deep = "<a>".repeat(100_000);
        assert!(page(&deep).is_err());
        assert!(page(&format!("<DescribeImagesResponse>{deep}")).is_err());
    }

    #[test]
    fn errors_have_codes() {
        let text = "<?xml version=\"1.0\"?><Response><Errors><Error><Code>AuthFailure</Code><Message>canary</Message></Error></Errors><RequestID>r</RequestID></Response>";
        assert_eq!(error_code(text).as_deref(), Some("AuthFailure"));
        let other = "<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code></Error></ErrorResponse>";
        assert_eq!(error_code(other).as_deref(), Some("Throttling"));
        for text in [
            "",
            "canary",
            "<html><body>canary</body></html>",
            "<Response><Errors><Error><Code>can ary</Code></Error></Errors></Response>",
        ] {
            assert_eq!(error_code(text), None, "{text}");
        }
    }
}
