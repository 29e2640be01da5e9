// A tokenizer, a recursive parser and an evaluator for formulas over the numbers of a tool.
const TOKEN = /\s*(?:(?<number>\d+(?:\.\d+)?)|(?<name>[a-z_]\w*)|(?<operator>\*\*|[-+*/%(),]))/giy;

class ParseError extends SyntaxError {
  name = "ParseError";
  constructor(message, position) {
    super(`${message} at ${position}`);
    this.position = position;
  }
}

function* tokens(text) {
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (!found) throw new ParseError(`unexpected '${text[from]}'`, from);
    const [kind, value] = Object.entries(found.groups).find(([, it]) => it !== undefined);
    yield { kind, value, at: found.index };
  }
}

const functions = { max: Math.max, min: Math.min, round: (x, digits = 0) => Number(x.toFixed(digits)) };
const operators = new Map([
  ["+", [1, (a, b) => a + b]], ["-", [1, (a, b) => a - b]],
  ["*", [2, (a, b) => a * b]], ["/", [2, (a, b) => a / b]], ["%", [2, (a, b) => a % b]],
  ["**", [3, (a, b) => a ** b]],
]);

function evaluate(text, names = {}) {
  const all = [...tokens(text)];
  let at = 0;
  const peek = () => all[at]?.value;
  const expect = (value) => {
    if (peek() !== value) throw new ParseError(`expected '${value}'`, all[at]?.at ?? text.length);
    at++;
  };
  const primary = () => {
    const token = all[at++];
    switch (token?.kind) {
      case "number": return parseFloat(token.value);
      case "name": {
        if (peek() !== "(") return names[token.value] ?? (() => { throw new ReferenceError(token.value); })();
        at++;
        const args = [];
        while (peek() !== ")") { args.push(expression(0)); if (peek() === ",") at++; else break; }
        expect(")");
        return functions[token.value](...args);
      }
      default:
        if (token?.value === "-") return -primary();
        if (token?.value === "(") { const inner = expression(0); expect(")"); return inner; }
        throw new ParseError("expected a value", token?.at ?? text.length);
    }
  };
  const expression = (level) => {
    let left = primary();
    for (;;) {
      const [strength, apply] = operators.get(peek()) ?? [0];
      if (strength <= level) return left;
      const isRight = all[at++].value === "**";
      left = apply(left, expression(isRight ? strength - 1 : strength));
    }
  };
  const value = expression(0);
  if (at < all.length) throw new ParseError(`unexpected '${peek()}'`, all[at].at);
  return value;
}

const sum = await mcp__fixture__add({ a: 40, b: 2 });
for (const text of ["1 + 2 * 3", "(1 + 2) * 3", "2 ** 3 ** 2", "-2 * -(3 - 1)", "max(1, sum, 7) / 4", "round(10 / 3, 2)", "7 % 4 + .5", "2 * (3", "1 + ", "nope + 1", "3 4", "min()"]) {
  try {
    console.log(text.padEnd(22), "=", evaluate(text, { sum }));
  } catch (error) {
    console.log(text.padEnd(22), "!", String(error), error instanceof SyntaxError, error.position);
  }
}
console.log([...tokens("a1+2")]);
