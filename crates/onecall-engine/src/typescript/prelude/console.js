// `console`: stdout is what the program answers with, stderr is for its author's log.
(hooks) => {
  "use strict";
  const { originals: o, native, inspect } = hooks;
  let indentation = "";

  const argumentText = (value) => {
    if (typeof value === "string") return value;
    const isText = typeof value === "object" && value !== null && hooks.isText(value);
    return isText ? o.stringValue(value) : inspect(value);
  };

  const number = (value) => {
    if (typeof value === "bigint") return `${o.bigIntText(value)}n`;
    if (typeof value === "symbol") return "NaN";
    return hooks.inspect(typeof value === "object" ? NaN : o.Number(value));
  };

  const whole = (value, parse) => {
    if (typeof value === "bigint") return `${o.bigIntText(value)}n`;
    if (typeof value === "symbol") return "NaN";
    return hooks.inspect(parse(value));
  };

  const json = (value) => {
    try {
      return `${o.json(value)}`;
    } catch (error) {
      return "[Circular]";
    }
  };

  const asString = (value) => {
    if (typeof value === "bigint") return `${o.bigIntText(value)}n`;
    if (o.is(value, -0)) return "-0";
    if (typeof value === "object" && value !== null) {
      if (o.isError(value)) return `${value.stack}`;
      return hooks.hasOwnText(value) ? `${value}` : inspect(value);
    }
    return o.String(value);
  };

  hooks.hasOwnText = (value) => {
    const method = value.toString;
    return typeof method === "function" && method !== Object.prototype.toString && !o.isArray(value) && method !== Error.prototype.toString;
  };

  const { parseInt, parseFloat } = globalThis;

  // Text of all arguments; the first may have places for others.
  hooks.formatted = (args) => {
    if (args.length === 0) return "";
    let text = "";
    let next = 0;
    if (typeof args[0] === "string") {
      next = 1;
      const template = args[0];
      if (args.length === 1) return template;
      let from = 0;
      for (let i = 0; i < template.length - 1; i++) {
        if (o.at(template, i) !== 37) continue;
        const kind = template[i + 1];
        if (kind === "%") {
          text += `${o.slice(template, from, i)}%`;
          from = i + 2;
          i += 1;
          continue;
        }
        if (next >= args.length) continue;
        let filled;
        if (kind === "s") filled = asString(args[next]);
        else if (kind === "d") filled = number(args[next]);
        else if (kind === "i") filled = whole(args[next], (value) => parseInt(value));
        else if (kind === "f") filled = typeof args[next] === "symbol" ? "NaN" : `${parseFloat(args[next])}`;
        else if (kind === "j") filled = json(args[next]);
        else if (kind === "o" || kind === "O") filled = inspect(args[next]);
        else if (kind === "c") filled = "";
        else continue;
        text += o.slice(template, from, i) + filled;
        from = i + 2;
        i += 1;
        next += 1;
      }
      text += o.slice(template, from);
    } else {
      text = argumentText(args[0]);
      next = 1;
    }
    for (let i = next; i < args.length; i++) text += ` ${argumentText(args[i])}`;
    return text;
  };

  hooks.writePart = (text, toStderr) => {
    if (!hooks.hasExited()) native.print(o.wellFormed(text), toStderr);
  };

  const write = (text, toStderr) => {
    if (indentation !== "") {
      const lines = hooks.linesOf(text);
      text = lines.length === 0 ? indentation : indentation + o.join(lines, indentation);
    }
    hooks.writePart(`${text}\n`, toStderr);
  };
  hooks.write = write;

  const counts = new o.Map();
  const timers = new o.Map();
  const label = (name) => (name === undefined ? "default" : `${name}`);
  const out = (...args) => write(hooks.formatted(args), false);
  const error = (...args) => write(hooks.formatted(args), true);

  const elapsed = (since) => {
    const milliseconds = native.runningTime() - since;
    return milliseconds >= 1000
      ? `${o.fixed(milliseconds / 1000, 3)}s`
      : `${o.Number(o.precise(milliseconds, 3))}ms`;
  };

  const console = {
    log: out,
    info: out,
    debug: out,
    error,
    warn: error,
    trace(...args) {
      const raw = new o.Error().stack;
      const at = o.indexOf(raw, "\n");
      const head = args.length === 0 ? "Trace" : `Trace: ${hooks.formatted(args)}`;
      write(at === -1 ? head : head + o.slice(raw, at), true);
    },
    dir(value) {
      write(inspect(value), false);
    },
    dirxml: out,
    table(data, columns) {
      write(hooks.table(data, columns) ?? hooks.formatted([data]), false);
    },
    assert(condition, ...args) {
      if (condition) return;
      if (typeof args[0] === "string") args[0] = `Assertion failed: ${args[0]}`;
      else args = o.apply(Array.prototype.concat, ["Assertion failed"], args);
      write(hooks.formatted(args), true);
    },
    group(...args) {
      if (args.length > 0) out(...args);
      indentation += "  ";
    },
    groupCollapsed(...args) {
      if (args.length > 0) out(...args);
      indentation += "  ";
    },
    groupEnd() {
      indentation = o.slice(indentation, 2);
    },
    count(name) {
      const count = (o.mapGet(counts, label(name)) ?? 0) + 1;
      o.mapSet(counts, label(name), count);
      write(`${label(name)}: ${count}`, false);
    },
    countReset(name) {
      o.mapDelete(counts, label(name));
    },
    time(name) {
      o.mapSet(timers, label(name), native.runningTime());
    },
    timeLog(name, ...args) {
      const since = o.mapGet(timers, label(name));
      if (since !== undefined) write(hooks.formatted([`${label(name)}: ${elapsed(since)}`, ...args]), false);
    },
    timeEnd(name) {
      const since = o.mapGet(timers, label(name));
      if (since === undefined) return;
      o.mapDelete(timers, label(name));
      write(`${label(name)}: ${elapsed(since)}`, false);
    },
  };
  const names = o.keys(console);
  for (let i = 0; i < names.length; i++) {
    o.defineProperty(console[names[i]], "name", { __proto__: null, value: names[i], configurable: true });
  }
  o.defineProperty(globalThis, "console", {
    __proto__: null, configurable: true, writable: true, enumerable: false, value: console,
  });
}
