//! The Python that every Python engine runs around a program.
//!
//! Its lowest layer, the module `_onecall`, is native in the embedded interpreter
//! (`python/wire.rs`) and plain Python in the system's (`cpython/wire.py`).

/// A module of the bootstrap.
pub(crate) struct Module {
    pub(crate) name: &'static str,
    /// Its file name in tracebacks, which leave out what begins with `<onecall>`.
    pub(crate) file: &'static str,
    pub(crate) source: &'static str,
}

/// The modules, each after those it imports. The last one is the zygote's body.
pub(crate) const MODULES: [Module; 7] = [
    Module { name: "_onecall_warm", file: "<onecall>/warm.py", source: include_str!("warm.py") },
    Module {
        name: "_onecall_output",
        file: "<onecall>/output.py",
        source: include_str!("output.py"),
    },
    Module { name: "_onecall_loop", file: "<onecall>/loop.py", source: include_str!("loop.py") },
    Module { name: "_onecall_tools", file: "<onecall>/tools.py", source: include_str!("tools.py") },
    Module {
        name: "_onecall_program",
        file: "<onecall>/program.py",
        source: include_str!("program.py"),
    },
    Module { name: "_onecall_plan", file: "<onecall>/plan.py", source: include_str!("plan.py") },
    Module {
        name: "_onecall_zygote",
        file: "<onecall>/zygote.py",
        source: include_str!("zygote.py"),
    },
];
