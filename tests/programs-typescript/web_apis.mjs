const url = new URL("https://user:pw@example.com:8443/a/b/../c?q=1&q=2&name=J%C3%BCrgen+K#frag");
console.log(url.href, url.origin, url.host, url.hostname, url.port, url.pathname, url.search, url.hash, url.username, url.protocol);
console.log(url.searchParams.get("q"), url.searchParams.getAll("q"), url.searchParams.get("name"), url.searchParams.has("x"), [...url.searchParams]);
url.searchParams.set("q", "a b&c"); url.searchParams.append("z", "é"); url.searchParams.delete("name"); console.log(String(url), url.search);
console.log(new URL("/x?y=1", "https://a.b/c/d").href, new URL("e", "https://a.b/c/d").href, new URL("//h/p", "https://a.b").href, new URL("?q", "https://a.b/c").href, new URL("HTTP://EXAMPLE.com:80").href, new URL("mailto:a@b.c").pathname);
try { new URL("not a url"); } catch (e) { console.log(e.name, e.message, e.code); }
const params = new URLSearchParams({ a: 1, b: "x y", c: "ü" }); params.append("a", "2"); console.log(params.toString(), Object.fromEntries(params), params.size, URL.canParse("https://x"));
console.log(new TextEncoder().encode("hé€😀"), new TextDecoder().decode(new Uint8Array([104, 195, 169])), btoa("hello"), atob("aGVsbG8="), btoa("a"), btoa(""));
const original = { d: new Date(5), r: /x/g, m: new Map([["k", new Set([1])]]), n: [1, { deep: null }] }; const copy = structuredClone(original); console.log(copy, copy.m !== original.m);
const loop = { a: 1 }; loop.me = loop; const cloned = structuredClone(loop); console.log(cloned.me === cloned, cloned);
try { structuredClone(() => 1); } catch (e) { console.log(e.name, e.constructor.name); }
console.log(typeof performance.now(), performance.now() >= 0, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), typeof Math.random());
console.log(JSON.stringify({ u: new URL("http://a/b") }), encodeURIComponent("é"), new Intl.ListFormat("en", { type: "conjunction" }).format(["a", "b", "c"]), new Intl.PluralRules("en-US", { type: "ordinal" }).select(22));
