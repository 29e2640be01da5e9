//! A published server that `npx` has yet to install.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::support::Home;

/// A package whose program waits until the test lets it go on, and then is the server.
pub struct Package {
    release: PathBuf,
}

impl Package {
    /// Packs `thinking-1.0.0.tgz` in `home`, as a registry would deliver it.
    pub fn make(home: &Home) -> Self {
        let manifest = json!({
            "name": "thinking", "version": "1.0.0", "type": "module",
            "bin": { "thinking": "index.js" },
        });
        home.write("package/package.json", manifest.to_string());
        let server =
            "npm/node_modules/@modelcontextprotocol/server-sequential-thinking/dist/index.js";
        let (server, release) = (home.text_path(server), home.path("released"));
        let program = format!(
            "#!/usr/bin/env node\nimport {{ existsSync }} from 'node:fs';\n\
             while (!existsSync({release:?})) await new Promise((go) => setTimeout(go, 50));\n\
             await import({server:?});\n"
        );
        let program = home.write("package/index.js", program);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(program, mode).expect("a program");
        let mut tar = Command::new("tar");
        tar.args(["-czf", "thinking-1.0.0.tgz", "package"]).current_dir(home.path(""));
        assert!(tar.status().expect("tar starts").success());
        Self { release }
    }

    /// Lets the server start, now and from now on.
    pub fn release(&self) {
        std::fs::write(&self.release, "").expect("a file");
    }
}
