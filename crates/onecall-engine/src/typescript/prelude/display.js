// `display`: what a program shows beside its text; and what is reported of its value.
(hooks) => {
  "use strict";
  const { originals: o, native, is } = hooks;

  // Bytes of images that one program may display, before base64.
  const MAX_BYTES = 6 * 1024 * 1024;
  // A longer value is not reported.
  const MAX_VALUE = 1024 * 1024;

  // The first bytes of the formats that clients can display.
  const SIGNATURES = [
    [[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "image/png"],
    [[0xff, 0xd8, 0xff], "image/jpeg"],
    [[0x47, 0x49, 0x46, 0x38, 0x37, 0x61], "image/gif"],
    [[0x47, 0x49, 0x46, 0x38, 0x39, 0x61], "image/gif"],
  ];

  let displayed = 0;
  hooks.beginDisplay = () => {
    displayed = 0;
  };

  const { btoa } = globalThis;
  const { fromCharCode } = String;

  const isBlock = (value) =>
    typeof value === "object" && value !== null && (value.type === "image" || value.type === "audio")
    && typeof value.data === "string" && typeof value.mimeType === "string";

  const show = (type, data, mimeType) => {
    const size = data.length * 3 / 4;
    if (displayed + size > MAX_BYTES) {
      throw new o.RangeError(`a program can display ${MAX_BYTES >> 20} MiB in all; make the image smaller`);
    }
    native.show(o.json({ __proto__: null, type, data, mimeType }));
    displayed += size;
  };

  const startsWith = (bytes, signature, from = 0) => {
    for (let i = 0; i < signature.length; i++) if (bytes[from + i] !== signature[i]) return false;
    return true;
  };

  const formatOf = (bytes) => {
    for (let i = 0; i < SIGNATURES.length; i++) {
      if (startsWith(bytes, SIGNATURES[i][0])) return SIGNATURES[i][1];
    }
    if (startsWith(bytes, [0x52, 0x49, 0x46, 0x46]) && startsWith(bytes, [0x57, 0x45, 0x42, 0x50], 8)) return "image/webp";
    throw new o.TypeError("display() shows PNG, JPEG, GIF and WebP images; these bytes are none of them");
  };

  const base64 = (bytes) => {
    let text = "";
    for (let i = 0; i < bytes.length; i++) text += fromCharCode(bytes[i]);
    return btoa(text);
  };

  const imagesOf = (value) => {
    const content = typeof value === "object" && value !== null ? value.content : undefined;
    const images = [];
    if (o.isArray(content)) {
      for (let i = 0; i < content.length; i++) if (isBlock(content[i])) images[images.length] = content[i];
    }
    return images;
  };

  const allBlocks = (value) => {
    if (!o.isArray(value) || value.length === 0) return false;
    for (let i = 0; i < value.length; i++) if (!isBlock(value[i])) return false;
    return true;
  };

  const displayOne = (value) => {
    if (isBlock(value)) return show(value.type, value.data, value.mimeType);
    const blocks = allBlocks(value) ? value : imagesOf(value);
    if (blocks.length > 0) {
      for (let i = 0; i < blocks.length; i++) displayOne(blocks[i]);
    } else if (is.typedArray(value) || is.buffer(value)) {
      const bytes = is.buffer(value) ? new o.Uint8Array(value) : new o.Uint8Array(value.buffer, value.byteOffset, value.byteLength);
      show("image", base64(bytes), formatOf(bytes));
    } else {
      hooks.write(hooks.formatted([value]), false);
    }
  };

  o.defineProperty(globalThis, "display", {
    __proto__: null, configurable: true, writable: true, enumerable: false,
    value: function display(...values) {
      for (let i = 0; i < values.length; i++) displayOne(values[i]);
    },
  });

  // The type of a program's value, empty if it has none.
  hooks.valueType = (value) => {
    if (value === undefined || value === null) return "";
    if (typeof value !== "object") return typeof value;
    if (o.isArray(value)) return "Array";
    if (hooks.isPromise(value)) return "Promise";
    const { constructor } = value;
    return typeof constructor === "function" && typeof constructor.name === "string" ? constructor.name : "Object";
  };
  // A program's value as JSON, empty if it is not plain data.
  hooks.valueText = (value) => {
    const text = value === undefined || hooks.isPromise(value) ? undefined : o.json(value);
    return text === undefined || text.length > MAX_VALUE ? "" : o.wellFormed(text);
  };
}
