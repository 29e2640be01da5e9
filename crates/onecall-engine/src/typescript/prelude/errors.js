// Errors: their stacks in the program's own lines, and how they are printed.
(hooks) => {
  "use strict";
  const { originals: o, native } = hooks;

  // A name and a message that may be anything, or throw.
  const textOf = (error, key, otherwise) => {
    try {
      const value = error[key];
      return value === undefined ? otherwise : `${value}`;
    } catch {
      return otherwise;
    }
  };

  const header = (error) => {
    const name = textOf(error, "name", "Error");
    const message = textOf(error, "message", "");
    if (name === "") return message;
    return message === "" ? name : `${name}: ${message}`;
  };

  const readable = (error, raw) => {
    const frames = native.stack(raw);
    return frames === "" ? header(error) : `${header(error)}\n${frames}`;
  };

  const found = o.getOwnPropertyDescriptor(o.Error.prototype, "stack");
  const rawStack = o.uncurry(found.get);
  hooks.rawStack = rawStack;
  o.defineProperty(o.Error.prototype, "stack", {
    __proto__: null,
    configurable: true,
    enumerable: false,
    get() {
      const raw = rawStack(this);
      return typeof raw === "string" ? readable(this, raw) : raw;
    },
    set: found.set,
  });

  const capture = o.Error.captureStackTrace;
  o.defineProperty(o.Error, "captureStackTrace", {
    __proto__: null,
    configurable: true,
    writable: true,
    enumerable: false,
    value: function captureStackTrace(target, above) {
      capture(target, above);
      const own = o.getOwnPropertyDescriptor(target, "stack");
      if (own !== undefined && typeof own.value === "string") {
        o.defineProperty(target, "stack", { __proto__: null, ...own, value: readable(target, own.value) });
      }
    },
  });

  class ToolError extends o.Error {}
  o.defineProperty(ToolError.prototype, "name", {
    __proto__: null, configurable: true, writable: true, enumerable: false, value: "ToolError",
  });
  o.defineProperty(globalThis, "ToolError", {
    __proto__: null, configurable: true, writable: true, enumerable: false, value: ToolError,
  });
  hooks.ToolError = ToolError;

  // The stack of an error as it is printed; `keys` loses what the stack shows already.
  hooks.errorBase = (state, error, name, keys) => {
    let stack = textOf(error, "stack", "");
    if (stack === "" || stack === "null") stack = header(error);
    const ownName = textOf(error, "name", "Error");
    // A class that does not set its name is called by it all the same.
    if (name !== null && ownName === "Error" && name !== "Error" && o.startsWith(stack, "Error")) {
      stack = `${name}${o.slice(stack, 5)}`;
    }
    for (let i = keys.length - 1; i >= 0; i--) {
      const key = keys[i];
      if (key !== "name" && key !== "message" && key !== "stack") continue;
      if (o.includes(stack, textOf(error, key, ""))) {
        for (let j = i; j < keys.length - 1; j++) keys[j] = keys[j + 1];
        keys.length -= 1;
      }
    }
    const hidden = ["cause", "errors"];
    for (let i = 0; i < hidden.length; i++) {
      const own = o.getOwnPropertyDescriptor(error, hidden[i]);
      if (own !== undefined && !own.enumerable) keys[keys.length] = hidden[i];
    }
    const message = textOf(error, "message", "");
    const afterMessage = message === "" ? 0 : o.indexOf(stack, message) + message.length;
    if (o.indexOf(stack, "\n    at ", afterMessage) === -1) stack = `[${stack}]`;
    if (state.indentation === 0) return stack;
    const lines = hooks.linesOf(stack);
    return o.join(lines, o.repeat(" ", state.indentation));
  };

  // The text of an uncaught error, as the program's author reads it.
  hooks.describe = (thrown) => {
    if (o.isError(thrown)) {
      if (textOf(thrown, "name", "") === "InternalError" && textOf(thrown, "message", "") === "out of memory") {
        return "InternalError: out of memory (the program used more memory than it may)";
      }
      let text = hooks.inspect(thrown);
      // Without a stack there are brackets around it.
      if (text[0] === "[" && text[text.length - 1] === "]") text = o.slice(text, 1, -1);
      return o.wellFormed(text);
    }
    return o.wellFormed(`Uncaught ${hooks.inspect(thrown)}`);
  };

  // Rejected promises that are not handled, with their reasons.
  const unhandled = new o.Map();
  const fatal = [];
  hooks.rejected = (promise, reason, isHandled) => {
    if (isHandled) o.mapDelete(unhandled, promise);
    else o.mapSet(unhandled, promise, reason);
  };
  hooks.fail = (error) => {
    fatal[fatal.length] = error;
  };
  hooks.hasFailed = () => fatal.length > 0;
  // Forgets what the programs before this one of the session left behind.
  hooks.begin = (argv) => {
    fatal.length = 0;
    o.mapClear(unhandled);
    hooks.clearTimers();
    hooks.clearCalls();
    hooks.beginDisplay();
    hooks.beginProcess(argv);
  };
  hooks.uncaught = () => {
    const all = fatal;
    o.mapEach(unhandled, (reason) => {
      all[all.length] = reason;
    });
    return all;
  };
}
