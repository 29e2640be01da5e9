//! Links to the login page. A link is for one user and one server, cannot be guessed, and can be used
//! once and for a short time. Only the digest of a link is kept. A program that makes many calls at once
//! gets the same link for all of them: links are made of a number and a key that only this process has.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onecall_core::{Digest, GatewayId, Secret, ServerName, UserName};
use ring::hmac;
use ring::rand::SystemRandom;
use thiserror::Error;

use crate::{HandedOut, SecretObserver};

/// How long a link can be used.
const LIFETIME: Duration = Duration::from_secs(600);

/// How long a link is given out again instead of a new one.
const REUSE_TIME: Duration = Duration::from_secs(60);

/// How many links of one user can be used at a time. A new one replaces the oldest.
const MAX_PER_USER: usize = 4;

/// How many links of all users can be used at a time.
const MAX_LINKS: usize = 10_000;

/// How often the person at the browser may answer wrongly who they are.
const MAX_WRONG_ANSWERS: u8 = 5;

/// Makes links to the login page.
pub trait LoginLinkIssuer: Send + Sync {
    /// A new link with which this user can log in to this server; `None` if there can be none.
    fn login_link(&self, user: &UserName, server: &ServerName) -> Option<String>;
}

/// Why a link cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    /// The link was never made, was used, has expired or was replaced by newer ones.
    #[error(
        "this link cannot be used: it was used already, is older than 10 minutes, or was replaced by a \
         newer one. Call the tool again to get a new link"
    )]
    NotValid,
}

/// The user and the server that a link is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenLink {
    /// The user who is to log in.
    pub user: UserName,
    /// The server to log in to.
    pub server: ServerName,
}

/// The links that can be used.
pub struct LoginLinks {
    /// The address of the login page, which the secret of a link is appended to.
    base: String,
    /// The key that links are made with; `None` if the system provides no random numbers.
    key: Option<hmac::Key>,
    links: Mutex<LinkList>,
    /// The gateway that can use the links, if it is one of several; each link names it.
    gateway: Option<GatewayId>,
    /// Is called with the secret part of each link.
    observer: Option<SecretObserver>,
}

/// The links that can be used, the oldest first.
#[derive(Default)]
struct LinkList {
    links: Vec<Link>,
    /// How many links were made so far.
    count: u64,
}

struct Link {
    /// The number that the link is made of.
    number: u64,
    digest: Digest,
    target: OpenLink,
    issued: Instant,
    wrong_answers: u8,
}

impl LoginLinks {
    /// Makes links that begin with `base`. The secret part of each link is passed to `observer`.
    #[must_use]
    pub fn new(base: impl Into<String>, observer: Option<SecretObserver>) -> Self {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok();
        Self { base: base.into(), key, links: Mutex::default(), gateway: None, observer }
    }

    /// Lets each link name the gateway that can use it, so that other gateways can forward requests.
    #[must_use]
    pub fn with_gateway(self, gateway: Option<GatewayId>) -> Self {
        Self { gateway, ..self }
    }

    /// The user and server of a link, which stays usable.
    ///
    /// # Errors
    /// If the link cannot be used.
    pub fn find(&self, secret: &str) -> Result<OpenLink, LinkError> {
        self.find_at(secret, Instant::now())
    }

    /// Uses a link up. Of several requests at the same time one succeeds.
    ///
    /// # Errors
    /// If the link cannot be used.
    pub fn redeem(&self, secret: &str) -> Result<OpenLink, LinkError> {
        let (mut list, digest) = (self.valid_links(Instant::now()), self.digest_of(secret));
        let position = list.links.iter().position(|link| link.digest == digest);
        position.map(|position| list.links.remove(position).target).ok_or(LinkError::NotValid)
    }

    /// Counts a wrong answer. After several of them the link cannot be used any more.
    pub fn count_wrong_answer(&self, secret: &str) {
        let (mut list, digest) = (self.valid_links(Instant::now()), self.digest_of(secret));
        if let Some(link) = list.links.iter_mut().find(|link| link.digest == digest) {
            link.wrong_answers += 1;
        }
        list.links.retain(|link| link.wrong_answers < MAX_WRONG_ANSWERS);
    }

    /// Makes all links of a user unusable.
    pub fn remove_user(&self, user: &UserName) {
        self.valid_links(Instant::now()).links.retain(|link| link.target.user != *user);
    }

    fn find_at(&self, secret: &str, now: Instant) -> Result<OpenLink, LinkError> {
        let (list, digest) = (self.valid_links(now), self.digest_of(secret));
        let found = list.links.iter().find(|link| link.digest == digest);
        found.map(|link| link.target.clone()).ok_or(LinkError::NotValid)
    }

