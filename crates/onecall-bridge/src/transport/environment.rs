//! Selects the environment variables that servers and local commands get. All others are passed
//! only if the configuration names them, under `env` or `env_inherit`.

use std::env;
use std::ffi::OsString;

/// Variables that identify the user and the user's directories. They are part of the identity of a
/// server, because its answers may depend on them.
const BASE_VARIABLES: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG"];

/// Variables that servers need on machines that set them: certificates, proxies, folders, languages
/// and the tools that install interpreters. None of them identifies an account.
pub const HELPFUL_VARIABLES: &[(&str, &[&str])] = &[
    (
        "certificates",
        &[
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "NODE_EXTRA_CA_CERTS",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
            "GIT_SSL_CAINFO",
            "PIP_CERT",
            "DENO_CERT",
            "UV_SYSTEM_CERTS",
            "UV_NATIVE_TLS",
            "NPM_CONFIG_CAFILE",
            "npm_config_cafile",
        ],
    ),
    (
        "proxies",
        &[
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
            "no_proxy",
            "NODE_USE_ENV_PROXY",
        ],
    ),
    (
        "XDG folders",
        &[
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_CACHE_HOME",
            "XDG_STATE_HOME",
            "XDG_RUNTIME_DIR",
            "XDG_CONFIG_DIRS",
            "XDG_DATA_DIRS",
        ],
    ),
    (
        "language",
        &[
            "LANGUAGE",
            "LC_ALL",
            "LC_CTYPE",
            "LC_COLLATE",
            "LC_MESSAGES",
            "LC_MONETARY",
            "LC_NUMERIC",
            "LC_TIME",
        ],
    ),
    (
        "version managers and package runners",
        &[
            "NVM_DIR",
            "NVM_BIN",
            "FNM_DIR",
            "FNM_MULTISHELL_PATH",
            "VOLTA_HOME",
            "N_PREFIX",
            "NODENV_ROOT",
            "NODENV_VERSION",
            "PYENV_ROOT",
            "PYENV_VERSION",
            "RBENV_ROOT",
            "RBENV_VERSION",
            "ASDF_DIR",
            "ASDF_DATA_DIR",
            "ASDF_CONFIG_FILE",
            "MISE_DATA_DIR",
            "MISE_CONFIG_DIR",
            "MISE_CACHE_DIR",
            "MISE_STATE_DIR",
            "CONDA_PREFIX",
            "PNPM_HOME",
            "BUN_INSTALL",
            "DENO_DIR",
            "COREPACK_HOME",
            "NPM_CONFIG_PREFIX",
            "NPM_CONFIG_CACHE",
            "npm_config_prefix",
            "npm_config_cache",
            "UV_CACHE_DIR",
            "UV_TOOL_DIR",
            "UV_PYTHON_INSTALL_DIR",
            "PIPX_HOME",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "GOPATH",
            "GOROOT",
            "JAVA_HOME",
        ],
    ),
];

/// Variables that change with each login and do not identify an account, so that answers do not
/// depend on them.
pub(crate) const LOGIN_SESSION_VARIABLES: &[&str] =
    &["SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"];

/// The part of the base environment that is part of the identity of a server.
pub(crate) fn identifying_environment() -> impl Iterator<Item = (&'static str, OsString)> {
    BASE_VARIABLES.iter().filter_map(|name| Some((*name, env::var_os(name)?)))
}

/// The part of this process's environment that every server and local command gets.
pub fn base_environment() -> impl Iterator<Item = (&'static str, OsString)> {
    let helpful = HELPFUL_VARIABLES.iter().flat_map(|(_, names)| names.iter());
    BASE_VARIABLES.iter().chain(helpful).filter_map(|name| Some((*name, env::var_os(name)?)))
}

/// Whether every server and local command gets a variable, if it is set.
#[must_use]
pub fn is_passed_on(name: &str) -> bool {
    BASE_VARIABLES.contains(&name)
        || HELPFUL_VARIABLES.iter().any(|(_, names)| names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_lists_every_variable() {
        let document = include_str!("../../../../SECURITY.md");
        for (what, names) in [("base", BASE_VARIABLES)].iter().chain(HELPFUL_VARIABLES) {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            let row = format!("| {what} | {} |\n", names.join(", "));
            assert!(document.contains(&row), "SECURITY.md has to say: {row}");
        }
    }
}
