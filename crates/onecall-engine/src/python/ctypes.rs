//! The interpreter's `_ctypes`, replaced by a module that cannot be imported.
//!
//! This binary has no libffi (`absent_ffi.c`), and `ctypes` could read and write any address of the
//! worker. A program that imports it gets the same error as with a Python built without libffi.

use rustpython_vm::builtins::{PyModule, PyModuleDef, PyModuleSlots};
use rustpython_vm::{AsObject, Context, PyObject, PyRef, PyResult, VirtualMachine};

/// Defines the module. It replaces the built-in one when it is added to the interpreter.
pub(super) fn module_def(context: &Context) -> &'static PyModuleDef {
    Box::leak(Box::new(PyModuleDef {
        name: context.intern_str("_ctypes"),
        doc: None,
        methods: &[],
        slots: PyModuleSlots { create: Some(refuse), exec: None },
    }))
}

fn refuse(
    vm: &VirtualMachine,
    _spec: &PyObject,
    definition: &'static PyModuleDef,
) -> PyResult<PyRef<PyModule>> {
    let name = definition.name.as_str();
    let message = vm.ctx.new_str(format!("No module named '{name}'"));
    let class = vm.ctx.exceptions.module_not_found_error;
    let error = vm.invoke_exception(class, vec![message.into()])?;
    error.as_object().set_attr("name", vm.ctx.new_str(name), vm)?;
    Err(error)
}
