//! Writes the seccomp profile that is shipped for containers.

use std::fs;
use std::path::PathBuf;

use testkit::cargo;
use testkit::container::shipped_profile;

pub fn run() -> Result<(), String> {
    let path = path();
    let failed = |error| format!("{}: {error}", path.display());
    fs::write(&path, text()?).map_err(failed)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

fn path() -> PathBuf {
    cargo::root().join("packaging/container/seccomp.json")
}

fn text() -> Result<String, String> {
    let text =
        serde_json::to_string_pretty(&shipped_profile()).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_shipped_profile_is_the_one_that_the_command_writes() {
        let shipped = std::fs::read_to_string(super::path()).expect("a shipped profile");
        let written = super::text().expect("a profile");
        assert!(shipped == written, "it is older: run `cargo xtask container-profile`");
    }
}
