/** Shows values of a configuration without their secrets. */
import { isSecretName, redacted, redactText } from '@trinity-rft/core/support';
import type { Node } from './node.js';

/**
 * Returns true for keys whose values are secrets. Excludes `max_tokens`, which is a number of
 * tokens, and `feature_keys`, which names columns.
 */
export const isSecretKey = (key: string): boolean =>
  isSecretName(key) && !/(?:tokens|feature_?keys)$/i.test(key);

/** Returns a copy of plain data in which secrets are replaced by a placeholder. */
export function redact(value: unknown, key = ''): unknown {
  if (isSecretKey(key) && value !== null && value !== undefined && typeof value !== 'boolean')
    return redacted;
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map((item) => redact(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, redact(item, name)]),
  );
}

/** Returns the plain value of a node for messages. Replaces secrets by a placeholder. */
export function plainUnlessSecret(node: Node): unknown {
  if (node.kind === 'scalar') return node.secret === true ? redacted : node.value;
  if (node.kind === 'list') return node.items.map(plainUnlessSecret);
  return Object.fromEntries(
    [...node.entries].map(([key, entry]) => [key, plainUnlessSecret(entry.node)]),
  );
}

/** Minimum number of characters of a secret that is removed from texts. */
const shortestSecret = 4;
/**
 * Minimum number of characters of a secret that is removed from inside of words and paths. A
 * shorter value, such as `token`, may be a part of a common word.
 */
const shortestPart = 8;

function withoutSecret(text: string, secret: string): string {
  if (secret.length >= shortestPart) return text.replaceAll(secret, redacted);
  const escaped = secret.replaceAll(/[^\w\s]/g, String.raw`\$&`);
  return text.replaceAll(new RegExp(`(?<![\\w/.-])${escaped}(?![\\w/.-])`, 'g'), redacted);
}

/** Removes secrets from a text, and what looks like a secret. */
export function withoutSecrets(text: string, secrets: Iterable<string>): string {
  const shown = [...secrets].filter(({ length }) => length >= shortestSecret);
  const longestFirst = shown.sort((a, b) => b.length - a.length);
  return redactText(longestFirst.reduce(withoutSecret, text));
}

/**
 * Returns a value as text for a message: one line of at most `limit` characters, without secrets.
 * The keys in `path` determine whether the value is a secret.
 */
export function showValue(
  value: unknown,
  path: readonly (string | number)[] = [],
  limit = 60,
): string {
  if (
    path.some((part) => typeof part === 'string' && isSecretKey(part)) &&
    value !== null &&
    typeof value !== 'boolean'
  )
    return redacted;
  if (value === null || value === undefined) return 'nothing';
  // JSON has no infinity.
  if (typeof value === 'number') return String(value);
  const text = JSON.stringify(redact(value)) ?? typeof value;
  return text.length <= limit ? text : `${text.slice(0, limit - 3)}...`;
}
