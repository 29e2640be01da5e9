//! Plain data in Rust, with the values that it has in a program: how a worker of the embedded
//! Python reads the answer of a tool, and how it writes the arguments of a call. Plans that need no
//! interpreter are executed with these.
//!
//! `python/json.rs` does the same for Python values. A test compares the two.

use std::collections::HashMap;
use std::fmt::Write;

use jiter::{Jiter, JiterError, Peek};
use onecall_core::ToolValue;
use serde_json::Value;
use thiserror::Error;

use crate::protocol::{MAX_FRAME, ProtocolError};
use crate::worker_process::argument_path::{PathStep, describe_path};

/// Deeper nesting is refused when reading and when writing, long before a worker's stack overflows.
pub(crate) const MAX_DEPTH: usize = 900;

/// Objects with more entries than this get an index of their keys.
const INDEX_THRESHOLD: usize = 16;

/// Estimated bytes of an allocation in addition to its content.
const ALLOCATION_OVERHEAD: usize = 16;

/// Bytes of an answer frame in addition to its text: the kind of the frame and the id.
const ANSWER_HEADER_SIZE: usize = 1 + size_of::<u64>();

/// Bytes of a frame that calls a node in addition to its arguments: the kind of the frame, the id
/// and the number of the node.
const NODE_HEADER_SIZE: usize = ANSWER_HEADER_SIZE + size_of::<u32>();

/// A value of plain data.
#[derive(Debug)]
pub enum PlainData {
    /// `None`.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// An integer of any size, as its digits.
    BigInteger(Box<str>),
    /// Any other number, including `NaN` and the infinities.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A dict, in insertion order and without duplicate keys.
    Object(Vec<(String, Self)>),
}

/// Why a program cannot get the answer of a tool.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum UnreadableAnswer {
    /// The answer is longer than a frame may be.
    #[error("the tool's answer cannot be passed on: {0}")]
    TooLong(String),
    /// The answer should be JSON and is not.
    #[error("the answer is not valid JSON: {0}")]
    Invalid(String),
    /// The answer is nested too deeply.
    #[error("the answer is nested too deeply")]
    TooDeep,
    /// There is no memory left for the answer.
    #[error("there is no memory left for the answer")]
    NoMemory,
}

/// Why arguments cannot be written as JSON.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum UnwritableArguments {
    /// A number that JSON cannot represent.
    #[error("{position} is {number}, which JSON cannot represent")]
    NotFinite {
        /// The position of the number in the arguments.
        position: String,
        /// The number, as a message shows it.
        number: String,
    },
    /// The arguments are nested too deeply.
    #[error("{0} is nested too deeply or contains itself")]
    TooDeep(String),
    /// The arguments are longer than a frame may be.
    #[error("the arguments are too large: {0}")]
    TooLong(String),
    /// There is no memory left for the arguments.
    #[error("there is no memory left for the arguments")]
    NoMemory,
}

impl From<JiterError> for UnreadableAnswer {
    fn from(error: JiterError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl PlainData {
    /// The value that a program gets as the answer of a tool, and the bytes of memory that it
    /// takes, at most `room`.
    pub fn read(value: ToolValue, room: usize) -> Result<(Self, usize), UnreadableAnswer> {
        let length = ANSWER_HEADER_SIZE + value.encode().1.len();
        if length > MAX_FRAME {
            return Err(UnreadableAnswer::TooLong(ProtocolError::TooLong(length).to_string()));
        }
        let mut memory = MemoryBudget { room, used: 0 };
        let data = match value {
            ToolValue::Nothing => Self::Null,
            ToolValue::Json(json) => parse(json.get(), &mut memory)?,
            ToolValue::Text(text) => read_text(text, &mut memory)?,
            ToolValue::WithContent { value, content } => {
                // If the content cannot be read, the program gets no answer at all. A worker parses
                // value and content as parts of one list, so the content is one level deeper.
                let mut spare = MemoryBudget { room, used: 0 };
                parse_at(content.get(), 1, &mut spare)?;
                match *value {
                    ToolValue::Json(json) => {
                        read_text(Box::<str>::from(json).into_string(), &mut memory)?
                    }
                    ToolValue::Text(text) => read_text(text, &mut memory)?,
                    ToolValue::Nothing | ToolValue::WithContent { .. } => Self::Null,
                }
            }
        };
        Ok((data, memory.used))
    }
}

impl From<&Value> for PlainData {
    /// The value of a JSON literal in a program.
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(integer), _) => Self::Integer(integer),
                (None, Some(float)) if number.is_f64() => Self::Float(float),
                _ => Self::BigInteger(number.to_string().into()),
            },
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(entries) => Self::Object(
                entries.iter().map(|(key, value)| (key.clone(), Self::from(value))).collect(),
            ),
        }
    }
}

