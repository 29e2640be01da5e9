const cities = ["Paris", "London", "Atlantis", "Berlin"];
const reports = await Promise.all(
  cities.map(async (city) => {
    try {
      return { city, ...(await mcp__fixture__weather({ city })) };
    } catch (error) {
      return { city, error: (error as Error).message.split(": ").pop() };
    }
  }),
);
for (const report of reports) console.log(report);
console.log(reports.map(({ city }) => city).join(", "));
