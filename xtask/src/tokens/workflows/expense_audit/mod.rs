//! Workflow: compares the expenses of every member of a department with the budget of their level.

use serde_json::{Value, json};

use super::{DirectAgent, Question, Workflow};

const CATEGORIES: [&str; 3] = ["travel", "meals", "lodging"];

pub const WORKFLOW: Workflow = Workflow {
    name: "expense-audit",
    is_data_heavy: true,
    services: &["people"],
    searches: &["team members, their expenses and budgets"],
    uses: &["people.list_team", "people.get_expenses", "people.get_budget"],
    questions: &[Question {
        text: "Who in Engineering went over their budget for travel, meals or lodging in 2026-Q1? \
               Count what was approved and what is pending, not what was rejected. Name the five \
               largest excesses, say how many there are, and what the department spent in these \
               categories in all.",
        programs: &[include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let team = agent.call("people.list_team", json!({ "department": "Engineering" }))?;
    let members = team["members"].as_array().cloned().unwrap_or_default();
    let expenses = members
        .iter()
        .map(|member| json!({ "employee_id": member["employee_id"], "quarter": "2026-Q1" }));
    let expenses = agent.call_each("people.get_expenses", expenses)?;
    let levels = members.iter().map(|member| json!({ "level": member["level"] }));
    let budgets = agent.call_each("people.get_budget", levels)?;
    let mut excesses = Vec::new();
    let mut total = 0;
    for ((member, expenses), budget) in members.iter().zip(&expenses).zip(&budgets) {
        for category in CATEGORIES {
            let spent = spent(&expenses["lines"], category);
            total += spent;
            let limit = budget["limits"][category].as_u64().unwrap_or_default();
            if spent > limit {
                excesses.push((spent - limit, format!("{}, {category}", text(&member["name"]))));
            }
        }
    }
    excesses.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    let largest = excesses.iter().take(5);
    let mut lines: Vec<String> =
        largest.map(|(cents, whose)| format!("{whose}: {} EUR over", euros(*cents))).collect();
    lines.push(format!("{} excesses, {} EUR spent in all", excesses.len(), euros(total)));
    Ok(lines.join("\n"))
}

fn spent(lines: &Value, category: &str) -> u64 {
    let lines = lines.as_array().into_iter().flatten();
    let counted = lines.filter(|line| line["category"] == category && line["status"] != "rejected");
    counted.filter_map(|line| line["cents"].as_u64()).sum()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn euros(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}
