//! Plans and single calls that wait for a person and are continued.

use std::time::Duration;

use onecall_core::ToolError;
use serde_json::json;

use super::desk::{Desk, approve, deny};
use super::world::Process;

#[tokio::test]
async fn a_single_call_waits_and_is_continued() {
    let process = Process::new(Desk::default());
    let arguments = json!({ "id": 1 });
    tokio::select! {
        result = process.call("mcp__s__delete", &arguments) => panic!("it did not wait: {result:?}"),
        _ = process.desk.asked(1) => {}
    }
    assert_eq!(process.desk.withdrawn(), []);
    let next = process.killed().await;
    let item = next.desk.questions()[0].item.clone();
    assert_eq!(item.as_str(), "run1.1");
    next.desk.answer(&item, approve());
    let answer = next.call("mcp__s__delete", &arguments).await.unwrap();
    assert_eq!(answer.value.encode().1, r#"{"id":1,"tool":"delete"}"#);
    // A third process has the answer in its journal.
    let last = next.killed().await;
    let again = last.call("mcp__s__delete", &arguments).await.unwrap();
    assert_eq!(again.origin, onecall_core::AnswerOrigin::Journal);
    assert_eq!(last.tools.effects(), [json!(1)]);
}

#[tokio::test]
async fn a_single_call_can_be_denied() {
    let process = Process::new(Desk::always(deny("no")));
    let error = process.call("mcp__s__delete", &json!({ "id": 1 })).await.unwrap_err();
    let (reason, by) = ("no".to_owned(), "ada".to_owned());
    let name = onecall_core::CallableName::new("mcp__s__delete");
    assert_eq!(error, ToolError::Denied { name, reason, by });
}

#[tokio::test]
async fn another_single_call_is_a_divergence() {
    let process = Process::new(Desk::default());
    let (before, now) = (json!({ "id": 1 }), json!({ "id": 2 }));
    tokio::select! {
        _ = process.call("mcp__s__delete", &before) => panic!("it did not wait"),
        _ = process.desk.asked(1) => {}
    }
    let next = process.killed().await;
    next.desk.answer(&next.desk.questions()[0].item, approve());
    let call = next.call("mcp__s__delete", &now);
    let result = tokio::time::timeout(Duration::from_secs(30), call).await.unwrap();
    let text = result.unwrap_err().to_string();
    assert!(text.contains("it calls 'mcp__s__delete' with other arguments"), "{text}");
    assert_eq!(next.tools.effects(), Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn a_plan_with_a_transform_waits_and_is_continued() {
    let request = json!({
        "target_tool": "mcp__s__delete",
        "tool_args": { "id": {
            "__tool__": "mcp__s__pay",
            "args": { "id": 4 },
            "__transform__": "lambda result: result['id'] + 1",
        } },
    });
    let process = Process::new(Desk::default());
    tokio::select! {
        result = process.plan(&request) => panic!("it did not wait: {result:?}"),
        _ = process.desk.asked(1) => {}
    }
    let next = process.killed().await;
    next.desk.answer(&next.desk.questions()[0].item, approve());
    let answer = next.plan(&request).await.unwrap();
    assert_eq!(answer.content[0]["text"], r#"{"id":5,"tool":"delete"}"#);
    assert_eq!(next.tools.effects(), [json!(4), json!(5)]);
}
