//! The body of a Python worker: RustPython with its standard library inside this
//! binary, and the bootstrap that every Python engine shares.

mod cell;
mod json;
mod socket;
mod wire;

use std::io::{self, Write};
use std::process::ExitCode;

use onecall_jail::Mode as JailMode;
use rustpython::InterpreterBuilderExt;
use rustpython_vm::compiler::Mode;
use rustpython_vm::scope::Scope;
use rustpython_vm::{InterpreterBuilder, PyResult, Settings, VirtualMachine};

/// The modules of the bootstrap, each after those it imports. Their file names
/// begin with `<onecall>`, by which tracebacks leave them out.
const BOOTSTRAP: [(&str, &str, &str); 5] = [
    ("_onecall_output", "<onecall>/output.py", include_str!("bootstrap/output.py")),
    ("_onecall_loop", "<onecall>/loop.py", include_str!("bootstrap/loop.py")),
    ("_onecall_tools", "<onecall>/tools.py", include_str!("bootstrap/tools.py")),
    ("_onecall_program", "<onecall>/program.py", include_str!("bootstrap/program.py")),
    ("_onecall_zygote", "<onecall>/zygote.py", include_str!("bootstrap/zygote.py")),
];

/// Run once in the zygote: the usual modules, so that no program waits for them;
/// where time zones are found; and a garbage collector that looks less often, for a
/// program handles large results and does not live long.
const WARM_UP: &str = "
import abc, base64, bisect, collections, collections.abc, contextlib, copy, csv, dataclasses
import datetime, decimal, difflib, enum, fractions, functools, hashlib, heapq, html, inspect
import io, itertools, json, math, operator, pprint, random, re, secrets, statistics, string
import textwrap, threading, time, traceback, types, typing, unicodedata, urllib.parse, uuid
import concurrent.futures.thread, gc, zoneinfo

zoneinfo.reset_tzpath(to=['/usr/share/zoneinfo'])
gc.set_threshold(50_000, 20, 100)
";

/// Runs the zygote on this process's stdin until the gateway closes it. Its
/// workers are locked in as `mode` says.
pub fn run_zygote(mode: JailMode) -> ExitCode {
    if let Err(error) = cell::isolate(mode) {
        // The gateway logs what the zygote writes to stderr.
        _ = writeln!(io::stderr(), "{error}");
        return ExitCode::FAILURE;
    }
    let mut settings = Settings::default();
    settings.isolated = true;
    settings.ignore_environment = true;
    settings.import_site = false;
    settings.user_site_directory = false;
    settings.write_bytecode = false;
    settings.install_signal_handlers = false;
    settings.allow_external_library = false;
    settings.utf8_mode = 1;
    let builder = InterpreterBuilder::new().settings(settings).init_stdlib();
    let wire = wire::module_def(&builder.ctx);
    let interpreter = builder.add_native_module(wire).build();
    interpreter.enter(|vm| match serve(vm) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            vm.print_exception(&error);
            ExitCode::FAILURE
        }
    })
}

fn serve(vm: &VirtualMachine) -> PyResult<()> {
    run_module("_onecall_warm", "<onecall>/warm.py", WARM_UP, vm)?;
    for (name, path, source) in BOOTSTRAP {
        run_module(name, path, source, vm)?;
    }
    let zygote = vm.import("_onecall_zygote", 0)?;
    vm.call_method(&zygote, "serve", ())?;
    Ok(())
}

fn run_module(
    name: &'static str,
    path: &'static str,
    source: &str,
    vm: &VirtualMachine,
) -> PyResult<()> {
    let code = vm
        .compile(source, Mode::Exec, path.to_owned())
        .map_err(|error| error.into_pyexception(vm, Some(source)))?;
    let namespace = vm.ctx.new_dict();
    let module = vm.new_module(name, namespace.clone(), None);
    vm.sys_module.get_attr("modules", vm)?.set_item(name, module.into(), vm)?;
    vm.run_code_obj(code, Scope::with_builtins(None, namespace, vm))?;
    Ok(())
}
