//! What a program passes to a tool, as the tool sees it.

use serde_json::json;

use crate::support::{Gateway, check_calls};

#[test]
fn arguments_can_be_passed_in_three_ways() {
    let all = "{'first': 'a', 'second': 2, 'third': True}";
    check_calls(&[
        ("positional(first='a', second=2, third=True)", all),
        ("positional({'first': 'a', 'second': 2, 'third': True})", all),
        ("positional('a', 2, True)", all),
        ("positional('a', third=True, second=2)", "{'first': 'a', 'third': True, 'second': 2}"),
        ("positional({'first': 'a'}, second=2)", "{'first': 'a', 'second': 2}"),
        ("positional('a')", "{'first': 'a'}"),
        ("positional()", "{}"),
        ("positional({})", "{}"),
        ("positional({'x': 1}, 2)", "{'first': {'x': 1}, 'second': 2}"),
        ("positional(**{'not-a-name': 1})", "{'not-a-name': 1}"),
        ("echo({'value': {'inner': 1}})", "{'inner': 1}"),
    ]);
}

#[test]
fn the_json_text_that_arrives_is_exact() {
    let code = "
        answer = await mcp__fixture__echo(value=await mcp__fixture__raw_arguments(
            z=1, a=2.0, big=10**25, tiny=-10**25, f=123456.789, small=5e-324, t=True, none=None,
            text='é\\n\\\"\\u2028', nested=[(), {}, [0.1, -0.0]]))
        print(answer)
    ";
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
    gateway.prints(code);
    let text = log.text();
    let line = text.lines().find(|line| line.contains(r#""name":"raw_arguments""#)).unwrap();
    let arguments = line.split_once(r#""arguments":"#).unwrap().1.strip_suffix("}}").unwrap();
    assert_eq!(
        arguments,
        concat!(
            r#"{"z":1,"a":2.0,"big":10000000000000000000000000,"#,
            r#""tiny":-10000000000000000000000000,"f":123456.789,"small":5e-324,"t":true,"none":null,"#,
            r#""text":"é\n\""#,
            "\u{2028}",
            r#"","nested":[[],{},[0.1,-0.0]]}"#
        )
    );
}

#[test]
fn subclasses_of_plain_values_are_plain_values() {
    let code = "
        import collections, enum
        class Level(enum.IntEnum):
            HIGH = 3
        class Colour(enum.StrEnum):
            RED = 'red'
        Point = collections.namedtuple('Point', 'x y')
        print(await mcp__fixture__raw_arguments(
            level=Level.HIGH, colour=Colour.RED, point=Point(1, 2),
            ordered=collections.OrderedDict(x=1), counts=collections.Counter('aab')))
    ";
    assert_eq!(
        Gateway::new().prints(code),
        "{'level': 3, 'colour': 'red', 'point': [1, 2], 'ordered': {'x': 1}, \
         'counts': {'a': 2, 'b': 1}}\n"
    );
}

#[test]
fn what_json_cannot_carry_is_refused_before_it_is_sent() {
    const PLAIN: &str = "which JSON cannot carry; pass str, int, float, bool, None, list or dict";
    let (mut gateway, log) = Gateway::with_message_log(&json!({}));
    let wrong = [
        (
            "positional('a', 2, True, 4)",
            "TypeError: mcp__fixture__positional() takes 3 positional arguments but 4 were given"
                .to_owned(),
        ),
        (
            "nothing(1)",
            "TypeError: mcp__fixture__nothing() takes 0 positional arguments but 1 were given"
                .to_owned(),
        ),
        (
            "positional('a', first='b')",
            "TypeError: mcp__fixture__positional() got multiple values for argument 'first'"
                .to_owned(),
        ),
        (
            "echo(value=[0, {'when': object()}])",
            format!("TypeError: argument 'value[1].when' is object, {PLAIN}"),
        ),
        (
            "echo(value=float('nan'))",
            "ValueError: argument 'value' is NaN, which JSON cannot represent".to_owned(),
        ),
        (
            "echo(value=[-float('inf')])",
            "ValueError: argument 'value[0]' is -inf, which JSON cannot represent".to_owned(),
        ),
        (
            "echo(value={(1,): 2})",
            "TypeError: argument 'value' has a key of type tuple; keys must be str".to_owned(),
        ),
        (
            "echo(value='\\ud800')",
            "ValueError: argument 'value' has a lone surrogate, which is not a Unicode character"
                .to_owned(),
        ),
        (
            "echo(value={'\\udfff': 1})",
            "ValueError: argument 'value' has a lone surrogate, which is not a Unicode character"
                .to_owned(),
        ),
        (
            "echo(value=(lambda a: a.append(a) or a)([]))",
            "ValueError: argument 'value' is nested too deeply or contains itself".to_owned(),
        ),
    ];
    let (calls, expected): (Vec<&str>, Vec<String>) = wrong.into_iter().unzip();
    assert_eq!(gateway.outcomes(&calls), expected);
    let sent = || log.messages().iter().filter(|line| line["method"] == "tools/call").count();
    assert_eq!(sent(), 0);
    gateway.prints("await mcp__fixture__nothing()");
    assert_eq!(sent(), 1, "this is where calls would show");
}
