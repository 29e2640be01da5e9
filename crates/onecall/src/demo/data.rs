//! The data of the demo: invented companies, with payloads as large as those of real services.

use serde_json::{Value, json};

struct Company {
    ticker: &'static str,
    name: &'static str,
    /// Revenue of the first quarter, in millions.
    revenue: f64,
    /// Growth from one quarter to the next.
    growth: f64,
    price: f64,
}

const COMPANIES: [Company; 3] = [
    Company {
        ticker: "ACME",
        name: "Acme Corporation",
        revenue: 812.0,
        growth: 0.031,
        price: 141.2,
    },
    Company {
        ticker: "GLOBEX",
        name: "Globex Industries",
        revenue: 2_410.0,
        growth: -0.008,
        price: 63.4,
    },
    Company {
        ticker: "INITECH",
        name: "Initech Systems",
        revenue: 377.0,
        growth: 0.062,
        price: 208.9,
    },
];

const FIRST_YEAR: i64 = 2016;

fn company(ticker: &str) -> Result<&'static Company, String> {
    COMPANIES.iter().find(|company| company.ticker == ticker).ok_or_else(|| {
        let known: Vec<_> = COMPANIES.iter().map(|company| company.ticker).collect();
        format!("no company has the ticker '{ticker}'; known are {}", known.join(", "))
    })
}

/// Full statements of the last `quarters` quarters, oldest first.
pub(super) fn financials(ticker: &str, quarters: i64) -> Result<Value, String> {
    let company = company(ticker)?;
    let statements = (0..quarters.clamp(1, 40)).map(|quarter| statement(company, quarter));
    Ok(statements.collect())
}

fn statement(company: &Company, quarter: i64) -> Value {
    let steps = i32::try_from(quarter).unwrap_or_default();
    let season = [0.97, 1.0, 0.99, 1.06].get(usize::try_from(quarter % 4).unwrap_or_default());
    let revenue = company.revenue * (1.0 + company.growth).powi(steps) * season.unwrap_or(&1.0);
    let share = |part: f64| (revenue * part).round();
    json!({
        "ticker": company.ticker,
        "company": company.name,
        "fiscal_year": FIRST_YEAR + quarter / 4,
        "fiscal_quarter": quarter % 4 + 1,
        "currency": "USD",
        "unit": "millions",
        "income_statement": {
            "revenue": share(1.0) as i64, "cost_of_revenue": share(0.58), "gross_profit": share(0.42),
            "research_and_development": share(0.11), "sales_and_marketing": share(0.09),
            "general_and_administrative": share(0.05), "operating_income": share(0.17),
            "interest_expense": share(0.01), "other_income": share(0.004),
            "income_before_tax": share(0.164), "income_tax": share(0.034), "net_income": share(0.13),
            "shares_outstanding_basic": 412.5, "shares_outstanding_diluted": 418.9,
            "earnings_per_share_basic": (revenue * 0.13 / 4.125).round() / 100.0,
            "earnings_per_share_diluted": (revenue * 0.13 / 4.189).round() / 100.0
        },
        "balance_sheet": {
            "cash_and_equivalents": share(0.8), "short_term_investments": share(0.55),
            "accounts_receivable": share(0.47), "inventory": share(0.21), "total_current_assets": share(2.1),
            "property_plant_equipment": share(1.3), "goodwill": share(0.9), "intangible_assets": share(0.4),
            "total_assets": share(5.2), "accounts_payable": share(0.38), "deferred_revenue": share(0.29),
            "short_term_debt": share(0.18), "total_current_liabilities": share(1.1),
            "long_term_debt": share(1.4), "total_liabilities": share(2.7), "shareholders_equity": share(2.5)
        },
        "cash_flow": {
            "operating_cash_flow": share(0.22), "capital_expenditure": share(0.07),
            "free_cash_flow": share(0.15), "dividends_paid": share(0.03), "share_buybacks": share(0.05),
            "net_change_in_cash": share(0.04)
        },
        "source": {
            "form": if quarter % 4 == 3 { "10-K" } else { "10-Q" },
            "accession": format!("0000{}-{:02}-{:06}", company.price as i64, quarter, quarter * 7919),
            "audited": quarter % 4 == 3
        }
    })
}

/// The company's share price and the figures that quotes come with.
pub(super) fn quote(ticker: &str) -> Result<Value, String> {
    let company = company(ticker)?;
    let cents = |factor: f64| (company.price * factor * 100.0).round() / 100.0;
    Ok(json!({
        "ticker": company.ticker, "price": company.price, "open": cents(0.994), "high": cents(1.012),
        "low": cents(0.988), "previous_close": cents(0.997), "change_percent": 0.3,
        "volume": 18_204_311, "average_volume": 16_950_000, "market_cap_millions": cents(418.9),
        "pe_ratio": 24.1, "dividend_yield": 0.012, "week_52_high": cents(1.21), "week_52_low": cents(0.74),
        "exchange": "NYSE", "currency": "USD"
    }))
}

/// Documents that mention the words of `query`, each with an excerpt of a page.
pub(super) fn documents(query: &str, limit: i64) -> Value {
    let subject = COMPANIES
        .iter()
        .find(|company| query.to_uppercase().contains(company.ticker))
        .map_or("the market", |company| company.name);
    let titles =
        ["Earnings call", "Investor letter", "Analyst note", "Press release", "Sector review"];
    let found = (1..=limit.clamp(1, 20)).zip(titles.iter().cycle()).map(|(rank, title)| {
        json!({
            "id": format!("doc-{rank:04}"),
            "title": format!("{title}: {subject}"),
            "score": 1.0 / rank as f64,
            "excerpt": excerpt(subject, title),
        })
    });
    found.collect()
}

fn excerpt(subject: &str, title: &str) -> String {
    let sentences = [
        "Management expects demand to follow the order book of the last two quarters",
        "Margins were held by lower freight costs while input prices rose slightly",
        "The board confirmed its guidance and left the dividend unchanged",
        "Inventory is near its long-term average, which limits the risk of write-downs",
        "Customers in the public sector delayed several projects into the next fiscal year",
    ];
    let text: Vec<_> = sentences
        .iter()
        .cycle()
        .take(15)
        .map(|sentence| {
            format!("{sentence}, according to the {} of {subject}.", title.to_lowercase())
        })
        .collect();
    text.join(" ")
}
