//! The files that are executed when servers and local tools are started.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use onecall_config::{
    Config, FolderAccess, LocalToolKind, ProcessContext, ProtectedExtent, ProtectedPath, Secret,
    Template, TemplatePart, Transport,
};

use super::unwritable;

/// Files that make a folder executable for an interpreter or package manager.
const PROJECT_FILES: [&str; 9] = [
    "__init__.py",
    "__main__.py",
    "Cargo.toml",
    "deno.json",
    "go.mod",
    "index.js",
    "package.json",
    "pyproject.toml",
    "setup.py",
];

/// Variables that list folders and files of code.
const CODE_PATH_VARIABLES: [&str; 6] =
    ["PATH", "PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PERL5LIB"];

/// A command that is started.
struct StartedCommand<'c> {
    /// The name of the command in a sentence.
    name: String,
    /// A path if it contains a slash, otherwise a name that is looked up on `PATH`.
    program: &'c Path,
    arguments: Vec<&'c str>,
    environment: &'c BTreeMap<String, Secret>,
    folder: PathBuf,
    context: &'c ProcessContext<'c>,
}

/// Everything that is executed for the servers and local tools of `config`, and the folders in
/// which commands are looked up.
pub(super) fn started(config: &Config, context: &ProcessContext<'_>) -> Vec<ProtectedPath> {
    let folder = |cwd: Option<&PathBuf>| match cwd {
        Some(cwd) => context.working_directory.join(cwd),
        None => context.working_directory.clone(),
    };
    let servers = config.servers.iter().filter_map(|server| match &server.transport {
        Transport::Stdio(stdio) => Some(StartedCommand {
            name: format!("server '{}'", server.name),
            program: Path::new(&stdio.command),
            arguments: stdio.args.iter().map(String::as_str).collect(),
            environment: &stdio.env,
            folder: folder(stdio.cwd.as_ref()),
            context,
        }),
        _ => None,
    });
    let tools = config.local_tools.iter().filter_map(|tool| match &tool.kind {
        LocalToolKind::Command(command) => Some(StartedCommand {
            name: format!("local tool '{}'", tool.name),
            program: &command.program,
            arguments: command.arguments.iter().filter_map(fixed_text).collect(),
            environment: &command.env,
            folder: folder(command.cwd.as_ref()),
            context,
        }),
        LocalToolKind::Files(_) => None,
    });
    let mut places: Vec<_> = servers.chain(tools).flat_map(|it| it.places()).collect();
    let search = (context.environment)("PATH").unwrap_or_default();
    places.extend(folders_in(&search, &context.working_directory).map(|path| {
        let reason = "a folder of PATH, in which programs are looked up to be started".to_owned();
        unwritable(path, reason, "take that folder out of PATH")
    }));
    places
}

/// A template without placeholders. The text of others is known only when a call is made.
fn fixed_text(template: &Template) -> Option<&str> {
    match template.parts() {
        [TemplatePart::Text(text)] => Some(text),
        _ => None,
    }
}

fn folders_in(search: &str, folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(search).map(|path| folder.join(path)).collect::<Vec<_>>().into_iter()
}

impl StartedCommand<'_> {
    fn places(&self) -> Vec<ProtectedPath> {
        let name = &self.name;
        let mut places = Vec::new();
        if let Some(program) = self.executable() {
            let reason = format!("from which {name} is started");
            places.extend(self.installation(&program));
            places.push(unwritable(program, reason, "keep that program elsewhere"));
        }
        for path in self.arguments.iter().flat_map(|argument| self.named_by(argument)) {
            places.extend(self.installation(&path));
            places.push(self.argument(path));
        }
        for (variable, value) in self.environment {
            let is_list = CODE_PATH_VARIABLES.contains(&variable.as_str());
            let listed: Vec<PathBuf> = match is_list {
                true => folders_in(value.reveal(), &self.folder).collect(),
                false => self.named_by(value.reveal()).collect(),
            };
            let reason = format!("which the variable {variable} gives to {name}");
            places.extend(listed.into_iter().map(|path| {
                let alternative = format!("give {name} another {variable}");
                let extent = if is_list { ProtectedExtent::Tree } else { ProtectedExtent::Itself };
                ProtectedPath { extent, ..unwritable(path, reason.clone(), &alternative) }
            }));
        }
        let reason = format!("in which {name} is started, and from which it may load code");
        let alternative = format!("give {name} another `cwd`");
        places.push(unwritable(self.folder.clone(), reason, &alternative));
        places
    }

    /// The file that is executed, if it can be found.
    fn executable(&self) -> Option<PathBuf> {
        if self.program.components().count() > 1 || self.program.is_absolute() {
            return Some(self.folder.join(self.program));
        }
        let is_program = |path: &PathBuf| {
            path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        };
        let own = self.environment.get("PATH").map(|value| value.reveal().to_owned());
        let search = own.or_else(|| (self.context.environment)("PATH"))?;
        let mut found = folders_in(&search, &self.folder).map(|folder| folder.join(self.program));
        found.find(is_program)
    }

    /// The existing files, and executable folders, that an argument names: by itself or after `=`.
    fn named_by(&self, argument: &str) -> impl Iterator<Item = PathBuf> {
        let value = argument.split_once('=').map(|(_, value)| value);
        let named = [Some(argument), value].into_iter().flatten().filter(|text| !text.is_empty());
        let is_program = |path: &PathBuf| {
            path.is_file() || PROJECT_FILES.iter().any(|name| path.join(name).is_file())
        };
        let paths: Vec<_> = named.map(|text| self.folder.join(text)).filter(is_program).collect();
        paths.into_iter()
    }

    fn argument(&self, path: PathBuf) -> ProtectedPath {
        let name = &self.name;
        let reason = format!("an argument of {name}, which may execute it");
        let extent = if path.is_dir() { ProtectedExtent::Tree } else { ProtectedExtent::Itself };
        ProtectedPath {
            extent,
            ..unwritable(path, reason, &format!("keep what {name} uses elsewhere"))
        }
    }

    /// The virtual environments and package folders that contain a file and the code that it loads.
    fn installation(&self, file: &Path) -> Vec<ProtectedPath> {
        let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let is_installation = |folder: &&Path| {
            folder.join("pyvenv.cfg").is_file() || folder.ends_with("node_modules")
        };
        let folders = real.ancestors().skip(1).filter(is_installation);
        let reason = format!("with code that {} loads", self.name);
        let place = |folder: &Path| ProtectedPath {
            path: folder.to_owned(),
            reason: reason.clone(),
            extent: ProtectedExtent::Tree,
            harmful_access: FolderAccess::Write,
            alternative: Some("install it elsewhere".to_owned()),
        };
        folders.map(place).collect()
    }
}
