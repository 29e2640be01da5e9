//! Workflow: finds and merges duplicates in an address book.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{DirectAgent, Question, Workflow};

pub const WORKFLOW: Workflow = Workflow {
    name: "dedupe-contacts",
    is_data_heavy: true,
    services: &["contacts"],
    searches: &["list contacts of the address book, merge two contacts"],
    uses: &["contacts.list_contacts", "contacts.merge_contacts"],
    questions: &[Question {
        text: "Clean up the shared address book: contacts with the same email address (case does not \
               matter) or the same phone number (compare the last nine digits) are the same person. \
               Merge the later one into the earlier one, and tell me how many were merged because of \
               the email address, how many because of the phone number alone, and how many are left.",
        programs: &[include_str!("look.py"), include_str!("program.py")],
        direct,
    }],
};

fn direct(agent: &mut DirectAgent) -> Result<String, String> {
    let contacts = agent.pages("contacts.list_contacts", json!({}), "contacts")?;
    let (mut by_email, mut by_phone) = (HashMap::new(), HashMap::new());
    let (mut emails, mut phones, mut merges) = (0, 0, Vec::new());
    for contact in &contacts {
        let email = contact["email"].as_str().map(str::to_lowercase);
        let phone = digits(&contact["phone"]);
        let same_email = email.as_ref().and_then(|email| by_email.get(email));
        let kept: Option<&Value> = same_email.or_else(|| by_phone.get(&phone)).copied();
        match kept {
            Some(kept) => {
                *(if same_email.is_some() { &mut emails } else { &mut phones }) += 1;
                merges.push(json!({ "keep_id": kept["id"], "remove_id": contact["id"] }));
            }
            None => {
                by_phone.insert(phone, contact);
                by_email.extend(email.map(|email| (email, contact)));
            }
        }
    }
    agent.call_each("contacts.merge_contacts", merges)?;
    let left = contacts.len() - emails - phones;
    Ok(format!("merged {emails} by email and {phones} by phone, {left} left"))
}

fn digits(phone: &Value) -> String {
    let phone = phone.as_str().unwrap_or_default();
    let digits: Vec<char> = phone.chars().filter(char::is_ascii_digit).collect();
    digits.iter().skip(digits.len().saturating_sub(9)).collect()
}
