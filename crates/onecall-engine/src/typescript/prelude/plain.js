// Converts an object that is not plain data into a value that JSON can represent.
(hooks) => {
  "use strict";
  const { originals: o, succeedsOn, is } = hooks;
  const paramsText = o.uncurry(URLSearchParams.prototype.toString);
  const { asyncIterator } = Symbol;

  // An iterator that gives more than this may never end.
  const MAX_ITEMS = 1_000_000;

  const refused = (what) => ({ __proto__: null, refused: what });
  const converted = (value) => ({ __proto__: null, value });
  const UNCHANGED = { __proto__: null };

  const ofMap = (map) => {
    const object = { __proto__: null };
    let problem;
    o.mapEach(map, (item, key) => {
      if (typeof key === "object" || typeof key === "symbol" || typeof key === "function") {
        problem ??= "a Map with keys that are not strings";
      } else if (o.hasOwn(object, `${key}`)) {
        problem ??= `a Map with the key '${key}' twice`;
      } else {
        object[`${key}`] = item;
      }
    });
    return problem === undefined ? converted(object) : refused(problem);
  };

  const ofSet = (set) => {
    const items = [];
    o.setEach(set, (item) => {
      items[items.length] = item;
    });
    return converted(items);
  };

  const ofTypedArray = (array) => {
    const items = [];
    const length = o.typedArrayLength(array);
    for (let i = 0; i < length; i++) items[i] = array[i];
    return converted(items);
  };

  const ofIterable = (iterable) => {
    const iterator = iterable[o.iterator]();
    const items = [];
    for (let step = iterator.next(); !step.done; step = iterator.next()) {
      if (items.length === MAX_ITEMS) return refused(`an iterator of more than ${MAX_ITEMS} items`);
      items[items.length] = step.value;
    }
    return converted(items);
  };

  const BOXED = [o.numberValue, o.stringValue, o.booleanValue, o.bigIntValue];

  hooks.toPlain = (value) => {
    if (is.date(value) && o.isNaN(o.dateValue(value))) return refused("an invalid Date");
    if (typeof value.toJSON === "function") return UNCHANGED;
    if (is.map(value)) return ofMap(value);
    if (is.set(value)) return ofSet(value);
    if (is.typedArray(value)) return ofTypedArray(value);
    if (is.buffer(value)) return ofTypedArray(new o.Uint8Array(value));
    if (is.view(value)) return refused("a DataView");
    if (is.weakMap(value) || is.weakSet(value)) return refused("a weak collection");
    if (is.expression(value)) return refused("a regular expression");
    if (o.isError(value)) return refused("an Error (pass its message)");
    if (succeedsOn(paramsText, value)) return converted(paramsText(value));
    for (let i = 0; i < BOXED.length; i++) {
      if (succeedsOn(BOXED[i], value)) return converted(BOXED[i](value));
    }
    if (typeof value[o.iterator] === "function") return ofIterable(value);
    if (typeof value[asyncIterator] === "function") return refused("an async iterator (collect its items first)");
    return UNCHANGED;
  };
}