/// Parses a text as JSON; a text that is not JSON becomes a string.
fn read_text(text: String, memory: &mut MemoryBudget) -> Result<PlainData, UnreadableAnswer> {
    let before = memory.used;
    match parse(&text, memory) {
        Err(UnreadableAnswer::Invalid(_) | UnreadableAnswer::TooDeep) => {
            memory.used = before;
            memory.take(text.len())?;
            Ok(PlainData::Text(text))
        }
        parsed => parsed,
    }
}

/// The memory that data may take, and how much it has taken.
struct MemoryBudget {
    room: usize,
    used: usize,
}

impl MemoryBudget {
    /// Takes so many bytes.
    fn take(&mut self, bytes: usize) -> Result<(), UnreadableAnswer> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.room { Err(UnreadableAnswer::NoMemory) } else { Ok(()) }
    }
}

/// A list or an object that is being read.
enum OpenContainer {
    List(Vec<PlainData>),
    Object {
        entries: Entries,
        /// The key of the next value.
        key: String,
    },
}

impl OpenContainer {
    fn close(self) -> PlainData {
        match self {
            Self::List(mut items) => {
                items.shrink_to_fit();
                PlainData::List(items)
            }
            Self::Object { mut entries, .. } => {
                entries.list.shrink_to_fit();
                PlainData::Object(entries.list)
            }
        }
    }
}

/// The entries of an object. A repeated key keeps its position and gets the new value.
#[derive(Default)]
struct Entries {
    list: Vec<(String, PlainData)>,
    /// The position of each key, once there are more than a few.
    index: HashMap<String, usize>,
}

impl Entries {
    fn insert(&mut self, key: String, value: PlainData) {
        let position = match self.list.len() {
            0..INDEX_THRESHOLD => self.list.iter().position(|(it, _)| *it == key),
            _ => self.index.get(&key).copied(),
        };
        if let Some((_, old)) = position.and_then(|position| self.list.get_mut(position)) {
            *old = value;
            return;
        }
        self.list.push((key, value));
        if self.list.len() == INDEX_THRESHOLD {
            let keys = self.list.iter().enumerate();
            self.index = keys.map(|(position, (key, _))| (key.clone(), position)).collect();
        } else if self.list.len() > INDEX_THRESHOLD
            && let Some((key, _)) = self.list.last()
        {
            self.index.insert(key.clone(), self.list.len() - 1);
        }
    }
}

/// Parses one JSON document; `NaN`, `Infinity` and `-Infinity` are accepted as numbers.
fn parse(text: &str, memory: &mut MemoryBudget) -> Result<PlainData, UnreadableAnswer> {
    parse_at(text, 0, memory)
}

