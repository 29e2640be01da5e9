//! The places in a program that make calls. Finding the line and column of an instruction takes longer
//! than the rest of a call, so each is found once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rustpython_vm::builtins::PyCode;
use rustpython_vm::frame::{FrameObjectRef, frame_at_offset};
use rustpython_vm::{AsObject, PyObjectRef, PyRef, PyResult, VirtualMachine};

/// How the file names of programs begin.
const PROGRAM_PREFIX: &str = "<program";

static PLACES: Mutex<Option<Places>> = Mutex::new(None);

/// The places that a function has found.
struct Places {
    find: PyObjectRef,
    /// The places by the id of a code object and an offset in it, each with the code object, so that no
    /// other one gets its id.
    known: HashMap<(usize, u32), (PyObjectRef, PyRef<PyCode>)>,
}

/// The place in the program from which the running function was called, as `find` finds it in the frame
/// of the program, or in `None` if there is no such frame.
pub(super) fn place(find: &PyObjectRef, vm: &VirtualMachine) -> PyResult {
    let Some((frame, code)) = program_frame(vm) else {
        return find.call((vm.ctx.none(),), vm);
    };
    let offset = frame.as_object().get_attr("f_lasti", vm)?.try_into_value(vm)?;
    let key = (code.get_id(), offset);
    if let Some(known) = known(find, key) {
        return Ok(known);
    }
    let found = find.call((frame,), vm)?;
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    let places = match &mut *places {
        Some(places) if places.find.is(find) => places,
        // A program with a journal has another function than the warm-up before it.
        other => other.insert(Places { find: find.clone(), known: HashMap::new() }),
    };
    places.known.insert(key, (found.clone(), code));
    Ok(found)
}

fn known(find: &PyObjectRef, key: (usize, u32)) -> Option<PyObjectRef> {
    let places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    let places = places.as_ref().filter(|places| places.find.is(find))?;
    places.known.get(&key).map(|(place, _)| place.clone())
}

/// The innermost frame of the program below the function that runs, and its code.
fn program_frame(vm: &VirtualMachine) -> Option<(FrameObjectRef, PyRef<PyCode>)> {
    (1..).map_while(|offset| frame_at_offset(offset, vm)).find_map(|frame| {
        let code = frame.f_code();
        code.source_path().as_str().starts_with(PROGRAM_PREFIX).then_some((frame, code))
    })
}
