try {
  await mcp__git__git_checkout({ repo_path: "REPOSITORY", branch_name: "legacy" });
  console.log("switched");
} catch (error) {
  console.log("no such branch");
}