/// Parses a document that is nested `depth` levels deep in another. It uses a stack of its own
/// instead of recursion, because the author of the text decides how deep it is nested.
fn parse_at(
    text: &str,
    depth: usize,
    memory: &mut MemoryBudget,
) -> Result<PlainData, UnreadableAnswer> {
    let mut source = Jiter::new(text.as_bytes()).with_allow_inf_nan();
    let mut open: Vec<OpenContainer> = Vec::new();
    let mut peek = source.peek()?;
    loop {
        if depth + open.len() > MAX_DEPTH {
            return Err(UnreadableAnswer::TooDeep);
        }
        memory.take(size_of::<PlainData>())?;
        let mut value = match peek {
            Peek::Null => {
                source.known_null()?;
                PlainData::Null
            }
            Peek::True | Peek::False => PlainData::Bool(source.known_bool(peek)?),
            Peek::String => {
                let text = source.known_str()?;
                memory.take(ALLOCATION_OVERHEAD + text.len())?;
                PlainData::Text(text.to_owned())
            }
            Peek::Array => match source.known_array()? {
                Some(first) => {
                    memory.take(ALLOCATION_OVERHEAD)?;
                    open.push(OpenContainer::List(Vec::new()));
                    peek = first;
                    continue;
                }
                None => PlainData::List(Vec::new()),
            },
            Peek::Object => match source.known_object()? {
                Some(key) => {
                    let key = own_key(key, memory)?;
                    memory.take(ALLOCATION_OVERHEAD)?;
                    open.push(OpenContainer::Object { entries: Entries::default(), key });
                    peek = source.peek()?;
                    continue;
                }
                None => PlainData::Object(Vec::new()),
            },
            _ => number(&mut source, peek, memory)?,
        };
        peek = loop {
            match open.last_mut() {
                None => {
                    source.finish()?;
                    return Ok(value);
                }
                Some(OpenContainer::List(items)) => {
                    items.push(value);
                    if let Some(next) = source.array_step()? {
                        break next;
                    }
                }
                Some(OpenContainer::Object { entries, key }) => {
                    entries.insert(std::mem::take(key), value);
                    if let Some(next) = source.next_key()? {
                        *key = own_key(next, memory)?;
                        break source.peek()?;
                    }
                }
            }
            value = open.pop().map_or(PlainData::Null, OpenContainer::close);
        };
    }
}

fn own_key(key: &str, memory: &mut MemoryBudget) -> Result<String, UnreadableAnswer> {
    memory.take(size_of::<String>() + ALLOCATION_OVERHEAD + key.len())?;
    Ok(key.to_owned())
}

fn number(
    source: &mut Jiter<'_>,
    peek: Peek,
    memory: &mut MemoryBudget,
) -> Result<PlainData, UnreadableAnswer> {
    let start = source.current_index();
    let invalid = || {
        UnreadableAnswer::from(JiterError {
            error_type: jiter::JiterErrorType::JsonError(jiter::JsonErrorType::InvalidNumber),
            index: start,
        })
    };
    let digits = str::from_utf8(source.known_number_bytes(peek)?).map_err(|_| invalid())?;
    if digits.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E' | b'N' | b'I')) {
        return Ok(PlainData::Float(digits.parse().map_err(|_| invalid())?));
    }
    if let Ok(integer) = digits.parse() {
        return Ok(PlainData::Integer(integer));
    }
    memory.take(ALLOCATION_OVERHEAD + digits.len())?;
    Ok(PlainData::BigInteger(digits.into()))
}

/// Writes the arguments of a call as JSON.
#[derive(Debug)]
pub struct ArgumentWriter {
    out: String,
    path: Vec<PathStep>,
    /// How many bytes the arguments may have.
    room: usize,
}

