//! `cargo xtask sbom`: writes the contents of the binary as a CycloneDX bill of materials, which
//! scanners compare with lists of known vulnerabilities.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use testkit::cargo::root;

use crate::dependencies::{Package, read, shipped};

const USAGE: &str = "usage: cargo xtask sbom FILE";

/// Writes the bill to the file in the argument.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let [file] = arguments else { return Err(USAGE.to_owned()) };
    let text = serde_json::to_string_pretty(&bill()?).map_err(|error| error.to_string())?;
    fs::write(file, text + "\n").map_err(|error| format!("{file}: {error}"))
}

/// A C library whose source is inside a package, where scanners of Rust packages do not look.
struct BundledLibrary {
    package: &'static str,
    name: &'static str,
    licence: &'static str,
    repository: &'static str,
    header: &'static str,
    /// The macros in the header that contain the version: as a whole, or in parts.
    macros: &'static [&'static str],
}

const BUNDLED_LIBRARIES: [BundledLibrary; 3] = [
    BundledLibrary {
        package: "libsqlite3-sys",
        name: "sqlite",
        licence: "blessing",
        repository: "https://sqlite.org/src",
        header: "sqlite3/sqlite3.h",
        macros: &["SQLITE_VERSION"],
    },
    BundledLibrary {
        package: "rquickjs-sys",
        name: "quickjs-ng",
        licence: "MIT",
        repository: "https://github.com/quickjs-ng/quickjs",
        header: "quickjs/quickjs.h",
        macros: &["QJS_VERSION_MAJOR", "QJS_VERSION_MINOR", "QJS_VERSION_PATCH"],
    },
    BundledLibrary {
        package: "libmimalloc-sys",
        name: "mimalloc",
        licence: "MIT",
        repository: "https://github.com/microsoft/mimalloc",
        header: "c_src/mimalloc/v3/include/mimalloc.h",
        macros: &["MI_MALLOC_VERSION"],
    },
];

/// The whole bill.
fn bill() -> Result<Value, String> {
    let packages = shipped()?;
    let (mut components, mut dependencies) = (Vec::new(), Vec::new());
    let mut subject = Value::Null;
    for package in packages.values() {
        let mut uses: Vec<String> =
            package.uses.iter().filter_map(|id| packages.get(id)).map(purl).collect();
        for bundled in BUNDLED_LIBRARIES.iter().filter(|bundled| bundled.package == package.name) {
            let library = bundled.component(package)?;
            uses.push(library["bom-ref"].as_str().unwrap_or_default().to_owned());
            components.push(library);
        }
        dependencies.push(json!({ "ref": purl(package), "dependsOn": uses }));
        match package.name.as_str() {
            "onecall" => subject = component(package, "application"),
            _ => components.push(component(package, "library")),
        }
    }
    let mut metadata = json!({ "component": subject, "tools": { "components": [
        { "type": "application", "name": "cargo xtask sbom" }
    ] } });
    if let Some(time) = time_of_commit() {
        metadata["timestamp"] = time.into();
    }
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": metadata,
        "components": components,
        "dependencies": dependencies,
    }))
}

fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn component(package: &Package, kind: &str) -> Value {
    let licences = match (&package.license, &package.license_file) {
        // Older manifests write a choice with a slash.
        (Some(expression), _) => json!([{ "expression": expression.replace('/', " OR ") }]),
        (None, Some(file)) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            json!([{ "license": { "name": format!("see {name}") } }])
        }
        (None, None) => json!([]),
    };
    let mut component = json!({
        "type": kind,
        "bom-ref": purl(package),
        "name": package.name,
        "version": package.version,
        "licenses": licences,
        "purl": purl(package),
    });
    if !package.description.is_empty() {
        component["description"] = package.description.as_str().into();
    }
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

