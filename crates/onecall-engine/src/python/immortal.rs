//! Makes the objects of a zygote immortal. A worker that only uses such an object does not count
//! references in it, so the two processes go on to share its memory.

use rustpython_vm::builtins::{PyCode, PyListRef};
use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

/// Makes every object immortal that the garbage collector knows, and what these objects consist of. They are
/// never freed from now on, so this is for a process that keeps them anyway.
pub(super) fn make_objects_immortal(vm: &VirtualMachine) -> PyResult<()> {
    let collector = vm.import("gc", 0)?;
    let known: PyListRef = vm.call_method(&collector, "get_objects", ())?.try_into_value(vm)?;
    let mut found: Vec<PyObjectRef> = known.borrow_vec().to_vec();
    while let Some(object) = found.pop() {
        if object.is_immortal() {
            continue;
        }
        object.make_immortal();
        found.extend(object.gc_get_referents());
        if let Some(code) = object.downcast_ref::<PyCode>() {
            found.extend(code.code.constants.iter().map(|constant| constant.clone().into()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustpython::InterpreterBuilderExt;
    use rustpython_vm::{InterpreterBuilder, Settings};

    use super::*;

    const OLD: &str = "class Old:\n    member = [object()]\n\
                       def old():\n    return (1.5, 'a constant')\n";
    const NEW: &str = "new = [object()]\n\
                       member, constant = Old.member[0], old.__code__.co_consts[-1]\n";

    #[test]
    fn what_existed_is_immortal_with_all_its_parts_and_new_objects_are_not() {
        let run = || {
            let mut settings = Settings::default();
            settings.isolated = true;
            settings.import_site = false;
            let interpreter = InterpreterBuilder::new().settings(settings).init_stdlib().build();
            interpreter.enter(|vm| {
                let scope = vm.new_scope_with_builtins();
                let run = |source: &str| {
                    let result = vm.run_string(scope.clone(), source, "<test>");
                    vm.unwrap_pyresult(result)
                };
                run(OLD);
                make_objects_immortal(vm).unwrap();
                run(NEW);
                let names = ["Old", "old", "member", "constant", "new"];
                let value = |name: &str| vm.unwrap_pyresult(scope.globals.get_item(name, vm));
                let immortal = names.map(|name| value(name).is_immortal());
                assert_eq!(immortal, [true, true, true, true, false]);
            });
        };
        // Starting an interpreter needs the stack of a zygote.
        std::thread::Builder::new()
            .stack_size(64 * 1024 * 1024)
            .spawn(run)
            .unwrap()
            .join()
            .unwrap();
    }
}
