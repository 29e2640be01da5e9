const text = await mcp__fixture__big({ bytes: 40 });
console.log(typeof text, text.length);
const prose = "It was the best of times, it was the worst of times; it was the age of wisdom...";
const words = prose.toLowerCase().match(/[a-z']+/g);
const frequency = Object.entries(words.reduce((all, word) => ({ ...all, [word]: (all[word] ?? 0) + 1 }), {}));
console.log(words.length, frequency.sort(([x, n], [y, m]) => m - n || x.localeCompare(y)).slice(0, 4));
const wrap = (line, width) => line.split(" ").reduce((lines, word) => {
  const last = lines.at(-1);
  return last && last.length + word.length < width ? [...lines.slice(0, -1), `${last} ${word}`] : [...lines, word];
}, []);
console.log(wrap(prose, 24).join("\n"));
console.log("snake_case_name".replace(/_(\w)/g, (_, letter) => letter.toUpperCase()), "camelCaseName".replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
console.log("a-b_c d".split(/[-_ ]/), "x".padStart(3, "ab"), "abc".at(-1), "  t ".trimEnd() + "|", "a,b,,c".split(",", 3));
console.log("tel: 030-123 456".replace(/\D+/g, ""), /(?<year>\d{4})-(?<month>\d\d)/.exec("on 2026-03-01").groups.month);
console.log("ß".toUpperCase(), "İ".toLowerCase().length, "é".normalize("NFD").length, "z".localeCompare("ä"), "a" < "B");
const caesar = (message, shift) => message.replace(/[a-z]/gi, (letter) => {
  const base = letter <= "Z" ? 65 : 97;
  return String.fromCharCode(((letter.charCodeAt(0) - base + shift + 26) % 26) + base);
});
console.log(caesar("Hello, World!", 3), caesar(caesar("Hello, World!", 3), -3));
const sticky = /\s*(\d+|[-+*/()])/y;
const tokens = [];
for (let match; (match = sticky.exec("12 + (3*4)")); ) tokens.push(match[1]);
console.log(tokens, "aXbX".replaceAll("X", "$&$&"), "x".repeat(3), String.raw`\n${1 + 1}`);
console.log([..."👩‍👩‍👧 ok"].length, "abc".includes("b", 2), "line1\r\nline2\n".split(/\r?\n/), "%", "%s is %d", "x", 3);
