/** An object of parsed JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Serialises a value to JSON with sorted keys. Equal values give the same string. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    isObject(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}
