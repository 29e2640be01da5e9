const { content } = await mcp__files__read_text_file({ path: "FOLDER/logs/access.log" });
const sums: Record<string, [number, number]> = {};
for (const line of content.split("\n").filter(Boolean)) {
  const [, , , path, , ms] = line.split(" ");
  const entry = (sums[path] ??= [0, 0]);
  entry[0] += parseInt(ms);
  entry[1] += 1;
}
const average = (p: string) => sums[p][0] / sums[p][1];
console.log(Object.keys(sums).sort((a, b) => average(b) - average(a))[0]);
