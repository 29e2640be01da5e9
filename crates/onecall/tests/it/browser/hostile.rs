//! Hostile texts in a browser: no script of theirs runs, and nothing is requested from elsewhere.

use serde_json::json;

use super::{OpenPage, has_browser, is_long};
use crate::page::{PageProcess, hostile_home};

/// How many pages the shorter form opens: every kind of page, with some of the texts.
const SHORT: usize = 30;

#[test]
fn nothing_that_a_server_wrote_runs() {
    if !has_browser() {
        return;
    }
    let (home, addresses) = hostile_home();
    let open = OpenPage::new(PageProcess::start(&home), 1200, 800);
    let count = if is_long() { addresses.len() } else { SHORT };
    // A file to keep is not opened by a browser.
    for address in addresses.iter().filter(|address| !address.ends_with("run.html")).take(count) {
        open.open(address);
        // A page that is not found is an error of the console, and nothing else is one.
        let is_missing = open.browser.script("return document.querySelector('h1').textContent");
        if is_missing == json!("Not found") || is_missing == json!("This cannot be done") {
            let _ = open.browser.console();
        }
        let markup = "return document.querySelectorAll('main script, main iframe, main b, main base, \
                      main [onload], main [onerror], main [onfocus], main a[href^=javascript]').length";
        assert_eq!(open.browser.script(markup), json!(0), "{address}");
        open.check(address);
    }
}
