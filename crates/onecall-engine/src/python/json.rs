//! Converts JSON text into Python values and back, without an intermediate tree.
//!
//! Integers of any size are kept, strings stay Unicode, and a Python value that JSON cannot
//! represent is an error that names its position.

use std::fmt::Write;
use std::str::FromStr;

use jiter::{Jiter, JiterError, Peek};
use malachite_bigint::BigInt;
use rustpython_vm::builtins::{PyBaseExceptionRef, PyDict, PyFloat, PyInt, PyList, PyStr, PyTuple};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, VirtualMachine};

use super::interning::{InternedKeys, InternedValues};
use crate::plain_data::{MAX_DEPTH, push_string};
use crate::worker_process::argument_path::{PathStep, describe_path};

/// Why a text could not be parsed.
#[derive(Debug)]
pub(super) enum ParseError {
    Json(JiterError),
    TooDeep,
    /// Python could not create the value, for example because memory ran out.
    Python(PyBaseExceptionRef),
}

impl From<JiterError> for ParseError {
    fn from(error: JiterError) -> Self {
        Self::Json(error)
    }
}

/// Parses one JSON document; `NaN`, `Infinity` and `-Infinity` are accepted as numbers.
pub(super) fn parse(text: &str, vm: &VirtualMachine) -> Result<PyObjectRef, ParseError> {
    let source = Jiter::new(text.as_bytes()).with_allow_inf_nan();
    let mut parser = Parser {
        source,
        keys: InternedKeys::default(),
        values: InternedValues::of(text.len()),
        vm,
    };
    let first = parser.source.peek()?;
    let value = parser.value(first, 0)?;
    parser.source.finish()?;
    Ok(value)
}

struct Parser<'a> {
    source: Jiter<'a>,
    keys: InternedKeys,
    values: InternedValues,
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
        // The numbers that are not JSON contain an `N` or an `I`.
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

/// An integer of at most 18 digits.
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

/// Why a value could not be written. The exception names the position.
pub(super) enum WriteError {
    /// The value contains something that is not plain data; it may be converted first.
    NotPlain(PyBaseExceptionRef),
    /// The value can never be JSON.
    Raised(PyBaseExceptionRef),
}

impl From<PyBaseExceptionRef> for WriteError {
    fn from(error: PyBaseExceptionRef) -> Self {
        Self::Raised(error)
    }
}

type WriteResult = Result<(), WriteError>;

/// How tuples with named fields are written.
#[derive(Clone, Copy)]
pub(super) enum NamedTuples {
    /// As lists, like all tuples.
    Lists,
    /// Not here: whether they are lists or objects is decided elsewhere, so they are not plain
    /// data.
    Undecided,
}

/// Writes `value` as JSON.
pub(super) fn write(
    value: &PyObject,
    named_tuples: NamedTuples,
    out: &mut String,
    vm: &VirtualMachine,
) -> WriteResult {
    let mut writer = Writer { out, path: Vec::new(), named_tuples, vm };
    writer.value(value)
}

struct Writer<'a> {
    out: &'a mut String,
    path: Vec<PathStep>,
    named_tuples: NamedTuples,
    vm: &'a VirtualMachine,
}

