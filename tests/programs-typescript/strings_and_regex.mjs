const text = "The quick brown fox, aged 7, jumps over 2 lazy dogs on 2024-05-17.";
console.log(text.match(/\d+/g), text.replace(/(\d{4})-(\d{2})-(\d{2})/, "$3.$2.$1"), text.split(/[\s,]+/).length);
console.log([...text.matchAll(/(?<word>\b[a-z]{5}\b)/g)].map((m) => [m.groups.word, m.index]));
const { year, month } = /(?<year>\d{4})-(?<month>\d\d)/.exec(text).groups;
console.log(year, month, text.search("fox"), text.includes("lazy"), text.at(-1), text.slice(-6, -1), text.substring(4, 9));
console.log("a-b_c d".replace(/[-_ ](\w)/g, (_, c) => c.toUpperCase()), "camelCaseString".replace(/([A-Z])/g, "_$1").toLowerCase(), "x".padStart(5, "ab"), "x".padEnd(4, ".") + "|", "  trim ".trim() + "|");
console.log("héllo".normalize("NFD").length, "ß".toUpperCase(), "İ".toLowerCase().length, "😀".length, [..."😀é"].length, "😀".codePointAt(0), String.fromCodePoint(128512), "abc".localeCompare("abd"));
console.log(["banana", "apple", "Cherry", "äpfel", "Zebra", "apple2", "apple10", "_x", "1a"].sort((a, b) => a.localeCompare(b)));
console.log(["a10", "a9", "a1"].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })), "a".localeCompare("A"), "a".localeCompare("B"), "résumé".localeCompare("resume"), "a".localeCompare("á", "en", { sensitivity: "base" }));
console.log(encodeURIComponent("a b&c=ü/?"), decodeURIComponent("%C3%BC"), encodeURI("http://x.y/a b?c=ü"), escape("ü"), JSON.stringify("\u2028\u0007\ud800"));
console.log(/(a+)+$/.test("aaaaaaaaaaaaaaaaaaaa"), /^[\w.+-]+@[\w-]+\.[\w.]+$/.test("bob@example.com"), /\p{Lu}/u.test("É"), /(?<=\$)\d+/.exec("cost $42")[0], "a1b2".replaceAll(/\d/g, "#"), "aXbX".replaceAll("X", ""));
console.log(text.match(/(\w+) (\w+)/), "no".match(/x/), "2024".match(/(?<y>\d+)/));
console.log(`multi
line ${1 + 1} ${[1, 2]} ${{}} ${null}`, String.raw`a\nb`, "abc".repeat(2), "a,b,,c".split(","), "abc".split(""));
const tag = (strings, ...values) => strings.raw.join("|") + values.join(",");
console.log(tag`x${1}y${2}z`, typeof "x", "b" > "a", "10" < "9", "b".charCodeAt(0), "%", [1, 2, 3] + "", [] + {}, `${[]}`);
