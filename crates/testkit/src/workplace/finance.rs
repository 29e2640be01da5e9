//! Statements, quotes and news of three listed companies.

use serde_json::{Value, json};

use super::calls::{CallResult, number, text};
use super::invented::{day, hash, pick, prose, scatter};

/// Ticker, revenue of the newest quarter in millions, growth per quarter in thousandths.
const LISTED: [(&str, u64, u64); 3] = [("NRTH", 1_840, 21), ("KSTR", 5_210, 6), ("VNTG", 930, 38)];

const HEADLINES: [(&str, &str); 6] = [
    ("raises its outlook for the year", "positive"),
    ("wins a framework contract in the public sector", "positive"),
    ("appoints a new head of operations", "neutral"),
    ("opens an office in a third country", "neutral"),
    ("delays the start of its newest product", "negative"),
    ("is sued over the terms of its warranty", "negative"),
];

pub(super) fn call(tool: &str, arguments: &Value) -> CallResult {
    let ticker = text(arguments, "ticker")?;
    let found = LISTED.iter().position(|(known, ..)| *known == ticker);
    let company = found.ok_or_else(|| format!("no company is listed as '{ticker}'"))? as u64;
    Ok(match tool {
        "get_income_statements" => {
            let quarters = number(arguments, "quarters", 8, 40);
            let statements: Vec<Value> =
                (0..quarters).map(|back| statement(company, back)).collect();
            json!({ "ticker": ticker, "unit": "millions", "statements": statements })
        }
        "get_quote" => quote(ticker, company),
        _ => {
            let limit = number(arguments, "limit", 20, 50);
            let articles: Vec<Value> =
                (0..limit).map(|rank| article(ticker, company, rank)).collect();
            json!({ "total": limit, "articles": articles })
        }
    })
}

fn statement(company: u64, back: u64) -> Value {
    let (_, newest, growth) = LISTED[company as usize];
    let quarter = 39 - back;
    let revenue =
        (0..back).fold(newest * 1_000, |revenue, _| revenue * 1_000 / (1_000 + growth)) / 1_000;
    let wobble = 960 + scatter(company * 100 + quarter, 80);
    let share = |thousandths: u64| revenue * thousandths * wobble / 1_000_000;
    json!({
        "fiscal_year": 2016 + quarter / 4, "fiscal_quarter": quarter % 4 + 1,
        "period_end": format!("{}-{:02}-28", 2016 + quarter / 4, quarter % 4 * 3 + 3),
        "currency": "USD", "form": if quarter % 4 == 3 { "10-K" } else { "10-Q" },
        "revenue": revenue, "cost_of_revenue": share(580), "gross_profit": revenue - share(580),
        "research_and_development": share(110), "sales_and_marketing": share(92),
        "general_and_administrative": share(51), "restructuring": share(4),
        "operating_income": share(160 + company * 12), "interest_expense": share(11),
        "other_income": share(3), "income_before_tax": share(152 + company * 12),
        "income_tax": share(33), "net_income": share(119 + company * 9),
        "shares_basic": 412, "shares_diluted": 419, "eps_basic_cents": share(119) * 100 / 412,
        "eps_diluted_cents": share(119) * 100 / 419, "dividend_cents": 12,
        "accession": format!("0000{}-{:02}-{}", 320 + company, quarter, hash(quarter)),
        "restated": false,
    })
}

fn quote(ticker: &str, company: u64) -> Value {
    let cents = 6_000 + scatter(company + 1, 20_000);
    let dollars = |percent: u64| (cents * percent / 100) as f64 / 100.0;
    json!({
        "ticker": ticker, "price": dollars(100), "open": dollars(99), "high": dollars(102),
        "low": dollars(98), "previous_close": dollars(99), "volume": 1_204_311 + company * 88_123,
        "average_volume": 1_390_000, "market_cap": cents * 412 / 100,
        "pe_ratio": (180 + scatter(company * 7, 200)) as f64 / 10.0, "dividend_yield": 0.012,
        "week_52_high": dollars(121), "week_52_low": dollars(74), "exchange": "XNYS",
        "currency": "USD", "as_of": "2026-03-27T20:00:00Z",
    })
}

fn article(ticker: &str, company: u64, rank: u64) -> Value {
    let (headline, sentiment) = HEADLINES[scatter(company * 50 + rank, 6) as usize];
    json!({
        "headline": format!("{ticker} {headline}"), "sentiment": sentiment,
        "source": pick(rank, &["Market Wire", "The Ledger", "Daily Exchange"]),
        "published_at": format!("{}T08:30:00Z", day(80 - rank)),
        "summary": prose(company * 1_000 + rank, 3),
        "url": format!("https://news.example/{}/{}", ticker.to_lowercase(), hash(rank)),
    })
}
