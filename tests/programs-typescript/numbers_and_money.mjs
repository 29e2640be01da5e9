for (const n of [0, 1, 12, 123, 1234, 12345.678, 1234567.891, -9876.5, 0.1 + 0.2, 1e15, 1e21, 0.000123, NaN, Infinity, -0, 999.9995, 1.005, 2.5, 1234.5]) {
  console.log(n.toLocaleString(), n.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
    n.toLocaleString("en-US", { style: "currency", currency: "USD" }), n.toLocaleString(undefined, { maximumFractionDigits: 0 }));
}
console.log((0.256).toLocaleString("en-US", { style: "percent" }), (0.2567).toLocaleString("en-US", { style: "percent", minimumFractionDigits: 1 }), (1.5).toLocaleString(undefined, { style: "percent" }));
console.log((1234.5).toLocaleString("en-US", { style: "currency", currency: "EUR" }), (1234.5).toLocaleString("en-US", { style: "currency", currency: "JPY" }), (-5).toLocaleString("en-US", { style: "currency", currency: "GBP" }), (5000).toLocaleString("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 0 }));
console.log((1234567.891).toLocaleString("de-DE"), (1234.5).toLocaleString("de-DE", { style: "currency", currency: "EUR" }), (12).toLocaleString("en-US", { minimumIntegerDigits: 3 }));
const compact = new Intl.NumberFormat("en-US", { notation: "compact" });
console.log([999, 1000, 1234, 15500, 123456, 1500000, 2.5e9].map((n) => compact.format(n)));
console.log(new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", notation: "compact", maximumFractionDigits: 1 }).format(1234567));
console.log(new Intl.NumberFormat().format(1e6), 12345678901234567890n.toLocaleString(), [1234.5, 6789].toLocaleString());
console.log((5).toLocaleString("en-US", { signDisplay: "always" }), (-5).toLocaleString("en-US", { signDisplay: "always" }), (1234).toLocaleString("en-US", { useGrouping: false }), (1234.5678).toLocaleString("en-US", { maximumSignificantDigits: 3 }));
console.log((12.3456).toFixed(2), (0.1).toFixed(20), (255).toString(16), (1e21).toString(), (123.456).toPrecision(4), (5e-7).toString(), parseFloat("3.7abc"), parseInt("101", 2), Number(""), Number("12px"), +"0x1f");
console.log(Math.max(), Math.min(...[3, 1, 2]), Math.round(-0.5), Math.trunc(-4.7), Math.sign(-3), Math.cbrt(27), Math.hypot(3, 4), 7 % -3, -7 % 3, 2 ** 10, 5 / 2 | 0);
console.log(0.1 + 0.2, 1 / 3, 100 / 3, 1e300 * 1e10, 9007199254740993n + 1n, 7n / 2n, BigInt(10) ** 20n, Number.MAX_SAFE_INTEGER, Number.EPSILON > 0);
console.log([3, 1, 2, 10, 1].sort(), [3, 1, 2, 10].sort((a, b) => a - b), [1, 2, 3].toSorted((a, b) => b - a), [1, 2, 3].at(-1), [1, [2, [3, [4]]]].flat(Infinity));
