// `URL` and `URLSearchParams`, for taking addresses apart and putting them together.
(hooks) => {
  "use strict";
  const { originals: o } = hooks;
  const define = (name, value) =>
    o.defineProperty(globalThis, name, { __proto__: null, configurable: true, writable: true, enumerable: false, value });
  const PORTS = { __proto__: null, "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21" };
  const { encodeURIComponent, decodeURIComponent } = globalThis;

  const encoded = (text, kept) => {
    let result = "";
    const bytes = hooks.native.encode(o.wellFormed(text));
    for (let i = 0; i < bytes.length; i++) {
      const code = bytes[i];
      const character = String.fromCharCode(code);
      const isPlain = code > 32 && code < 127 && !o.includes(kept, character);
      result += isPlain ? character : `%${o.upper(o.padStart(o.radix(code, 16), 2, "0"))}`;
    }
    return result;
  };
  const pathEncoded = (text) => encoded(text, '"#<>?`{}');
  const queryEncoded = (text) => encoded(text, "\"#<>'");
  const formEncoded = (text) => {
    const escaped = encodeURIComponent(o.wellFormed(text));
    let result = "";
    for (let i = 0; i < escaped.length; i++) {
      const character = escaped[i];
      if (o.slice(escaped, i, i + 3) === "%20") {
        result += "+";
        i += 2;
      } else if (o.includes("!'()~", character)) result += `%${o.upper(o.radix(o.at(character, 0), 16))}`;
      else result += character;
    }
    return result;
  };
  const formDecoded = (text) => {
    let spaced = "";
    for (let i = 0; i < text.length; i++) spaced += text[i] === "+" ? " " : text[i];
    try {
      return decodeURIComponent(spaced);
    } catch {
      return spaced;
    }
  };

  class URLSearchParams {
    #pairs = [];
    #changed = () => {};
    constructor(from) {
      if (from === undefined || from === null) return;
      if (typeof from === "object" && typeof from[Symbol.iterator] === "function") {
        for (const [key, value] of from) this.append(key, value);
      } else if (typeof from === "object") {
        for (const key of Object.keys(from)) this.append(key, from[key]);
      } else this.#parse(o.String(from));
    }
    static _watched(text, changed) {
      const params = new URLSearchParams(text);
      params.#changed = changed;
      return params;
    }
    static _reset(params, text) {
      params.#pairs = [];
      params.#parse(text);
    }
    #parse(text) {
      if (text[0] === "?") text = o.slice(text, 1);
      for (const part of text.split("&")) {
        if (part === "") continue;
        const at = o.indexOf(part, "=");
        this.#pairs.push(at === -1 ? [formDecoded(part), ""] : [formDecoded(o.slice(part, 0, at)), formDecoded(o.slice(part, at + 1))]);
      }
    }
    append(key, value) {
      this.#pairs.push([`${key}`, `${value}`]);
      this.#changed();
    }
    delete(key) {
      this.#pairs = this.#pairs.filter((pair) => pair[0] !== `${key}`);
      this.#changed();
    }
    get(key) {
      return this.#pairs.find((pair) => pair[0] === `${key}`)?.[1] ?? null;
    }
    getAll(key) {
      return this.#pairs.filter((pair) => pair[0] === `${key}`).map((pair) => pair[1]);
    }
    has(key) {
      return this.#pairs.some((pair) => pair[0] === `${key}`);
    }
    set(key, value) {
      const at = this.#pairs.findIndex((pair) => pair[0] === `${key}`);
      if (at === -1) return this.append(key, value);
      this.#pairs = this.#pairs.filter((pair, i) => i <= at || pair[0] !== `${key}`);
      this.#pairs[at] = [`${key}`, `${value}`];
      this.#changed();
    }
    sort() {
      this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
      this.#changed();
    }
    forEach(callback, self) {
      for (const [key, value] of this.#pairs) callback.call(self, value, key, this);
    }
    get size() {
      return this.#pairs.length;
    }
    *entries() {
      for (const [key, value] of this.#pairs) yield [key, value];
    }
    *keys() {
      for (const [key] of this.#pairs) yield key;
    }
    *values() {
      for (const [, value] of this.#pairs) yield value;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return this.#pairs.map(([key, value]) => `${formEncoded(key)}=${formEncoded(value)}`).join("&");
    }
    get [Symbol.toStringTag]() {
      return "URLSearchParams";
    }
  }

  // Takes `.` and `..` out of a path.
  const resolved = (path) => {
    const out = [];
    const parts = path.split("/");
    parts.forEach((part, i) => {
      const isLast = i === parts.length - 1;
      if (part === "..") {
        if (out.length > 1) out.pop();
        if (isLast) out.push("");
      } else if (part === ".") {
        if (isLast) out.push("");
      } else out.push(part);
    });
    return out.join("/");
  };

  const isScheme = (text) => {
    for (let i = 0; i < text.length; i++) {
      const code = o.at(o.lower(text), i);
      const isLetter = code >= 97 && code <= 122;
      if (!isLetter && (i === 0 || !((code >= 48 && code <= 57) || code === 43 || code === 45 || code === 46))) return false;
    }
    return text !== "";
  };

  const parse = (text, base) => {
    text = o.trim(text);
    const parts = { protocol: "", username: "", password: "", hostname: "", port: "", pathname: "", search: "", hash: "" };
    let rest = text;
    let at = o.indexOf(rest, "#");
    if (at !== -1) {
      parts.hash = o.slice(rest, at) === "#" ? "" : `#${queryEncoded(o.slice(rest, at + 1))}`;
      rest = o.slice(rest, 0, at);
    }
    at = o.indexOf(rest, "?");
    let query;
    if (at !== -1) {
      query = o.slice(rest, at + 1);
      rest = o.slice(rest, 0, at);
    }
    parts.search = query === undefined || query === "" ? "" : `?${queryEncoded(query)}`;
    at = o.indexOf(rest, ":");
    const scheme = at === -1 ? "" : o.slice(rest, 0, at);
    if (isScheme(scheme)) {
      parts.protocol = `${o.lower(scheme)}:`;
      rest = o.slice(rest, at + 1);
    } else {
      if (base === undefined) return undefined;
      parts.protocol = base.protocol;
      if (!o.startsWith(rest, "//")) {
        for (const key of ["username", "password", "hostname", "port"]) parts[key] = base[key];
        if (rest === "") {
          parts.pathname = base.pathname;
          if (query === undefined) parts.search = base.search;
        } else if (rest[0] === "/") parts.pathname = resolved(pathEncoded(rest));
        else {
          const folder = o.slice(base.pathname, 0, o.lastIndexOf(base.pathname, "/") + 1);
          parts.pathname = resolved(pathEncoded(folder + rest));
        }
        return parts;
      }
    }
    const isSpecial = PORTS[parts.protocol] !== undefined || parts.protocol === "file:";
    if (!o.startsWith(rest, "//")) {
      if (isSpecial) return undefined;
      parts.pathname = rest;
      parts.isOpaque = true;
      return parts;
    }
    rest = o.slice(rest, 2);
    at = o.indexOf(rest, "/");
    let authority = at === -1 ? rest : o.slice(rest, 0, at);
    const path = at === -1 ? "" : o.slice(rest, at);
    at = o.lastIndexOf(authority, "@");
    if (at !== -1) {
      const [user, ...secret] = o.slice(authority, 0, at).split(":");
      parts.username = encodeURIComponent(decodeURIComponent(user));
      parts.password = encodeURIComponent(decodeURIComponent(secret.join(":")));
      authority = o.slice(authority, at + 1);
    }
    at = o.lastIndexOf(authority, ":");
    if (at !== -1 && !o.endsWith(authority, "]")) {
      const port = o.slice(authority, at + 1);
      if (port !== "" && !(o.Number(port) >= 0 && o.Number(port) <= 65535 && o.isInteger(o.Number(port)))) return undefined;
      parts.port = port === "" || PORTS[parts.protocol] === `${o.Number(port)}` ? "" : `${o.Number(port)}`;
      authority = o.slice(authority, 0, at);
    }
    parts.hostname = isSpecial ? o.lower(authority) : authority;
    if (isSpecial && parts.protocol !== "file:" && parts.hostname === "") return undefined;
    for (const character of " <>^|%\\") if (o.includes(parts.hostname, character)) return undefined;
    parts.pathname = resolved(pathEncoded(path === "" && isSpecial ? "/" : path));
    return parts;
  };

  class URL {
    #parts;
    #params;
    constructor(text, base) {
      const parsedBase = base === undefined ? undefined : parse(`${base}`);
      const parts = base !== undefined && parsedBase === undefined ? undefined : parse(`${text}`, parsedBase);
      if (parts === undefined) {
        const error = new o.TypeError("Invalid URL");
        error.code = "ERR_INVALID_URL";
        error.input = `${text}`;
        throw error;
      }
      this.#parts = parts;
      this.#params = URLSearchParams._watched(parts.search, () => {
        const query = this.#params.toString();
        this.#parts.search = query === "" ? "" : `?${query}`;
      });
    }
    static canParse(text, base) {
      try {
        return new URL(text, base) !== null;
      } catch {
        return false;
      }
    }
    static parse(text, base) {
      try {
        return new URL(text, base);
      } catch {
        return null;
      }
    }
    get href() {
      const { protocol, username, password, pathname, search, hash, isOpaque } = this.#parts;
      if (isOpaque) return `${protocol}${pathname}${search}${hash}`;
      const user = username === "" && password === "" ? "" : `${username}${password === "" ? "" : `:${password}`}@`;
      return `${protocol}//${user}${this.host}${pathname}${search}${hash}`;
    }
    get origin() {
      const { protocol, isOpaque } = this.#parts;
      return isOpaque || PORTS[protocol] === undefined ? "null" : `${protocol}//${this.host}`;
    }
    get host() {
      const { hostname, port } = this.#parts;
      return port === "" ? hostname : `${hostname}:${port}`;
    }
    get searchParams() {
      return this.#params;
    }
    get search() {
      return this.#parts.search;
    }
    set search(value) {
      const query = `${value}`[0] === "?" ? o.slice(`${value}`, 1) : `${value}`;
      this.#parts.search = query === "" ? "" : `?${queryEncoded(query)}`;
      URLSearchParams._reset(this.#params, query);
    }
    get hash() {
      return this.#parts.hash;
    }
    set hash(value) {
      const text = `${value}`[0] === "#" ? o.slice(`${value}`, 1) : `${value}`;
      this.#parts.hash = text === "" ? "" : `#${queryEncoded(text)}`;
    }
    get pathname() {
      return this.#parts.pathname;
    }
    set pathname(value) {
      this.#parts.pathname = resolved(pathEncoded(`${value}`[0] === "/" ? `${value}` : `/${value}`));
    }
    get protocol() {
      return this.#parts.protocol;
    }
    set protocol(value) {
      this.#parts.protocol = o.endsWith(`${value}`, ":") ? `${value}` : `${value}:`;
    }
    get hostname() {
      return this.#parts.hostname;
    }
    set hostname(value) {
      this.#parts.hostname = `${value}`;
    }
    get port() {
      return this.#parts.port;
    }
    set port(value) {
      this.#parts.port = PORTS[this.#parts.protocol] === `${value}` ? "" : `${value}`;
    }
    get username() {
      return this.#parts.username;
    }
    get password() {
      return this.#parts.password;
    }
    toString() {
      return this.href;
    }
    toJSON() {
      return this.href;
    }
    get [Symbol.toStringTag]() {
      return "URL";
    }
  }
  define("URL", URL);
  define("URLSearchParams", URLSearchParams);
}
