/**
 * Replaces personal data and keys with placeholders. Patterns find only data of a fixed shape:
 * names and postal addresses stay, so the result may still contain personal data.
 */
import { isIP } from 'node:net';
import { redacted, redactText } from '@trinity-rft/core/support';
import { parseJson } from '../messages/parse-json.js';
import { looksLikeJson } from '../messages/json-text.js';

export type RedactedKind = 'email' | 'iban' | 'card' | 'ip' | 'phone' | 'key';

export type RedactedCounts = Readonly<Partial<Record<RedactedKind, number>>>;

interface Shape {
  readonly kind: RedactedKind;
  readonly pattern: RegExp;
  /** Additional condition on a match. @default every match counts */
  readonly holds?: (text: string) => boolean;
}

/**
 * Shapes in the order in which they are applied. The order matters, because a card number looks
 * like a phone number. Bounded repetitions make the time linear.
 */
const shapes: readonly Shape[] = [
  {
    kind: 'email',
    pattern: /(?<![\w.+-])[\w.+-]{1,64}@(?:[\p{L}\d-]{1,63}\.){1,8}\p{L}{2,24}(?![\p{L}\d-])/gu,
  },
  {
    kind: 'iban',
    pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?\b/g,
    holds: isIban,
  },
  { kind: 'card', pattern: /(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.]?\d)/g, holds: isCard },
  {
    kind: 'ip',
    pattern: /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)/g,
    holds: (text) => isIP(text) === 4,
  },
  {
    kind: 'ip',
    pattern: /(?<![\w:.])[\dA-Fa-f]{0,4}(?::[\dA-Fa-f]{0,4}){2,7}(?![\w:])/g,
    holds: (text) => /\d/.test(text) && isIP(text) === 6,
  },
  {
    kind: 'phone',
    pattern:
      /(?<![\w.+-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{1,5}\)[ .-]?)?\d{1,5}(?:[ ./-]?\d{2,5}){1,4}(?![\w-]|\.\d)/g,
    holds: isPhone,
  },
];

const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');

/**
 * Checks the checksum and the first digit of card numbers. The first digit excludes times in
 * milliseconds, which begin with 1.
 */
function isCard(text: string): boolean {
  const digits = [...digitsOf(text)].map(Number).reverse();
  const sum = digits.reduce((total, digit, i) => {
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0 && digits.length >= 14 && /^[2-6]/.test(text);
}

/** Checks the checksum of ISO 13616: the number, with letters as 10 to 35, must be 1 modulo 97. */
function isIban(text: string): boolean {
  const plain = text.replaceAll(' ', '');
  const moved = plain.slice(4) + plain.slice(0, 4);
  const digits = moved.replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return [...digits].reduce((rest, digit) => (rest * 10 + Number(digit)) % 97, 0) === 1;
}

/**
 * True for numbers with a country code, parentheses or the digit groups of phone numbers; false for
 * plain numbers and dates.
 */
function isPhone(text: string): boolean {
  const count = digitsOf(text).length;
  if (count < 7 || count > 15) return false;
  if (text.startsWith('+') || text.includes('(')) return true;
  if (/^\d{4}[-./]\d{1,2}[-./]\d{1,2}$|^\d{1,2}[-./]\d{1,2}[-./]\d{4}$/.test(text)) return false;
  return /^0\d{1,5}[ /-]\d/.test(text) || /^\d{3}[ .-]\d{3}[ .-]\d{4}$/.test(text);
}

/**
 * Copies the value with placeholders for the personal data and keys that were found, and counts the
 * replacements of each kind.
 */
export function redactValue<T>(value: T): { readonly value: T; readonly counts: RedactedCounts } {
  const counts: Partial<Record<RedactedKind, number>> = {};
  const count = (kind: RedactedKind, more = 1): void => {
    counts[kind] = (counts[kind] ?? 0) + more;
  };
  const text = (given: string): string => {
    const nested = looksLikeJson(given) ? inJson(given) : undefined;
    if (nested !== undefined) return nested;
    const found = shapes.reduce(
      (rest, { kind, pattern, holds = () => true }) =>
        rest.replaceAll(pattern, (match) => {
          if (!holds(match)) return match;
          count(kind);
          return `[${kind}]`;
        }),
      given,
    );
    const clean = redactText(found).replaceAll(redacted, '[key]');
    const keys = clean.split('[key]').length - found.split('[key]').length;
    if (keys > 0) count('key', keys);
    return clean;
  };
  /** Redacts the strings inside JSON text, which stays valid; undefined for other text. */
  const inJson = (given: string): string | undefined => {
    try {
      const before: unknown = parseJson(given);
      const after = JSON.stringify(visit(before));
      return after === JSON.stringify(before) ? given : after;
    } catch {
      return undefined;
    }
  };
  const number = (given: number): unknown => {
    const clean = text(String(given));
    return clean === String(given) ? given : clean;
  };
  const visit = (given: unknown): unknown => {
    if (typeof given === 'string') return text(given);
    if (typeof given === 'number') return number(given);
    if (typeof given !== 'object' || given === null) return given;
    if (Array.isArray(given)) return given.map(visit);
    return Object.fromEntries(Object.entries(given).map(([key, each]) => [key, visit(each)]));
  };
  return { value: visit(value) as T, counts };
}
