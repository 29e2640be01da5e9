//! Converts JSON text into JavaScript values and back.
//!
//! An integer that a number cannot represent exactly becomes a `BigInt`, and a `BigInt` is written
//! as an integer. A value that JSON cannot represent is an error that names its position.

use std::fmt::Write;

use jiter::{Jiter, JiterError, Peek};
use rquickjs::object::Filter;
use rquickjs::{Array, Ctx, Exception, Function, Object, Result, String as JsString, Type, Value};

use crate::worker_process::argument_path::{PathStep, describe_path};

/// Deeper nesting is refused when reading and when writing, long before the stack overflows.
const MAX_DEPTH: usize = 900;

/// How many levels count for an object that is converted by JavaScript, which takes that much more
/// stack.
const CONVERSION_LEVELS: usize = 5;

/// The largest integer that a number represents exactly.
const MAX_SAFE: i64 = (1 << 53) - 1;

/// An integer with at most this many digits is always exact.
const SAFE_DIGITS: usize = 15;

/// Functions of JavaScript that this module uses, as they were before the program ran.
pub(super) struct JsonHelpers<'js> {
    /// Converts a string of digits into a `BigInt`.
    pub(super) big_integer: Function<'js>,
    /// Converts a `BigInt` into digits.
    pub(super) digits: Function<'js>,
    /// Converts an object that is not plain data for JSON. Returns an object with the result as
    /// `value`, or with the reason for an error as `refused`, or with neither if no conversion is
    /// needed.
    pub(super) to_plain: Function<'js>,
}

/// Parses one JSON document; `NaN`, `Infinity` and `-Infinity` are accepted as numbers. `None` if
/// the text is not JSON or is nested too deeply.
pub(super) fn parse<'js>(
    ctx: &Ctx<'js>,
    text: &str,
    json_helpers: &JsonHelpers<'js>,
) -> Option<Value<'js>> {
    let first = text.trim_ascii_start().bytes().next()?;
    if !matches!(first, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'N' | b'I')
    {
        return None;
    }
    if has_large_integer(text) {
        return parse_exactly(ctx, text, json_helpers);
    }
    match ctx.json_parse(text) {
        Ok(value) => Some(value),
        Err(_) => {
            ctx.catch();
            let is_nearly_json = text.contains("NaN") || text.contains("Infinity");
            is_nearly_json.then(|| parse_exactly(ctx, text, json_helpers)).flatten()
        }
    }
}

/// Parses what JavaScript's own parser would refuse or round.
fn parse_exactly<'js>(
    ctx: &Ctx<'js>,
    text: &str,
    json_helpers: &JsonHelpers<'js>,
) -> Option<Value<'js>> {
    let source = Jiter::new(text.as_bytes()).with_allow_inf_nan();
    let mut parser = Parser { source, ctx, json_helpers };
    let first = parser.source.peek().ok()?;
    let value = parser.value(first, 0).ok()?;
    parser.source.finish().is_ok().then_some(value)
}

/// Whether the text contains an integer that a number may not represent exactly.
fn has_large_integer(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => loop {
                match bytes.get(at) {
                    Some(b'\\') => at += 2,
                    Some(b'"') | None => break at += 1,
                    Some(_) => at += 1,
                }
            },
            b'0'..=b'9' => {
                let rest = bytes.get(at..).unwrap_or_default();
                let more = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                at += more;
                let is_integer = !matches!(bytes.get(at), Some(b'.' | b'e' | b'E'));
                if more >= SAFE_DIGITS && is_integer {
                    return true;
                }
                while matches!(bytes.get(at), Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
                {
                    at += 1;
                }
            }
            _ => {}
        }
    }
    false
}

struct Parser<'a, 'js> {
    source: Jiter<'a>,
    ctx: &'a Ctx<'js>,
    json_helpers: &'a JsonHelpers<'js>,
}

enum ParseError {
    Json,
    TooDeep,
    JavaScript,
}

impl From<JiterError> for ParseError {
    fn from(_: JiterError) -> Self {
        Self::Json
    }
}

impl From<rquickjs::Error> for ParseError {
    fn from(_: rquickjs::Error) -> Self {
        Self::JavaScript
    }
}

