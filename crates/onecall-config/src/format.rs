//! Detects the format of a configuration file and parses it.

use crate::document::{self, Node};
use crate::error::{ConfigErrors, Problem};
use crate::expand::Environment;
use crate::locate::{ConfigOrigin, FoundConfigFile, PTC_MCP_NAME, PTC_MCP_VARIABLE};
use crate::model::Config;
use crate::parse::read_bytes;
use crate::ptc_mcp;

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConfigFormat {
    /// The format of onecall: every problem is an error.
    #[default]
    Onecall,
    /// The format of ptc-mcp: problems that ptc-mcp ignores are warnings.
    PtcMcp,
}

/// A parsed configuration file.
#[derive(Debug, PartialEq, Eq)]
pub struct ParsedConfig {
    /// The configuration.
    pub config: Config,
    /// The format that the file is written in.
    pub format: ConfigFormat,
    /// Problems that were ignored, one line each.
    pub warnings: Vec<String>,
    /// The servers that were left out because their entries are invalid, one line each with the
    /// reason.
    pub skipped: Vec<String>,
}

impl FoundConfigFile {
    /// Parses the content that the file had when it was chosen. The file is a ptc-mcp configuration
    /// if it was found by the rules of that server (by its variable, or by its name in the working
    /// directory) and has no key that only onecall has.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn parse(&self, environment: &Environment<'_>) -> Result<ParsedConfig, ConfigErrors> {
        if self.is_found_as_ptc_mcp()
            && let Some(document) = self.ptc_mcp_document()
        {
            return self.parse_ptc_mcp(document, environment);
        }
        let parsed = read_bytes(&self.bytes, &self.path, environment);
        let config = parsed.map_err(|errors| match self.ptc_mcp_advice(environment) {
            Some(advice) => errors.with_advice(advice),
            None => errors,
        })?;
        let (warnings, skipped) = (Vec::new(), Vec::new());
        Ok(ParsedConfig { config, format: ConfigFormat::Onecall, warnings, skipped })
    }

    /// The format in which the file is parsed.
    #[must_use]
    pub fn format(&self) -> ConfigFormat {
        match self.is_found_as_ptc_mcp() && self.ptc_mcp_document().is_some() {
            true => ConfigFormat::PtcMcp,
            false => ConfigFormat::Onecall,
        }
    }

    fn is_found_as_ptc_mcp(&self) -> bool {
        match self.origin {
            ConfigOrigin::Named(by) => by == PTC_MCP_VARIABLE,
            ConfigOrigin::WorkingDirectory => {
                self.path.file_name().is_some_and(|name| name == PTC_MCP_NAME)
            }
            ConfigOrigin::User => false,
        }
    }

    /// The parsed document, if it has the form of ptc-mcp and no key that only onecall has.
    fn ptc_mcp_document(&self) -> Option<Node> {
        let text = str::from_utf8(&self.bytes).ok()?;
        let is_named_json = self.path.extension().is_some_and(|extension| extension == "json");
        document::read_expanded(text, is_named_json).ok().filter(ptc_mcp::is_ptc_mcp)
    }

    fn parse_ptc_mcp(
        &self,
        document: Node,
        environment: &Environment<'_>,
    ) -> Result<ParsedConfig, ConfigErrors> {
        let ptc_mcp::PtcMcpConfig { config, warnings, skipped } =
            ptc_mcp::read(document, environment, &self.path)?;
        let shown = |problem: &Problem| problem.in_one_line(&self.path);
        let warnings = warnings.iter().map(shown).collect();
        let skipped = skipped.iter().map(shown).collect();
        Ok(ParsedConfig { config, format: ConfigFormat::PtcMcp, warnings, skipped })
    }

    /// The advice for a file that is invalid but would be valid for ptc-mcp.
    fn ptc_mcp_advice(&self, environment: &Environment<'_>) -> Option<String> {
        let ConfigOrigin::Named(by) = self.origin else { return None };
        let parsed = self.parse_ptc_mcp(self.ptc_mcp_document()?, environment).ok()?;
        let advice = || {
            format!(
                "if this is a configuration of ptc-mcp, name it with {PTC_MCP_VARIABLE} in the place of {by}"
            )
        };
        // If every server is left out, the file is not a useful ptc-mcp configuration either.
        let is_usable = parsed.skipped.is_empty() || !parsed.config.servers.is_empty();
        is_usable.then(advice)
    }
}
