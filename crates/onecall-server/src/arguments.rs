//! Reads and checks the arguments that agents pass to onecall's own tools.

use std::time::Duration;

use onecall_core::{
    ClientId, EngineChoice, Language, OutcomeDetail, Program, RunLimits, SessionHandle, SessionKey,
    SessionRequest,
};
use onecall_engine::check_choice;
use onecall_gateway::ToolSearch;
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::error::ArgumentError;
use crate::search_text::SearchDetail;

/// How many tools a search returns by default (`DEFAULT_RESULTS`) and at most (`MAX_RESULTS`).
const DEFAULT_RESULTS: usize = 10;
const MAX_RESULTS: usize = 100;

/// The arguments of one call to one of onecall's own tools.
#[derive(Clone, Copy)]
pub(crate) struct OwnToolArguments<'a> {
    pub(crate) tool: &'a str,
    pub(crate) given: &'a JsonObject,
}

impl<'a> OwnToolArguments<'a> {
    /// A required text.
    pub(crate) fn text(self, name: &str) -> Result<&'a str, ArgumentError> {
        match self.given.get(name) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(self.must_be(name, "a string")),
            None => {
                let (tool, name) = (self.tool.to_owned(), name.to_owned());
                Err(ArgumentError::Missing { tool, name })
            }
        }
    }

    /// An optional text.
    pub(crate) fn optional_text(self, name: &str) -> Result<Option<&'a str>, ArgumentError> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.must_be(name, "a string")),
            None => Ok(None),
        }
    }

    /// An optional flag; false if it is missing.
    pub(crate) fn flag(self, name: &str) -> Result<bool, ArgumentError> {
        match self.get(name) {
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.must_be(name, "true or false")),
            None => Ok(false),
        }
    }

    /// The search that `search_tools` asks for, and how much of each tool to show.
    pub(crate) fn search(self) -> Result<(ToolSearch<'a>, SearchDetail), ArgumentError> {
        let query = self.optional_text("query")?.unwrap_or_default();
        let server = self.optional_text("server")?.filter(|server| !server.is_empty());
        let detail = match self.get("detail") {
            None => SearchDetail::default(),
            Some(wanted) => wanted.as_str().and_then(SearchDetail::named).ok_or_else(|| {
                let names = SearchDetail::NAMES.map(|(name, _)| name).join(", ");
                self.must_be("detail", &format!("one of {names}"))
            })?,
        };
        let limit = match self.get("limit") {
            None => DEFAULT_RESULTS,
            Some(wanted) => wanted
                .as_u64()
                .and_then(|limit| usize::try_from(limit).ok())
                .filter(|limit| (1..=MAX_RESULTS).contains(limit))
                .ok_or_else(|| {
                    self.must_be("limit", &format!("a whole number from 1 to {MAX_RESULTS}"))
                })?,
        };
        Ok((ToolSearch { query, server, limit }, detail))
    }

    /// The program of `execute_program`. `client` has sent it; `None` if clients cannot be
    /// identified.
    pub(crate) fn program(self, client: Option<ClientId>) -> Result<Program, ArgumentError> {
        let session = self.optional_text("session")?;
        let reset = self.flag("reset")?;
        let session = session
            .map(|text| SessionRequest { session: session_key(client, text.to_owned()), reset });
        let (language, engine) = (self.language()?, self.engine()?);
        check_choice(language, engine)?;
        if reset && session.is_none() {
            return Err(self.must_be("reset", "given together with 'session'"));
        }
        Ok(Program { language, engine, session, ..Program::new(self.text("code")?) })
    }

    /// The program of `programmatic_tool_calling`.
    pub(crate) fn whole_program(self, limits: &RunLimits) -> Result<Program, ArgumentError> {
        let timeout = self.timeout(limits)?;
        Ok(Program { timeout, detail: OutcomeDetail::Whole, ..Program::new(self.text("code")?) })
    }

    fn timeout(self, limits: &RunLimits) -> Result<Option<Duration>, ArgumentError> {
        let Some(value) = self.get("timeout") else { return Ok(None) };
        let most = limits.timeout.as_secs_f64();
        match value.as_f64() {
            Some(seconds) if seconds > 0.0 && seconds <= most => {
                Ok(Some(Duration::from_secs_f64(seconds)))
            }
            _ => {
                let wanted = format!("a number of seconds above 0 and at most {most}");
                Err(self.must_be("timeout", &wanted))
            }
        }
    }

    fn engine(self) -> Result<Option<EngineChoice>, ArgumentError> {
        let Some(wanted) = self.get("engine") else { return Ok(None) };
        wanted.as_str().and_then(EngineChoice::named).map(Some).ok_or_else(|| {
            let names = EngineChoice::NAMES.map(|(name, _)| name).join(", ");
            self.must_be("engine", &format!("one of {names}"))
        })
    }

    /// The language of a program, or of the signatures that a search shows.
    pub(crate) fn language(self) -> Result<Language, ArgumentError> {
        let Some(wanted) = self.get("language") else { return Ok(Language::default()) };
        wanted.as_str().and_then(Language::named).ok_or_else(|| {
            let names = Language::NAMES.map(|(name, _)| name).join(", ");
            self.must_be("language", &format!("one of {names}"))
        })
    }

    fn get(self, name: &str) -> Option<&'a Value> {
        self.given.get(name).filter(|value| !value.is_null())
    }

    fn must_be(self, name: &str, wanted: &str) -> ArgumentError {
        let (tool, name) = (self.tool.to_owned(), name.to_owned());
        ArgumentError::Invalid { tool, name, wanted: wanted.to_owned() }
    }
}

/// Which session a client refers to. If clients cannot be identified, a name could be used by
/// another client as well: it starts a new session, and only that session's handle continues it.
fn session_key(client: Option<ClientId>, text: String) -> SessionKey {
    match (client, SessionHandle::parse(&text)) {
        (Some(client), _) => SessionKey::Named { client, name: text },
        (None, Some(handle)) => SessionKey::Handle(handle),
        (None, None) => SessionKey::New { name: text },
    }
}
