/** The list in a result, wherever it is: itself, or the first of its values that is one. */
export function rows(result: unknown): { [key: string]: unknown }[] {
  const isRecord = (value: unknown): value is { [key: string]: unknown } =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (Array.isArray(result)) return result.filter(isRecord);
  if (!isRecord(result)) return [];
  const list = Object.values(result).find((value) => Array.isArray(value));
  return Array.isArray(list) ? list.filter(isRecord) : [result];
}
