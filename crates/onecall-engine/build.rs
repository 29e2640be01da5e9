//! Compiles the replacement for libffi; see `src/python/absent_ffi.c`.

fn main() {
    const SOURCE: &str = "src/python/absent_ffi.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build.rs");
    // The interpreter, which needs these functions, comes after this crate on the linker's command
    // line. So the whole library has to be linked, not only what is missing at this point.
    cc::Build::new().file(SOURCE).link_lib_modifier("+whole-archive").compile("absent_ffi");
}
