import asyncio

day = "2026-04-06"
weather, trams, menu, duty, absences, status = await asyncio.gather(
    mcp__office__get_forecast(city="Berlin", day=day),
    mcp__office__next_departures(stop="Market Square", after="08:00"),
    mcp__office__get_menu(day=day),
    mcp__team__who_is_on_call(team="platform"),
    mcp__team__list_absences(team="platform", day=day),
    mcp__team__get_system_status(team="platform"),
)
names = lambda items: ", ".join(item["name"] for item in items)
tram = trams["departures"][0]
print(f"{weather['low']} to {weather['high']} degrees, {weather['text']}")
print(f"{tram['line']} at {tram['time']}")
print(names(menu["dishes"]))
print("on call:", duty["primary"])
print("away:", names(absences["absences"]))
print("broken:", names(status["systems"]))
