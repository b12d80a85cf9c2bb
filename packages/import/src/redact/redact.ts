/**
 * Replaces personal data and keys with placeholders. The patterns find only data of a fixed format.
 * Names and postal addresses are not replaced, so the result may still contain personal data.
 */
import { isIP } from 'node:net';
import {
  isPasswordName,
  redacted,
  redactText,
  stringifyExactly,
  withNumbersOf,
} from '@trinity-rft/core/support';
import { parseJson } from '../messages/parse-json.js';
import { looksLikeJson } from '../messages/json-text.js';

export type RedactedKind = 'email' | 'iban' | 'card' | 'ip' | 'phone' | 'key';

export type RedactedCounts = Readonly<Partial<Record<RedactedKind, number>>>;

interface Shape {
  readonly kind: RedactedKind;
  readonly pattern: RegExp;
  /**
   * Returns true if a match is to be replaced.
   * @default every match is replaced
   */
  readonly holds?: (text: string) => boolean;
  /**
   * Separator between the digit groups of a number.
   * @default undefined: a match is a single group
   */
  readonly gap?: RegExp;
}

/**
 * Patterns in the order in which they are applied. Card numbers come before phone numbers, because
 * a card number also matches the pattern of a phone number. Repetitions are bounded, so matching
 * takes linear time. Card numbers cannot begin with 1, because timestamps in milliseconds do. Digit
 * groups that follow the beginning of an IBAN are not a phone number.
 */
const shapes: readonly Shape[] = [
  {
    kind: 'email',
    pattern:
      /(?<![\w.+-])(?![BbFfRrUu]{1,2}')[\w.+-]{1,64}(?:'[\w.+-]{1,64})?@(?:[\p{L}\d-]{1,63}\.){1,8}\p{L}{2,24}(?![\p{L}\d-])/gu,
  },
  {
    kind: 'iban',
    pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?\b/g,
    holds: isIban,
    gap: / /g,
  },
  {
    kind: 'card',
    pattern: /(?<![\d.])[2-6](?:[ -]?\d){12,18}(?![\d.]?\d)/g,
    holds: isCard,
    gap: /[ -]/g,
  },
  {
    kind: 'ip',
    pattern: /(?<![\w.]|\b(?:section|chapter|version|release) )\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)/gi,
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
      /(?<![\w.+-]|\d[/:]|\b[A-Z]{2}\d{2}(?: [A-Z\d]{4}){1,7} )(?:\+\d{1,3}[ .-]?)?(?:\(\d{1,5}\)[ .-]?)?\d{1,5}(?:[ ./-]?\d{2,5}){1,4}(?![\w-]|\.\d)/g,
    holds: isPhone,
    gap: /[ ./-]/g,
  },
];

const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');

