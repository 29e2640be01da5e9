// The small things that programs know from browsers and Node.
(hooks) => {
  "use strict";
  const { originals: o, native, is } = hooks;
  const define = (name, value) =>
    o.defineProperty(globalThis, name, { __proto__: null, configurable: true, writable: true, enumerable: false, value });

  // Timers, the next one first.
  const timers = [];
  let lastTimer = 0;

  define("setTimeout", function setTimeout(callback, delay, ...args) {
    if (typeof callback !== "function") throw new o.TypeError('The "callback" argument must be of type function.');
    const wait = o.Number(delay);
    const due = native.timerClock() + (wait >= 1 ? o.min(wait, 2 ** 31 - 1) : 1);
    const timer = { id: ++lastTimer, due, callback, args };
    let at = timers.length;
    while (at > 0 && timers[at - 1].due > due) {
      timers[at] = timers[at - 1];
      at -= 1;
    }
    timers[at] = timer;
    return timer.id;
  });

  const remove = (at) => {
    for (let i = at; i < timers.length - 1; i++) timers[i] = timers[i + 1];
    timers.length -= 1;
  };

  define("clearTimeout", function clearTimeout(id) {
    for (let i = 0; i < timers.length; i++) {
      if (timers[i].id === id) return remove(i);
    }
  });

  hooks.clearTimers = () => {
    timers.length = 0;
  };
  hooks.nextTimer = () => (hooks.hasFailed() || timers.length === 0 ? undefined : timers[0].due);
  // One at a time: what it leaves to do comes before the next.
  hooks.fire = (now) => {
    if (timers.length === 0 || timers[0].due > now) return;
    const { callback, args } = timers[0];
    remove(0);
    try {
      o.apply(callback, undefined, args);
    } catch (error) {
      hooks.fail(error);
    }
  };

  const settled = o.Promise.resolve();
  define("queueMicrotask", function queueMicrotask(callback) {
    if (typeof callback !== "function") throw new o.TypeError('The "callback" argument must be of type function.');
    o.then(settled, () => {
      try {
        callback();
      } catch (error) {
        hooks.fail(error);
      }
    });
  });

  // The engine's own gives no message.
  const any = o.Promise.any;
  o.defineProperty(o.Promise, "any", {
    __proto__: null, configurable: true, writable: true, enumerable: false,
    value: function (promises) {
      return o.then(o.apply(any, this, [promises]), undefined, (error) => {
        if (error instanceof o.AggregateError && error.message === "") {
          o.defineProperty(error, "message", {
            __proto__: null, configurable: true, writable: true, enumerable: false, value: "All promises were rejected",
          });
        }
        throw error;
      });
    },
  });
  o.defineProperty(o.Promise.any, "name", { __proto__: null, value: "any", configurable: true });

  o.defineProperty(Math, "random", {
    __proto__: null, configurable: true, writable: true, enumerable: false,
    value: function random() {
      return native.random();
    },
  });

  define("performance", {
    now() {
      return native.runningTime();
    },
    get timeOrigin() {
      return native.wallClock() - native.runningTime();
    },
    mark() {},
    measure() {},
  });

  const byte = () => native.randomByte();
  const hexadecimal = (value) => o.padStart(o.radix(value, 16), 2, "0");
  define("crypto", {
    randomUUID() {
      let text = "";
      for (let i = 0; i < 16; i++) {
        let value = byte();
        if (i === 6) value = (value & 15) | 64;
        if (i === 8) value = (value & 63) | 128;
        text += (i === 4 || i === 6 || i === 8 || i === 10 ? "-" : "") + hexadecimal(value);
      }
      return text;
    },
    getRandomValues(array) {
      for (let i = 0; i < array.length; i++) array[i] = byte() * 0x1000000 + byte() * 0x10000 + byte() * 256 + byte();
      return array;
    },
  });

  class TextEncoder {
    get encoding() {
      return "utf-8";
    }
    encode(text = "") {
      return native.encode(o.wellFormed(o.String(text)));
    }
  }

  class TextDecoder {
    #fatal;
    constructor(label = "utf-8", options) {
      const name = o.lower(o.String(label));
      if (name !== "utf-8" && name !== "utf8") throw new o.RangeError(`The "${label}" encoding is not supported`);
      this.#fatal = options?.fatal === true;
    }
    get encoding() {
      return "utf-8";
    }
    decode(data) {
      if (data === undefined) return "";
      const bytes = is.buffer(data) ? new o.Uint8Array(data) : new o.Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      const plain = [];
      for (let i = 0; i < bytes.length; i++) plain[i] = bytes[i];
      const text = native.decode(plain, this.#fatal);
      if (text === undefined || text === null) throw new o.TypeError("The encoded data was not valid for encoding utf-8");
      return o.at(text, 0) === 0xfeff ? o.slice(text, 1) : text;
    }
  }
  define("TextEncoder", TextEncoder);
  define("TextDecoder", TextDecoder);

  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const invalid = (message) => new DOMException(message, "InvalidCharacterError");

  define("btoa", function btoa(data) {
    const text = o.String(data);
    let result = "";
    for (let i = 0; i < text.length; i += 3) {
      const codes = [o.at(text, i), o.at(text, i + 1), o.at(text, i + 2)];
      if (codes[0] > 255 || codes[1] > 255 || codes[2] > 255) throw invalid("Invalid character");
      const bits = (codes[0] << 16) | ((codes[1] || 0) << 8) | (codes[2] || 0);
      result += ALPHABET[bits >> 18] + ALPHABET[(bits >> 12) & 63];
      result += i + 1 < text.length ? ALPHABET[(bits >> 6) & 63] : "=";
      result += i + 2 < text.length ? ALPHABET[bits & 63] : "=";
    }
    return result;
  });

  define("atob", function atob(data) {
    const text = o.String(data);
    let result = "";
    let bits = 0;
    let count = 0;
    let length = 0;
    for (let i = 0; i < text.length; i++) {
      const character = text[i];
      if (character === "=" || character === " " || character === "\n" || character === "\t" || character === "\r") continue;
      const value = o.indexOf(ALPHABET, character);
      if (value === -1) throw invalid("The string to be decoded is not correctly encoded.");
      bits = ((bits << 6) | value) & 0xffffff;
      count += 6;
      length += 1;
      if (count >= 8) {
        count -= 8;
        result += String.fromCharCode((bits >> count) & 255);
      }
    }
    if (length % 4 === 1) throw invalid("The string to be decoded is not correctly encoded.");
    return result;
  });

  const copy = (value, seen) => {
    if (value === null || (typeof value !== "object" && typeof value !== "function")) {
      if (typeof value === "symbol") throw new DOMException(`${o.symbolText(value)} could not be cloned.`, "DataCloneError");
      return value;
    }
    if (o.mapHas(seen, value)) return o.mapGet(seen, value);
    if (typeof value === "function" || hooks.isPromise(value) || is.weakMap(value) || is.weakSet(value)) {
      throw new DOMException(`${hooks.inspect(value)} could not be cloned.`, "DataCloneError");
    }
    const remember = (made) => {
      o.mapSet(seen, value, made);
      return made;
    };
    if (is.date(value)) return remember(new Date(o.dateValue(value)));
    if (is.expression(value)) return remember(new RegExp(value.source, value.flags));
    if (is.buffer(value)) return remember(o.bufferSlice(value, 0));
    if (is.typedArray(value)) return remember(new globalThis[o.typedArrayKind(value)](value));
    if (is.map(value)) {
      const made = remember(new o.Map());
      o.mapEach(value, (item, key) => o.mapSet(made, copy(key, seen), copy(item, seen)));
      return made;
    }
    if (is.set(value)) {
      const made = remember(new o.Set());
      o.setEach(value, (item) => o.setAdd(made, copy(item, seen)));
      return made;
    }
    let made = o.isArray(value) ? [] : {};
    if (o.isError(value)) {
      made = new o.Error(value.message);
      o.defineProperty(made, "name", { __proto__: null, value: value.name, writable: true, configurable: true, enumerable: false });
    }
    remember(made);
    if (o.isArray(value)) made.length = value.length;
    const keys = o.keys(value);
    for (let i = 0; i < keys.length; i++) made[keys[i]] = copy(value[keys[i]], seen);
    return made;
  };
  define("structuredClone", function structuredClone(value) {
    return copy(value, new o.Map());
  });

  // Decorators are written as calls of these.
  define("babelHelpers", {
    decorate(decorators, target, key, description) {
      const isProperty = arguments.length > 2;
      let result = !isProperty ? target
        : description === null ? o.getOwnPropertyDescriptor(target, key) : description;
      for (let i = decorators.length - 1; i >= 0; i--) {
        const decorator = decorators[i];
        if (!decorator) continue;
        result = (!isProperty ? decorator(result)
          : description !== undefined ? decorator(target, key, result) : decorator(target, key)) || result;
      }
      if (isProperty && result) o.defineProperty(target, key, result);
      return result;
    },
    decorateParam: (index, decorator) => (target, key) => decorator(target, key, index),
    decorateMetadata: () => undefined,
  });
}
