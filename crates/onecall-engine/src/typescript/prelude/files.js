// The modules `fs`, `fs/promises` and `path`: the files of the workspace, of `/tools` and of the scratch
// folder, or all files if there is no sandbox.
(hooks) => {
  "use strict";
  const { originals: o, native, is } = hooks;
  const { atob, btoa, Date, TextDecoder } = globalThis;
  const { fromCharCode } = String;

  // A larger file does not fit into the memory of a program.
  const MAX_BYTES = 256 * 1024 * 1024;
  const TYPE_BITS = 0o170000;
  const DIRECTORY = 0o040000;
  const FILE = 0o100000;
  const LINK = 0o120000;

  const ERRORS = {
    __proto__: null,
    1: ["EPERM", "operation not permitted"], 2: ["ENOENT", "no such file or directory"],
    5: ["EIO", "i/o error"], 13: ["EACCES", "permission denied"], 17: ["EEXIST", "file already exists"],
    20: ["ENOTDIR", "not a directory"], 21: ["EISDIR", "illegal operation on a directory"],
    22: ["EINVAL", "invalid argument"], 27: ["EFBIG", "file too large"], 28: ["ENOSPC", "no space left on device"],
    30: ["EROFS", "read-only file system"], 36: ["ENAMETOOLONG", "name too long"],
    39: ["ENOTEMPTY", "directory not empty"], 122: ["EDQUOT", "disk quota exceeded"],
  };

  const failure = (errno, reason, syscall, path, isOutside) => {
    const [code, text] = ERRORS[errno] ?? ["EUNKNOWN", `error ${errno}`];
    const outside = isOutside ? " (outside of the workspace)" : "";
    const error = new o.Error(`${code}: ${reason || text}, ${syscall} '${path}'${outside}`);
    error.errno = -errno;
    error.code = code;
    error.syscall = syscall;
    error.path = path;
    return error;
  };

  const normalized = (path) => {
    const parts = [];
    const given = path.split("/");
    const isAbsolute = path[0] === "/";
    for (let i = 0; i < given.length; i++) {
      const part = given[i];
      if (part === "" || part === ".") continue;
      if (part === ".." && parts.length > 0 && parts[parts.length - 1] !== "..") parts.length -= 1;
      else if (part !== ".." || !isAbsolute) parts[parts.length] = part;
    }
    const text = o.join(parts, "/");
    return isAbsolute ? `/${text}` : text === "" ? "." : text;
  };

  const pathText = (path) => {
    if (is.typedArray(path)) return new TextDecoder().decode(path);
    if (typeof path === "object" && path !== null && typeof path.href === "string" && path.protocol === "file:") {
      return decodeURIComponent(path.pathname);
    }
    if (typeof path !== "string") throw new o.TypeError('The "path" argument must be of type string or an instance of URL.');
    return path;
  };

  // The folder of a path and the path in it; `undefined` outside of all folders.
  const located = (path) => {
    const whole = normalized(path[0] === "/" ? path : `${native.workingDirectory()}/${path}`);
    const folders = native.folders();
    let found;
    for (let i = 0; i < folders.length; i++) {
      const [root, number] = folders[i];
      if (whole !== root && !o.startsWith(whole, root === "/" ? root : `${root}/`)) continue;
      if (found === undefined || root.length > found.root.length) found = { root, number };
    }
    if (found === undefined) return undefined;
    const inside = found.root === "/" ? 1 : found.root.length + 1;
    return { folder: found.number, path: whole === found.root ? "." : o.slice(whole, inside) };
  };

  const request = (syscall, given, send) => {
    const path = pathText(given);
    const target = located(path);
    if (target === undefined) throw failure(2, "", syscall, path, true);
    const answer = send(target.folder, target.path);
    if (answer.errno !== undefined) throw failure(answer.errno, answer.reason, syscall, path, false);
    return answer.value;
  };

  // The bytes of a file, as the Buffer of Node prints them.
  class FileBytes extends o.Uint8Array {
    toString(encoding = "utf8") {
      return decoded(this, encoding);
    }
    toJSON() {
      return decoded(this, "utf8");
    }
  }
  o.defineProperty(FileBytes, "name", { __proto__: null, configurable: true, value: "Buffer" });

  const isUtf8 = (name) => name === "utf8" || name === "utf-8";

  // Bytes as a string with a character for each of them, which is how they go to the gateway.
  const binary = (bytes) => {
    let text = "";
    for (let i = 0; i < bytes.length; i++) text += fromCharCode(bytes[i]);
    return text;
  };

  const decoded = (bytes, encoding) => {
    const name = o.lower(encoding);
    const text = binary(bytes);
    if (isUtf8(name)) return native.fileText(text);
    if (name === "latin1" || name === "binary" || name === "ascii") return text;
    if (name === "base64") return btoa(text);
    if (name === "hex") {
      let hex = "";
      for (let i = 0; i < bytes.length; i++) hex += o.padStart(o.radix(bytes[i], 16), 2, "0");
      return hex;
    }
    throw new o.TypeError(`Unknown encoding: ${encoding}`);
  };

  // What is written: a text, and whether it stands for bytes.
  const encoded = (data, encoding) => {
    if (is.typedArray(data)) return [binary(new o.Uint8Array(data.buffer, data.byteOffset, data.byteLength)), true];
    if (is.buffer(data)) return [binary(new o.Uint8Array(data)), true];
    if (typeof data !== "string" && !(typeof data === "object" && data !== null && hooks.isText(data))) {
      throw new o.TypeError('The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView.');
    }
    const text = `${data}`;
    if (encoding === "base64") return [atob(text), true];
    return [o.wellFormed(text), encoding === "latin1" || encoding === "binary"];
  };

  const option = (options, name) => (typeof options === "object" && options !== null ? options[name] : undefined);
  const encodingOf = (options) => (typeof options === "string" ? options : option(options, "encoding"));

  const readFileSync = (path, options) => {
    const encoding = encodingOf(options) ?? "buffer";
    const isText = isUtf8(o.lower(encoding));
    const read = request("open", path, (folder, name) => native.fileRead(folder, name, MAX_BYTES, isText));
    if (isText) return read;
    return encoding === "buffer" ? new FileBytes(read.buffer, read.byteOffset, read.byteLength) : decoded(read, encoding);
  };

  const write = (path, data, options, how) => {
    const [text, isBinary] = encoded(data, encodingOf(options));
    request("open", path, (folder, name) => native.fileWrite(folder, name, text, isBinary, how));
  };
  const writeFileSync = (path, data, options) => {
    const flag = option(options, "flag") ?? "w";
    write(path, data, options, flag === "a" ? "append" : flag === "wx" ? "create" : "write");
  };
  const appendFileSync = (path, data, options) => write(path, data, options, "append");
  const copyFileSync = (from, to) => writeFileSync(to, readFileSync(from));

  class Stats {
    constructor(mode, size, accessed, modified, changed) {
      this.mode = mode;
      this.size = size;
      this.atimeMs = accessed;
      this.mtimeMs = modified;
      this.ctimeMs = changed;
      this.atime = new Date(accessed);
      this.mtime = new Date(modified);
      this.ctime = new Date(changed);
    }
    isFile() {
      return (this.mode & TYPE_BITS) === FILE;
    }
    isDirectory() {
      return (this.mode & TYPE_BITS) === DIRECTORY;
    }
    isSymbolicLink() {
      return (this.mode & TYPE_BITS) === LINK;
    }
  }

  const status = (syscall, path, follow, options) => {
    try {
      const [mode, size, accessed, modified, changed] = request(syscall, path, (folder, name) => native.fileStatus(folder, name, follow));
      return new Stats(mode, size, accessed, modified, changed);
    } catch (error) {
      if (error.code === "ENOENT" && option(options, "throwIfNoEntry") === false) return undefined;
      throw error;
    }
  };
  const statSync = (path, options) => status("stat", path, true, options);
  const lstatSync = (path, options) => status("lstat", path, false, options);

  const existsSync = (path) => {
    try {
      return statSync(path) !== undefined;
    } catch {
      return false;
    }
  };
  const accessSync = (path) => {
    status("access", path, true);
  };

  class Dirent {
    #kind;
    constructor(name, parentPath, kind) {
      this.name = name;
      this.parentPath = parentPath;
      this.#kind = kind;
    }
    isFile() {
      return this.#kind === FILE;
    }
    isDirectory() {
      return this.#kind === DIRECTORY;
    }
    isSymbolicLink() {
      return this.#kind === LINK;
    }
  }

  const compare = (one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0);
  const listed = (path) => {
    const flat = request("scandir", path, (folder, name) => native.fileList(folder, name));
    const entries = [];
    for (let i = 0; i < flat.length; i += 2) {
      let kind = flat[i + 1] & TYPE_BITS;
      if (kind === 0) kind = lstatSync(`${path}/${flat[i]}`).mode & TYPE_BITS;
      entries[i / 2] = new Dirent(flat[i], pathText(path), kind);
    }
    return entries.sort(compare);
  };

  const readdirSync = (path, options) => {
    const withTypes = option(options, "withFileTypes") === true;
    const found = [];
    const visit = (folder, prefix) => {
      const entries = listed(folder);
      for (let i = 0; i < entries.length; i++) {
        const entry = entries[i];
        found[found.length] = withTypes ? entry : `${prefix}${entry.name}`;
        if (option(options, "recursive") === true && entry.isDirectory()) {
          visit(`${folder}/${entry.name}`, `${prefix}${entry.name}/`);
        }
      }
    };
    visit(path, "");
    return found;
  };

  const change = (what) => (path) => {
    request(what, path, (folder, name) => native.fileChange(what, folder, name));
  };
  const makeDirectory = change("mkdir");
  const unlinkSync = change("unlink");
  const removeDirectory = change("rmdir");

  const mkdirSync = (path, options) => {
    if (option(options, "recursive") !== true) return makeDirectory(path);
    const text = normalized(pathText(path));
    const parent = dirname(text);
    if (existsSync(text)) {
      if (statSync(text).isDirectory()) return undefined;
      throw failure(17, "", "mkdir", text, false);
    }
    const first = parent !== text && !existsSync(parent) && located(parent) !== undefined ? mkdirSync(parent, options) : undefined;
    makeDirectory(text);
    return first ?? text;
  };

  const rmSync = (path, options) => {
    let found;
    try {
      found = lstatSync(path);
    } catch (error) {
      if (error.code === "ENOENT" && option(options, "force") === true) return;
      throw error;
    }
    if (!found.isDirectory()) return unlinkSync(path);
    if (option(options, "recursive") !== true) throw failure(21, "", "rm", pathText(path), false);
    const entries = listed(path);
    for (let i = 0; i < entries.length; i++) rmSync(`${path}/${entries[i].name}`, options);
    removeDirectory(path);
  };
  const rmdirSync = (path, options) => (option(options, "recursive") === true ? rmSync(path, options) : removeDirectory(path));

  const renameSync = (from, to) => {
    const target = located(pathText(to));
    if (target === undefined) throw failure(2, "", "rename", pathText(to), true);
    request("rename", from, (folder, name) => native.fileRename(folder, name, target.folder, target.path));
  };

  const withoutEnd = (path) => {
    while (path.length > 1 && o.endsWith(path, "/")) path = o.slice(path, 0, -1);
    return path;
  };
  const normalize = (path) => {
    const text = normalized(path);
    return o.endsWith(path, "/") && text !== "/" ? `${text}/` : text;
  };
  const dirname = (given) => {
    const path = withoutEnd(given);
    const at = o.lastIndexOf(path, "/");
    return at === -1 ? "." : at === 0 ? "/" : o.slice(path, 0, at);
  };
  const basename = (given, ending = "") => {
    const path = withoutEnd(given);
    const name = o.slice(path, o.lastIndexOf(path, "/") + 1);
    return ending !== "" && name !== ending && o.endsWith(name, ending) ? o.slice(name, 0, -ending.length) : name;
  };
  const extname = (path) => {
    const name = basename(path);
    const at = o.lastIndexOf(name, ".");
    return at <= 0 || name === ".." ? "" : o.slice(name, at);
  };
  const join = (...parts) => {
    const given = [];
    for (let i = 0; i < parts.length; i++) if (parts[i] !== "") given[given.length] = parts[i];
    return given.length === 0 ? "." : normalize(o.join(given, "/"));
  };
  const resolve = (...parts) => {
    let path = native.workingDirectory();
    for (let i = 0; i < parts.length; i++) path = parts[i][0] === "/" ? parts[i] : `${path}/${parts[i]}`;
    return normalized(path);
  };
  const relative = (from, to) => {
    const one = resolve(from).split("/");
    const other = resolve(to).split("/");
    let same = 0;
    while (same < one.length && same < other.length && one[same] === other[same]) same += 1;
    const parts = [];
    for (let i = same; i < one.length; i++) if (one[i] !== "") parts[parts.length] = "..";
    for (let i = same; i < other.length; i++) if (other[i] !== "") parts[parts.length] = other[i];
    return o.join(parts, "/");
  };
  const parse = (path) => {
    const base = basename(path);
    const ext = extname(path);
    const root = path[0] === "/" ? "/" : "";
    const dir = o.includes(path, "/") ? dirname(path) : "";
    return { root, dir, base, ext, name: ext === "" ? base : o.slice(base, 0, -ext.length) };
  };
  const isAbsolute = (path) => path[0] === "/";

  const sync = {
    readFileSync, writeFileSync, appendFileSync, copyFileSync, statSync, lstatSync, existsSync, accessSync,
    readdirSync, mkdirSync, rmSync, rmdirSync, unlinkSync, renameSync,
  };
  const promises = {};
  const names = o.keys(sync);
  for (let i = 0; i < names.length; i++) {
    const name = o.slice(names[i], 0, -4);
    o.defineProperty(sync[names[i]], "name", { __proto__: null, value: names[i], configurable: true });
    if (name !== "exists") promises[name] = async (...args) => sync[names[i]](...args);
  }
  hooks.nodeModules = {
    __proto__: null,
    fs: { ...sync, promises },
    fsPromises: promises,
    path: { dirname, basename, extname, join, resolve, relative, normalize, parse, isAbsolute, sep: "/", delimiter: ":" },
  };
}
