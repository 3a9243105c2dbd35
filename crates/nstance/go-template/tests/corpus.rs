//! Templates with what Go printed for them. With `BOSON_UPDATE=1` Go's program, which must be there then, answers anew.

mod common;

use std::fs;

use serde_json::{Map as Object, Value as Json};

const ANSWERS: [&str; 3] = ["output", "output_base64", "error"];

fn split(line: &str) -> (Json, Json) {
    let all: Object<String, Json> = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let (answer, request): (Object<_, _>, Object<_, _>) =
        all.into_iter().partition(|(key, _)| ANSWERS.contains(&&**key));
    (request.into(), answer.into())
}

#[test]
fn prints_what_go_prints() {
    let directory = common::manifest_dir().join("tests/corpus");
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let go = std::env::var_os("BOSON_UPDATE").map(|_| common::Go::build());
    let mut count = 0;
    let mut wrong = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let mut cases: Vec<(Json, Json)> = text.lines().map(split).collect();
        if let Some(go) = &go {
            let requests: Vec<Json> = cases.iter().map(|case| case.0.clone()).collect();
            for (case, answer) in cases.iter_mut().zip(go.answers(&requests)) {
                case.1 = answer;
            }
            let lines = cases.iter().map(|(request, answer)| {
                let mut all = request.as_object().unwrap().clone();
                all.extend(answer.as_object().unwrap().clone());
                Json::from(all).to_string() + "\n"
            });
            fs::write(&path, lines.collect::<String>()).unwrap();
        }
        for (index, (request, expected)) in cases.iter().enumerate() {
            count += 1;
            let mut pair = [common::answer(request), expected.clone()];
            if request["name"].as_str().is_some_and(|name| name.contains('%')) {
                pair = pair.map(common::without_place);
            }
            let [found, expected] = pair;
            if found != expected {
                let place = format!("{}:{}", path.file_name().unwrap().display(), index + 1);
                wrong.push(format!("{place}: {request}\n  Go:   {expected}\n  here: {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 600, "{count} templates");
}
