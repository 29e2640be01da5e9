const { statements } = await mcp__finance__get_income_statements({ ticker: "NRTH", quarters: 8 });
const best = statements.reduce((a, b) => (b.revenue > a.revenue ? b : a));
console.log(`${best.fiscal_year}-Q${best.fiscal_quarter}`);
