const encoder = new TextEncoder();
const bytes = encoder.encode("naïve ☕ 𝄞");
console.log(bytes.length, [...bytes.slice(0, 6)], new TextDecoder().decode(bytes));
const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
console.log(hex);
console.log(btoa("hello world"), atob("aGVsbG8="), btoa(String.fromCharCode(...encoder.encode("ü"))));
const fnv = (text) => {
  let hash = 0x811c9dc5;
  for (const byte of encoder.encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16);
};
console.log(fnv(""), fnv("a"), fnv("foobar"));
const crc = (data) => {
  let value = ~0;
  for (const byte of data) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return (~value >>> 0).toString(16);
};
console.log(crc(encoder.encode("123456789")));
console.log(encodeURIComponent("a b&c=d/ü"), decodeURIComponent("%E2%98%95"), encodeURI("https://x.y/a b?q=ü"));
console.log(escape === undefined, "☕".codePointAt(0), "𝄞".length, [..."𝄞a"].length, String.fromCodePoint(0x1d11e));
const view = new DataView(new ArrayBuffer(8));
view.setUint16(0, 0xabcd);
view.setFloat32(2, 1.5, true);
console.log([...new Uint8Array(view.buffer)], view.getInt16(0), view.getFloat32(2, true));
console.log((255).toString(2), parseInt("ff", 16), Number("0b101"), 0o17, (0.1).toString(3).slice(0, 8), 2n ** 70n);