/** Checks the length and the checksum of a card number. */
function isCard(text: string): boolean {
  const plain = digitsOf(text);
  if (plain.length < 14) return false;
  const digits = [...plain].map(Number).reverse();
  const sum = digits.reduce((total, digit, i) => {
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}

/** Length of the shortest IBAN, which is Norway's. */
const shortestIban = 15;

/**
 * Returns true if the checksum of an IBAN is right (ISO 13616): the number, with letters as 10 to
 * 35, must be 1 modulo 97.
 */
function isIban(text: string): boolean {
  const plain = text.replaceAll(' ', '');
  if (plain.length < shortestIban) return false;
  const moved = plain.slice(4) + plain.slice(0, 4);
  const digits = moved.replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return [...digits].reduce((rest, digit) => (rest * 10 + Number(digit)) % 97, 0) === 1;
}

/**
 * Returns true for a number with a country code or the digit groups of a phone number, and false for
 * other numbers and dates. Five pairs of digits, of which the first begins with 0, are a French number.
 */
function isPhone(text: string): boolean {
  const count = digitsOf(text).length;
  if (count < 7 || count > 15) return false;
  if (text.startsWith('+')) return count > 7 || /^\+\d{1,3}[ .-]/.test(text);
  if (/^\((?!19|20)\d{2,5}\)/.test(text) && count >= 9) return true;
  if (/^(?:\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{4})(?!\d)/.test(text))
    return false;
  return phoneGroups.test(text);
}

/**
 * Matches the digit groups of a phone number: an area code that begins with 0, also in parentheses,
 * unless a year follows two digits; the groups of North America and of France.
 */
const phoneGroups =
  /^(?:00[ /-][1-9]|0\d[ /-](?!(?:19|20)\d\d\b)\d{3}|0\d{2,5}[ /-]\d|\(0\d{1,4}\)[ .-]?\d|\d{3}[ .-]\d{3}[ .-]\d{4}$|0[1-9]([ .-])\d{2}(?:\1\d{2}){3}$)/;

/** Matches a number with thousands separators. */
const thousands = /^[1-9]\d{0,2}(?:[ .]\d{3})+$/;

/**
 * Replaces each match that satisfies the condition `holds`, or else the longest prefix of the match
 * that satisfies it and ends between two digit groups. A match may begin at any group, because
 * unrelated groups may precede a number. Overlapping matches are replaced together, so no part of a
 * number remains.
 */
function replaceShape(
  text: string,
  { kind, pattern, holds = () => true, gap }: Shape,
  found: () => void,
): string {
  let result = '';
  let [begin, end] = [0, 0];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const [whole] = match;
    const gaps = gap ? [...whole.matchAll(gap)].map(({ index }) => index) : [];
    const [first = whole.length] = gaps;
    const isPlain = thousands.test(whole);
    const length = [...gaps, whole.length].findLast(
      (cut) => !isPlain && holds(whole.slice(0, cut)),
    );
    pattern.lastIndex = match.index + (isPlain ? whole.length : Math.max(1, first));
    if (length === undefined) continue;
    if (match.index >= end) {
      result += text.slice(begin, match.index) + `[${kind}]`;
      found();
    }
    end = Math.max(end, match.index + length);
    begin = end;
  }
  return result + text.slice(begin);
}

/** Matches names of fields, in lower case and without separators, whose values are secrets. */
const secretName =
  /(?:(?<!forgot)password|passwort|passwd|passphrase|secret|credential|(?:api|private|access)key|(?:access|auth|bearer|refresh)token)s?$|^authorization$/;

/** Matches those of the names above that fields of ordinary data have too. */
const commonName = /^(?:secrets?|credentials?|authorization)$/;

/** Matches short plain words, such as `include` and `same-origin`, which are values of such data. */
const plainWord = /^\p{L}[\p{Ll}\p{Lo}-]{0,10}$/u;

/** Matches values without a secret, such as `${API_KEY}`, `{{password}}`, `<token>` and `[key]`. */
const placeholder = /^(?:\$?\{.*\}|<.*>|\[.*\]|)$/s;

/**
 * Returns true for the value of a field such as `password` and `api_key`. Names such as `key` and
 * `token` do not suffice, because those of ordinary data, such as `primary_key`, end in the same
 * way.
 */
function isSecret(name: string, value: string): boolean {
  const letters = name.toLowerCase().replaceAll(/[^a-z]/g, '');
  if (!secretName.test(letters) || placeholder.test(value)) return false;
  return !(commonName.test(letters) && plainWord.test(value));
}

/**
 * Returns true for the number of a field such as `password`. Counts, such as `passwords`, and
 * numbers of fewer than 4 digits are not secrets.
 */
const isSecretNumber = (name: string, value: number): boolean =>
  isPasswordName(name) && value >= 1000 && isSecret(name, String(value));

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
      (rest, shape) => replaceShape(rest, shape, () => count(shape.kind)),
      given,
    );
    const clean = redactText(found, true).replaceAll(redacted, '[key]');
    const keys = clean.split('[key]').length - found.split('[key]').length;
    if (keys > 0) count('key', keys);
    return clean;
  };
  /**
   * Redacts the strings within a string that is valid JSON, and returns valid JSON. Returns
   * undefined if the string is not JSON.
   */
  const inJson = (given: string): string | undefined => {
    try {
      const before: unknown = parseJson(given);
      const after = stringifyExactly(visit(before));
      return after === stringifyExactly(before) ? given : after;
    } catch {
      return undefined;
    }
  };
  const number = (given: number): unknown => {
    const clean = text(String(given));
    return clean === String(given) ? given : clean;
  };
  /** @param name key of the value, or of the list that contains it */
  const visit = (given: unknown, name = ''): unknown => {
    if (
      (typeof given === 'string' && isSecret(name, given)) ||
      (typeof given === 'number' && isSecretNumber(name, given))
    ) {
      count('key');
      return '[key]';
    }
    if (typeof given === 'string') return text(given);
    if (typeof given === 'number') return number(given);
    if (typeof given !== 'object' || given === null) return given;
    if (Array.isArray(given))
      return withNumbersOf(
        given,
        given.map((each) => visit(each, name)),
      );
    // Its keys are names of fields, and its values are lists of such names.
    const isSchema = name === 'dependentRequired';
    const copy = Object.fromEntries(
      Object.entries(given).map(([key, each]) => [text(key), visit(each, isSchema ? '' : key)]),
    );
    return withNumbersOf(given, copy);
  };
  return { value: visit(value) as T, counts };
}
