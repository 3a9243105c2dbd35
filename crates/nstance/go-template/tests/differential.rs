//! Random templates, rendered here and by Go. `GO_TEMPLATE_CASES` is how many (1,000 if it is not set), `GO_TEMPLATE_SEED`
//! the number that they follow from.

mod common;
#[path = "common/generate.rs"]
mod generate;
#[path = "common/random.rs"]
mod random;
#[path = "common/samples.rs"]
mod samples;

use serde_json::Value as Json;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}: {text}")))
}

#[test]
fn renders_as_go_does() {
    const CHUNK: u64 = 5_000;
    let cases = number("GO_TEMPLATE_CASES", 1_000);
    let seed = number("GO_TEMPLATE_SEED", 1);
    let go = common::Go::build();
    let mut random = random::Random::new(seed);
    let mut counts = [0; 3];
    let mut wrong: Vec<String> = Vec::new();
    let mut done = 0;
    while done < cases && wrong.len() < 20 {
        let requests: Vec<Json> = (0..CHUNK.min(cases - done)).map(|_| generate::request(&mut random)).collect();
        for (request, expected) in requests.iter().zip(go.answers(&requests)) {
            let mut pair = [common::answer(request), expected];
            counts[match pair[1]["error"]["stage"].as_str() {
                None => 0,
                Some("exec") => 1,
                _ => 2,
            }] += 1;
            if request["name"].as_str().is_some_and(|name| name.contains(['%', ':'])) {
                pair = pair.map(common::without_place);
            }
            if pair[0] != pair[1] {
                wrong.push(format!("{request}\n  Go:   {}\n  here: {}", pair[1], pair[0]));
            }
        }
        done += requests.len() as u64;
    }
    println!("{done} templates: {} rendered, {} failed, {} did not parse", counts[0], counts[1], counts[2]);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
