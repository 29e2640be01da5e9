//! Makes connections. The hosts of the URL are tried in turn, with a limit of time for each: a host that accepts
//! connections and does not answer, as one that hangs, does not keep the next one from being tried.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use deadpool_postgres::ClientWrapper;
use tokio::net::lookup_host;
use tokio::time::timeout;
use tokio_postgres::config::{Host, LoadBalanceHosts, TargetSessionAttrs};
use tokio_postgres::{Client, Config, Connection, Socket};

use super::address::CONNECT_TIMEOUT;
use super::error::QueryError;
use super::tls::{Encrypted, MakeTls};

/// Makes connections to one database.
#[derive(Clone)]
pub(super) struct Connector {
    /// A configuration for each host, in the order of the URL.
    hosts: Arc<[Config]>,
    tls: MakeTls,
    /// The number of the host that is tried first.
    first: Arc<AtomicUsize>,
}

impl Connector {
    pub(super) fn new(config: &Config, tls: MakeTls) -> Self {
        let hosts: Arc<[Config]> = of_each_host(config).into();
        let is_random = config.get_load_balance_hosts() == LoadBalanceHosts::Random;
        let random = crate::encoding::random_key().unwrap_or_default();
        let first = if is_random { usize::from(random[0]) % hosts.len().max(1) } else { 0 };
        Self { hosts, tls, first: Arc::new(AtomicUsize::new(first)) }
    }

    /// Connects to the first host that answers in time and has what `target_session_attrs` demands; `adjust`
    /// changes the configuration of this connection. If the URL demands something, the host that had it is tried
    /// first the next time: no connection waits again for a host that hangs.
    pub(super) async fn connect(
        &self,
        adjust: impl Fn(&mut Config),
    ) -> Result<(Client, Connection<Socket, Encrypted<Socket>>), QueryError> {
        let first = self.first.load(Ordering::Relaxed);
        let in_turn = self.hosts.iter().enumerate().cycle().skip(first).take(self.hosts.len());
        let mut last_error = None;
        for (number, host) in in_turn {
            let addresses = match timeout(CONNECT_TIMEOUT, of_each_address(host)).await {
                Ok(Ok(addresses)) => addresses,
                Ok(Err(error)) => {
                    last_error = Some(QueryError::NoConnection(error.to_string()));
                    continue;
                }
                Err(_) => {
                    last_error = Some(QueryError::NoAnswer);
                    continue;
                }
            };
            for mut config in addresses {
                adjust(&mut config);
                match timeout(CONNECT_TIMEOUT, config.connect(self.tls.clone())).await {
                    Ok(Ok(connected)) => {
                        if config.get_target_session_attrs() != TargetSessionAttrs::Any {
                            self.first.store(number, Ordering::Relaxed);
                        }
                        return Ok(connected);
                    }
                    Ok(Err(error)) => last_error = Some(QueryError::from(error)),
                    Err(_) => last_error = Some(QueryError::NoAnswer),
                }
            }
        }
        Err(last_error.unwrap_or(QueryError::NoAnswer))
    }
}

impl managed::Manager for Connector {
    type Type = ClientWrapper;
    type Error = QueryError;

    async fn create(&self) -> Result<ClientWrapper, QueryError> {
        let (client, connection) = self.connect(|_| {}).await?;
        let task = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection to the store has ended: {error}");
            }
        });
        Ok(ClientWrapper::new(client, task))
    }

    async fn recycle(&self, client: &mut ClientWrapper, _: &Metrics) -> RecycleResult<QueryError> {
        match client.is_closed() {
            true => Err(RecycleError::message("the connection is closed")),
            false => Ok(()),
        }
    }
}

/// A configuration for each host, with everything else that `config` says.
fn of_each_host(config: &Config) -> Vec<Config> {
    let (hosts, addresses, ports) =
        (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let count = hosts.len().max(addresses.len());
    let is_complete = |length| length == 0 || length == count;
    // Numbers that do not match are an error of every connection.
    let is_valid = is_complete(hosts.len()) && is_complete(addresses.len());
    if count < 2 || !is_valid || !(ports.len() == 1 || is_complete(ports.len())) {
        return vec![config.clone()];
    }
    let of_host = |number: usize| {
        let mut single = without_hosts(config);
        match hosts.get(number) {
            Some(Host::Tcp(name)) => _ = single.host(name),
            Some(Host::Unix(folder)) => _ = single.host_path(folder),
            None => {}
        }
        addresses.get(number).into_iter().for_each(|address| _ = single.hostaddr(*address));
        ports.get(number).or(ports.first()).into_iter().for_each(|port| _ = single.port(*port));
        single
    };
    (0..count).map(of_host).collect()
}

/// The configuration with no hosts, which the library has no method for.
fn without_hosts(config: &Config) -> Config {
    let mut bare = Config::new();
    bare.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    config.get_user().into_iter().for_each(|it| _ = bare.user(it));
    config.get_password().into_iter().for_each(|it| _ = bare.password(it));
    config.get_dbname().into_iter().for_each(|it| _ = bare.dbname(it));
    config.get_options().into_iter().for_each(|it| _ = bare.options(it));
    config.get_application_name().into_iter().for_each(|it| _ = bare.application_name(it));
    config.get_connect_timeout().into_iter().for_each(|it| _ = bare.connect_timeout(*it));
    config.get_tcp_user_timeout().into_iter().for_each(|it| _ = bare.tcp_user_timeout(*it));
    config.get_keepalives_interval().into_iter().for_each(|it| _ = bare.keepalives_interval(it));
    config.get_keepalives_retries().into_iter().for_each(|it| _ = bare.keepalives_retries(it));
    bare
}

/// A configuration for each address of the host of `config`, so that each address has its own limit of time.
async fn of_each_address(config: &Config) -> io::Result<Vec<Config>> {
    let ([Host::Tcp(name)], []) = (config.get_hosts(), config.get_hostaddrs()) else {
        return Ok(vec![config.clone()]);
    };
    // The library uses only the address of what is found here.
    let found = lookup_host((name.as_str(), 0)).await?;
    Ok(found.map(|address| config.clone().hostaddr(address.ip()).clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_all_that_the_url_says() {
        let options = "sslmode=require&target_session_attrs=read-write&connect_timeout=4\
                       &options=-c%20work_mem%3D1MB&application_name=tests&tcp_user_timeout=9000\
                       &keepalives_idle=8&keepalives_interval=7&keepalives_retries=6\
                       &channel_binding=require&load_balance_hosts=random&sslnegotiation=direct";
        let parse = |hosts: &str| -> Config {
            format!("postgres://ann:hunter2@{hosts}/calls?{options}").parse().unwrap()
        };
        let expected = ["one:5433", "two:5434"].map(parse);
        assert!(of_each_host(&parse("one:5433,two:5434")) == expected);
        assert!(of_each_host(&expected[0]) == expected[..1]);
    }
}
