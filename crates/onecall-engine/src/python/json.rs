//! JSON text to Python values and back, without a detour through another tree.
//!
//! Integers of any size survive, strings stay Unicode, and a Python value that
//! JSON cannot carry unchanged is an error that names the place in the value.

use std::fmt::Write;
use std::str::FromStr;

use jiter::{Jiter, JiterError, Peek};
use malachite_bigint::BigInt;
use rustpython_vm::builtins::{PyBaseExceptionRef, PyDict, PyFloat, PyInt, PyList, PyStr, PyTuple};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, VirtualMachine};

use super::shared::{Keys, Values};
use crate::inside::place::{Step, place};

/// Deeper nesting than this is refused both ways, long before the stack ends.
const MAX_DEPTH: usize = 900;

/// Why text did not become a value.
#[derive(Debug)]
pub(super) enum ParseError {
    Json(JiterError),
    TooDeep,
    /// Python refused to build the value, for lack of memory say.
    Python(PyBaseExceptionRef),
}

impl From<JiterError> for ParseError {
    fn from(error: JiterError) -> Self {
        Self::Json(error)
    }
}

/// Parses one JSON document, in which `NaN`, `Infinity` and `-Infinity` count as numbers.
pub(super) fn parse(text: &str, vm: &VirtualMachine) -> Result<PyObjectRef, ParseError> {
    let source = Jiter::new(text.as_bytes()).with_allow_inf_nan();
    let mut parser = Parser { source, keys: Keys::default(), values: Values::of(text.len()), vm };
    let first = parser.source.peek()?;
    let value = parser.value(first, 0)?;
    parser.source.finish()?;
    Ok(value)
}

struct Parser<'a> {
    source: Jiter<'a>,
    keys: Keys,
    values: Values,
    vm: &'a VirtualMachine,
}

impl Parser<'_> {
    fn value(&mut self, peek: Peek, depth: usize) -> Result<PyObjectRef, ParseError> {
        if depth > MAX_DEPTH {
            return Err(ParseError::TooDeep);
        }
        let context = &self.vm.ctx;
        Ok(match peek {
            Peek::Null => {
                self.source.known_null()?;
                context.none()
            }
            Peek::True | Peek::False => context.new_bool(self.source.known_bool(peek)?).into(),
            Peek::String => self.values.get(self.source.known_str()?, self.vm).into(),
            Peek::Array => self.array(depth)?,
            Peek::Object => self.object(depth)?,
            _ => self.number(peek)?,
        })
    }

    fn number(&mut self, peek: Peek) -> Result<PyObjectRef, ParseError> {
        let start = self.source.current_index();
        let digits = self.source.known_number_bytes(peek)?;
        let invalid = || JiterError {
            error_type: jiter::JiterErrorType::JsonError(jiter::JsonErrorType::InvalidNumber),
            index: start,
        };
        let context = &self.vm.ctx;
        if let Some(small) = small_integer(digits) {
            return Ok(context.new_int(small).into());
        }
        let digits = str::from_utf8(digits).map_err(|_| invalid())?;
        // Of the numbers that JSON does not have, each has an `N` or an `I`.
        if digits.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E' | b'N' | b'I')) {
            return Ok(context.new_float(digits.parse().map_err(|_| invalid())?).into());
        }
        let big = BigInt::from_str(digits).map_err(|_| invalid())?;
        Ok(context.new_bigint(&big).into())
    }

    fn array(&mut self, depth: usize) -> Result<PyObjectRef, ParseError> {
        let mut items = Vec::new();
        let mut next = self.source.known_array()?;
        while let Some(peek) = next {
            items.push(self.value(peek, depth + 1)?);
            next = self.source.array_step()?;
        }
        Ok(self.vm.ctx.new_list(items).into())
    }

    fn object(&mut self, depth: usize) -> Result<PyObjectRef, ParseError> {
        let dict = self.vm.ctx.new_dict();
        let mut next = match self.source.known_object()? {
            Some(key) => Some(self.keys.get(key, self.vm)),
            None => None,
        };
        while let Some(key) = next {
            let peek = self.source.peek()?;
            let value = self.value(peek, depth + 1)?;
            dict.inner_setitem(&*key, value, self.vm).map_err(ParseError::Python)?;
            next = match self.source.next_key()? {
                Some(key) => Some(self.keys.get(key, self.vm)),
                None => None,
            };
        }
        Ok(dict.into())
    }
}

/// An integer of up to 18 digits.
fn small_integer(number: &[u8]) -> Option<i64> {
    let (sign, digits) = match number.strip_prefix(b"-") {
        Some(digits) => (-1, digits),
        None => (1, number),
    };
    if digits.len() > 18 {
        return None;
    }
    let value = digits.iter().try_fold(0_i64, |value, digit| {
        digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0'))
    });
    value.map(|value| sign * value)
}

