import asyncio

companies = ["ACME", "GLOBEX", "INITECH"]

async def study(ticker):
    quarters, quote = await asyncio.gather(
        mcp__demo__query_financials(ticker=ticker, quarters=40),
        mcp__demo__stock_quote(ticker=ticker),
    )
    revenue = [quarter["income_statement"]["revenue"] for quarter in quarters]
    growth = (revenue[-1] / revenue[0]) ** (4 / (len(revenue) - 1)) - 1
    docs = await mcp__demo__search_docs(query=f"{ticker} revenue outlook", limit=5)
    return ticker, revenue, growth, quote["price"], docs[0]["title"]

print(f"{'':8}{'first':>10}{'last':>10}{'growth/yr':>11}{'price':>9}  latest word")
for ticker, revenue, growth, price, title in sorted(
    await asyncio.gather(*map(study, companies)), key=lambda row: -row[2]
):
    print(f"{ticker:8}{revenue[0]:>9,}M{revenue[-1]:>9,}M{growth:>+11.1%}{price:>9.2f}  {title}")
