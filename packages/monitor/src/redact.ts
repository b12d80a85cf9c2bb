/** Redacts secrets in the fields of log events. */
import { isSecretName, redacted } from '@trinity-rft/core/support';

/**
 * Returns the value of a field as it may be logged. Secrets are replaced, also within plain
 * objects. Numbers and booleans are never considered secrets (`tokens=512`).
 */
export function redactField(
  name: string,
  value: unknown,
  above: ReadonlySet<object> = new Set(),
): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value == null) return value;
  return isSecretName(name) ? redacted : redactWithin(value, above);
}

function redactWithin(value: unknown, above: ReadonlySet<object>): unknown {
  if (
    typeof value !== 'object' ||
    value === null ||
    value instanceof Error ||
    ArrayBuffer.isView(value)
  )
    return value;
  if (above.has(value)) return '[circular]';
  const inside = new Set(above).add(value);
  if (Array.isArray(value)) return value.map((item) => redactWithin(item, inside));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, redactField(name, item, inside)]),
  );
}