impl<'js> Parser<'_, 'js> {
    fn value(&mut self, peek: Peek, depth: usize) -> std::result::Result<Value<'js>, ParseError> {
        if depth > MAX_DEPTH {
            return Err(ParseError::TooDeep);
        }
        let ctx = self.ctx.clone();
        Ok(match peek {
            Peek::Null => {
                self.source.known_null()?;
                Value::new_null(ctx)
            }
            Peek::True | Peek::False => Value::new_bool(ctx, self.source.known_bool(peek)?),
            Peek::String => JsString::from_str(ctx, self.source.known_str()?)?.into_value(),
            Peek::Array => {
                let array = Array::new(ctx)?;
                let mut next = self.source.known_array()?;
                let mut index = 0;
                while let Some(peek) = next {
                    array.set(index, self.value(peek, depth + 1)?)?;
                    index += 1;
                    next = self.source.array_step()?;
                }
                array.into_value()
            }
            Peek::Object => {
                let object = Object::new(ctx)?;
                let mut next = self.source.known_object()?.map(str::to_owned);
                while let Some(key) = next {
                    let peek = self.source.peek()?;
                    let value = self.value(peek, depth + 1)?;
                    object.set(key, value)?;
                    next = self.source.next_key()?.map(str::to_owned);
                }
                object.into_value()
            }
            _ => {
                let digits = self.source.known_number_bytes(peek)?;
                let digits = str::from_utf8(digits).map_err(|_| ParseError::Json)?.to_owned();
                self.number(&digits)?
            }
        })
    }

    fn number(&self, digits: &str) -> std::result::Result<Value<'js>, ParseError> {
        // The numbers that are not JSON contain an `N` or an `I`.
        let is_float = |byte| matches!(byte, b'.' | b'e' | b'E' | b'N' | b'I');
        let is_integer = !digits.bytes().any(is_float);
        let is_safe = |number: i64| number.unsigned_abs() <= MAX_SAFE.unsigned_abs();
        if !is_integer || digits.parse().is_ok_and(is_safe) {
            let number = digits.parse().map_err(|_| ParseError::Json)?;
            return Ok(Value::new_number(self.ctx.clone(), number));
        }
        Ok(self.json_helpers.big_integer.call((digits,))?)
    }
}

/// Writes `value` as JSON, or throws a `TypeError` that names the position.
pub(super) fn write<'js>(
    ctx: &Ctx<'js>,
    value: &Value<'js>,
    json_helpers: &JsonHelpers<'js>,
) -> Result<String> {
    let plain = Object::new(ctx.clone())?.get_prototype();
    let mut writer =
        Writer { out: String::new(), path: Vec::new(), depth: 0, ctx, json_helpers, plain };
    writer.value(value)?;
    Ok(writer.out)
}

struct Writer<'a, 'js> {
    out: String,
    path: Vec<PathStep>,
    depth: usize,
    ctx: &'a Ctx<'js>,
    json_helpers: &'a JsonHelpers<'js>,
    /// The prototype of plain objects.
    plain: Option<Object<'js>>,
}

