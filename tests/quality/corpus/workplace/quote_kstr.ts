const quote = await mcp__finance__get_quote({ ticker: "KSTR" });
console.log(`${quote.price.toFixed(2)} ${quote.pe_ratio.toFixed(2)}`);