    /// A link for this user and server: the last one if it is new, or else another one.
    fn issue_at(&self, target: OpenLink, now: Instant) -> Option<String> {
        let key = self.key.as_ref()?;
        let mut list = self.valid_links(now);
        let is_new = |link: &&Link| now.duration_since(link.issued) < REUSE_TIME;
        let last = list.links.iter().rev().find(|link| link.target == target).filter(is_new);
        if let Some(link) = last {
            return Some(self.address(&secret_of(key, link.number)));
        }
        let own: Vec<usize> = (0..)
            .zip(&list.links)
            .filter_map(|(position, link)| (link.target.user == target.user).then_some(position))
            .collect();
        if let Some(oldest) = own.first().filter(|_| own.len() >= MAX_PER_USER) {
            list.links.remove(*oldest);
        }
        if list.links.len() >= MAX_LINKS {
            list.links.remove(0);
        }
        list.count += 1;
        let number = list.count;
        let secret = secret_of(key, number);
        let digest = Digest::of(&secret);
        list.links.push(Link { number, digest, target, issued: now, wrong_answers: 0 });
        drop(list);
        if let Some(observer) = &self.observer {
            observer(HandedOut::Link, &Secret::new(secret.clone()));
        }
        Some(self.address(&secret))
    }

    fn address(&self, secret: &str) -> String {
        match &self.gateway {
            Some(gateway) => format!("{}{}", self.base, gateway.name_in(secret)),
            None => format!("{}{secret}", self.base),
        }
    }

    /// The digest of a link's secret, without the name of this gateway.
    fn digest_of(&self, secret: &str) -> Digest {
        let named = self.gateway.as_ref().map(|gateway| gateway.name_in(""));
        Digest::of(named.and_then(|named| secret.strip_suffix(&named)).unwrap_or(secret))
    }

    /// The links that have not expired.
    fn valid_links(&self, now: Instant) -> MutexGuard<'_, LinkList> {
        let mut list = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        list.links.retain(|link| now.saturating_duration_since(link.issued) < LIFETIME);
        list
    }
}

/// The secret part of the link with this number.
fn secret_of(key: &hmac::Key, number: u64) -> String {
    URL_SAFE_NO_PAD.encode(hmac::sign(key, &number.to_le_bytes()))
}

impl LoginLinkIssuer for LoginLinks {
    fn login_link(&self, user: &UserName, server: &ServerName) -> Option<String> {
        let target = OpenLink { user: user.clone(), server: server.clone() };
        self.issue_at(target, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://onecall.example.com/login/";

    fn target(user: &str, server: &str) -> OpenLink {
        OpenLink { user: UserName::parse(user).unwrap(), server: ServerName::new(server) }
    }

    fn issue(links: &LoginLinks, target: OpenLink, now: Instant) -> String {
        let link = links.issue_at(target, now).unwrap();
        link.strip_prefix(BASE).unwrap().to_owned()
    }

    #[test]
    fn a_link_is_used_once_and_for_ten_minutes() {
        let (links, now) = (LoginLinks::new(BASE, None), Instant::now());
        let secret = issue(&links, target("anna", "far"), now);
        assert_eq!(secret.len(), 43);
        assert_eq!(links.find(&secret), Ok(target("anna", "far")));
        assert_eq!(links.find(&secret[1..]), Err(LinkError::NotValid));
        assert_eq!(links.find(""), Err(LinkError::NotValid));
        assert_eq!(links.redeem(&secret), Ok(target("anna", "far")));
        assert_eq!(links.redeem(&secret), Err(LinkError::NotValid));
        assert_eq!(links.find(&secret), Err(LinkError::NotValid));

        let again = issue(&links, target("anna", "far"), now);
        assert_ne!(again, secret);
        let last = now + LIFETIME - Duration::from_secs(1);
        assert_eq!(links.find_at(&again, last), Ok(target("anna", "far")));
        assert_eq!(links.find_at(&again, now + LIFETIME), Err(LinkError::NotValid));
    }

    #[test]
    fn the_links_of_one_user_do_not_replace_those_of_another() {
        let (links, now) = (LoginLinks::new(BASE, None), Instant::now());
        let other = issue(&links, target("bob", "far"), now);
        let own = (0..6).map(|index| issue(&links, target("anna", &format!("far{index}")), now));
        let own: Vec<String> = own.collect();
        let usable = own.iter().map(|secret| links.find(secret).is_ok()).collect::<Vec<_>>();
        assert_eq!(usable, [false, false, true, true, true, true]);
        assert_eq!(links.find(&other), Ok(target("bob", "far")));
    }

    #[test]
    fn calls_at_the_same_time_get_the_same_link() {
        let (links, now) = (LoginLinks::new(BASE, None), Instant::now());
        let first = issue(&links, target("anna", "far"), now);
        assert_eq!(issue(&links, target("anna", "far"), now + Duration::from_secs(59)), first);
        let others = [
            issue(&links, target("anna", "near"), now),
            issue(&links, target("bob", "far"), now),
            issue(&links, target("anna", "far"), now + Duration::from_secs(60)),
        ];
        assert!(!others.contains(&first), "{others:?}");
    }

    #[test]
    fn wrong_answers_end_a_link() {
        let (links, now) = (LoginLinks::new(BASE, None), Instant::now());
        let secret = issue(&links, target("anna", "far"), now);
        for _ in 1..MAX_WRONG_ANSWERS {
            links.count_wrong_answer(&secret);
            links.count_wrong_answer("another");
        }
        assert!(links.find(&secret).is_ok());
        links.count_wrong_answer(&secret);
        assert_eq!(links.find(&secret), Err(LinkError::NotValid));
    }
}
