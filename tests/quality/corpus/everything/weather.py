cities = ["New York", "Chicago", "Los Angeles"]
weather = {city: await mcp__everything__get_structured_content(location=city) for city in cities}
print(max(cities, key=lambda city: weather[city]["temperature"]))