impl BundledLibrary {
    fn component(&self, package: &Package) -> Result<Value, String> {
        let header = package.folder.join(self.header);
        let version = version(&read(&header)?, self.macros)
            .ok_or_else(|| format!("{}: no version of {}", header.display(), self.name))?;
        let purl = format!("pkg:generic/{}@{version}", self.name);
        Ok(json!({
            "type": "library",
            "bom-ref": purl,
            "name": self.name,
            "version": version,
            "licenses": [{ "license": { "id": self.licence } }],
            "purl": purl,
            "externalReferences": [{ "type": "vcs", "url": self.repository }],
        }))
    }
}

/// The version in the macros of a C header.
fn version(header: &str, macros: &[&str]) -> Option<String> {
    let value = |name: &&str| {
        let mut lines = header.lines().map(str::split_whitespace);
        let mut words = lines.find(|words| words.clone().take(2).eq(["#define", *name]))?.skip(2);
        Some(words.next()?.trim_matches('"').to_owned())
    };
    let parts = macros.iter().map(value).collect::<Option<Vec<_>>>()?.join(".");
    match parts.parse::<u32>() {
        // One number, with two digits for each part but the first.
        Ok(number) => Some(format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)),
        Err(_) => Some(parts),
    }
}

/// The time of the commit, so that the same source gives the same bill.
fn time_of_commit() -> Option<String> {
    let mut git = Command::new("git");
    let output = git.current_dir(root()).args(["log", "-1", "--format=%cI"]).output().ok()?;
    let time = String::from_utf8(output.status.success().then_some(output.stdout)?).ok()?;
    Some(time.trim().to_owned()).filter(|time| !time.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn versions_are_read_from_headers() {
        let header = "#define A_VERSION   \"3.54.1\"\n#define MAJOR 0\n#define MINOR 16\n#define B 30302 // x\n";
        assert_eq!(version(header, &["A_VERSION"]).as_deref(), Some("3.54.1"));
        assert_eq!(version(header, &["MAJOR", "MINOR"]).as_deref(), Some("0.16"));
        assert_eq!(version(header, &["B"]).as_deref(), Some("3.3.2"));
        assert_eq!(version(header, &["C"]), None);
    }

    /// What CycloneDX 1.5 demands of the parts that are used here.
    #[test]
    fn the_bill_has_the_form_of_the_format() {
        let bill = bill().expect("a bill of materials");
        assert_eq!(
            (&bill["bomFormat"], &bill["specVersion"]),
            (&json!("CycloneDX"), &json!("1.5"))
        );
        assert_eq!(bill["metadata"]["component"]["name"], "onecall");
        let subject = [bill["metadata"]["component"].clone()];
        let components = bill["components"].as_array().expect("components");
        let mut references = BTreeSet::new();
        for component in components.iter().chain(&subject) {
            let text = |name: &str| component[name].as_str().unwrap_or_default();
            assert!(["library", "application"].contains(&text("type")), "{component}");
            assert!(!text("name").is_empty() && !text("version").is_empty(), "{component}");
            assert!(text("purl").starts_with("pkg:"), "{component}");
            assert!(references.insert(text("bom-ref").to_owned()), "twice: {component}");
            let licences = component["licenses"].as_array().expect("licences");
            let is_licence = |it: &Value| it["expression"].is_string() ^ it["license"].is_object();
            assert!(licences.len() == 1 && licences.iter().all(is_licence), "{component}");
            for hash in component["hashes"].as_array().into_iter().flatten() {
                assert_eq!(hash["alg"], "SHA-256");
                assert_eq!(hash["content"].as_str().map(str::len), Some(64), "{component}");
            }
        }
        for dependency in bill["dependencies"].as_array().expect("dependencies") {
            let named = [&dependency["ref"]]
                .into_iter()
                .chain(dependency["dependsOn"].as_array().into_iter().flatten());
            for reference in named {
                assert!(references.contains(reference.as_str().unwrap_or_default()), "{reference}");
            }
        }
        for name in ["rustpython-vm", "malachite-bigint", "sqlite", "quickjs-ng", "mimalloc"] {
            assert!(components.iter().any(|component| component["name"] == name), "no {name}");
        }
        for name in ["xtask", "testkit", "proptest", "cc"] {
            assert!(!components.iter().any(|component| component["name"] == name), "{name}");
        }
    }
}
