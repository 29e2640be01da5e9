// Digests: `crypto.subtle.digest`, and the part of Node's `crypto` that programs use.
(hooks) => {
  "use strict";
  const { originals: o, native, is } = hooks;
  const { btoa, crypto, DOMException } = globalThis;

  // A text, or bytes as a plain array.
  const part = (data) => {
    if (typeof data === "string") return o.wellFormed(data);
    let bytes;
    if (is.buffer(data)) bytes = new o.Uint8Array(data);
    else if (is.typedArray(data)) bytes = new o.Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    else throw new o.TypeError("data must be a string, an ArrayBuffer or a typed array");
    const plain = [];
    const length = o.typedArrayLength(bytes);
    for (let i = 0; i < length; i++) plain[i] = bytes[i];
    return plain;
  };

  // SHA-256, sha256 and RSA-SHA256 are one algorithm.
  const plainName = (name) => {
    const text = o.lower(o.String(name));
    const own = o.startsWith(text, "rsa-") ? o.slice(text, 4) : text;
    return o.startsWith(own, "sha-") ? `sha${o.slice(own, 4)}` : own;
  };

  const encoded = (bytes, encoding) => {
    if (encoding === undefined || encoding === "buffer") return bytes;
    const length = o.typedArrayLength(bytes);
    let hexadecimal = "";
    let binary = "";
    for (let i = 0; i < length; i++) {
      hexadecimal += o.padStart(o.radix(bytes[i], 16), 2, "0");
      binary += o.fromCharCode(bytes[i]);
    }
    switch (encoding) {
      case "hex":
        return hexadecimal;
      case "base64":
        return btoa(binary);
      case "base64url": {
        const text = btoa(binary);
        let url = "";
        for (let i = 0; i < text.length && text[i] !== "="; i++) {
          url += text[i] === "+" ? "-" : text[i] === "/" ? "_" : text[i];
        }
        return url;
      }
      case "latin1":
      case "binary":
        return binary;
      default:
        throw new o.TypeError(`Unknown encoding: ${o.String(encoding)}`);
    }
  };

  // Collects what is hashed, as Node's objects do.
  const digester = (kind, name, key) => {
    let parts = [];
    const algorithm = plainName(name);
    if (native.hash(algorithm, null, []) === undefined) {
      throw new o.Error(`there is no hash '${o.String(name)}', only md5, sha1, sha224, sha256, sha384 and sha512`);
    }
    const object = {
      update(data) {
        if (parts === undefined) throw new o.Error("Digest already called");
        parts[parts.length] = part(data);
        return object;
      },
      digest(encoding) {
        if (parts === undefined) throw new o.Error("Digest already called");
        const bytes = native.hash(algorithm, key, parts);
        parts = undefined;
        return encoded(bytes, encoding);
      },
    };
    o.defineProperty(object, o.toStringTag, { __proto__: null, value: kind });
    return object;
  };

  const createHash = (algorithm) => digester("Hash", algorithm, null);
  const createHmac = (algorithm, key) => digester("Hmac", algorithm, part(key));
  const hash = (algorithm, data, encoding = "hex") => createHash(algorithm).update(data).digest(encoding);
  const randomBytes = (length) => crypto.getRandomValues(new o.Uint8Array(length));

  const SUBTLE = ["sha1", "sha256", "sha384", "sha512"];
  const subtle = {
    async digest(algorithm, data) {
      const name = plainName(typeof algorithm === "object" && algorithm !== null ? algorithm.name : algorithm);
      let isKnown = false;
      for (let i = 0; i < SUBTLE.length; i++) isKnown ||= SUBTLE[i] === name;
      if (!isKnown) throw new DOMException("Unrecognized algorithm name", "NotSupportedError");
      if (typeof data === "string") throw new o.TypeError("data must be an ArrayBuffer or a typed array");
      return native.hash(name, null, [part(data)]).buffer;
    },
  };
  crypto.subtle = subtle;

  const { getRandomValues, randomUUID } = crypto;
  hooks.nodeModules.crypto = {
    createHash, createHmac, getRandomValues, hash, randomBytes, randomUUID, subtle, webcrypto: crypto,
  };
}
