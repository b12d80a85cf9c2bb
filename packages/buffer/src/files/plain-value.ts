/**
 * Converts a value of a Parquet row to plain JSON. Integers that JavaScript cannot represent
 * exactly become decimal strings. Times become ISO 8601 strings, bytes become base64 strings, and
 * missing values become null.
 */
export function plainValue(value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return Array.from(value as ArrayLike<unknown>, plainValue);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainValue(inner)]));
}
