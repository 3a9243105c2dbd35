//! Events and errors of texts.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use libyaml::{Kind, Malformed, Mark, Parser};

/// The events up to the end of the stream, as `debug @ line:column`.
fn events(text: &[u8]) -> Result<Vec<String>, Malformed> {
    let mut parser = Parser::new(text);
    let mut events = Vec::new();
    loop {
        let event = parser.next()?;
        let Mark { line, column, .. } = event.start();
        let shown = match event.kind() {
            Kind::StreamEnd => return Ok(events),
            Kind::Scalar { text, tag, quoted, plain, .. } => {
                let tag = tag.map(String::from_utf8_lossy).unwrap_or_default().into_owned();
                format!("{} tag={tag} quoted={quoted} plain={plain}", String::from_utf8_lossy(text))
            }
            other => format!("{other:?}"),
        };
        events.push(format!("{shown} @ {line}:{column}"));
    }
}

#[test]
fn scalars_have_text_tag_style_and_position() {
    assert_eq!(
        events(b"- a\n- 'b'\n- !!str 5\n- ! x\n- !t |\n  c\n").unwrap(),
        [
            "StreamStart @ 1:1",
            "DocumentStart @ 1:1",
            "SequenceStart { anchor: None, tag: None } @ 1:1",
            "a tag= quoted=false plain=true @ 1:3",
            "b tag= quoted=true plain=false @ 2:3",
            "5 tag=tag:yaml.org,2002:str quoted=false plain=true @ 3:3",
            "x tag=! quoted=false plain=true @ 4:3",
            "c\n tag=!t quoted=false plain=false @ 5:3",
            "SequenceEnd @ 7:1",
            "DocumentEnd @ 7:1",
        ]
    );
}

#[test]
fn anchors_and_aliases_have_names() {
    let mut parser = Parser::new(b"[&one {}, &two [], &three x, *one]");
    let mut names = Vec::new();
    loop {
        match parser.next().unwrap().kind() {
            Kind::StreamEnd => break,
            Kind::Alias(name) => names.push(format!("*{}", String::from_utf8_lossy(name))),
            Kind::Scalar { anchor: Some(name), .. }
            | Kind::SequenceStart { anchor: Some(name), .. }
            | Kind::MappingStart { anchor: Some(name), .. } => names.push(String::from_utf8_lossy(name).into_owned()),
            _ => {}
        }
    }
    assert_eq!(names, ["one", "two", "three", "*one"]);
}

#[test]
fn errors_have_a_message_and_where_they_can_a_position() {
    let error = events(b"a: [\n").unwrap_err();
    assert_eq!(error.message, "did not find expected node content while parsing a flow node");
    assert_eq!((error.mark.unwrap().line, error.is_lexical), (2, false));
    let error = events(b"a: @x").unwrap_err();
    assert_eq!(error.message, "found character that cannot start any token while scanning for the next token");
    assert_eq!((error.mark.unwrap(), error.is_lexical), (Mark { line: 1, column: 4, index: 3 }, true));
    for text in [&b"a: \xff"[..], b"a: \x01", b"a: \xed\xa0\x80", b"\xc3"] {
        let error = events(text).unwrap_err();
        assert!(error.is_lexical && error.mark.is_none() && !error.message.is_empty(), "{error:?}");
    }
}

#[test]
fn byte_order_marks_choose_the_encoding() {
    let utf16: Vec<u8> = "\u{feff}a".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for text in ["\u{feff}a".as_bytes(), &utf16] {
        assert!(events(text).unwrap()[2].starts_with("a tag="), "{text:?}");
    }
}

#[test]
fn after_the_end_and_after_an_error_nothing_new_comes() {
    let mut parser = Parser::utf8("a");
    while !matches!(parser.next().unwrap().kind(), Kind::StreamEnd) {}
    assert_eq!(parser.next().unwrap().kind(), Kind::StreamEnd);
    let mut parser = Parser::utf8("]");
    let first = loop {
        if let Err(error) = parser.next() {
            break error;
        }
    };
    assert!(!matches!(parser.next().map(|event| matches!(event.kind(), Kind::Scalar { .. })), Ok(true)), "{first:?}");
}

proptest::proptest! {
    #[test]
    fn any_bytes_end_in_events_or_an_error(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
        let _ = events(&bytes);
    }

    #[test]
    fn any_text_ends_in_events_or_an_error(text in "[-a-z0-9:{}\\[\\],&*<~!'\"|>%@#?| \n\t\u{85}\u{2028}\u{feff}]{0,80}") {
        let _ = events(text.as_bytes());
    }
}
