//! The client behind a run: a server that works on one of its calls can report to that client and
//! ask it things.

use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{BoxFuture, CallableName, ServerName, TraceContext};

/// The client behind a run, as each call of the run carries it: who it is, what it can be asked,
/// and the channels that lead to it. It is plain data, so a layer that replaces one field keeps
/// all the others.
#[derive(Clone)]
pub struct Caller {
    /// Tells the calls of one client from those of another.
    pub client: ClientId,
    /// What the client can be asked.
    pub abilities: Abilities,
    /// The trace that the client's request is part of.
    pub trace: Option<Arc<TraceContext>>,
    /// Takes what servers report about calls. Without it no server is asked to report.
    pub progress: Option<ProgressChannel>,
    /// Takes the questions of servers.
    pub questions: QuestionChannel,
}

/// Passes a server's progress report on to the client. Must not wait.
pub type ProgressChannel = Arc<dyn Fn(ProgressReport<'_>) + Send + Sync>;

/// Puts a server's question to the client. The answer comes at the latest with the end of the
/// program whose call the question is about.
pub type QuestionChannel =
    Arc<dyn Fn(Question) -> BoxFuture<'static, Result<Box<RawValue>, Refusal>> + Send + Sync>;

/// What a server says about how far a call has come.
#[derive(Clone, Copy, Debug)]
pub struct ProgressReport<'a> {
    /// The tool that was called.
    pub name: &'a CallableName,
    /// The report in words.
    pub message: &'a str,
    /// The parameters of the notification, as the server wrote them.
    pub params: &'a RawValue,
}

impl Caller {
    /// A client that cannot be asked anything and reads no reports.
    #[must_use]
    pub fn silent(client: ClientId) -> Self {
        Self {
            client,
            abilities: Abilities::default(),
            trace: None,
            progress: None,
            questions: Arc::new(|question| {
                let refusal = Refusal::Unsupported(question.subject.method());
                Box::pin(std::future::ready(Err(refusal)))
            }),
        }
    }

    /// Puts a question to the client, whether or not it says that it can answer.
    #[must_use]
    pub fn ask(&self, question: Question) -> BoxFuture<'static, Result<Box<RawValue>, Refusal>> {
        (self.questions)(question)
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Caller").field(&self.client).finish()
    }
}

/// One client among those that are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientId(pub u64);

/// What a server wants to know of a client.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who asks.
    pub server: ServerName,
    /// What kind of thing it asks.
    pub subject: Subject,
    /// The parameters of the request, as the server wrote them: a JSON object.
    pub params: Box<RawValue>,
}

/// The things a server may ask a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// To have its model complete something.
    Sampling,
    /// To have its user fill in something, or visit an address.
    Elicitation,
    /// Which folders it works in.
    Roots,
}

impl Subject {
    /// Every subject.
    pub const ALL: [Self; 3] = [Self::Sampling, Self::Elicitation, Self::Roots];

    /// The method of the protocol that asks this.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Sampling => "sampling/createMessage",
            Self::Elicitation => "elicitation/create",
            Self::Roots => "roots/list",
        }
    }

    /// What the protocol calls the ability to answer it.
    #[must_use]
    pub fn ability(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
            Self::Roots => "roots",
        }
    }

    /// The subject that this method asks about, if it is one.
    #[must_use]
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.method() == method)
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The client cannot answer such questions.
    #[error("there is no client here that supports '{0}'")]
    Unsupported(&'static str),
    /// There is no client, or more than one it could be meant for.
    #[error("{0}")]
    Nobody(&'static str),
    /// The client said no.
    #[error("{message}")]
    Refused {
        /// Its error code.
        code: i64,
        /// Its words.
        message: String,
    },
    /// The client said nothing.
    #[error("the client did not answer in time")]
    TimedOut,
}

/// What a client can be asked, in the protocol's own form: an object with an entry for
/// each subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Abilities(Arc<Map<String, Value>>);

impl Abilities {
    /// Picks what counts out of everything a client says it can do.
    #[must_use]
    pub fn of(capabilities: &Value) -> Self {
        let abilities = Subject::ALL.into_iter().filter_map(|subject| {
            let ability = capabilities.get(subject.ability()).filter(|it| it.is_object())?;
            Some((subject.ability().to_owned(), ability.clone()))
        });
        Self(Arc::new(abilities.collect()))
    }

    /// Whatever can be asked at all.
    #[must_use]
    pub fn all() -> Self {
        Self::of(&serde_json::json!({
            "sampling": {},
            "elicitation": { "form": {}, "url": {} },
            "roots": { "listChanged": true },
        }))
    }

    /// As the protocol writes them.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&*self.0).unwrap_or_default()
    }

    /// Whether this question can be answered.
    #[must_use]
    pub fn permit(&self, subject: Subject, params: &RawValue) -> bool {
        let Some(ability) = self.0.get(subject.ability()) else { return false };
        if subject != Subject::Elicitation {
            return true;
        }
        let params: Value = serde_json::from_str(params.get()).unwrap_or_default();
        if params.get("mode").and_then(Value::as_str) == Some("url") {
            return ability.get("url").is_some();
        }
        // Clients from before there were modes can show forms and do not say so.
        ability.get("form").is_some() || ability.get("url").is_none()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn permits(capabilities: &Value, subject: Subject, params: &Value) -> bool {
        let params = RawValue::from_string(params.to_string()).unwrap_or_default();
        Abilities::of(capabilities).permit(subject, &params)
    }

    #[test]
    fn a_mode_is_permitted_only_where_it_is_known() {
        let (form, url) = (json!({}), json!({ "mode": "url" }));
        let cases = [
            (json!({ "elicitation": {} }), true, false),
            (json!({ "elicitation": { "form": {} } }), true, false),
            (json!({ "elicitation": { "url": {} } }), false, true),
            (json!({ "elicitation": { "form": {}, "url": {} } }), true, true),
            (json!({ "sampling": {}, "elicitation": 5 }), false, false),
        ];
        for (capabilities, with_form, with_url) in cases {
            assert_eq!(permits(&capabilities, Subject::Elicitation, &form), with_form);
            assert_eq!(permits(&capabilities, Subject::Elicitation, &url), with_url);
        }
    }

    #[test]
    fn only_what_can_be_asked_counts() {
        let abilities = Abilities::of(&json!({ "roots": {}, "experimental": { "x": {} } }));
        assert_eq!(abilities.to_json(), r#"{"roots":{}}"#);
    }
}
