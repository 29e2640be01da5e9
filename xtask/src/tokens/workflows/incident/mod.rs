//! Workflow: joins the errors of five services by trace, to find where they began.

use std::collections::BTreeMap;

use serde_json::json;

use super::{DirectAgent, Question, Workflow};

const SERVICES: [&str; 5] = ["web", "gateway", "checkout", "cart", "inventory"];
const FROM: &str = "2026-03-18T14:00:00Z";
const TO: &str = "2026-03-18T15:00:00Z";

pub const WORKFLOW: Workflow = Workflow {
    name: "incident",
    is_data_heavy: true,
    services: &["observability"],
    searches: &["search logs of a service", "list deployments"],
    uses: &["observability.search_logs", "observability.list_deployments"],
    questions: &[Question {
        text: "Orders failed on 2026-03-18 between 14:00 and 15:00 UTC. Look at the errors of web, \
               gateway, checkout, cart and inventory in that hour and put them together by trace: in \
               which service did most traces fail first, how many traces are affected in all, when \
               was the first error, and which deployment of that service since 11:00 came last before \
               it?",
        programs: &[include_str!("look.py"), include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let searches = SERVICES.map(|service| {
        let arguments = json!({ "service": service, "from": FROM, "to": TO, "level": "error" });
        ("observability.search_logs", arguments)
    });
    let errors = agent.pages_of_each(searches.to_vec(), "lines")?;
    let mut first: BTreeMap<String, (String, String)> = BTreeMap::new();
    for line in errors.iter().flatten() {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let seen = (text("time"), text("service"));
        let earliest = first.entry(text("trace_id")).or_insert_with(|| seen.clone());
        if seen < *earliest {
            *earliest = seen;
        }
    }
    let mut origins: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, service) in first.values() {
        *origins.entry(service).or_default() += 1;
    }
    let (origin, count) = origins.into_iter().max_by_key(|(_, count)| *count).ok_or("no errors")?;
    let began = first.values().map(|(time, _)| time.as_str()).min().unwrap_or_default();
    let since = json!({ "from": "2026-03-18T11:00:00Z", "to": TO });
    let deployments = agent.call("observability.list_deployments", since)?;
    let suspect = deployments["deployments"]
        .as_array()
        .into_iter()
        .flatten()
        .rfind(|one| one["service"] == origin && one["time"].as_str().is_some_and(|at| at < began))
        .and_then(|one| one["version"].as_str())
        .unwrap_or("none");
    Ok(format!(
        "{origin} ({count} of {} traces), since {began}, after version {suspect}",
        first.len()
    ))
}
