//! The cookie of a browser that has signed in, and the field by which its forms are recognised.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{COOKIE, HeaderValue};
use onecall_core::Digest;
use url::Url;

/// How long a session lasts.
pub(super) const SESSION_LIFETIME: Duration = Duration::from_secs(12 * 3600);

/// The length of the secret in a cookie.
const SECRET_LENGTH: usize = 43;

/// The cookie of the page.
#[derive(Clone, Debug)]
pub(super) struct PageCookie {
    name: String,
    is_secure: bool,
    same_site: &'static str,
}

impl PageCookie {
    /// The cookie of a page that people open at `public_url`, or at this port of this machine. Browsers
    /// send cookies to all ports of a machine, so the name says which one it is for. All gateways behind
    /// one `public_url` have the same cookie.
    pub(super) fn new(public_url: Option<&str>, port: u16, same_site: &'static str) -> Self {
        let is_secure = public_url.is_some_and(|url| url.starts_with("https://"));
        // With this prefix, browsers accept the cookie from this host and over TLS only.
        let name = match is_secure {
            true => "__Host-onecall-page".to_owned(),
            false => {
                let public = public_url.and_then(|url| Url::parse(url).ok());
                let port = public.and_then(|url| url.port_or_known_default()).unwrap_or(port);
                format!("onecall-page-{port}")
            }
        };
        Self { name, is_secure, same_site }
    }

    /// The cookie for a browser that uses TLS. Its name stays the same, because requests without a form do not say
    /// whether they do.
    pub(super) fn over_tls(self) -> Self {
        Self { is_secure: true, ..self }
    }

    /// A cookie with another name and the same rules.
    pub(super) fn named(&self, suffix: &str) -> Self {
        Self { name: format!("{}-{suffix}", self.name), ..self.clone() }
    }

    /// The value that a browser has sent. If it has sent two, none counts.
    pub(super) fn value<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|cookies| cookies.split(';')).map(str::trim);
        let mut values = pairs.filter_map(|pair| pair.strip_prefix(&self.name)?.strip_prefix('='));
        match (values.next(), values.next()) {
            (Some(value), None) => Some(value),
            _ => None,
        }
    }

    /// The secret of a session that a browser has sent.
    pub(super) fn secret<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_secret =
            |secret: &&str| secret.len() == SECRET_LENGTH && secret.bytes().all(is_allowed);
        self.value(headers).filter(is_secret)
    }

    /// The header that sets the cookie for this time.
    pub(super) fn set(&self, value: &str, lifetime: Duration) -> Option<HeaderValue> {
        self.header(value, lifetime.as_secs())
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
    fn a_form_belongs_to_its_session() {
        let (one, two) = ("a".repeat(SECRET_LENGTH), "b".repeat(SECRET_LENGTH));
        assert!(is_form_check(&form_check(&two), &two) && !is_form_check(&form_check(&one), &two));
    }

    #[test]
    fn the_cookie_belongs_to_its_port_or_its_host() -> Result<(), Box<dyn std::error::Error>> {
        let local = PageCookie::new(None, 7, "Strict");
        let set = local.set("s", SESSION_LIFETIME).ok_or("no header")?;
        assert_eq!(set, "onecall-page-7=s; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
        let public = PageCookie::new(Some("https://a.example"), 7, "Lax");
        let removed = public.remove().ok_or("no header")?;
        let expected = "__Host-onecall-page=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure";
        assert_eq!(removed, expected);
        let behind_tls = local.clone().over_tls().set("s", SESSION_LIFETIME).ok_or("no header")?;
        assert_eq!(
            behind_tls,
            "onecall-page-7=s; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure"
        );
        let plain = PageCookie::new(Some("http://a.example:81/x"), 7, "Lax");
        assert_eq!(plain.name, "onecall-page-81");
        let (mut headers, secret) = (HeaderMap::new(), "a".repeat(SECRET_LENGTH));
        headers.insert(COOKIE, format!("x=y; onecall-page-7={secret}; onecall-page-70=z").parse()?);
        assert_eq!(local.secret(&headers), Some(secret.as_str()));
        headers.append(COOKIE, format!("onecall-page-7={secret}").parse()?);
        assert_eq!(local.secret(&headers), None);
        Ok(())
    }
}
