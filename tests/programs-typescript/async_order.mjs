const log = [];
setTimeout(() => log.push("timeout 0"), 0);
setTimeout(() => log.push("timeout 5"), 5);
queueMicrotask(() => log.push("microtask"));
Promise.resolve().then(() => log.push("then 1")).then(() => log.push("then 2"));
(async () => { log.push("async start"); await null; log.push("after await"); })();
log.push("sync");
await new Promise((resolve) => setTimeout(resolve, 15));
console.log(log);
const cancelled = setTimeout(() => console.log("never"), 1);
clearTimeout(cancelled);
const sleep = (ms, value) => new Promise((resolve) => setTimeout(() => resolve(value), ms));
console.log(await Promise.race([sleep(30, "slow"), sleep(5, "fast")]));
const timeout = (promise, ms) => Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error("timed out")), ms))]);
console.log(await timeout(sleep(50, "late"), 10).catch((e) => e.message));
async function* ticks(n) { for (let i = 0; i < n; i++) { await sleep(1); yield i; } }
const seen = []; for await (const t of ticks(3)) seen.push(t); console.log(seen);
class Semaphore { constructor(n) { this.free = n; this.queue = []; }
  async use(task) { if (this.free === 0) await new Promise((r) => this.queue.push(r)); else this.free--; try { return await task(); } finally { const next = this.queue.shift(); next ? next() : this.free++; } } }
const semaphore = new Semaphore(2); let running = 0, peak = 0;
console.log(await Promise.all([1, 2, 3, 4, 5].map((n) => semaphore.use(async () => { running++; peak = Math.max(peak, running); await sleep(2); running--; return n * n; }))), peak);
const { promise, resolve } = Promise.withResolvers ? Promise.withResolvers() : (() => { let resolve; const promise = new Promise((r) => (resolve = r)); return { promise, resolve }; })();
setTimeout(resolve, 1, "with args"); console.log(await promise);
setTimeout((a, b) => console.log("at the end", a, b), 2, 1, 2);
