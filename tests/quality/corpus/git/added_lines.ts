const show = await mcp__git__git_show({ repo_path: "REPOSITORY", revision: "HEAD" });
for (const line of show.split("\n")) if (/^\+(?!\+\+)/.test(line)) console.log(line.slice(1));
