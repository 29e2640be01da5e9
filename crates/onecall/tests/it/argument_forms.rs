//! Arguments that are more than plain data arrive the way the usual JSON encoders send them, in the
//! form that the tool's schema takes.

use serde_json::{Value, json};

use crate::support::{
    Gateway, Home, ReceivedMessages, failed, fixture, has_system_python, printed,
};

/// The Python engines of this machine.
fn engines() -> &'static [&'static str] {
    if has_system_python() { &["python", "cpython"] } else { &["python"] }
}

/// A gateway whose one tool `raw_arguments` has this input schema, and what its server receives.
fn gateway(schema: &Value) -> (Gateway, ReceivedMessages) {
    let home = Home::new();
    let tools = json!([{ "name": "raw_arguments", "inputSchema": schema }]);
    home.write("tools", tools.to_string());
    let flags = ["--tools-file", &home.text_path("tools"), "--log", &home.text_path("received")];
    let log = ReceivedMessages::in_file(home.path("received"));
    let servers = json!([fixture("fixture", &flags)]);
    home.write("config.json", json!({ "servers": servers }).to_string());
    (Gateway::in_home(home), log)
}

/// The JSON text of the arguments of every call that the server received, which is then forgotten.
fn take_sent(gateway: &Gateway) -> Vec<String> {
    let path = gateway.home.path("received");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, "").unwrap();
    let arguments = |line: &str| {
        let (_, arguments) = line.split_once(r#""arguments":"#)?;
        let end = arguments.rfind("}").filter(|_| line.contains("tools/call"))?;
        Some(arguments[..end].trim_end_matches('}').to_owned())
    };
    text.lines().filter_map(arguments).collect()
}

const KINDS: &str = r#"
import collections, dataclasses, datetime, decimal, enum, ipaddress, pathlib, types, typing, uuid
class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)
class Level(enum.IntEnum):
    HIGH = 3
class Letter(enum.StrEnum):
    A = "a"
@dataclasses.dataclass
class Order:
    number: int
    placed: datetime.date
    lines: object = ()
class Point(typing.NamedTuple):
    x: int
    y: float
class Model:
    def __init__(self, **fields):
        self.fields = fields
    def model_dump(self):
        return self.fields
class Json:
    def __json__(self):
        return [Colour.RED]
class Table:
    def to_dict(self):
        return {"rows": {1}}
class Mine:
    def __repr__(self):
        return "Mine()"
moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 600000, tzinfo=datetime.timezone.utc)
async def say(**arguments):
    try:
        print(await mcp__fixture__raw_arguments(**arguments))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ()))
"#;

