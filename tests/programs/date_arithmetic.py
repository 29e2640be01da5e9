from datetime import date, datetime, time, timedelta, timezone
import calendar

employees = await mcp__fixture__list_employees()
today = date(2025, 7, 1)

def years_between(start: date, end: date) -> int:
    return end.year - start.year - ((end.month, end.day) < (start.month, start.day))

for e in sorted(employees, key=lambda e: e["hired"])[:4]:
    hired = date.fromisoformat(e["hired"])
    print(f"{e['name']:<14} {hired:%d.%m.%Y} ({hired:%a}) {years_between(hired, today):>2} years, {(today - hired).days} days")

leap = [e["name"] for e in employees if e["hired"].endswith("02-29")]
print("leap day:", leap)

now = datetime(2025, 3, 30, 12, 30, 45, 123456, tzinfo=timezone.utc)
print(now.isoformat(), now.replace(microsecond=0), now.timestamp())
tokyo = timezone(timedelta(hours=9), "JST")
print(now.astimezone(tokyo).strftime("%Y-%m-%d %H:%M %Z %z"), now.astimezone(tokyo) == now)
delta = timedelta(days=1, hours=25, minutes=-5, milliseconds=1500)
print(delta, delta.total_seconds(), delta // timedelta(hours=1), repr(timedelta(weeks=1)), -timedelta(hours=1))
print(datetime.strptime("12 Jun 2025 7:05 PM", "%d %b %Y %I:%M %p"), time(9, 5).isoformat("minutes"))
print(today.isocalendar()[:], today.weekday(), today.strftime("%j %U"), today.replace(day=15).toordinal())
print(tuple(map(int, calendar.monthrange(2024, 2))), calendar.isleap(2100), calendar.month_name[5])
print(calendar.month(2025, 6).splitlines()[2])
quarters = {f"Q{(m - 1) // 3 + 1}" for m in (1, 5, 12)}
print(sorted(quarters), date(2025, 1, 31) + timedelta(days=1), max(date.min, date(2000, 1, 1)))
print(sorted([datetime(2025, 1, 2), datetime(2024, 5, 6)])[0].date(), date(2025, 12, 31) - date(2025, 1, 1))
