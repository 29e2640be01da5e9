// Values as text, the way Node prints them.
(hooks) => {
  "use strict";
  const { originals: o, is } = hooks;
  const DEPTH = 2;
  const WIDTH = 80;
  const COMPACT = 3;
  const MOST_ITEMS = 100;
  const LONGEST_STRING = 10_000;

  const isWord = (code) =>
    (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) ||
    code === 95 || code === 36;

  const isIdentifier = (text) => {
    if (text === "" || (o.at(text, 0) >= 48 && o.at(text, 0) <= 57)) return false;
    for (let i = 0; i < text.length; i++) {
      const code = o.at(text, i);
      if (!isWord(code) || code === 36) return false;
    }
    return true;
  };

  const ESCAPES = { __proto__: null, 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 92: "\\\\" };

  const quote = (text) => {
    let mark = "'";
    if (o.includes(text, "'")) {
      if (!o.includes(text, '"')) mark = '"';
      else if (!o.includes(text, "`") && !o.includes(text, "${")) mark = "`";
    }
    const markCode = o.at(mark, 0);
    let result = "";
    let from = 0;
    for (let i = 0; i < text.length; i++) {
      const code = o.at(text, i);
      let escape;
      if (code === markCode) escape = `\\${mark}`;
      else if (code < 32 || code === 92 || (code >= 127 && code <= 159)) {
        escape = ESCAPES[code] ?? `\\x${o.padStart(o.upper(o.radix(code, 16)), 2, "0")}`;
      } else if (code >= 0xd800 && code <= 0xdfff) {
        const next = i + 1 < text.length ? o.at(text, i + 1) : 0;
        if (code <= 0xdbff && next >= 0xdc00 && next <= 0xdfff) {
          i++;
          continue;
        }
        escape = `\\u${o.upper(o.radix(code, 16))}`;
      } else continue;
      result += o.slice(text, from, i) + escape;
      from = i + 1;
    }
    return `${mark}${result}${o.slice(text, from)}${mark}`;
  };

  // Columns of a terminal: wide characters take two, marks that join others none.
  const width = (text) => {
    let columns = 0;
    for (let i = 0; i < text.length; i++) {
      const code = o.codePointAt(text, i);
      if (code > 0xffff) i++;
      if (code < 0x300) columns += code >= 32 && (code < 127 || code > 159) ? 1 : 0;
      else if ((code <= 0x36f) || (code >= 0x200b && code <= 0x200f) || (code >= 0xfe00 && code <= 0xfe0f)) continue;
      else if (
        (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
        (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
        (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
        (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1f64f) ||
        (code >= 0x1f900 && code <= 0x1f9ff) || (code >= 0x20000 && code <= 0x3fffd)
      ) columns += 2;
      else columns += 1;
    }
    return columns;
  };

  const linesOf = (text) => {
    const lines = [];
    let from = 0;
    for (let at; (at = o.indexOf(text, "\n", from)) !== -1; from = at + 1) {
      lines[lines.length] = o.slice(text, from, at + 1);
    }
    if (from < text.length) lines[lines.length] = o.slice(text, from);
    return lines;
  };

  const string = (state, text) => {
    let rest = "";
    if (text.length > LONGEST_STRING) {
      const more = text.length - LONGEST_STRING;
      rest = `... ${more} more character${more > 1 ? "s" : ""}`;
      text = o.slice(text, 0, LONGEST_STRING);
    }
    if (text.length > 16 && text.length > WIDTH - state.indentation - 4) {
      const lines = linesOf(text);
      for (let i = 0; i < lines.length; i++) lines[i] = quote(lines[i]);
      return o.join(lines, ` +\n${o.repeat(" ", state.indentation + 2)}`) + rest;
    }
    return quote(text) + rest;
  };

  const primitive = (state, value) => {
    switch (typeof value) {
      case "string": return string(state, value);
      case "number": return o.is(value, -0) ? "-0" : `${value}`;
      case "bigint": return `${o.bigIntText(value)}n`;
      case "symbol": return o.symbolText(value);
      default: return `${value}`;
    }
  };

  // The name of the nearest constructor, `null` for an object without a prototype.
  const constructorName = (value) => {
    for (let it = value; it !== null; it = o.getPrototypeOf(it)) {
      const found = o.getOwnPropertyDescriptor(it, "constructor");
      if (
        found !== undefined && typeof found.value === "function" &&
        typeof found.value.name === "string" && found.value.name !== "" &&
        (found.value.prototype === it || inherits(value, found.value.prototype))
      ) return found.value.name;
    }
    return null;
  };

  const inherits = (value, prototype) => {
    for (let it = o.getPrototypeOf(value); it !== null; it = o.getPrototypeOf(it)) {
      if (it === prototype) return true;
    }
    return false;
  };

  const prefix = (name, tag, otherwise, size = "") => {
    if (name === null) {
      return tag !== "" && tag !== otherwise
        ? `[${otherwise}${size}: null prototype] [${tag}] `
        : `[${otherwise}${size}: null prototype] `;
    }
    return tag !== "" && tag !== name ? `${name}${size} [${tag}] ` : `${name}${size} `;
  };

  const visibleKeys = (value, skipsIndexes) => {
    const all = o.ownKeys(value);
    const kept = [];
    for (let i = 0; i < all.length; i++) {
      const key = all[i];
      if (!o.isEnumerable(value, key)) continue;
      if (skipsIndexes && typeof key === "string" && isIndex(key)) continue;
      kept[kept.length] = key;
    }
    return kept;
  };

  const isIndex = (key) => {
    if (key === "" || key.length > 10 || (key.length > 1 && o.at(key, 0) === 48)) return false;
    for (let i = 0; i < key.length; i++) {
      const code = o.at(key, i);
      if (code < 48 || code > 57) return false;
    }
    return true;
  };

  const functionBase = (value, name, tag) => {
    const text = o.functionText(value);
    if (o.startsWith(text, "class") && o.endsWith(text, "}")) {
      let base = `[class ${value.name === "" || !o.hasOwn(value, "name") ? "(anonymous)" : value.name}`;
      if (name !== "Function" && name !== null) base += ` [${name}]`;
      const parent = o.getPrototypeOf(value);
      if (parent !== null && typeof parent === "function" && parent.name) base += ` extends ${parent.name}`;
      else if (parent === null) base += " extends null";
      return `${base}]`;
    }
    const kind = tag === "" || tag === "Function" ? "Function" : tag;
    let base = `[${kind}`;
    if (name === null) base += " (null prototype)";
    base += value.name === "" || typeof value.name !== "string" ? " (anonymous)" : `: ${value.name}`;
    return `${base}]`;
  };

  const property = (state, object, key, depth, kind) => {
    const found = o.getOwnPropertyDescriptor(object, key) ?? { value: object[key], enumerable: true };
    let text;
    if (found.value !== undefined || (found.get === undefined && found.set === undefined)) {
      state.indentation += 2;
      text = format(state, found.value, depth);
      state.indentation -= 2;
    } else if (found.get !== undefined) {
      text = found.set !== undefined ? "[Getter/Setter]" : "[Getter]";
    } else {
      text = "[Setter]";
    }
    if (kind === "item") return text;
    let name;
    if (typeof key === "symbol") name = `[${o.symbolText(key)}]`;
    else if (key === "__proto__") name = "['__proto__']";
    else if (found.enumerable === false) name = `[${key}]`;
    else name = isIdentifier(key) ? key : quote(key);
    return `${name}: ${text}`;
  };

  const more = (count) => `... ${count} more item${count > 1 ? "s" : ""}`;

  const items = (state, array, depth) => {
    const out = [];
    let index = 0;
    for (; index < array.length && out.length < MOST_ITEMS; index++) {
      if (!o.hasOwn(array, index)) {
        let end = index;
        while (end < array.length && !o.hasOwn(array, end)) end++;
        const count = end - index;
        out[out.length] = `<${count} empty item${count > 1 ? "s" : ""}>`;
        index = end - 1;
        continue;
      }
      out[out.length] = property(state, array, index, depth, "item");
    }
    if (index < array.length) out[out.length] = more(array.length - index);
    return out;
  };

  const typedItems = (state, array, depth) => {
    const out = [];
    const length = o.typedArrayLength(array);
    for (let i = 0; i < length && i < MOST_ITEMS; i++) out[i] = primitive(state, array[i]);
    if (length > MOST_ITEMS) out[out.length] = more(length - MOST_ITEMS);
    return out;
  };

  const setItems = (state, set, depth) => {
    const out = [];
    state.indentation += 2;
    o.setEach(set, (value) => {
      if (out.length < MOST_ITEMS) out[out.length] = format(state, value, depth);
    });
    state.indentation -= 2;
    if (o.setSize(set) > MOST_ITEMS) out[out.length] = more(o.setSize(set) - MOST_ITEMS);
    return out;
  };

  const mapItems = (state, map, depth) => {
    const out = [];
    state.indentation += 2;
    o.mapEach(map, (value, key) => {
      if (out.length < MOST_ITEMS) {
        out[out.length] = `${format(state, key, depth)} => ${format(state, value, depth)}`;
      }
    });
    state.indentation -= 2;
    if (o.mapSize(map) > MOST_ITEMS) out[out.length] = more(o.mapSize(map) - MOST_ITEMS);
    return out;
  };

  // Many short items share lines, in columns.
  const inColumns = (state, out, hasMore, values) => {
    const count = hasMore ? out.length - 1 : out.length;
    const widths = [];
    let total = 0;
    let widest = 0;
    for (let i = 0; i < count; i++) {
      widths[i] = width(out[i]);
      total += widths[i] + 2;
      widest = o.max(widest, widths[i]);
    }
    const cell = widest + 2;
    if (cell * 3 + state.indentation >= WIDTH || (total / cell <= 5 && widest > 6)) return out;
    const bias = o.max(cell - 3 - o.sqrt(cell - total / out.length), 1);
    const columns = o.min(
      o.round(o.sqrt(2.5 * bias * count) / bias),
      o.floor((WIDTH - state.indentation) / cell),
      COMPACT * 4,
      15,
    );
    if (columns <= 1) return out;
    const columnWidths = [];
    for (let column = 0; column < columns; column++) {
      let widestHere = 0;
      for (let i = column; i < count; i += columns) widestHere = o.max(widestHere, widths[i]);
      columnWidths[column] = widestHere + 2;
    }
    let isNumeric = values !== undefined;
    for (let i = 0; isNumeric && i < out.length; i++) {
      isNumeric = typeof values[i] === "number" || typeof values[i] === "bigint";
    }
    const lines = [];
    for (let start = 0; start < count; start += columns) {
      const end = o.min(start + columns, count);
      let line = "";
      for (let i = start; i < end - 1; i++) {
        const padded = columnWidths[i - start] + out[i].length - widths[i];
        line += isNumeric ? o.padStart(`${out[i]}, `, padded) : o.padEnd(`${out[i]}, `, padded);
      }
      const last = end - 1;
      line += isNumeric
        ? o.padStart(out[last], columnWidths[last - start] + out[last].length - widths[last] - 2)
        : out[last];
      lines[lines.length] = line;
    }
    if (hasMore) lines[lines.length] = out[count];
    return lines;
  };

  const enclose = (state, out, base, open, close, isList, depth, value) => {
    const count = out.length;
    if (isList && count > 6) out = inColumns(state, out, count > MOST_ITEMS, value);
    const head = base === "" ? "" : `${base} `;
    if (state.deepest - depth < COMPACT && count === out.length) {
      let length = out.length + (out.length + state.indentation + open.length + base.length + 10);
      for (let i = 0; i < out.length; i++) length += out[i].length;
      const isShort = length <= WIDTH && !(base !== "" && o.includes(base, "\n"));
      if (isShort) {
        const joined = o.join(out, ", ");
        if (!o.includes(joined, "\n")) return `${head}${open} ${joined} ${close}`;
      }
    }
    const indentation = `\n${o.repeat(" ", state.indentation)}`;
    return `${head}${open}${indentation}  ${o.join(out, `,${indentation}  `)}${indentation}${close}`;
  };

  const tagOf = (value) => {
    let tag;
    try {
      tag = value[o.toStringTag];
    } catch {
      return "";
    }
    return typeof tag === "string" ? tag : "";
  };

  const promiseItems = (state, promise, depth) => {
    const { state: settled, value } = hooks.promiseState(promise);
    if (settled === "pending") return ["<pending>"];
    state.indentation += 2;
    const text = format(state, value, depth);
    state.indentation -= 2;
    return [settled === "rejected" ? `<rejected> ${text}` : text];
  };

  const boxed = (value) => {
    const kinds = [
      ["Number", o.numberValue], ["String", o.stringValue], ["Boolean", o.booleanValue],
      ["BigInt", o.bigIntValue], ["Symbol", o.symbolValue],
    ];
    for (let i = 0; i < kinds.length; i++) {
      if (hooks.succeedsOn(kinds[i][1], value)) return kinds[i];
    }
    return undefined;
  };

  const object = (state, value, depth) => {
    let name = constructorName(value);
    let tag = tagOf(value);
    if (tag === name) tag = "";
    let base = "";
    let open = "{";
    let close = "}";
    let isList = false;
    let contents = () => [];
    let keys;
    let values;

    if (o.isArray(value)) {
      keys = visibleKeys(value, true);
      open = name !== "Array" || tag !== "" ? `${prefix(name, tag, "Array", `(${value.length})`)}[` : "[";
      close = "]";
      isList = true;
      values = value;
      if (value.length === 0 && keys.length === 0) return `${open}]`;
      contents = items;
    } else if (is.typedArray(value)) {
      const kind = o.typedArrayKind(value);
      keys = visibleKeys(value, true);
      open = `${prefix(name, tag === kind ? "" : tag, kind, `(${o.typedArrayLength(value)})`)}[`;
      close = "]";
      isList = true;
      values = value;
      if (o.typedArrayLength(value) === 0 && keys.length === 0) return `${open}]`;
      contents = typedItems;
    } else if (is.set(value)) {
      keys = visibleKeys(value, false);
      open = `${prefix(name, tag, "Set", `(${o.setSize(value)})`)}{`;
      contents = setItems;
      if (o.setSize(value) === 0 && keys.length === 0) return `${open}}`;
    } else if (is.map(value)) {
      keys = visibleKeys(value, false);
      open = `${prefix(name, tag, "Map", `(${o.mapSize(value)})`)}{`;
      contents = mapItems;
      if (o.mapSize(value) === 0 && keys.length === 0) return `${open}}`;
    } else if (typeof value === "function") {
      keys = visibleKeys(value, false);
      base = functionBase(value, name, tagOf(value));
      if (keys.length === 0) return base;
    } else if (o.isError(value)) {
      keys = visibleKeys(value, false);
      base = hooks.errorBase(state, value, name, keys);
      if (keys.length === 0) return base;
    } else if (is.date(value)) {
      keys = visibleKeys(value, false);
      const time = o.dateValue(value);
      base = o.isNaN(time) ? "Invalid Date" : o.dateText(value);
      if (name !== "Date") base = `${prefix(name, tag, "Date")}${base}`;
      if (keys.length === 0) return base;
    } else if (is.expression(value)) {
      keys = visibleKeys(value, false);
      base = o.expressionText(value);
      if (keys.length === 0) return base;
    } else if (hooks.isPromise(value)) {
      keys = visibleKeys(value, false);
      open = `${prefix(name, tag, "Promise")}{`;
      contents = promiseItems;
    } else if (is.weakMap(value) || is.weakSet(value)) {
      keys = visibleKeys(value, false);
      open = `${prefix(name, tag, "WeakSet")}{`;
      contents = () => ["<items unknown>"];
    } else if (is.buffer(value)) {
      keys = visibleKeys(value, false);
      open = `${prefix(name, tag, "ArrayBuffer")}{`;
      contents = () => bufferItems(value);
    } else if (boxed(value) !== undefined) {
      const [kind, unbox] = boxed(value);
      keys = visibleKeys(value, kind === "String");
      const inner = { indentation: 0, deepest: 0, seen: [] };
      base = `[${kind}${kind === name ? "" : name === null ? " (null prototype)" : ` (${name})`}: ${primitive(inner, unbox(value))}]`;
      if (keys.length === 0) return base;
    } else {
      keys = visibleKeys(value, false);
      if (name === "Object" && tag === "") {
        if (keys.length === 0) return "{}";
      } else {
        open = `${prefix(name, tag, "Object")}{`;
        if (keys.length === 0) return `${open}}`;
      }
    }

    if (depth > DEPTH) {
      const shown = o.slice(prefix(name, tag, o.isArray(value) ? "Array" : "Object"), 0, -1);
      return `[${shown}]`;
    }
    depth += 1;
    state.seen[state.seen.length] = value;
    state.deepest = depth;
    const out = contents(state, value, depth);
    for (let i = 0; i < keys.length; i++) {
      out[out.length] = property(state, value, keys[i], depth, "entry");
    }
    state.seen.length -= 1;
    let text = enclose(state, out, base, open, close, isList, depth, values);
    const reference = state.circular === undefined ? undefined : o.mapGet(state.circular, value);
    if (reference !== undefined) text = `<ref *${reference}> ${text}`;
    return text;
  };

  const bufferItems = (value) => {
    const bytes = new o.Uint8Array(value);
    let text = "";
    for (let i = 0; i < bytes.length && i < 50; i++) {
      text += `${i > 0 ? " " : ""}${o.padStart(o.radix(bytes[i], 16), 2, "0")}`;
    }
    if (bytes.length > 50) text += ` ... ${bytes.length - 50} more byte${bytes.length > 51 ? "s" : ""}`;
    return [`[Uint8Contents]: <${text}>`, `byteLength: ${bytes.length}`];
  };

  const format = (state, value, depth) => {
    if (value === null) return "null";
    if (typeof value !== "object" && typeof value !== "function") return primitive(state, value);
    if (hooks.isText(value)) return primitive(state, o.stringValue(value));
    for (let i = 0; i < state.seen.length; i++) {
      if (state.seen[i] !== value) continue;
      state.circular ??= new o.Map();
      let number = o.mapGet(state.circular, value);
      if (number === undefined) {
        number = o.mapSize(state.circular) + 1;
        o.mapSet(state.circular, value, number);
      }
      return `[Circular *${number}]`;
    }
    return object(state, value, depth);
  };

  hooks.format = format;
  hooks.quote = quote;
  hooks.width = width;
  hooks.linesOf = linesOf;
  hooks.inspect = (value) => format({ indentation: 0, deepest: 0, seen: [], circular: undefined }, value, 0);
}
