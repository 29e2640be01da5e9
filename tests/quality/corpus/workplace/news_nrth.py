from collections import Counter
news = await mcp__finance__search_news(ticker="NRTH", days=30)
counts = Counter(article["sentiment"] for article in news["articles"])
print("/".join(str(counts[s]) for s in ("positive", "neutral", "negative")))
