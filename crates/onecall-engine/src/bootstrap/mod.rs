//! The Python modules that surround a program on every Python engine.
//!
//! Their lowest layer, the module `_onecall`, is native in the embedded interpreter
//! (`python/wire.rs`) and plain Python in the system's (`cpython/wire.py`).

/// A module of the bootstrap.
pub(crate) struct Module {
    pub(crate) name: &'static str,
    /// The module's file name in tracebacks; frames whose file begins with `<onecall>` are not
    /// shown.
    pub(crate) file: &'static str,
    pub(crate) source: &'static str,
}

macro_rules! module {
    ($name:literal) => {
        Module {
            name: concat!("_onecall_", $name),
            file: concat!("<onecall>/", $name, ".py"),
            source: include_str!(concat!($name, ".py")),
        }
    };
}

/// The modules, each after those it imports. The last one is the main loop of the zygote.
pub(crate) const MODULES: [Module; 27] = [
    module!("machine"),
    module!("warm"),
    module!("semaphores"),
    module!("output"),
    module!("content"),
    module!("display"),
    module!("loop"),
    module!("schema"),
    module!("arguments"),
    module!("tools"),
    module!("cache"),
    module!("plan"),
    module!("observations"),
    module!("clocks"),
    module!("randomness"),
    module!("workspace_writes"),
    module!("journal"),
    module!("scratch"),
    module!("returns"),
    module!("variables"),
    module!("denial"),
    module!("failure"),
    module!("result"),
    module!("nonlocals"),
    module!("loop_use"),
    module!("program"),
    module!("zygote"),
];
