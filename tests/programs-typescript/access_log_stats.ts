interface Hit { ip: string; method: string; path: string; status: number; bytes: number }
const log = `10.0.0.1 - - [01/Mar/2026:10:00:01 +0000] "GET /index.html HTTP/1.1" 200 512
10.0.0.2 - - [01/Mar/2026:10:00:03 +0000] "POST /login HTTP/1.1" 302 0
10.0.0.1 - - [01/Mar/2026:10:01:09 +0000] "GET /missing HTTP/1.1" 404 120
10.0.0.3 - - [01/Mar/2026:10:02:44 +0000] "GET /index.html HTTP/1.1" 200 512
broken line
10.0.0.2 - - [01/Mar/2026:10:03:00 +0000] "GET /report?year=2026 HTTP/1.1" 500 87`;
const pattern = /^(?<ip>\S+) \S+ \S+ \[[^\]]+\] "(?<method>[A-Z]+) (?<path>\S+) [^"]+" (?<status>\d{3}) (?<bytes>\d+)$/;
const hits: Hit[] = log.split("\n").flatMap((line) => {
  const groups = pattern.exec(line)?.groups;
  if (!groups) return [];
  return [{ ip: groups.ip!, method: groups.method!, path: groups.path!.split("?")[0]!, status: +groups.status!, bytes: Number(groups.bytes) }];
});
const count = <K extends string | number>(keys: K[]): Map<K, number> =>
  keys.reduce((all, key) => all.set(key, (all.get(key) ?? 0) + 1), new Map<K, number>());
console.log(hits.length, "hits,", log.split("\n").length - hits.length, "skipped");
console.log(count(hits.map((hit) => hit.ip)));
console.log(count(hits.map((hit) => Math.floor(hit.status / 100))));
console.log(hits.filter(({ status }) => status >= 400).map(({ path, status }) => `${status} ${path}`));
console.log("bytes", hits.reduce((sum, { bytes }) => sum + bytes, 0));
console.table(hits.slice(0, 2));
