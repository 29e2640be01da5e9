//! The digest of a configuration. Only a gateway with the same digest continues a run by itself.

use onecall_config::Config;
use onecall_core::DigestBuilder;

use crate::settings::origins;

/// The digest of everything in a configuration that decides what the calls of a run mean: servers,
/// local tools, and which calls are allowed or need an approval. Secrets are left out.
pub(crate) fn configuration_digest(config: &Config) -> String {
    let mut digest = DigestBuilder::default();
    let mut origins: Vec<_> = origins(&config.servers).into_iter().collect();
    origins.sort_unstable();
    for (server, origin) in origins {
        digest.add_part(server.as_str());
        digest.add_part(origin);
    }
    digest.add_part("tools");
    digest.add_part(format!("{:?}", config.tools));
    for tool in &config.local_tools {
        // Secrets are left out of debug texts.
        digest.add_part(format!("{tool:?}"));
    }
    let approvals = config.approvals.as_ref();
    digest.add_part(format!("{:?}", approvals.map(|it| (&it.ask, &it.hints, &it.ways))));
    digest.finish().to_string()
}
