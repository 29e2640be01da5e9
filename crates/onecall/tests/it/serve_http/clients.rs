//! Many clients of one gateway.

use std::thread;

use crate::support::http_gateway::{HttpGateway, text};

const CLIENTS: u64 = 64;
const PROGRAMS: u64 = 4;
const CALLS: u64 = 10;

#[test]
fn no_answer_of_64_clients_is_lost_or_crossed() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let gateway = &gateway;
            scope.spawn(move || {
                // Half of them with a session, half of them without.
                let session = (client % 2 == 0).then(|| gateway.client());
                for program in 0..PROGRAMS {
                    let first = client * 1000 + program * 100;
                    let code = format!(
                        "print([await mcp__fixture__add({first}, n) for n in range({CALLS})])"
                    );
                    let answer = match &session {
                        // Every session uses equal request ids.
                        Some(session) => session.run(program, &code),
                        None => {
                            let message = gateway.start_stateless(program, &code).message();
                            assert_eq!(message["id"], program);
                            text(&message)
                        }
                    };
                    let sums: Vec<u64> = (0..CALLS).map(|n| first + n).collect();
                    assert_eq!(answer, format!("[Script executed successfully]\n{sums:?}\n"));
                }
            });
        }
    });
    let messages = received.messages();
    let made = messages.iter().filter(|message| message["params"]["name"] == "add").count();
    assert_eq!(made as u64, CLIENTS * PROGRAMS * CALLS);
    let starts = messages.iter().filter(|message| message["method"] == "initialize").count();
    assert_eq!(starts, 1, "the server is started once for all clients");
}
