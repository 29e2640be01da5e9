// Numbers as reports show them: fixed digits, separators, units, percentages, padding, big integers.
const amounts = [0, 1, -1, 0.1 + 0.2, 1234.5, 1e6, 1234567.891, -0.005, 1e21, 123e-10, NaN, Infinity, 2 ** 53];
for (const value of amounts) {
  console.log(value, [value.toFixed(2), value.toPrecision(4), value.toExponential(1), value.toLocaleString("en-US")].join(" | "));
}
const money = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const percent = new Intl.NumberFormat("en-US", { style: "percent", maximumFractionDigits: 1 });
console.log(amounts.slice(1, 7).map((it) => money.format(it)));
console.log([0.1234, 1, -0.05].map((it) => percent.format(it)));
const units = ["B", "KB", "MB", "GB"];
const size = (bytes) => {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return `${(bytes / 1024 ** power).toFixed(power && 1)} ${units[power]}`;
};
console.log([0, 1023, 1024, 1536, 5e6, 7e12].map(size));
console.log((255).toString(16), (255).toString(2).padStart(12, "0"), parseInt("ff", 16), parseInt("12px"), Number("12px"), Number(""), Number(" 7 "), +true, +[], +{});
console.log(10n ** 20n, 7n / 2n, -7n % 3n, BigInt.asUintN(8, 257n), typeof 1n, 2n > 1, 1n == 1, String(123n), BigInt("0x1f"));
console.log(Math.round(-1.5), Math.round(2.5), Math.trunc(-1.7), Math.sign(-3), Math.hypot(3, 4), Math.cbrt(27), Math.max(), Math.min(...[3, 1, 2]));
console.log(0.1 * 3, 1 / 3, 100 * 1.1, 1e300 * 1e10, 5e-324, -0, [-0], Object.is(-0, 0), Number.EPSILON > 0, Number.isSafeInteger(2 ** 53));
const rows = [["apples", 3, 1.5], ["kiwis", 12, 0.25], ["a very long name", 1, 10]];
for (const [name, count, price] of rows) {
  console.log(`${name.slice(0, 10).padEnd(10, ".")} ${String(count).padStart(3)} x ${price.toFixed(2).padStart(6)} = ${(count * price).toFixed(2).padStart(7)}`);
}
console.log("%s has %d items for %f, %i%% %j %O %c.", "cart", 3.7, "1.5", 42.9, { a: 1 }, { b: [2] }, "css");
const total = rows.reduce((sum, [, count, price]) => sum + count * price, 0);
console.log({ total, mean: total / rows.length, rounded: Math.round(total * 100) / 100 });
const sum = await mcp__fixture__add({ a: 0.1, b: 0.2 });
console.log(sum, sum === 0.3, Math.abs(sum - 0.3) < Number.EPSILON);
