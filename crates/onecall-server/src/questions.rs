//! The questions of bridged servers that the client of a request answers.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use onecall_core::{ServerQuestion, ServerQuestionChannel, ServerQuestionError};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};

use crate::client;

/// How many questions are put to a client at once, and how many more may wait.
const MAX_WAITING: usize = 16;

/// A question for the client, and where its answer goes.
struct ClientQuestion {
    question: ServerQuestion,
    answer: oneshot::Sender<Result<Box<RawValue>, ServerQuestionError>>,
}

/// The questions for the client of one request.
pub(crate) struct ClientQuestions(mpsc::Receiver<ClientQuestion>);

/// A channel for the questions of servers, and its receiving end.
pub(crate) fn question_channel() -> (ServerQuestionChannel, ClientQuestions) {
    let (questions, receiver) = mpsc::channel(MAX_WAITING);
    let channel: ServerQuestionChannel = Arc::new(move |question| {
        let questions = questions.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let over =
                ServerQuestionError::Unanswerable("the program that made the call has ended");
            if questions.send(ClientQuestion { question, answer }).await.is_err() {
                return Err(over);
            }
            answered.await.unwrap_or(Err(over))
        })
    });
    (channel, ClientQuestions(receiver))
}

impl ClientQuestions {
    /// Sends each question to the client, and returns its answer to the server that asked. When the
    /// other end of `is_running` is dropped, unanswered questions are taken back from the client, and the
    /// future completes.
    pub(crate) async fn forward(
        mut self,
        context: &RequestContext<RoleServer>,
        is_running: watch::Receiver<()>,
    ) {
        let mut in_flight = FuturesUnordered::new();
        let mut ended = is_running.clone();
        loop {
            tokio::select! {
                Some(question) = self.0.recv(), if in_flight.len() < MAX_WAITING => {
                    in_flight.push(question.put_to(context, is_running.clone()));
                }
                Some(()) = in_flight.next() => {}
                // Nothing is sent through this channel: it is closed.
                _ = ended.changed() => break,
            }
        }
        while in_flight.next().await.is_some() {}
    }
}

impl ClientQuestion {
    /// Sends the question to the client and passes the answer on. If the other end of `is_running` is
    /// dropped first, the question is taken back and has no answer.
    async fn put_to(
        self,
        context: &RequestContext<RoleServer>,
        mut is_running: watch::Receiver<()>,
    ) {
        let Self { question, mut answer } = self;
        let is_moot = async {
            tokio::select! {
                // The call that caused the question has ended.
                () = answer.closed() => {}
                _ = is_running.changed() => {}
            }
        };
        let answered = client::ask(&context.peer, &question, is_moot).await;
        let has_ended = is_running.has_changed().is_err();
        if !(has_ended && matches!(answered, Err(ServerQuestionError::TimedOut))) {
            // The call that caused the question may have ended.
            let _ = answer.send(answered);
        }
    }
}
