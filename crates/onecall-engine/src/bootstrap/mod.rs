//! The Python modules that surround a program on every Python engine.
//!
//! Their lowest layer, the module `_onecall`, is native in the embedded interpreter
//! (`python/wire.rs`) and plain Python in the system's (`cpython/wire.py`).

use rustpython_vm::frozen::FrozenCodeObject;

/// A module of the bootstrap for the system's interpreter.
pub(crate) struct Module {
    pub(crate) name: &'static str,
    /// The module's file name in tracebacks; frames whose file begins with `<onecall>` are not
    /// shown.
    pub(crate) file: &'static str,
    pub(crate) source: &'static str,
}

/// A module of the bootstrap for the embedded interpreter. It is compiled with this crate: compiling all
/// modules at the start would take longer than most programs.
#[derive(Clone, Copy)]
pub(crate) struct CompiledModule {
    pub(crate) name: &'static str,
    pub(crate) code: fn() -> FrozenCodeObject<&'static [u8]>,
}

/// A compiled module from a file beside the file that uses this macro, with its name and its file name in
/// tracebacks.
macro_rules! compiled {
    ($path:literal, $name:literal, $file:literal) => {
        $crate::bootstrap::CompiledModule {
            name: $name,
            code: || {
                // The macro does not tell the compiler that it has read a file.
                const _: &str = include_str!($path);
                rustpython_vm::py_compile!(file = $path, module_name = $file)
            },
        }
    };
}
pub(crate) use compiled;

/// The modules for both interpreters, each with its path, its name and its file name in tracebacks.
macro_rules! modules {
    ($(($path:literal, $name:literal, $file:literal),)*) => {
        /// The modules, each after those it imports. The last one is the main loop of the zygote.
        pub(crate) const MODULES: &[Module] =
            &[$(Module { name: $name, file: $file, source: include_str!($path) }),*];

        /// The modules of [`MODULES`], compiled for the embedded interpreter.
        pub(crate) const COMPILED_MODULES: &[CompiledModule] =
            &[$(compiled!($path, $name, $file)),*];
    };
}

modules! {
    ("machine.py", "_onecall_machine", "<onecall>/machine.py"),
    ("processes.py", "_onecall_processes", "<onecall>/processes.py"),
    ("warm.py", "_onecall_warm", "<onecall>/warm.py"),
    ("semaphores.py", "_onecall_semaphores", "<onecall>/semaphores.py"),
    ("output.py", "_onecall_output", "<onecall>/output.py"),
    ("content.py", "_onecall_content", "<onecall>/content.py"),
    ("display.py", "_onecall_display", "<onecall>/display.py"),
    ("loop.py", "_onecall_loop", "<onecall>/loop.py"),
    ("schema.py", "_onecall_schema", "<onecall>/schema.py"),
    ("arguments.py", "_onecall_arguments", "<onecall>/arguments.py"),
    ("tools.py", "_onecall_tools", "<onecall>/tools.py"),
    ("cache.py", "_onecall_cache", "<onecall>/cache.py"),
    ("plan.py", "_onecall_plan", "<onecall>/plan.py"),
    ("observations.py", "_onecall_observations", "<onecall>/observations.py"),
    ("clocks.py", "_onecall_clocks", "<onecall>/clocks.py"),
    ("randomness.py", "_onecall_randomness", "<onecall>/randomness.py"),
    (
        "unconfined_effects.py",
        "_onecall_unconfined_effects",
        "<onecall>/unconfined_effects.py"
    ),
    ("workspace_writes.py", "_onecall_workspace_writes", "<onecall>/workspace_writes.py"),
    ("journal.py", "_onecall_journal", "<onecall>/journal.py"),
    ("scratch.py", "_onecall_scratch", "<onecall>/scratch.py"),
    ("returns.py", "_onecall_returns", "<onecall>/returns.py"),
    ("variables.py", "_onecall_variables", "<onecall>/variables.py"),
    ("denial.py", "_onecall_denial", "<onecall>/denial.py"),
    ("failure.py", "_onecall_failure", "<onecall>/failure.py"),
    ("result.py", "_onecall_result", "<onecall>/result.py"),
    ("nonlocals.py", "_onecall_nonlocals", "<onecall>/nonlocals.py"),
    ("loop_use.py", "_onecall_loop_use", "<onecall>/loop_use.py"),
    ("fast_names.py", "_onecall_fast_names", "<onecall>/fast_names.py"),
    ("program.py", "_onecall_program", "<onecall>/program.py"),
    ("zygote.py", "_onecall_zygote", "<onecall>/zygote.py"),
}
