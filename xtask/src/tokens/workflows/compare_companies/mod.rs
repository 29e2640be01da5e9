//! Workflow: compares three companies by their statements, quotes and news.

use serde_json::{Value, json};

use super::{DirectAgent, Question, Workflow};

pub const WORKFLOW: Workflow = Workflow {
    name: "compare-companies",
    is_data_heavy: false,
    services: &["finance"],
    searches: &["income statements, quote and news of a company"],
    uses: &["finance.get_income_statements", "finance.get_quote", "finance.search_news"],
    questions: &[Question {
        text: "Compare NRTH, KSTR and VNTG: revenue growth over the last four years (newest quarter \
               against the one sixteen quarters before), operating margin over the last four \
               quarters, price-earnings ratio, and how many of the last 20 news articles are \
               negative. One line for each.",
        programs: &[include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let tickers = ["NRTH", "KSTR", "VNTG"];
    let calls = tickers.iter().flat_map(|ticker| {
        [
            ("finance.get_income_statements", json!({ "ticker": ticker, "quarters": 20 })),
            ("finance.get_quote", json!({ "ticker": ticker })),
            ("finance.search_news", json!({ "ticker": ticker, "limit": 20 })),
        ]
    });
    let results = agent.call_all(calls.collect())?;
    let lines = tickers.iter().zip(results.chunks(3)).map(|(ticker, results)| {
        let statements = results[0]["statements"].as_array().map(Vec::as_slice).unwrap_or_default();
        let amount = |at: usize, name: &str| {
            statements.get(at).and_then(|one| one[name].as_f64()).unwrap_or_default()
        };
        let growth = 100.0 * (amount(0, "revenue") / amount(16, "revenue") - 1.0);
        let sum = |name| (0..4).map(|at| amount(at, name)).sum::<f64>();
        let margin = 100.0 * sum("operating_income") / sum("revenue");
        let ratio = results[1]["pe_ratio"].as_f64().unwrap_or_default();
        let articles = results[2]["articles"].as_array().map(Vec::as_slice).unwrap_or_default();
        let negative = articles.iter().filter(|one: &&Value| one["sentiment"] == "negative").count();
        format!("{ticker}: growth {growth:.1}%, margin {margin:.1}%, P/E {ratio:.1}, {negative} negative")
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}