#[test]
fn every_usual_kind_has_its_form() {
    let code = r#"
await say(a=moment, b=moment.date(), c=moment.time(), d=datetime.timedelta(days=1, seconds=3.5))
await say(a=decimal.Decimal("1.10"), b=uuid.UUID(int=5), c=pathlib.Path("/a/b"), d=ipaddress.ip_address("::1"))
await say(a=Colour.RED, b=Colour.PAIR, c=Level.HIGH, d=Letter.A, e=Point(1, 2.5))
await say(a=Order(1, moment.date(), [Order(2, moment.date())]), b=types.SimpleNamespace(k=b"v"))
await say(a={3, 1, 2}, b=frozenset("ba"), c=collections.deque([1, {2}]), d={1, "a"} - {"a"})
await say(a=(n for n in range(3)), b=map(str, [1]), c={"k": 1}.keys(), d={"k": {3}}.items(), e=range(2), f=zip("ab", "cd"))
await say(a=b"h\xc3\xa9", b=bytearray(b"x"), c=memoryview(b"y"))
await say(a={1: "a", False: "b", None: "c", 2.5: "d", Colour.RED: "e", moment.date(): "f", Level.HIGH: "g"})
await say(a=Model(when=moment.date()), b=Json(), c=Table(), d=collections.UserDict(k=Model()), e=types.MappingProxyType({"z": 1}))
"#;
    let (mut gateway, _log) = gateway(&json!({ "type": "object" }));
    for engine in engines() {
        let answer = gateway.execute_on(engine, &format!("{KINDS}{code}"));
        insta::allow_duplicates!(insta::assert_snapshot!(printed(&answer), @r#"
        {'a': '2024-01-02T03:04:05.600000+00:00', 'b': '2024-01-02', 'c': '03:04:05.600000', 'd': 'P1DT3.5S'}
        {'a': '1.10', 'b': '00000000-0000-0000-0000-000000000005', 'c': '/a/b', 'd': '::1'}
        {'a': 'red', 'b': [1, 2], 'c': 3, 'd': 'a', 'e': [1, 2.5]}
        {'a': {'number': 1, 'placed': '2024-01-02', 'lines': [{'number': 2, 'placed': '2024-01-02', 'lines': []}]}, 'b': {'k': 'v'}}
        {'a': [1, 2, 3], 'b': ['a', 'b'], 'c': [1, [2]], 'd': [1]}
        {'a': [0, 1, 2], 'b': ['1'], 'c': ['k'], 'd': [['k', [3]]], 'e': [0, 1], 'f': [['a', 'c'], ['b', 'd']]}
        {'a': 'hé', 'b': 'x', 'c': 'y'}
        {'a': {'1': 'a', 'false': 'b', 'null': 'c', '2.5': 'd', 'red': 'e', '2024-01-02': 'f', '3': 'g'}}
        {'a': {'when': '2024-01-02'}, 'b': ['red'], 'c': {'rows': [1]}, 'd': {'k': {}}, 'e': {'z': 1}}
        "#));
    }
}

#[test]
fn the_schema_decides_between_two_forms() {
    let number = json!({ "type": "number" });
    let schema = json!({
        "type": "object",
        "properties": {
            "number": number, "text": { "type": "string" }, "either": { "anyOf": [number, { "type": "string" }] },
            "encoded": { "type": "string", "contentEncoding": "base64" },
            "octets": { "type": "array", "items": { "type": "integer" } },
            "point": { "$ref": "#/$defs/point" }, "pair": { "type": "array" },
            "rows": { "type": "array", "items": { "properties": { "price": number, "label": { "type": "string" } } } },
        },
        "$defs": { "point": { "type": "object" } },
    });
    let code = r#"
one = decimal.Decimal("1.10")
await mcp__fixture__raw_arguments(number=one, text=one, either=one)
await mcp__fixture__raw_arguments(number=decimal.Decimal("1E+3"))
await mcp__fixture__raw_arguments(number=datetime.timedelta(minutes=1), text=datetime.timedelta(minutes=1))
await mcp__fixture__raw_arguments(text=b"hi", encoded=b"\xff\x00", octets=b"ab")
await mcp__fixture__raw_arguments(point=Point(1, 2.5), pair=Point(1, 2.5))
tools.raw_arguments(rows=[{"price": decimal.Decimal("12345678901234567890.10"), "label": one}])
await tools.aio.raw_arguments({"rows": [Model(price=one)]})
"#;
    let (mut gateway, _log) = gateway(&schema);
    for engine in engines() {
        printed(&gateway.execute_on(engine, &format!("{KINDS}{code}")));
        assert_eq!(
            take_sent(&gateway),
            [
                r#"{"number":1.10,"text":"1.10","either":"1.10""#,
                r#"{"number":1000"#,
                r#"{"number":60.0,"text":"PT60S""#,
                r#"{"text":"hi","encoded":"/wA=","octets":[97,98]"#,
                r#"{"point":{"x":1,"y":2.5},"pair":[1,2.5]"#,
                r#"{"rows":[{"price":12345678901234567890.10,"label":"1.10"}]"#,
                r#"{"rows":[{"price":1.10}]"#,
            ],
            "{engine}"
        );
    }
}

#[test]
fn what_has_no_form_is_an_error_that_names_the_argument() {
    let code = r#"
import itertools
class Broken:
    def model_dump(self):
        raise LookupError("no such model")
class Endless:
    def model_dump(self):
        return [Endless()]
class Liar:
    __class__ = int
async def later():
    yield 1
rows = [{1}]
rows.append(rows)
pending = mcp__fixture__raw_arguments()
await say(a=[{"x": Mine()}])
await say(rows=[0, {"price": float("nan"), "tags": {1}}])
await say(rows=[0, {"price": float("inf")}])
await say(a={"not a name": {1: decimal.Decimal("-Infinity")}})
await say(a=b"\xff")
await say(a=rows)
await say(a=[Broken()])
await say(a=Endless())
await say(a=Liar())
await say(a=itertools.count())
await say(a=(n for n in range(10**7)))
await say(a=print)
await say(a=Order)
await say(a={1: 1, "1": 2})
await say(a={(1, 2): 3})
await say(a=[{"\ud800"}])
await say(a=later())
await say(a=pending)
pending.close()
await say(a=1)
"#;
    let (mut gateway, _log) = gateway(&json!({ "type": "object" }));
    for engine in engines() {
        let answer = gateway.execute_on(engine, &format!("{KINDS}{code}"));
        insta::allow_duplicates!(insta::assert_snapshot!(printed(&answer), @r#"
        TypeError: argument 'a[0].x' is Mine, which JSON cannot carry; pass str, int, float, bool, None, list or dict
        ValueError: argument 'rows[1].price' is NaN, which JSON cannot represent
        ValueError: argument 'rows[1].price' is inf, which JSON cannot represent
        ValueError: argument 'a["not a name"]["1"]' is -Infinity, which JSON cannot represent
        ValueError: argument 'a' is bytes that are not UTF-8 text; if the tool takes base64, pass base64.b64encode(data).decode()
        ValueError: argument 'a' is nested too deeply or contains itself
        LookupError: no such model while argument 'a[0]' was written as JSON
        ValueError: argument 'a' is nested too deeply or contains itself
        TypeError: argument 'a' is Liar, which JSON cannot carry; pass str, int, float, bool, None, list or dict
        ValueError: argument 'a' is count of more than 1000000 items; pass a list of those that matter
        ValueError: argument 'a' is generator of more than 1000000 items; pass a list of those that matter
        TypeError: argument 'a' is builtin_function_or_method, which JSON cannot carry; pass str, int, float, bool, None, list or dict
        TypeError: argument 'a' is the class Order, which JSON cannot carry; pass str, int, float, bool, None, list or dict
        ValueError: argument 'a' has the key '1' twice
        TypeError: argument 'a' has a key of type tuple; keys must be str
        ValueError: argument 'a[0][0]' has a lone surrogate, which is not a Unicode character
        TypeError: argument 'a' is async_generator, which JSON cannot carry; pass [item async for item in it]
        TypeError: argument 'a' is coroutine that was not awaited, which JSON cannot carry; write await before it
        {'a': 1}
        "#));
        assert_eq!(take_sent(&gateway), [r#"{"a":1"#], "{engine}: nothing else was sent");
    }
}

#[test]
fn a_failing_method_shows_its_own_line() {
    let code = "
        class Broken:
            def model_dump(self):
                return 1 / 0
        await mcp__fixture__echo(value=[Broken()])
    ";
    for engine in engines() {
        let failure = failed(&Gateway::new().execute_on(engine, code));
        let last: Vec<&str> = failure.lines().rev().take(2).collect();
        assert_eq!(
            last,
            [
                "while argument 'value[0]' was written as JSON",
                "ZeroDivisionError: division by zero"
            ],
            "{engine}: {failure}"
        );
        assert!(failure.contains("line 3, in model_dump"), "{failure}");
        assert!(!failure.contains("onecall>"), "{failure}");
    }
}

#[test]
fn sessions_and_plans_send_the_same_forms() {
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
    let mut in_session = |code: &str| {
        let arguments = json!({ "code": code, "session": "s" });
        printed(&gateway.session.call_tool("execute_program", arguments))
    };
    in_session("import decimal\nprices = {decimal.Decimal('1.10'), decimal.Decimal('0.5')}");
    assert_eq!(in_session("print(await mcp__fixture__echo(value=prices))"), "['0.5', '1.10']\n");

    let sum = |transform: &str| {
        let first =
            json!({ "__tool__": "echo", "args": { "value": 3 }, "__transform__": transform });
        json!({ "target_tool": "add", "tool_args": { "a": first, "b": 1 } })
    };
    let plan = sum("lambda value: decimal.Decimal(value) / 4");
    let answer = gateway.session.call_tool("proxy", plan);
    assert!(!answer.is_error, "{}", answer.text);
    assert!(log.text().contains(r#"{"a":0.75,"b":1}"#), "{}", log.text());

    let answer = gateway.session.call_tool("proxy", sum("lambda value: float('nan')"));
    let expected = "PlanError: ValueError: argument 'a' is NaN, which JSON cannot represent";
    assert!(answer.is_error && answer.text.contains(expected), "{}", answer.text);
}
