// `parsePythonLiteral`: reads text that a server written in Python made of a value with `str()`.
(hooks) => {
  "use strict";
  const { originals: o } = hooks;
  const { SyntaxError } = globalThis;
  const { fromCodePoint } = String;

  const WORDS = [["None", null], ["True", true], ["False", false], ["nan", NaN], ["inf", Infinity]];
  const ESCAPES = { __proto__: null, n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v", a: "\x07", "0": "\0" };
  const NUMBER = /[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/y;
  const MAX_DEPTH = 200;

  class Reader {
    constructor(text) {
      this.text = text;
      this.at = 0;
      this.depth = 0;
    }

    fail(wanted) {
      throw new SyntaxError(`Not a Python literal: expected ${wanted} at position ${this.at}`);
    }

    skip() {
      while (this.at < this.text.length && o.includes(" \t\r\n", this.text[this.at])) this.at += 1;
    }

    take(mark) {
      this.skip();
      if (this.text[this.at] !== mark) return false;
      this.at += 1;
      return true;
    }

    value() {
      this.skip();
      if (++this.depth > MAX_DEPTH) this.fail("less nesting");
      const value = this.unnested(this.text[this.at]);
      this.depth -= 1;
      return value;
    }

    unnested(first) {
      if (first === "[" || first === "(") {
        this.at += 1;
        return this.items(first === "[" ? "]" : ")", first === "(");
      }
      if (first === "{") {
        this.at += 1;
        return this.entries();
      }
      if (first === "'" || first === '"') return this.string();
      for (let i = 0; i < WORDS.length; i++) {
        if (o.startsWith(o.slice(this.text, this.at, this.at + 6), WORDS[i][0])) {
          this.at += WORDS[i][0].length;
          return WORDS[i][1];
        }
      }
      NUMBER.lastIndex = this.at;
      const found = NUMBER.exec(this.text);
      if (found === null) this.fail("a value");
      this.at += found[0].length;
      return o.Number(found[0].replaceAll("_", ""));
    }

    items(end, isTuple) {
      const items = [];
      let hasComma = false;
      while (!this.take(end)) {
        items[items.length] = this.value();
        if (this.take(",")) hasComma = true;
        else if (this.take(end)) break;
        else this.fail(`"," or "${end}"`);
      }
      // Parentheses around one value are no tuple.
      return isTuple && items.length === 1 && !hasComma ? items[0] : items;
    }

    entries() {
      const entries = {};
      const members = [];
      while (!this.take("}")) {
        const key = this.value();
        if (this.take(":")) {
          o.defineProperty(entries, `${key}`, { __proto__: null, value: this.value(), configurable: true, enumerable: true, writable: true });
        } else {
          members[members.length] = key;
        }
        if (!this.take(",")) {
          if (this.take("}")) break;
          this.fail('"," or "}"');
        }
      }
      return members.length > 0 ? members : entries;
    }

    string() {
      const quote = this.text[this.at];
      let value = "";
      for (this.at += 1; this.at < this.text.length; this.at += 1) {
        const character = this.text[this.at];
        if (character === quote) {
          this.at += 1;
          return value;
        }
        value += character === "\\" ? this.escaped() : character;
      }
      return this.fail(`${quote}`);
    }

    escaped() {
      this.at += 1;
      const kind = this.text[this.at];
      const digits = kind === "x" ? 2 : kind === "u" ? 4 : kind === "U" ? 8 : 0;
      if (digits === 0) return ESCAPES[kind] ?? kind;
      const code = o.Number(`0x${o.slice(this.text, this.at + 1, this.at + 1 + digits)}`);
      if (!(code <= 0x10ffff)) this.fail("an escape");
      this.at += digits;
      return fromCodePoint(code);
    }
  }

  o.defineProperty(globalThis, "parsePythonLiteral", {
    __proto__: null, configurable: true, writable: true, enumerable: false,
    value: function parsePythonLiteral(text) {
      const reader = new Reader(`${text}`);
      const value = reader.value();
      reader.skip();
      if (reader.at < reader.text.length) reader.fail("the end");
      return value;
    },
  });
}
