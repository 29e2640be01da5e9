import asyncio

async def compare(ticker):
    statements, quote, news = await asyncio.gather(
        mcp__finance__get_income_statements(ticker=ticker, quarters=20),
        mcp__finance__get_quote(ticker=ticker),
        mcp__finance__search_news(ticker=ticker, limit=20),
    )
    quarters = statements["statements"]
    growth = 100 * (quarters[0]["revenue"] / quarters[16]["revenue"] - 1)
    year = quarters[:4]
    margin = 100 * sum(q["operating_income"] for q in year) / sum(q["revenue"] for q in year)
    negative = sum(article["sentiment"] == "negative" for article in news["articles"])
    print(f"{ticker}: growth {growth:.1f}%, margin {margin:.1f}%, P/E {quote['pe_ratio']:.1f}, {negative} negative")

for ticker in ["NRTH", "KSTR", "VNTG"]:
    await compare(ticker)
