//! Protected files: files that other programs run, or from which they learn what to run, such as
//! hooks, tasks, build files, and settings of shells, editors and agents. A program may read those
//! in its workspace but not change them: its changes would run with the user's rights, outside of
//! the sandbox, when the user next opens the folder or builds in it.

use std::path::Path;

/// The error text for an attempt to change a protected file.
pub(crate) const REASON: &str =
    "onecall does not let programs change files that other programs run";

/// Names of protected files, in the form of [`normalized`]. A name stands for a file, or for a
/// directory with everything below it.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    // Version control runs hooks, filters and file monitors that its files name. A file
    // `HEAD` makes the folder around it a repository of its own.
    ".git", ".gitconfig", ".gitmodules", "git~1", "head", ".hg", ".svn", ".jj",
    ".husky", ".githooks", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml",
    "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", ".overcommit.yml",
    // Build servers run what these say, with the repository's secrets.
    ".github", ".gitlab", ".gitlab-ci.yml", ".circleci", ".travis.yml", ".drone.yml",
    ".woodpecker", ".woodpecker.yml", ".buildkite", ".forgejo", ".gitea", "appveyor.yml",
    "azure-pipelines.yml", "bitbucket-pipelines.yml", "cloudbuild.yaml", "jenkinsfile",
    // Editors run tasks, debuggers and language servers when a folder is opened.
    ".vscode", ".idea", ".fleet", ".zed", ".cursor", ".windsurf", ".devcontainer",
    ".devcontainer.json", ".vs", ".vim", ".vimrc", ".gvimrc", ".exrc", ".nvimrc",
    ".nvim.lua", ".lvimrc", ".emacs", ".emacs.d", ".dir-locals.el", ".dir-locals-2.el",
    // Agents start the servers and hooks that their settings name.
    ".mcp.json", "mcp.json", ".claude", ".claude.json", "claude_desktop_config.json",
    ".codex", ".gemini", ".continue", ".roo", ".kiro", ".amazonq", ".opencode",
    "opencode.json", ".goose", ".aider.conf.yml", ".clinerules", "onecall.yaml",
    "onecall.yml", "onecall.json", ".onecall",
    // Shells and their helpers run these on entering a folder or at login.
    ".envrc", ".direnv", ".mise.toml", "mise.toml", ".mise", ".tool-versions", ".autoenv",
    ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc",
    ".login", ".logout", ".inputrc", ".xinitrc", ".xsession", ".xprofile", ".xsessionrc",
    ".tmux.conf", ".screenrc", ".config", ".local", ".ssh", ".gnupg", ".netrc", ".curlrc",
    ".wgetrc", ".mailcap", ".gdbinit", ".lldbinit", "autorun.inf", "desktop.ini",
    // Package managers and task runners run scripts that these hold or name.
    "package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn", ".pnpmfile.cjs",
    "pnpm-workspace.yaml", "bunfig.toml", "deno.json", "deno.jsonc", "makefile",
    "gnumakefile", "justfile", ".justfile", "taskfile", "rakefile", "gemfile",
    "guardfile", "vagrantfile", "procfile", "tiltfile", "earthfile", "dockerfile",
    "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml",
    "cmakelists.txt", "meson.build", "build.ninja", "build.gradle", "build.gradle.kts",
    "settings.gradle", "settings.gradle.kts", "gradlew", "mvnw", "pom.xml", ".mvn",
    ".gradle", "build.xml", "build.sbt", "build.zig", "mix.exs", "package.swift",
    "cargo.toml", "build.rs", ".cargo", "rust-toolchain", "rust-toolchain.toml",
    "flake.nix", "shell.nix", "default.nix", "devbox.json", ".bazelrc", "workspace.bazel",
    "module.bazel", "build.bazel", "gulpfile.js", "gruntfile.js", "composer.json",
    // Interpreters run these whenever they start in a folder, or test runners do.
    "conftest.py", "sitecustomize.py", "usercustomize.py", "setup.py", "setup.cfg",
    "pyproject.toml", "tox.ini", "pytest.ini", "noxfile.py", "pyvenv.cfg", ".venv",
    ".pdbrc", ".pythonrc", ".pythonrc.py", ".irbrc", ".pryrc", ".rprofile", ".renviron",
    ".eslintrc.js", ".eslintrc.cjs", ".prettierrc.js", ".prettierrc.cjs", ".babelrc.js",
];

/// Endings of the names of protected files.
#[rustfmt::skip]
const SUFFIXES: &[&str] = &[
    // Python runs lines of these at its start.
    ".pth",
    // Settings of JavaScript tools are programs, which editors run on opening a folder.
    ".config.js", ".config.cjs", ".config.mjs", ".config.ts", ".config.cts", ".config.mts",
    // Included by build files; starters and workspaces that run on a click.
    ".mk", ".gradle", ".desktop", ".code-workspace",
];

/// Beginnings of the names of protected files.
const PREFIXES: &[&str] = &["taskfile.", "dockerfile.", "makefile."];

/// Whether a path, relative to its workspace and without links, is that of a protected file.
pub(crate) fn is_protected(path: &Path) -> bool {
    path.iter().any(|name| is_protected_name(&name.to_string_lossy()))
}

/// Whether a file or directory of this name is protected in any folder.
pub(crate) fn is_protected_name(name: &str) -> bool {
    let name = normalized(name);
    NAMES.contains(&name.as_str())
        || SUFFIXES.iter().any(|ending| name.ends_with(ending))
        || PREFIXES.iter().any(|beginning| name.starts_with(beginning))
}

/// A name in the form in which file systems compare names that treat several spellings as equal: in
/// one case, without invisible characters, without dots and spaces at its end, and without an
/// alternate stream after a colon.
fn normalized(name: &str) -> String {
    let name = name.split(':').next().unwrap_or_default();
    let visible = name.chars().filter(|character| !is_invisible(*character));
    // Through upper case, because some letters have the same upper case as an ASCII letter.
    let upper: String = visible.flat_map(char::to_uppercase).collect();
    upper.to_lowercase().trim_end_matches(['.', ' ']).to_owned()
}

fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_spelt() {
        for path in [
            ".git/hooks/pre-commit",
            "sub/.GIT/config",
            ".git. /x",
            ".git::$INDEX_ALLOCATION/x",
            ".g\u{200c}it",
            "\u{212a}/Ma\u{212a}efile",
            "GIT~1/config",
            "a/b/Package.JSON",
            "PACKAGE.JSON.",
            "package.j\u{17f}on",
            "vite.config.mts",
            "evil.PTH",
            "x/HEAD",
            "Taskfile.dist.yml",
        ] {
            assert!(is_protected(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn other_names_are_free() {
        for path in [
            "orders.csv",
            "git/x",
            ".gitignore",
            "heads/a.txt",
            "package.json.bak",
            "report.md",
            "make",
            "config.js",
            "notes/Makefiles.txt",
            "x.pthx",
            "data.json",
            "...",
        ] {
            assert!(!is_protected(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn the_list_is_written_as_names_are_compared() {
        for name in NAMES.iter().chain(SUFFIXES).chain(PREFIXES) {
            assert_eq!(normalized(name), name.trim_end_matches('.'), "{name}");
        }
    }
}
