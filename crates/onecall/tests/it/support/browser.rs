//! A person's browser in tests: it keeps cookies, follows redirects and fills in forms.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use testkit::web::percent_encode;

use super::raw_http::{HttpResponse, Request};

/// More redirects than any login has.
const MAX_STEPS: usize = 30;

/// A browser. Its cookies are for every port of this machine, as in a real browser.
#[derive(Default)]
pub struct Browser {
    cookies: BTreeMap<String, String>,
}

/// A page that a browser shows.
#[derive(Debug)]
pub struct Page {
    /// The address of the page.
    pub url: String,
    pub status: u16,
    /// Where a redirect, or the header `Refresh`, leads.
    pub next: Option<String>,
    pub body: String,
}

impl Browser {
    /// Opens an address and does not follow redirects.
    pub fn open(&mut self, url: &str) -> Page {
        self.send("GET", url, None)
    }

    /// Fills in the form of a page, with these fields beside its hidden ones, and sends it.
    pub fn submit(&mut self, page: &Page, fields: &[(&str, &str)]) -> Page {
        let form = page.form();
        let given = fields.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let hidden = form.hidden.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let pairs = hidden
            .chain(given)
            .map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(&value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        self.send("POST", &page.resolve(&form.action), Some(&body))
    }

    /// Logs in at an authorization server as this user and agrees to everything, until the browser is
    /// sent to an address that begins with `until`; returns that address.
    pub fn authorize(&mut self, url: &str, user: &str, until: &str) -> String {
        let mut page = self.open(url);
        for _ in 0..MAX_STEPS {
            page = match &page.next {
                Some(next) if next.starts_with(until) => return next.clone(),
                Some(next) => self.open(&next.clone()),
                None if page.body.contains("name=\"login\"") => {
                    self.submit(&page, &[("login", user), ("password", &password_of(user))])
                }
                None => self.submit(&page, &[]),
            };
        }
        panic!("the login does not end: {page:?}")
    }

    /// Uses a link to the login page of onecall from beginning to end: answers who is at the browser,
    /// and logs in as `account` at the authorization server. Returns the last page, which is the first
    /// one that does not lead on.
    pub fn use_login_link(&mut self, link: &str, answer: &str, account: &str) -> Page {
        let question = self.open(link);
        assert_eq!(question.status, 200, "{question:?}");
        let confirmed = self.submit(&question, &[("answer", answer)]);
        let Some(there) = &confirmed.next else { return confirmed };
        let (origin, _) = link.split_once("/login/").expect("a link to the login page");
        let back = self.authorize(there, account, &format!("{origin}/login/callback"));
        self.open(&back)
    }

    fn send(&mut self, method: &str, url: &str, form: Option<&str>) -> Page {
        let (address, path) = split(url);
        let mut request = Request::new(method, path);
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header("Cookie", &cookies.join("; "));
        }
        if let Some(form) = form {
            request.body = form.as_bytes();
            request = request
                .header("Content-Type", "application/x-www-form-urlencoded")
                .header("Content-Length", &form.len().to_string());
        }
        let response = request.header("Connection", "close").send(address);
        self.keep_cookies(&response);
        let refresh = response.header("refresh").and_then(|text| text.split_once("url="));
        let next = response.header("location").or(refresh.map(|(_, url)| url)).map(str::to_owned);
        let mut page =
            Page { url: url.to_owned(), status: response.status, next, body: response.text() };
        page.next = page.next.map(|next| absolute(url, &next));
        page
    }

    fn keep_cookies(&mut self, response: &HttpResponse) {
        let set = response.headers.iter().filter(|(name, _)| name == "set-cookie");
        for (_, cookie) in set {
            let pair = cookie.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match value {
                "" => self.cookies.remove(name),
                value => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
    }
}

/// The password of a person at authorization servers of tests.
pub fn password_of(user: &str) -> String {
    format!("password of {user}")
}

/// The form of a page.
struct Form {
    action: String,
    hidden: Vec<(String, String)>,
}

impl Page {
    fn form(&self) -> Form {
        let Some((_, form)) = self.body.split_once("<form") else { panic!("no form: {self:?}") };
        let (head, rest) = form.split_once('>').expect("a tag ends");
        let (content, _) = rest.split_once("</form>").expect("a form ends");
        let inputs = content.split("<input").skip(1).filter_map(|input| input.split_once('>'));
        let hidden = inputs.filter(|(tag, _)| tag.contains("type=\"hidden\""));
        Form {
            action: attribute(head, "action").unwrap_or_else(|| self.url.clone()),
            hidden: hidden
                .filter_map(|(tag, _)| Some((attribute(tag, "name")?, attribute(tag, "value")?)))
                .collect(),
        }
    }

    fn resolve(&self, target: &str) -> String {
        absolute(&self.url, target)
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    Some(rest.split_once('"')?.0.replace("&amp;", "&"))
}

/// The address of a target that may lack its origin.
fn absolute(base: &str, target: &str) -> String {
    if !target.starts_with('/') {
        return target.to_owned();
    }
    let (address, _) = split(base);
    format!("http://{address}{target}")
}

fn split(url: &str) -> (SocketAddr, &str) {
    let rest =
        url.strip_prefix("http://").unwrap_or_else(|| panic!("{url} is not on this machine"));
    let end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    (host.parse().unwrap_or_else(|_| panic!("{url} has no port")), path)
}
