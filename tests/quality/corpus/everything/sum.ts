let total = 0;
for (const n of [17, 25, 300]) {
  const answer = await mcp__everything__get_sum({ a: total, b: n });
  total = Number(answer.match(/is (\d+)/)![1]);
}
console.log(total);
