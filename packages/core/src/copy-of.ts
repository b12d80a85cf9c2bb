/**
 * Copies lists, plain objects, dates and binary data deeply, so that user code may modify the copy.
 * Other objects, such as functions and clients, are shared.
 */
export function copyOf<T>(value: T): T {
  return copyAny(value) as T;
}

function copyAny(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyAny);
  if (value instanceof ArrayBuffer) return value.slice();
  if (ArrayBuffer.isView(value)) return copyOfView(value);
  if (value instanceof Date) return new Date(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyAny(item)]));
}

/**
 * Copies the bytes of the view but not the rest of its buffer, which may hold a whole file.
 * `Buffer.slice` would copy nothing.
 */
function copyOfView(view: ArrayBufferView): ArrayBufferView {
  if (Buffer.isBuffer(view)) return Buffer.from(view);
  if ('slice' in view) return (view as Uint8Array).slice();
  return new DataView(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}
