//! The sessions of browsers. A browser has a random secret in a cookie; onecall keeps its digest and who
//! has signed in. A session ends with its time, when the person signs out, and with this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use hyper::header::{COOKIE, HeaderValue};
use onecall_core::{Digest, Principal, Secret};
use onecall_login::random_text;

/// How long a session lasts.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);

/// How many sessions there are at once. The one that ends first makes room for the next.
const MAX_SESSIONS: usize = 10_000;

/// The length of the secret in a cookie.
const SECRET_LENGTH: usize = 43;

/// Who has signed in.
#[derive(Clone)]
pub(super) enum Identity {
    /// The person whose process this is, or who has the token of a gateway without users.
    Local,
    /// A user with a personal token, which is checked again for each request.
    Token(Secret),
    /// A user whom the identity provider has named.
    Provider(Arc<Principal>),
}

/// All sessions.
#[derive(Default)]
pub(super) struct BrowserSessions(Mutex<HashMap<Digest, Session>>);

struct Session {
    identity: Identity,
    ends: Instant,
}

impl BrowserSessions {
    /// Begins a session, and returns the secret for its cookie.
    pub(super) fn begin(&self, identity: Identity) -> std::io::Result<String> {
        let secret = random_text()?;
        let (now, mut sessions) = (Instant::now(), self.lock());
        sessions.retain(|_, session| session.ends > now);
        if sessions.len() >= MAX_SESSIONS {
            let first = sessions.iter().min_by_key(|(_, session)| session.ends).map(|it| *it.0);
            first.map(|first| sessions.remove(&first));
        }
        sessions.insert(Digest::of(&secret), Session { identity, ends: now + LIFETIME });
        Ok(secret)
    }

    /// Who has signed in with this secret.
    pub(super) fn identity(&self, secret: &str) -> Option<Identity> {
        let sessions = self.lock();
        let session = sessions.get(&Digest::of(secret))?;
        (session.ends > Instant::now()).then(|| session.identity.clone())
    }

    /// Ends a session.
    pub(super) fn end(&self, secret: &str) {
        self.lock().remove(&Digest::of(secret));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cookie of the page.
#[derive(Clone, Debug)]
pub(super) struct PageCookie {
    name: String,
    is_secure: bool,
    same_site: &'static str,
}

impl PageCookie {
    /// The cookie of a page that people open at `public_url`, or at this port of this machine. Browsers
    /// send cookies to all ports of a machine, so the name says which one it is for.
    pub(super) fn new(public_url: Option<&str>, port: u16, same_site: &'static str) -> Self {
        let is_secure = public_url.is_some_and(|url| url.starts_with("https://"));
        // With this prefix, browsers accept the cookie from this host and over TLS only.
        let name = match is_secure {
            true => "__Host-onecall-page".to_owned(),
            false => format!("onecall-page-{port}"),
        };
        Self { name, is_secure, same_site }
    }

    /// A cookie with another name and the same rules.
    pub(super) fn named(&self, suffix: &str) -> Self {
        Self { name: format!("{}-{suffix}", self.name), ..self.clone() }
    }

    /// The secret that a browser has sent. If it has sent two, none counts.
    pub(super) fn secret<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|cookies| cookies.split(';')).map(str::trim);
        let mut values = pairs.filter_map(|pair| pair.strip_prefix(&self.name)?.strip_prefix('='));
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_secret =
            |secret: &&str| secret.len() == SECRET_LENGTH && secret.bytes().all(is_allowed);
        match (values.next(), values.next()) {
            (Some(secret), None) => Some(secret).filter(is_secret),
            _ => None,
        }
    }

    /// The header that sets the cookie.
    pub(super) fn set(&self, secret: &str) -> Option<HeaderValue> {
        self.header(secret, LIFETIME.as_secs())
    }

    /// The header that removes the cookie.
    pub(super) fn remove(&self) -> Option<HeaderValue> {
        self.header("", 0)
    }

    fn header(&self, value: &str, seconds: u64) -> Option<HeaderValue> {
        let Self { name, same_site, .. } = self;
        let secure = if self.is_secure { "; Secure" } else { "" };
        let text = format!(
            "{name}={value}; Path=/; HttpOnly; SameSite={same_site}; Max-Age={seconds}{secure}"
        );
        HeaderValue::from_str(&text).ok()
    }
}

/// The value of the hidden field of every form: only a page that this browser got from here has it.
pub(super) fn form_check(secret: &str) -> String {
    Digest::of(format!("form of the page\0{secret}")).to_string()
}

/// Whether the hidden field of a form has the value for this session. Digests are compared, so that the
/// time it takes says nothing about the value.
pub(super) fn is_form_check(sent: &str, secret: &str) -> bool {
    Digest::of(sent) == Digest::of(form_check(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_lasts_until_it_is_ended() -> std::io::Result<()> {
        let sessions = BrowserSessions::default();
        let (one, two) = (sessions.begin(Identity::Local)?, sessions.begin(Identity::Local)?);
        assert!(sessions.identity(&one).is_some() && sessions.identity("x").is_none());
        sessions.end(&one);
        assert!(sessions.identity(&one).is_none() && sessions.identity(&two).is_some());
        assert!(is_form_check(&form_check(&two), &two) && !is_form_check(&form_check(&one), &two));
        Ok(())
    }

    #[test]
    fn the_cookie_belongs_to_its_port_or_its_host() -> Result<(), Box<dyn std::error::Error>> {
        let local = PageCookie::new(None, 7, "Strict");
        let set = local.set("s").ok_or("no header")?;
        assert_eq!(set, "onecall-page-7=s; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
        let public = PageCookie::new(Some("https://a.example"), 7, "Lax");
        let removed = public.remove().ok_or("no header")?;
        let expected = "__Host-onecall-page=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure";
        assert_eq!(removed, expected);
        let (mut headers, secret) = (HeaderMap::new(), "a".repeat(SECRET_LENGTH));
        headers.insert(COOKIE, format!("x=y; onecall-page-7={secret}; onecall-page-70=z").parse()?);
        assert_eq!(local.secret(&headers), Some(secret.as_str()));
        headers.append(COOKIE, format!("onecall-page-7={secret}").parse()?);
        assert_eq!(local.secret(&headers), None);
        Ok(())
    }
}