/// Why a value did not become text. Either way an exception names the place.
pub(super) enum Unwritten {
    /// It holds something that is not plain data; another form of it may be.
    NotPlain(PyBaseExceptionRef),
    /// It can never be JSON.
    Raised(PyBaseExceptionRef),
}

impl From<PyBaseExceptionRef> for Unwritten {
    fn from(error: PyBaseExceptionRef) -> Self {
        Self::Raised(error)
    }
}

type Written = Result<(), Unwritten>;

/// What tuples with named fields are.
#[derive(Clone, Copy)]
pub(super) enum NamedTuples {
    /// Lists, as all tuples are.
    Lists,
    /// Lists or objects, which is not decided here: they are not plain.
    Undecided,
}

/// Writes `value` as JSON.
pub(super) fn write(
    value: &PyObject,
    named_tuples: NamedTuples,
    out: &mut String,
    vm: &VirtualMachine,
) -> Written {
    let mut writer = Writer { out, path: Vec::new(), named_tuples, vm };
    writer.value(value)
}

struct Writer<'a> {
    out: &'a mut String,
    path: Vec<Step>,
    named_tuples: NamedTuples,
    vm: &'a VirtualMachine,
}

impl Writer<'_> {
    fn value(&mut self, value: &PyObject) -> Written {
        let types = &self.vm.ctx.types;
        if self.vm.is_none(value) {
            self.out.push_str("null");
        } else if let Some(text) = value.downcast_ref::<PyStr>() {
            return self.string(text);
        } else if value.class().is(types.bool_type) {
            let truth = value.to_owned().is_true(self.vm)?;
            self.out.push_str(if truth { "true" } else { "false" });
        } else if let Some(int) = value.downcast_ref::<PyInt>() {
            _ = write!(self.out, "{}", int.as_bigint());
        } else if let Some(float) = value.downcast_ref::<PyFloat>() {
            return self.float(float.to_f64());
        } else if let Some(list) = value.downcast_ref::<PyList>() {
            let items = list.borrow_vec().to_vec();
            return self.items(&items);
        } else if let Some(tuple) = self.tuple(value) {
            return self.items(tuple.as_slice());
        } else if let Some(dict) = value.downcast_ref::<PyDict>() {
            return self.entries(&dict.items_vec());
        } else {
            let kind = value.class().name().to_string();
            return Err(Unwritten::NotPlain(self.vm.new_type_error(format!(
                "{} is {kind}, which JSON cannot carry; pass str, int, float, bool, None, list or dict",
                place(&self.path),
            ))));
        }
        Ok(())
    }

    fn tuple<'v>(&self, value: &'v PyObject) -> Option<&'v Py<PyTuple>> {
        match self.named_tuples {
            NamedTuples::Lists => value.downcast_ref(),
            NamedTuples::Undecided => value.downcast_ref_if_exact(self.vm),
        }
    }

    fn string(&mut self, text: &PyStr) -> Written {
        let Some(text) = text.to_str() else {
            return Err(self
                .vm
                .new_value_error(format!(
                    "{} has a lone surrogate, which is not a Unicode character",
                    place(&self.path)
                ))
                .into());
        };
        push_string(self.out, text);
        Ok(())
    }

    fn float(&mut self, number: f64) -> Written {
        if !number.is_finite() {
            return Err(self
                .vm
                .new_value_error(format!(
                    "{} is {number}, which JSON has no number for",
                    place(&self.path)
                ))
                .into());
        }
        // Debug keeps the `.0` of a whole number, so a float stays a float.
        _ = write!(self.out, "{number:?}");
        Ok(())
    }

    fn items(&mut self, items: &[PyObjectRef]) -> Written {
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.step(Step::Index(index), item)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn entries(&mut self, entries: &[(PyObjectRef, PyObjectRef)]) -> Written {
        self.out.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            let Some(key) = key.downcast_ref::<PyStr>() else {
                let kind = key.class().name().to_string();
                return Err(Unwritten::NotPlain(self.vm.new_type_error(format!(
                    "{} has a key of type {kind}; keys must be str",
                    place(&self.path)
                ))));
            };
            if index > 0 {
                self.out.push(',');
            }
            self.string(key)?;
            self.out.push(':');
            self.step(Step::Key(key.to_string_lossy().into_owned()), value)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn step(&mut self, step: Step, value: &PyObject) -> Written {
        if self.path.len() >= MAX_DEPTH {
            self.path.truncate(1);
            let message = format!("{} is nested too deeply or contains itself", place(&self.path));
            return Err(self.vm.new_value_error(message).into());
        }
        self.path.push(step);
        self.value(value)?;
        self.path.pop();
        Ok(())
    }
}

/// Appends `text` as a JSON string literal.
fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(text.get(plain_from..at).unwrap_or_default());
        if escape.is_empty() {
            _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        plain_from = at + 1;
    }
    out.push_str(text.get(plain_from..).unwrap_or_default());
    out.push('"');
}
