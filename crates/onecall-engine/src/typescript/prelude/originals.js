// What JavaScript has, kept before any program runs: a program that replaces a function
// of its own world does not change how we print or call tools.
(hooks) => {
  "use strict";
  const { apply } = Reflect;
  const uncurry = (method) => (self, ...args) => apply(method, self, args);
  const getterOf = (prototype, key) => uncurry(Object.getOwnPropertyDescriptor(prototype, key).get);
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype);

  hooks.originals = {
    __proto__: null,
    apply,
    construct: Reflect.construct,
    get: Reflect.get,
    uncurry,
    ownKeys: Reflect.ownKeys,
    getPrototypeOf: Object.getPrototypeOf,
    create: Object.create,
    getOwnPropertyDescriptor: Object.getOwnPropertyDescriptor,
    defineProperty: Object.defineProperty,
    freeze: Object.freeze,
    keys: Object.keys,
    isArray: Array.isArray,
    isEnumerable: uncurry(Object.prototype.propertyIsEnumerable),
    hasOwn: Object.hasOwn,
    functionText: uncurry(Function.prototype.toString),
    join: uncurry(Array.prototype.join),
    sort: uncurry(Array.prototype.sort),
    at: uncurry(String.prototype.charCodeAt),
    codePointAt: uncurry(String.prototype.codePointAt),
    slice: uncurry(String.prototype.slice),
    includes: uncurry(String.prototype.includes),
    indexOf: uncurry(String.prototype.indexOf),
    lastIndexOf: uncurry(String.prototype.lastIndexOf),
    split: uncurry(String.prototype.split),
    startsWith: uncurry(String.prototype.startsWith),
    endsWith: uncurry(String.prototype.endsWith),
    padStart: uncurry(String.prototype.padStart),
    padEnd: uncurry(String.prototype.padEnd),
    repeat: uncurry(String.prototype.repeat),
    lower: uncurry(String.prototype.toLowerCase),
    upper: uncurry(String.prototype.toUpperCase),
    normalize: uncurry(String.prototype.normalize),
    trim: uncurry(String.prototype.trim),
    wellFormed: uncurry(String.prototype.toWellFormed),
    fixed: uncurry(Number.prototype.toFixed),
    precise: uncurry(Number.prototype.toPrecision),
    radix: uncurry(Number.prototype.toString),
    bigIntText: uncurry(BigInt.prototype.toString),
    symbolText: uncurry(Symbol.prototype.toString),
    symbolDescription: getterOf(Symbol.prototype, "description"),
    numberValue: uncurry(Number.prototype.valueOf),
    stringValue: uncurry(String.prototype.valueOf),
    booleanValue: uncurry(Boolean.prototype.valueOf),
    bigIntValue: uncurry(BigInt.prototype.valueOf),
    symbolValue: uncurry(Symbol.prototype.valueOf),
    dateValue: uncurry(Date.prototype.getTime),
    dateString: uncurry(Date.prototype.toString),
    dateText: uncurry(Date.prototype.toISOString),
    expressionText: uncurry(RegExp.prototype.toString),
    expressionSource: getterOf(RegExp.prototype, "source"),
    mapSize: getterOf(Map.prototype, "size"),
    mapEach: uncurry(Map.prototype.forEach),
    mapGet: uncurry(Map.prototype.get),
    mapSet: uncurry(Map.prototype.set),
    mapHas: uncurry(Map.prototype.has),
    mapClear: uncurry(Map.prototype.clear),
    mapDelete: uncurry(Map.prototype.delete),
    setSize: getterOf(Set.prototype, "size"),
    setEach: uncurry(Set.prototype.forEach),
    setAdd: uncurry(Set.prototype.add),
    weakMapHas: uncurry(WeakMap.prototype.has),
    weakMapGet: uncurry(WeakMap.prototype.get),
    weakMapSet: uncurry(WeakMap.prototype.set),
    weakSetHas: uncurry(WeakSet.prototype.has),
    weakSetAdd: uncurry(WeakSet.prototype.add),
    WeakMap,
    WeakSet,
    bufferLength: getterOf(ArrayBuffer.prototype, "byteLength"),
    bufferSlice: uncurry(ArrayBuffer.prototype.slice),
    viewLength: getterOf(DataView.prototype, "byteLength"),
    typedArrayKind: getterOf(typedArray, Symbol.toStringTag),
    typedArrayLength: getterOf(typedArray, "length"),
    then: uncurry(Promise.prototype.then),
    errorText: uncurry(Error.prototype.toString),
    fromCharCode: String.fromCharCode,
    json: JSON.stringify,
    Map,
    Set,
    Promise,
    Error,
    TypeError,
    RangeError,
    ReferenceError,
    AggregateError,
    String,
    Number,
    BigInt,
    Uint8Array,
    isError: Error.isError,
    floor: Math.floor,
    round: Math.round,
    sqrt: Math.sqrt,
    min: Math.min,
    max: Math.max,
    abs: Math.abs,
    isFinite: Number.isFinite,
    isNaN: Number.isNaN,
    isInteger: Number.isInteger,
    is: Object.is,
    toStringTag: Symbol.toStringTag,
    iterator: Symbol.iterator,
  };

  // The engine makes template literals of this one, ours as well as a program's.
  Object.defineProperty(String.prototype, "concat", { __proto__: null, writable: false, configurable: false });

  // Whether `probe` does not throw for a value: methods of a kind of object throw for all others.
  hooks.succeedsOn = (probe, value) => {
    try {
      probe(value);
      return true;
    } catch {
      return false;
    }
  };

  const { originals, succeedsOn } = hooks;
  const { typedArrayKind } = originals;
  hooks.is = {
    __proto__: null,
    map: (value) => succeedsOn(originals.mapSize, value),
    set: (value) => succeedsOn(originals.setSize, value),
    date: (value) => succeedsOn(originals.dateValue, value),
    expression: (value) =>
      value !== RegExp.prototype && succeedsOn(originals.expressionSource, value),
    weakMap: (value) => succeedsOn((it) => originals.weakMapHas(it, {}), value),
    weakSet: (value) => succeedsOn((it) => originals.weakSetHas(it, {}), value),
    buffer: (value) => succeedsOn(originals.bufferLength, value),
    view: (value) => succeedsOn(originals.viewLength, value),
    typedArray: (value) => typedArrayKind(value) !== undefined,
  };

  hooks.bigInteger = (digits) => originals.BigInt(digits);
  hooks.digits = (value) => originals.bigIntText(value);
}
