//! Very many calls over HTTP, many of them at a time: none is lost, none gets another's
//! answer.

use std::time::Duration;

use serde_json::json;
use testkit::remote::HttpFixture;

use crate::support::{Gateway, printed};

/// Longer than the test takes on the slowest machine.
const TIMEOUT: Duration = Duration::from_secs(600);

const CODE: &str = "
    import asyncio
    places = asyncio.Semaphore(64)
    async def echo(number):
        async with places:
            return await mcp__remote__echo(value={'number': number, 'text': 'x' * (number % 50)})
    numbers = range(5_000)
    answers = await asyncio.gather(*map(echo, numbers))
    right = sum(answer == {'number': number, 'text': 'x' * (number % 50)}
                for number, answer in zip(numbers, answers, strict=True))
    print(right)
";

/// Half of ten thousand in each of the two ways that a server may answer.
#[test]
fn ten_thousand_calls_with_64_at_a_time_are_all_answered_right() {
    for face in ["json", "events"] {
        let server = HttpFixture::start(&["--face", face, "--sessions"]);
        let remote = json!({ "name": "remote", "url": server.url("/mcp"), "transport": "http" });
        let mut gateway = Gateway::with_config(&json!({
            "servers": [remote],
            "execution": {
                "timeout_seconds": 600, "max_tool_calls": 10_000, "max_parallel_calls": 64,
            },
        }));
        gateway.session.client().set_timeout(TIMEOUT);
        assert_eq!(printed(&gateway.execute(CODE)), "5000\n", "{face}");
    }
}