impl ArgumentWriter {
    /// Creates a writer for at most `room` bytes.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self { out: String::new(), path: Vec::new(), room }
    }

    /// The arguments as JSON.
    pub fn finish(self) -> Result<String, UnwritableArguments> {
        let length = NODE_HEADER_SIZE + self.out.len();
        if length > MAX_FRAME {
            return Err(UnwritableArguments::TooLong(ProtocolError::TooLong(length).to_string()));
        }
        Ok(self.out)
    }

    /// Writes a list; `write` writes each item.
    pub fn list<T>(
        &mut self,
        items: &[T],
        write: impl Fn(&mut Self, &T) -> Result<(), UnwritableArguments>,
    ) -> Result<(), UnwritableArguments> {
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            self.separate(index);
            self.within(PathStep::Index(index), |writer| write(writer, item))?;
        }
        self.out.push(']');
        Ok(())
    }

    /// Writes an object; `write` writes the value of each entry.
    pub fn object<T>(
        &mut self,
        entries: &[(String, T)],
        write: impl Fn(&mut Self, &T) -> Result<(), UnwritableArguments>,
    ) -> Result<(), UnwritableArguments> {
        self.out.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            self.separate(index);
            self.key(key);
            self.within(PathStep::Key(key.clone()), |writer| write(writer, value))?;
        }
        self.out.push('}');
        Ok(())
    }

    fn within(
        &mut self,
        step: PathStep,
        write: impl FnOnce(&mut Self) -> Result<(), UnwritableArguments>,
    ) -> Result<(), UnwritableArguments> {
        self.path.push(step);
        write(self)?;
        self.path.pop();
        Ok(())
    }

    /// Writes data. It uses a stack of its own instead of recursion, because the author of the data
    /// decides how deep it is nested.
    pub fn data(&mut self, data: &PlainData) -> Result<(), UnwritableArguments> {
        let mut open: Vec<ContainerCursor<'_>> = Vec::new();
        let mut next = Some(data);
        while let Some(data) = next {
            self.reserve(data)?;
            match data {
                PlainData::Null => self.out.push_str("null"),
                PlainData::Bool(truth) => {
                    self.out.push_str(if *truth { "true" } else { "false" });
                }
                // Writing to a string cannot fail.
                PlainData::Integer(integer) => _ = write!(self.out, "{integer}"),
                PlainData::BigInteger(digits) => self.out.push_str(digits),
                // The Debug format keeps the `.0` of a whole number, so that a float stays a float.
                PlainData::Float(float) if float.is_finite() => _ = write!(self.out, "{float:?}"),
                PlainData::Float(float) => {
                    let (position, number) = (self.describe_position(&open), float.to_string());
                    return Err(UnwritableArguments::NotFinite { position, number });
                }
                PlainData::Text(text) => push_string(&mut self.out, text),
                PlainData::List(items) => {
                    self.out.push('[');
                    open.push(ContainerCursor { container: Container::List(items), next: 0 });
                }
                PlainData::Object(entries) => {
                    self.out.push('{');
                    open.push(ContainerCursor { container: Container::Object(entries), next: 0 });
                }
            }
            next = self.next(&mut open)?;
        }
        Ok(())
    }

    /// The next value of the innermost open container; containers without further values are
    /// closed.
    fn next<'d>(
        &mut self,
        open: &mut Vec<ContainerCursor<'d>>,
    ) -> Result<Option<&'d PlainData>, UnwritableArguments> {
        loop {
            let depth = self.path.len() + open.len();
            let Some(ContainerCursor { container, next: index }) = open.last_mut() else {
                return Ok(None);
            };
            let next = match container {
                Container::List(items) => items.get(*index).map(|item| (None, item)),
                Container::Object(entries) => {
                    entries.get(*index).map(|(key, value)| (Some(key.as_str()), value))
                }
            };
            let Some((key, value)) = next else {
                self.out.push(match container {
                    Container::List(_) => ']',
                    Container::Object(_) => '}',
                });
                open.pop();
                continue;
            };
            if depth > MAX_DEPTH {
                let argument = self.path.get(..1).unwrap_or_default();
                return Err(UnwritableArguments::TooDeep(describe_path(argument)));
            }
            self.separate(*index);
            *index += 1;
            if let Some(key) = key {
                self.key(key);
            }
            return Ok(Some(value));
        }
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.out.push(',');
        }
    }

    fn key(&mut self, key: &str) {
        push_string(&mut self.out, key);
        self.out.push(':');
    }

    /// Reserves room for a value; an error if there is none.
    fn reserve(&mut self, data: &PlainData) -> Result<(), UnwritableArguments> {
        let length = match data {
            PlainData::Text(text) => text.len(),
            PlainData::BigInteger(digits) => digits.len(),
            _ => 0,
        };
        if self.out.len().saturating_add(length) > self.room {
            return Err(UnwritableArguments::NoMemory);
        }
        self.out.reserve(length);
        Ok(())
    }

    /// The path to the value that is being written.
    fn describe_position(&mut self, open: &[ContainerCursor<'_>]) -> String {
        for ContainerCursor { container, next: index } in open {
            let index = index.saturating_sub(1);
            self.path.push(match container {
                Container::List(_) => PathStep::Index(index),
                Container::Object(entries) => PathStep::Key(
                    entries.get(index).map(|(key, _)| key.clone()).unwrap_or_default(),
                ),
            });
        }
        describe_path(&self.path)
    }
}

/// A list or an object that is being written, and the index of its next value.
struct ContainerCursor<'d> {
    container: Container<'d>,
    next: usize,
}

#[derive(Clone, Copy)]
enum Container<'d> {
    List(&'d [PlainData]),
    Object(&'d [(String, PlainData)]),
}

/// Appends `text` as a JSON string literal.
pub(crate) fn push_string(out: &mut String, text: &str) {
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
