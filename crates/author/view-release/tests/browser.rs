//! `boson view` in Chromium, by the WebDriver protocol. Skipped without chromedriver, unless the variable [`REQUIRED`] is set.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{MANIFEST, Server, deployment, run};
use serde_json::{Value, json};
use testkit::files::write;
use testkit::waiting::eventually;

/// Makes the absence of a browser an error.
const REQUIRED: &str = "BOSON_BROWSER";
const FILE: &str = "instances/web-0/files/web/config/web.yml.html";

/// A browser with one window.
struct Browser {
    driver: Child,
    /// The address of the session.
    session: String,
}

impl Browser {
    /// Starts a browser with its data in the directory; `None` if none is installed.
    fn start(directory: &Path) -> Option<Browser> {
        let data = directory.join("browser");
        let started = Command::new("chromedriver")
            .args(["--port=0"])
            .env("HOME", &data)
            .env("TMPDIR", directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut driver = match started {
            Ok(driver) => driver,
            Err(e) => {
                assert!(std::env::var_os(REQUIRED).is_none(), "cannot start chromedriver: {e}");
                println!("skipped: chromedriver is not installed (.ci/deps browser)");
                return None;
            }
        };
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines().map(Result::unwrap);
        let port: u16 = lines
            .filter_map(|line| line.split("on port ").nth(1)?.trim_end_matches('.').parse().ok())
            .find(|port| *port != 0)
            .unwrap();
        let arguments =
            ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"];
        let arguments: Vec<String> =
            arguments.map(str::to_owned).into_iter().chain([format!("--user-data-dir={}", data.display())]).collect();
        let capabilities = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}});
        let root = format!("http://127.0.0.1:{port}/session");
        let mut browser = Browser { driver, session: root };
        let session = browser.post("", &capabilities);
        browser.session = format!("{}/{}", browser.session, session["sessionId"].as_str().unwrap());
        Some(browser)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let mut answer = ureq::post(format!("{}{path}", self.session))
            .config()
            .http_status_as_error(false)
            .build()
            .send(body.to_string())
            .unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(answer["value"]["error"].is_null(), "{path}: {answer}");
        answer["value"].clone()
    }

    fn open(&self, address: &str) {
        self.post("/url", &json!({"url": address}));
    }

    /// The result of a script.
    fn script(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    fn text(&self, script: &str) -> String {
        self.script(script).as_str().unwrap_or_default().to_owned()
    }

    /// Presses and releases keys; `\u{e015}` is Arrow Down, `\u{e004}` Tab.
    fn press(&self, keys: &str) {
        let key = |key: char| [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})];
        let actions: Vec<Value> = keys.chars().flat_map(key).collect();
        self.post("/actions", &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = ureq::delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

const MARKED: &str = "return Array.from(document.querySelectorAll('.linked')).map(line => line.id).sort().join(' ')";
const DETAILS: &str = "return document.getElementById('details').textContent";

#[test]
fn lines_are_linked_by_pointer_and_keyboard() {
    let directory = deployment();
    let Some(browser) = Browser::start(directory.path()) else { return };
    assert_eq!(run(directory.path(), "--output view").status.code(), Some(0));
    let server = Server::start(directory.path());
    // From a server, and from files.
    let file = format!("file://{}/view/{FILE}", directory.path().display());
    for address in [format!("{}{FILE}", server.address), file] {
        browser.open(&address);
        browser.script(
            "document.querySelector('#r3 code').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))",
        );
        assert_eq!(browser.text(MARKED), "r3 t4", "{address}");
        // The loop above reads the property.
        let details = browser.text(DETAILS);
        assert!(details.contains("rendered by line 4 of the template"), "{details}");
        assert!(details.contains("reads p('users') on line 3: manifest m.yml:12:"), "{details}");
        browser.script("document.querySelector('#t1 a').focus()");
        assert_eq!(browser.text(MARKED), "r1 t1");
        browser.press("\u{e015}\u{e015}\u{e015}");
        assert_eq!(browser.text("return document.activeElement.parentElement.id"), "t4");
        assert_eq!(browser.text(MARKED), "r3 r4 t4");
        // One stop for each text.
        browser.press("\u{e004}");
        assert_eq!(browser.text("return document.activeElement.closest('ol').id"), "r");
        assert_eq!(browser.text("return getComputedStyle(document.querySelector('.panes')).display"), "grid");
    }
}

#[test]
fn a_page_loads_again_on_save_and_heals() {
    let directory = deployment();
    let Some(browser) = Browser::start(directory.path()) else { return };
    let server = Server::start(directory.path());
    browser.open(&format!("{}{FILE}", server.address));
    let line = "const line = document.querySelector('#r1 code'); return line ? line.textContent : ''";
    assert_eq!(browser.text(line), "port: 81");
    write(&directory.path().join("m.yml"), MANIFEST.replace("81", "82"));
    eventually("the new port in the page", || browser.text(line) == "port: 82");
    let template = directory.path().join("r/jobs/web/templates/web.yml.erb");
    write(&template, "port: <%= nil.upcase %>\n");
    let failure = "const found = document.querySelector('#t1 .finding.error'); return found ? found.textContent : ''";
    eventually("the error at its line", || browser.text(failure).contains("upcase"));
    write(&template, "port: <%= p('port') %>\n");
    eventually("the mended page", || browser.text(line) == "port: 82");
}

#[test]
fn secrets_are_shown_on_request_and_pages_have_landmarks() {
    let directory = deployment();
    let Some(browser) = Browser::start(directory.path()) else { return };
    let server = Server::start(directory.path());
    browser.open(&server.address);
    for selector in ["header nav[aria-label]", "main h1", "svg title", "[role=region][aria-label]", "html[lang]"] {
        let found = browser.script(&format!("return document.querySelectorAll('{selector}').length"));
        assert_eq!(found, 1, "{selector}");
    }
    browser.open(&format!("{}{FILE}", server.address));
    assert_eq!(browser.text("return document.querySelector('#r2 code').textContent"), "password: <redacted>");
    browser.script("document.querySelector('a.button').click()");
    eventually("the secret", || {
        browser.text("return document.querySelector('#r2 code').textContent") == "password: the-secret-password"
    });
    // No page is wider than the window at any of these widths.
    for width in [480, 1024, 1600] {
        browser.post("/window/rect", &json!({"width": width, "height": 900}));
        let is_narrow = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth";
        eventually("a page that fits", || browser.script(is_narrow) == true);
    }
}
