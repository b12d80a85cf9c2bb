/** Keeps secrets out of the log. */

const redacted = '[redacted]';

/** A name that ends in one of these holds a secret: `apiKey`, `HF_TOKEN`, `password`. */
const secretEndings = new Set([
  'key',
  'keys',
  'apikey',
  'token',
  'tokens',
  'password',
  'passwd',
  'secret',
  'secrets',
  'authorization',
  'credential',
  'credentials',
]);

/** True when a field of this name may hold a secret. */
export function isSecretName(name: string): boolean {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  return secretEndings.has(words.at(-1) ?? '') || words.includes('password') || words.includes('secret');
}

/** The value to log in place of a field's: numbers and truth values are never secrets (`tokens=512`). Looks into plain objects. */
export function redactField(name: string, value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value == null) return value;
  return isSecretName(name) ? redacted : redactWithin(value, new Set());
}

function redactWithin(value: unknown, above: Set<object>): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error || ArrayBuffer.isView(value)) return value;
  if (above.has(value)) return '[circular]';
  const inside = new Set(above).add(value);
  if (Array.isArray(value)) return value.map((item) => redactWithin(item, inside));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      isSecretName(key) && item != null && typeof item !== 'number' && typeof item !== 'boolean' ? redacted : redactWithin(item, inside),
    ]),
  );
}

/** Hides the password of every `scheme://user:password@host` in a text. */
export function redactUrls(text: string): string {
  return text.replaceAll(/(:\/\/[^\s/:@]*:)[^\s/@]+@/g, `$1${redacted}@`);
}
