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
    .replaceAll(/([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$& ')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  return secretEndings.has(words.at(-1) ?? '') || words.includes('password') || words.includes('secret');
}

/** The value to log in place of a field's: numbers and truth values are never secrets (`tokens=512`). Looks into plain objects. */
export function redactField(name: string, value: unknown, above: ReadonlySet<object> = new Set()): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value == null) return value;
  return isSecretName(name) ? redacted : redactWithin(value, above);
}

function redactWithin(value: unknown, above: ReadonlySet<object>): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error || ArrayBuffer.isView(value)) return value;
  if (above.has(value)) return '[circular]';
  const inside = new Set(above).add(value);
  if (Array.isArray(value)) return value.map((item) => redactWithin(item, inside));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactField(name, item, inside)]));
}

/** The beginnings of keys that model hubs and cloud services hand out, and what follows `Bearer`. */
const keyLooks = /\b(?:(?:sk-|hf_|ghp_|github_pat_|xox[bp]-)[A-Za-z0-9_-]{8,}|AKIA[A-Z0-9]{16}\b)|(?<=\bBearer )[^\s"',]+/g;

/** Text without the password of any `scheme://user:password@host` and without what looks like a key. */
export function redactText(text: string): string {
  return text.replaceAll(/(:\/\/[^\s/:@]*:)[^\s/@]+@/g, `$1${redacted}@`).replaceAll(keyLooks, redacted);
}