impl<'js> Writer<'_, 'js> {
    /// Writes a value and returns true; returns false for a value that JSON leaves out.
    fn value(&mut self, value: &Value<'js>) -> Result<bool> {
        match value.type_of() {
            Type::Undefined | Type::Uninitialized => return Ok(false),
            Type::Null => self.out.push_str("null"),
            Type::Bool => {
                self.out.push_str(if value.as_bool() == Some(true) { "true" } else { "false" });
            }
            Type::Int => _ = write!(self.out, "{}", value.as_int().unwrap_or_default()),
            Type::Float => self.float(value.as_float().unwrap_or_default())?,
            Type::String => self.string(value)?,
            Type::BigInt => {
                let digits: String = self.json_helpers.digits.call((value.clone(),))?;
                self.out.push_str(&digits);
            }
            Type::Array => self.items(value)?,
            Type::Symbol => return Err(self.refuse("a symbol")),
            Type::Function | Type::Constructor => return Err(self.refuse("a function")),
            Type::Promise => return Err(self.refuse("a Promise that was not awaited")),
            _ => return self.object(value),
        }
        Ok(true)
    }

    fn float(&mut self, number: f64) -> Result<()> {
        if !number.is_finite() {
            return Err(self.refuse(if number.is_nan() { "NaN" } else { "Infinity" }));
        }
        // Rust formats large numbers without an exponent, which would make them integers with more
        // digits than they have.
        if number.fract() == 0.0 && number.abs() >= 1e21 {
            _ = write!(self.out, "{number:e}");
        } else {
            _ = write!(self.out, "{number}");
        }
        Ok(())
    }

    fn string(&mut self, value: &Value<'js>) -> Result<()> {
        let text = value.as_string().map(JsString::to_string);
        match text {
            Some(Ok(text)) => {
                let quoted = serde_json::to_string(&text).unwrap_or_default();
                self.out.push_str(&quoted);
                Ok(())
            }
            _ => Err(self.refuse("a string with a lone surrogate")),
        }
    }

    fn items(&mut self, value: &Value<'js>) -> Result<()> {
        let Some(array) = value.as_array() else {
            return Err(self.refuse("a value of an unknown type"));
        };
        self.out.push('[');
        // A getter of the program may change the array during the loop.
        let mut index = 0;
        while index < array.len() {
            if index > 0 {
                self.out.push(',');
            }
            let item: Value<'js> = array.get(index)?;
            if !self.write_nested(PathStep::Index(index), &item)? {
                self.out.push_str("null");
            }
            index += 1;
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, value: &Value<'js>) -> Result<bool> {
        let Some(object) = value.as_object() else {
            return Err(self.refuse("a value of an unknown type"));
        };
        let prototype = object.get_prototype();
        if prototype.is_some() && (prototype != self.plain || value.is_proxy()) {
            let conversion: Object<'js> = self.json_helpers.to_plain.call((object.clone(),))?;
            if let Some(what) = conversion.get::<_, Option<String>>("refused")? {
                return Err(self.refuse(&what));
            }
            if conversion.contains_key("value")? {
                let plain: Value<'js> = conversion.get("value")?;
                return self.nested(CONVERSION_LEVELS, |writer| writer.value(&plain));
            }
        }
        let convert: Value<'js> = object.get("toJSON")?;
        if let Some(convert) = convert.as_function() {
            let key = match self.path.last() {
                Some(PathStep::Key(key)) => key.clone(),
                Some(PathStep::Index(index)) => index.to_string(),
                None => String::new(),
            };
            let converted: Value<'js> =
                convert.call((rquickjs::function::This(object.clone()), key))?;
            if converted != *value {
                return self.nested(CONVERSION_LEVELS, |writer| writer.value(&converted));
            }
        }
        self.out.push('{');
        let mut is_first = true;
        let keys = object.own_keys::<JsString<'js>>(Filter::new().string().enum_only());
        for key in keys {
            let key = key?;
            let item: Value<'js> = object.get(key.clone())?;
            if item.is_undefined() {
                continue;
            }
            if !is_first {
                self.out.push(',');
            }
            is_first = false;
            self.string(key.as_value())?;
            self.out.push(':');
            let key = key.to_string().unwrap_or_default();
            if !self.write_nested(PathStep::Key(key), &item)? {
                self.out.push_str("null");
            }
        }
        self.out.push('}');
        Ok(true)
    }

    fn write_nested(&mut self, step: PathStep, value: &Value<'js>) -> Result<bool> {
        self.path.push(step);
        let written = self.nested(1, |writer| writer.value(value))?;
        self.path.pop();
        Ok(written)
    }

    fn nested(
        &mut self,
        levels: usize,
        write: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        if self.depth > MAX_DEPTH {
            self.path.truncate(1);
            let message =
                format!("{} is nested too deeply or contains itself", describe_path(&self.path));
            return Err(Exception::throw_type(self.ctx, &message));
        }
        self.depth += levels;
        let written = write(self)?;
        self.depth -= levels;
        Ok(written)
    }

    fn refuse(&self, what: &str) -> rquickjs::Error {
        let message = format!(
            "{} is {what}, which JSON cannot carry; pass strings, finite numbers, bigints, \
             booleans, null, arrays or plain objects",
            describe_path(&self.path)
        );
        Exception::throw_type(self.ctx, &message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integers_are_seen_outside_of_strings() {
        let cases = [
            ("9007199254740993", true),
            (r#"{"id": -12345678901234567890}"#, true),
            (r#"["9007199254740993", "a\"9007199254740993"]"#, false),
            ("[3.14159265358979312, 1234567890123456.5]", false),
            ("[123456789012345, 1e30]", false),
            (r#"["unclosed 1234567890123456789"#, false),
        ];
        for (text, expected) in cases {
            assert_eq!(has_large_integer(text), expected, "{text}");
        }
    }
}
