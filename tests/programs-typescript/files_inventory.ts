const listing = await mcp__fixture__list_files({ path: "/" });
console.log(listing);
const names: string[] = (Array.isArray(listing) ? listing : listing.files ?? listing.entries ?? []).map((f: any) => f.name ?? f.path ?? f);
const sizes: [string, number][] = [];
for (const name of names.slice(0, 6)) {
  const text = await mcp__fixture__read_text({ path: name.startsWith("/") ? name : `/${name}` }).catch(() => null);
  if (typeof text === "string") sizes.push([name, text.length]);
}
console.log(sizes);
