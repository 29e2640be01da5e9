const data = [23.1, 45.7, 12.9, 67.3, 34.4, 89.2, 21.8, 55.5, 43.6, 38.1];
const mean = data.reduce((a, b) => a + b, 0) / data.length;
const variance = data.reduce((s, x) => s + (x - mean) ** 2, 0) / (data.length - 1);
const sorted = [...data].sort((a, b) => a - b);
const median = (sorted[4] + sorted[5]) / 2;
const quantile = (q) => { const p = (sorted.length - 1) * q, b = Math.floor(p); return sorted[b] + (sorted[Math.ceil(p)] - sorted[b]) * (p - b); };
console.log({ mean: +mean.toFixed(3), sd: +Math.sqrt(variance).toFixed(3), median, q1: quantile(0.25), q3: quantile(0.75), min: Math.min(...data), max: Math.max(...data) });
const histogram = new Map();
for (const x of data) { const bin = Math.floor(x / 20) * 20; histogram.set(bin, (histogram.get(bin) ?? 0) + 1); }
for (const [bin, n] of [...histogram].sort((a, b) => a[0] - b[0])) console.log(`${String(bin).padStart(3)}-${bin + 19} ${"█".repeat(n)} ${n}`);
console.log(histogram, sorted);
const matrix = [[2, 1], [1, 3]];
const multiply = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((s, x, k) => s + x * b[k][j], 0)));
console.log(multiply(matrix, matrix), matrix[0].map((_, i) => matrix.map((r) => r[i])));
const memo = {}; const fib = (n) => memo[n] ?? (memo[n] = n < 2 ? BigInt(n) : fib(n - 1) + fib(n - 2)); console.log(fib(100), Object.keys(memo).length);
const primes = Array.from({ length: 60 }, (_, i) => i).filter((n) => n > 1 && ![...Array(n).keys()].slice(2).some((d) => n % d === 0)); console.log(primes);
console.log([0.1, 0.25, 1 / 3, 2 / 3, 1e-7, 123456.789].map((x) => x.toFixed(2)), (1234.5678).toFixed(1), Math.round(2.345 * 100) / 100);
