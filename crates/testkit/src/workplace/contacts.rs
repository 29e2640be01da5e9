//! An address book with duplicates, because several tools have filled it.

use serde_json::{Value, json};

use super::calls::{CallResult, number, page, text};
use super::invented::{address, company, day, domain, person, pick, prose, scatter};

const CONTACTS: u64 = 450;
const DISTINCT: u64 = 410;

pub(super) fn call(tool: &str, arguments: &Value) -> CallResult {
    if tool == "merge_contacts" {
        let (keep, remove) = (text(arguments, "keep_id")?, text(arguments, "remove_id")?);
        let kept = (0..CONTACTS).map(contact).find(|contact| contact["id"] == keep);
        let mut kept = kept.ok_or_else(|| format!("no contact has the id {keep}"))?;
        kept["merged"] = json!([remove]);
        return Ok(kept);
    }
    let size = number(arguments, "limit", 50, 50);
    page("contacts", (0..CONTACTS as usize).map(|number| contact(number as u64)), arguments, size)
}

/// A contact. The last ones are duplicates of earlier ones in another spelling.
fn contact(number: u64) -> Value {
    let (who, is_again) = match number.checked_sub(DISTINCT) {
        Some(again) => (again * 9 + 4, true),
        None => (number, false),
    };
    let (name, company) = (person(who), company(scatter(who, 20)));
    let email = address(&name, &domain(company));
    let digits = format!("{:07}", scatter(who * 3, 10_000_000));
    let by_phone = is_again && number.is_multiple_of(2);
    json!({
        "id": format!("c{}", 3_000 + number),
        "name": if is_again { name.to_uppercase() } else { name.clone() },
        "email": match (is_again, by_phone) {
            (true, true) => json!(null),
            (true, false) => json!(email.to_uppercase()),
            _ => json!(email),
        },
        "phone": if is_again {
            format!("0049/30-{}-{}", &digits[..3], &digits[3..])
        } else {
            format!("+49 30 {digits}")
        },
        "company": company, "labels": ["customer", "newsletter"],
        "source": pick(number, &["import", "web form", "phone sync"]),
        "created_at": day(number / 2), "updated_at": day(number / 2 + scatter(number * 5, 90)),
        "owner": person(scatter(number * 7, 9) + 600), "notes": prose(who, 2),
    })
}
