type Money = { amount: number; currency: string };
const purse: Money[] = [{ amount: 120, currency: "USD" }, { amount: 80.5, currency: "EUR" }, { amount: 9_900, currency: "JPY" }];
const converted = await Promise.allSettled(
  purse.map(({ amount, currency }) => mcp__fixture__convert({ amount, from: currency, to: "USD" })),
);
let total = 0;
for (const [index, result] of converted.entries()) {
  const { amount, currency } = purse[index]!;
  if (result.status === "fulfilled") {
    total += result.value.converted;
    console.log(`${amount} ${currency} = ${result.value.converted.toFixed(2)} USD at ${result.value.rate}`);
  } else {
    console.log(`${currency}: ${result.reason.name}`);
  }
}
console.log(total.toLocaleString("en-US", { style: "currency", currency: "USD" }));
console.log((1234567.891).toLocaleString("en-US", { maximumFractionDigits: 1 }), (0.256).toLocaleString("en-US", { style: "percent" }));
