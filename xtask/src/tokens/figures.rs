//! The costs of one workflow with direct calls and with onecall.

use serde_json::{Value, json};

use super::conversation::{Conversation, Request};
use super::workflows::Workflow;

/// Dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    /// Input that was part of the previous request, if the provider caches it.
    pub cached: f64,
}

impl Default for Prices {
    fn default() -> Self {
        Self { input: 3.0, output: 15.0, cached: 0.3 }
    }
}

/// The traffic of one agent.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    pub requests: Vec<Request>,
    /// The tokens of instructions and definitions.
    pub fixed_tokens: usize,
    pub results: usize,
    pub calls: usize,
    pub seconds: f64,
}

impl Traffic {
    pub fn new(conversation: &Conversation, seconds: f64) -> Self {
        Self {
            requests: conversation.requests.clone(),
            fixed_tokens: conversation.fixed_tokens,
            results: conversation.results,
            calls: conversation.calls,
            seconds,
        }
    }

    pub fn input(&self) -> usize {
        self.requests.iter().map(|request| request.context).sum()
    }

    pub fn output(&self) -> usize {
        self.requests.iter().map(|request| request.output).sum()
    }

    /// All tokens that the model read and wrote, each as often as it did.
    pub fn tokens(&self) -> usize {
        self.input() + self.output()
    }

    /// All tokens counted once: the last request contains all of them.
    pub fn distinct_tokens(&self) -> usize {
        self.requests.last().map_or(0, |request| request.context + request.output)
    }

    /// The longest request, which has to fit into the model's context window.
    pub fn longest(&self) -> usize {
        self.requests.iter().map(|request| request.context + request.output).max().unwrap_or(0)
    }

    /// Dollars without a prompt cache.
    pub fn price(&self, prices: Prices) -> f64 {
        (self.input() as f64 * prices.input + self.output() as f64 * prices.output) / 1e6
    }

    /// Dollars if the provider caches what the previous request contained.
    pub fn price_cached(&self, prices: Prices) -> f64 {
        let mut before = 0;
        let mut dollars = 0.0;
        for request in &self.requests {
            let new = request.context.saturating_sub(before);
            dollars += before as f64 * prices.cached + new as f64 * prices.input;
            dollars += request.output as f64 * prices.output;
            before = request.context;
        }
        dollars / 1e6
    }

    fn to_json(&self, prices: Prices) -> Value {
        json!({
            "tokens": self.tokens(), "input": self.input(), "output": self.output(),
            "once": self.distinct_tokens(), "longest_request": self.longest(),
            "definitions": self.fixed_tokens, "results": self.results,
            "round_trips": self.requests.len(), "calls": self.calls,
            "price": rounded(self.price(prices)), "price_cached": rounded(self.price_cached(prices)),
            "seconds": self.seconds,
        })
    }
}

/// One workflow with a catalog of one size.
#[derive(Debug)]
pub struct Figures {
    pub workflow: &'static Workflow,
    pub tools: usize,
    /// How many independent calls the model made at once.
    pub calls_per_turn: usize,
    pub direct: Traffic,
    pub onecall: Traffic,
}

impl Figures {
    pub fn to_json(&self, prices: Prices) -> Value {
        json!({
            "workflow": self.workflow.name, "tools": self.tools,
            "calls_per_turn": self.calls_per_turn, "data_heavy": self.workflow.is_data_heavy,
            "direct": self.direct.to_json(prices), "onecall": self.onecall.to_json(prices),
            "saved_percent": percent(self.direct.tokens(), self.onecall.tokens()),
            "saved_percent_once": percent(self.direct.distinct_tokens(), self.onecall.distinct_tokens()),
        })
    }
}

/// By how many percent `ours` is less than `direct`; negative if it is more.
pub fn saved(direct: usize, ours: usize) -> f64 {
    match direct {
        0 => 0.0,
        direct => 100.0 * (1.0 - ours as f64 / direct as f64),
    }
}

fn percent(direct: usize, ours: usize) -> f64 {
    (saved(direct, ours) * 100.0).round() / 100.0
}

fn rounded(dollars: f64) -> f64 {
    (dollars * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_request_before_had_is_cheaper_where_it_is_kept() {
        let requests = vec![
            Request { context: 1_000_000, output: 0 },
            Request { context: 3_000_000, output: 1_000_000 },
        ];
        let traffic = Traffic { requests, ..Traffic::default() };
        let prices = Prices { input: 2.0, output: 10.0, cached: 0.5 };
        assert_eq!((traffic.tokens(), traffic.distinct_tokens()), (5_000_000, 4_000_000));
        assert_eq!(traffic.price(prices), 2.0 + 6.0 + 10.0);
        assert_eq!(traffic.price_cached(prices), 2.0 + 0.5 + 4.0 + 10.0);
    }

    #[test]
    fn what_costs_more_saves_less_than_nothing() {
        assert_eq!((saved(200, 50), saved(100, 110).round(), saved(0, 1)), (75.0, -10.0, 0.0));
    }
}
