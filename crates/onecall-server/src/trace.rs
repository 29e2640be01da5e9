//! The trace context of a client's request, from the request itself or, over HTTP, from its
//! headers.

use hyper::HeaderMap;
use hyper::http::request::Parts;
use onecall_core::TraceContext;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";

pub(crate) fn of_request(context: &RequestContext<RoleServer>) -> Option<TraceContext> {
    let in_meta = || {
        let (parent, state) = (context.meta.get_traceparent()?, context.meta.get_tracestate());
        TraceContext::parse(parent, state)
    };
    in_meta().or_else(|| in_headers(&context.extensions.get::<Parts>()?.headers))
}

fn in_headers(headers: &HeaderMap) -> Option<TraceContext> {
    let mut parents = headers.get_all(PARENT).iter();
    let parent = parents.next()?.to_str().ok()?;
    if parents.next().is_some() {
        // With several `traceparent` headers it is unknown which one is valid.
        return None;
    }
    let states: Option<Vec<&str>> =
        headers.get_all(STATE).iter().map(|state| state.to_str().ok()).collect();
    TraceContext::parse(parent, states.map(|states| states.join(",")).as_deref())
}
