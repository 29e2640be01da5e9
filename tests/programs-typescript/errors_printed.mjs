const strip = (text) => text.split("\n").filter((line) => !line.startsWith("    at ")).join("\n");
class HttpError extends Error {
  constructor(status, message) { super(message); this.name = "HttpError"; this.status = status; }
}
class Plain extends Error {}
for (const error of [new Error("boom"), new TypeError("bad"), new HttpError(404, "missing"), new Plain("p"), new RangeError(), new Error("two\nlines"), new AggregateError([new Error("x")], "many")]) {
  console.log(String(error), error.name, error.message, error instanceof Error, Object.prototype.toString.call(error), strip(error.stack ?? ""));
}
try { null.x; } catch (e) { console.log(e.constructor.name, e instanceof TypeError); }
try { undefinedName; } catch (e) { console.log(e.name, e.message); }
try { JSON.parse("{bad"); } catch (e) { console.log(e.name); }
try { (() => { const c = 1; c = 2; })(); } catch (e) { console.log(e.name); }
try { BigInt(1.5); } catch (e) { console.log(e.name); }
try { new Array(-1); } catch (e) { console.log(e.name); }
try { "x".repeat(-1); } catch (e) { console.log(e.name); }
try { decodeURIComponent("%"); } catch (e) { console.log(e.name); }
try { [].reduce((a, b) => a); } catch (e) { console.log(e.name); }
try { throw { code: 7 }; } catch (e) { console.log(e); }
try { throw new Error("outer", { cause: new Error("inner") }); } catch (e) { console.log(e.message, e.cause.message, "cause" in e); }
const finallyOrder = [];
const f = () => { try { finallyOrder.push("try"); return "value"; } finally { finallyOrder.push("finally"); } };
console.log(f(), finallyOrder);
const results = await Promise.allSettled([Promise.reject(new Error("r1")), Promise.resolve(1), (async () => { throw new HttpError(500, "r2"); })()]);
console.log(results.map((r) => (r.status === "rejected" ? `${r.reason}` : r.value)));
await Promise.reject(new Error("caught")).catch((e) => console.log("caught", e.message)).finally(() => console.log("done"));
function noStack(error) { error.stack = undefined; return error; }
console.log(Object.keys(new HttpError(1, "m")), JSON.stringify(new HttpError(2, "m")), structuredClone(new Map([[1, { a: new Date(0) }]])));
