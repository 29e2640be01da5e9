answer = await mcp__time__convert_time(source_timezone="UTC", time="12:00", target_timezone="Asia/Kathmandu")
print(float(answer["time_difference"].strip("+h")))
