//! The gateways of the test. Each has a link of its own to the database and a place that another gateway
//! takes when it ends.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::bins;
use testkit::postgres::PostgresServer;
use testkit::unreliable_link::UnreliableLink;

use crate::durable::kill_with_children;
use crate::fleet::{SECRET, free_address};
use crate::support::http_gateway::HttpGateway;

/// How long a gateway counts as alive without a sign of life, in seconds.
pub const LEASE_SECONDS: u64 = 3;

/// How long a gateway that is stopped lets its requests finish, in seconds.
const DRAIN_SECONDS: u64 = 2;

/// How much longer than that it may take on a busy machine: it waits for runs and journals to end.
const DRAIN_SLACK: Duration = Duration::from_secs(15);

/// The configuration that gateways and commands share, with the store at `url`.
pub fn settings(effects: &Path, url: &str) -> Value {
    let args = ["--effects".to_owned(), effects.display().to_string()];
    json!({
        "servers": [{ "name": "counting", "command": bins::fixture_server(), "args": args }],
        "durable": true,
        "approvals": { "wait_seconds": 1, "keep_seconds": 1, "ask": ["mcp__counting__sensitive"] },
        "expose_tools": ["mcp__counting__sensitive"],
        "execution": { "timeout_seconds": 120 },
        "store": { "url": url },
    })
}

/// A place for a gateway.
pub struct Place {
    pub address: SocketAddr,
    pub link: UnreliableLink,
    settings: Value,
    /// The address that clients use, of the load balancer.
    public: Option<SocketAddr>,
    gateway: Option<HttpGateway>,
    /// How many gateways have been here.
    generation: u64,
}

impl Place {
    /// A place whose gateways use the database at `url` of this server.
    pub fn new(server: &PostgresServer, url: &str, effects: &Path) -> Self {
        let link = UnreliableLink::to(server.address());
        let linked = url.replace(&server.address().to_string(), &link.address().to_string());
        assert_ne!(linked, url, "gateways use the link");
        let address = free_address();
        let mut settings = settings(effects, &linked);
        settings["fleet"] = json!({
            "advertise": format!("http://{address}"),
            "secret": SECRET,
            "lease_seconds": LEASE_SECONDS,
            "drain_seconds": DRAIN_SECONDS,
        });
        Self { address, link, settings, public: None, gateway: None, generation: 0 }
    }

    /// Starts the first gateway, which clients reach through the load balancer at this address.
    pub fn open(&mut self, public: SocketAddr) {
        self.public = Some(public);
        self.start();
    }

    /// Starts a gateway. Its connections to the database have a name that no other gateway has.
    pub fn start(&mut self) {
        self.generation += 1;
        let mut settings = self.settings.clone();
        let url = settings["store"]["url"].as_str().unwrap_or_default();
        let name = format!("&application_name=gateway-{}-{}", self.address.port(), self.generation);
        settings["store"]["url"] = json!(format!("{url}{name}"));
        let public = self.public.map(|public| public.to_string());
        let allowed: Vec<&str> =
            public.iter().flat_map(|public| ["--allow-host", public]).collect();
        let (gateway, _) =
            HttpGateway::serve(&self.address.to_string(), &allowed, &settings, |command| {
                command.stdin(Stdio::null());
            });
        self.gateway = Some(gateway);
    }

    /// Kills the gateway, and waits until nothing of it is left that could have an effect.
    pub fn kill(&mut self) {
        if let Some(gateway) = self.gateway.take() {
            kill_with_children(gateway.pid(), || drop(gateway));
        }
    }

    /// Stops the gateway, and returns how long it took to end.
    pub fn stop(&mut self) -> Duration {
        let begun = Instant::now();
        if let Some(mut gateway) = self.gateway.take() {
            gateway.signal("-TERM");
            assert!(gateway.ended().success(), "{}", gateway.stderr());
            let limit = Duration::from_secs(DRAIN_SECONDS) + DRAIN_SLACK;
            assert!(begun.elapsed() < limit, "it ends after {:?}", begun.elapsed());
        }
        begun.elapsed()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.link.restore();
        self.kill();
    }
}