impl Writer<'_> {
    fn value(&mut self, value: &PyObject) -> WriteResult {
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
            return Err(WriteError::NotPlain(self.vm.new_type_error(format!(
                "{} is {kind}, which JSON cannot carry; pass str, int, float, bool, None, list or dict",
                describe_path(&self.path),
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

    fn string(&mut self, text: &PyStr) -> WriteResult {
        let Some(text) = text.to_str() else {
            return Err(self
                .vm
                .new_value_error(format!(
                    "{} has a lone surrogate, which is not a Unicode character",
                    describe_path(&self.path)
                ))
                .into());
        };
        push_string(self.out, text);
        Ok(())
    }

    fn float(&mut self, number: f64) -> WriteResult {
        if !number.is_finite() {
            return Err(self
                .vm
                .new_value_error(format!(
                    "{} is {number}, which JSON cannot represent",
                    describe_path(&self.path)
                ))
                .into());
        }
        // The Debug format keeps the `.0` of a whole number, so that a float stays a float.
        _ = write!(self.out, "{number:?}");
        Ok(())
    }

    fn items(&mut self, items: &[PyObjectRef]) -> WriteResult {
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.nested(PathStep::Index(index), item)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn entries(&mut self, entries: &[(PyObjectRef, PyObjectRef)]) -> WriteResult {
        self.out.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            let Some(key) = key.downcast_ref::<PyStr>() else {
                let kind = key.class().name().to_string();
                return Err(WriteError::NotPlain(self.vm.new_type_error(format!(
                    "{} has a key of type {kind}; keys must be str",
                    describe_path(&self.path)
                ))));
            };
            if index > 0 {
                self.out.push(',');
            }
            self.string(key)?;
            self.out.push(':');
            self.nested(PathStep::Key(key.to_string_lossy().into_owned()), value)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn nested(&mut self, step: PathStep, value: &PyObject) -> WriteResult {
        if self.path.len() >= MAX_DEPTH {
            self.path.truncate(1);
            let message =
                format!("{} is nested too deeply or contains itself", describe_path(&self.path));
            return Err(self.vm.new_value_error(message).into());
        }
        self.path.push(step);
        self.value(value)?;
        self.path.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::ToolValue;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use rustpython::InterpreterBuilderExt;
    use rustpython_vm::{InterpreterBuilder, Settings};
    use serde_json::Value;

    use super::*;
    use crate::plain_data::{ArgumentWriter, PlainData, UnreadableAnswer};

    /// What a worker makes of the text of an answer that it passes on as the argument `value`.
    fn by_python(text: &str, vm: &VirtualMachine) -> Result<String, String> {
        let value = match parse(text, vm) {
            Ok(value) => value,
            Err(ParseError::Json(_) | ParseError::TooDeep) => vm.ctx.new_str(text).into(),
            Err(ParseError::Python(_)) => return Err("no value".to_owned()),
        };
        let arguments = vm.ctx.new_dict();
        arguments.set_item("value", value, vm).map_err(|_| "no entry".to_owned())?;
        let mut out = String::new();
        match write(arguments.as_ref(), NamedTuples::Undecided, &mut out, vm) {
            Ok(()) => Ok(out),
            Err(WriteError::NotPlain(error) | WriteError::Raised(error)) => {
                Err(error.as_object().str(vm).map(|it| it.to_string()).unwrap_or_default())
            }
        }
    }

    /// What the gateway makes of the same.
    fn by_gateway(text: &str) -> Result<String, String> {
        let (data, _) = PlainData::read(ToolValue::Text(text.to_owned()), usize::MAX)
            .map_err(|error| error.to_string())?;
        let mut writer = ArgumentWriter::new(usize::MAX);
        writer
            .object(&[("value".to_owned(), data)], ArgumentWriter::data)
            .and_then(|()| writer.finish())
            .map_err(|error| error.to_string())
    }

    /// Compares the two. The parser for Python needs the stack of a worker, the other one none.
    fn compare(texts: Vec<String>) {
        let gateways: Vec<_> = texts.iter().map(|text| by_gateway(text)).collect();
        let run = move || {
            let mut settings = Settings::default();
            settings.isolated = true;
            settings.import_site = false;
            let interpreter = InterpreterBuilder::new().settings(settings).init_stdlib().build();
            interpreter.enter(|vm| {
                for (text, gateway) in texts.iter().zip(gateways) {
                    assert_eq!(gateway, by_python(text, vm), "{text}");
                }
            });
        };
        let worker = std::thread::Builder::new().stack_size(256 * 1024 * 1024).spawn(run).unwrap();
        worker.join().unwrap();
    }

    #[test]
    fn odd_values_are_the_same_with_and_without_an_interpreter() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let deep = [897, 898, 899, 900, 901, 2000].map(nested);
        let objects = format!("{}1{}", r#"{"a b":"#.repeat(900), "}".repeat(900));
        let keys: Vec<String> =
            (0..60).map(|number| format!("\"{}\":{number}", number % 40)).collect();
        let repeated = format!("{{{}}}", keys.join(","));
        let table = [
            "",
            " ",
            "null",
            "nul",
            "true",
            "True",
            "0",
            "-0",
            "-0.0",
            "00",
            "01",
            "+1",
            "1.",
            ".5",
            "1.0",
            "1E5",
            "1e5",
            "1e16",
            "1e-7",
            "123456789012345678",
            "1234567890123456789",
            "-9223372036854775808",
            "9223372036854775808",
            "123456789012345678901234567890",
            "1e400",
            "-1e400",
            "[1e400]",
            "5e-324",
            "2.5e-324",
            "0.1",
            "1.7976931348623157e308",
            "100000000000000000000.0",
            "NaN",
            "[NaN]",
            "-Infinity",
            "-NaN",
            "Infinity",
            "inf",
            r#""\u00e9\b\f\n\/""#,
            "\"\u{7f}\u{2028}\"",
            r#""\ud83d\ude00""#,
            r#""\ud83d""#,
            r#"["\ude00"]"#,
            "\"a\nb\"",
            "\u{feff}1",
            "[1,]",
            "{\"a\":1,}",
            "[1] x",
            "{'a':1}",
            r#"{"a":1,"b":2,"a":3}"#,
            r#"{"a":{"b":1,"b":[]},"a":{}}"#,
            r#"{"":{"x.y":[1,NaN]}}"#,
            r#"{"rows":[{"price":-Infinity}]}"#,
            "  [ 1 , 2 ]\n",
            "[[],{},\"\"]",
            &objects,
            &repeated,
        ];
        compare(table.map(str::to_owned).into_iter().chain(deep).collect());
    }

    #[test]
    fn an_answer_takes_no_more_memory_than_there_is() {
        let text = format!("[{}0]", "0,".repeat(1000));
        let read =
            |room| PlainData::read(ToolValue::Text(text.clone()), room).map(|(_, used)| used);
        let needed = read(usize::MAX).unwrap();
        assert!(needed >= 1000 * size_of::<PlainData>());
        assert_eq!(read(needed), Ok(needed));
        assert_eq!(read(needed - 1), Err(UnreadableAnswer::NoMemory));
    }

    /// Text that is mostly JSON.
    fn document() -> impl Strategy<Value = String> {
        let number = r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?";
        let leaf = prop_oneof![
            4 => number,
            2 => any::<String>().prop_map(|text| Value::from(text).to_string()),
            1 => r#""(\\u[0-9a-fA-F]{4}|[ -!#-\[\]-~]){0,6}""#,
            1 => prop::sample::select(vec!["null", "true", "false", "NaN", "Infinity", "-Infinity", "x"])
                .prop_map(str::to_owned),
        ];
        leaf.prop_recursive(5, 60, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8)
                    .prop_map(|items| format!("[{}]", items.join(", "))),
                prop::collection::vec(("[ab\"é]?", inner), 0..24).prop_map(|entries| {
                    let entry = |(key, value): &(String, String)| {
                        format!("{}:{value}", Value::from(key.as_str()))
                    };
                    let entries: Vec<String> = entries.iter().map(entry).collect();
                    format!("{{{}}}", entries.join(","))
                }),
            ]
        })
    }

    #[test]
    fn any_value_is_the_same_with_and_without_an_interpreter() {
        let mut runner = TestRunner::default();
        let cases = 10 * runner.config().cases;
        let mut invent = || document().new_tree(&mut runner).unwrap().current();
        compare((0..cases).map(|_| invent()).collect());
    }
}
