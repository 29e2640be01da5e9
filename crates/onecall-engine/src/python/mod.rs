//! Workers on the embedded Python: RustPython with its standard library inside this binary, and the
//! bootstrap that all Python engines share.

mod ctypes;
mod fast_names;
mod files;
mod immortal;
mod imports;
mod interning;
mod json;
mod places;
mod wire;

use std::io::{self, Write};
use std::process::ExitCode;

use rustpython::InterpreterBuilderExt;
use rustpython_vm::scope::Scope;
use rustpython_vm::{AsObject, InterpreterBuilder, PyResult, Settings, VirtualMachine};

use onecall_jail::JailMode;

use crate::bootstrap::{COMPILED_MODULES, CompiledModule, compiled};
use crate::sandbox_plan::{SandboxPlan, confines_effects};
use crate::worker_process::sandbox;

/// The module that replaces file functions. It runs before the bootstrap, whose modules keep
/// references to file functions.
const FILES: CompiledModule = compiled!("files.py", "_onecall_files", "<onecall>/files.py");

/// The module that puts off importing parts of the standard library. It runs before the bootstrap, which imports them.
const LAZY_MODULES: CompiledModule =
    compiled!("lazy_modules.py", "_onecall_lazy_modules", "<onecall>/lazy_modules.py");

/// The modules that fix parts of this interpreter's library. They run after the bootstrap.
const PATCHES: &[CompiledModule] = &[
    compiled!("hashes.py", "_onecall_hashes", "<onecall>/hashes.py"),
    compiled!("zones.py", "_onecall_zones", "<onecall>/zones.py"),
    compiled!("xml_source.py", "_onecall_xml_source", "<onecall>/xml_source.py"),
    compiled!("xml.py", "_onecall_xml", "<onecall>/xml.py"),
];

/// Runs the zygote on this process's stdin until the gateway closes it. `plan` is the argument that
/// the engine started this process with; it describes the sandbox of the workers.
pub fn run_zygote(plan: &str) -> ExitCode {
    let mode = match isolate(plan) {
        Ok(mode) => mode,
        Err(error) => {
            // The gateway logs what the zygote writes to stderr.
            _ = writeln!(io::stderr(), "{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut settings = Settings::default();
    settings.isolated = true;
    settings.ignore_environment = true;
    settings.import_site = false;
    settings.user_site_directory = false;
    settings.write_bytecode = false;
    settings.install_signal_handlers = false;
    settings.allow_external_library = false;
    settings.utf8_mode = 1;
    // A journalled run that is continued elsewhere must iterate over sets in the same order.
    settings.hash_seed = Some(0);
    let builder = InterpreterBuilder::new().settings(settings).init_stdlib();
    let modules = [
        wire::module_def(&builder.ctx),
        files::module_def(&builder.ctx),
        ctypes::module_def(&builder.ctx),
    ];
    let interpreter = builder.add_native_modules(&modules).build();
    interpreter.enter(|vm| match serve(mode, vm) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            match error.as_object().str(vm) {
                // An error of the system says everything in one line.
                Ok(text) if error.fast_isinstance(vm.ctx.exceptions.os_error) => {
                    _ = writeln!(io::stderr(), "{}", text.to_string_lossy());
                }
                _ => vm.print_exception(&error),
            }
            ExitCode::FAILURE
        }
    })
}

fn isolate(plan: &str) -> io::Result<JailMode> {
    let plan = SandboxPlan::parse(plan)?;
    let requirement = plan.requirement();
    files::configure(plan.visible_folders(), confines_effects(&requirement));
    sandbox::isolate(plan.jail())?;
    Ok(requirement.mode)
}

fn serve(mode: JailMode, vm: &VirtualMachine) -> PyResult<()> {
    // Without a sandbox, programs open files themselves.
    let files = (mode != JailMode::Off).then_some(FILES);
    for module in files.iter().chain([&LAZY_MODULES]).chain(COMPILED_MODULES).chain(PATCHES) {
        run_module(module, vm)?;
    }
    let lazy_modules = vm.import("_onecall_lazy_modules", 0)?;
    vm.call_method(&lazy_modules, "end", ())?;
    let zygote = vm.import("_onecall_zygote", 0)?;
    vm.call_method(&zygote, "serve", ())?;
    Ok(())
}

fn run_module(module: &CompiledModule, vm: &VirtualMachine) -> PyResult<()> {
    let CompiledModule { name, code } = *module;
    let code = vm.ctx.new_code(code());
    let namespace = vm.ctx.new_dict();
    let module = vm.new_module(name, namespace.clone(), None);
    vm.sys_module.get_attr("modules", vm)?.set_item(name, module.into(), vm)?;
    vm.run_code_obj(code, Scope::with_builtins(None, namespace, vm))?;
    Ok(())
}
