// Values of answers that have images, audio or resources beside the value.
(hooks) => {
  "use strict";
  const { originals: o } = hooks;
  const texts = new o.WeakSet();

  // A string that can have a property. It prints, joins and goes to tools like any other.
  class TextWithContent extends o.String {
    toJSON() {
      return o.stringValue(this);
    }
  }
  o.defineProperty(TextWithContent, "name", { __proto__: null, configurable: true, value: "String" });

  hooks.isText = (value) => o.weakSetHas(texts, value);

  // The value with a property `content`; what is neither a string nor an object has none, and a
  // key of that name which the object has already stays as it is.
  hooks.withContent = (value, content) => {
    if (typeof value === "string") {
      value = new TextWithContent(value);
      o.weakSetAdd(texts, value);
    }
    if (typeof value !== "object" || value === null || o.hasOwn(value, "content")) return value;
    return o.defineProperty(value, "content", {
      __proto__: null, configurable: true, writable: true, enumerable: false, value: content,
    });
  };
}
