import re

contacts, cursor = [], None
while True:
    page = await mcp__contacts__list_contacts(cursor=cursor)
    contacts += page["contacts"]
    cursor = page["next_cursor"]
    if cursor is None:
        break

by_email, by_phone, emails, phones = {}, {}, 0, 0
for contact in contacts:
    email = (contact["email"] or "").lower()
    phone = re.sub(r"\D", "", contact["phone"])[-9:]
    kept = by_email.get(email) if email else None
    if kept:
        emails += 1
    elif kept := by_phone.get(phone):
        phones += 1
    if kept:
        await mcp__contacts__merge_contacts(keep_id=kept["id"], remove_id=contact["id"])
        continue
    by_phone[phone] = contact
    if email:
        by_email[email] = contact
print(f"merged {emails} by email and {phones} by phone, {len(contacts) - emails - phones} left")
