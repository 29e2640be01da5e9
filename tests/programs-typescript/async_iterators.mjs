async function* pages(query) {
  let cursor;
  do {
    const page = await mcp__fixture__search_tickets({ query, limit: 3, ...(cursor && { cursor }) });
    yield* page.tickets ?? page.items ?? page.results ?? [];
    cursor = page.next_cursor ?? page.nextCursor ?? page.cursor;
  } while (cursor);
}
const found = [];
for await (const ticket of pages("")) {
  found.push(ticket.id ?? ticket);
  if (found.length >= 7) break;
}
console.log(found);
const take = async function* (source, count) {
  for await (const item of source) {
    if (count-- <= 0) return;
    yield item;
  }
};
async function* naturals() {
  try {
    for (let n = 0; ; n++) yield n;
  } finally {
    console.log("closed");
  }
}
const squares = [];
for await (const n of take(naturals(), 4)) squares.push(n ** 2);
console.log(squares);
const iterator = { async *[Symbol.asyncIterator]() { yield "a"; yield Promise.resolve("b"); } };
for await (const letter of iterator) console.log(letter);
for await (const value of [Promise.resolve(1), 2]) console.log(value);
