/** Copies of data for user code, which may modify them. */

/**
 * Copies lists, plain objects, dates and typed arrays deeply. Other objects, such as functions and
 * clients, are shared.
 */
export function copyOf<T>(value: T): T {
  return copyAny(value) as T;
}

function copyAny(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyAny);
  // Copies only the view: its buffer may be that of a whole file.
  if (ArrayBuffer.isView(value) && 'slice' in value) return (value as Uint8Array).slice();
  if (value instanceof Date) return new Date(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyAny(item)]));
}
