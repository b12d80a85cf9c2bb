/**
 * Port of `strip_string`, which converts answers to the spelling in which Trinity-RFT (after
 * Qwen2.5-Math) compares them as text.
 */
import { trimEnd } from './python.js';
import { eraseUnits } from './units.js';
import { wordNumber } from './word-number.js';

/**
 * Maximum length of a text in characters, which bounds the running time. Longer texts, which do not
 * occur as answers in practice, are not changed.
 */
const maxLength = 1_000;

const latexRules: readonly (readonly [string | RegExp, string])[] = [
  ['\\!', ''],
  ['\\$', ''],
  ['$', ''],
  // Only the percent sign is removed, so the backslash of \% remains.
  ['%', ''],
  [/\\begin\{array\}\{.*?\}/g, '\\begin{pmatrix}'],
  ['\\end{array}', '\\end{pmatrix}'],
  ['bmatrix', 'pmatrix'],
  ['tfrac', 'frac'],
  ['dfrac', 'frac'],
  ['\\neq', '\\ne'],
  ['\\leq', '\\le'],
  ['\\geq', '\\ge'],
  ['\\left', ''],
  ['\\right', ''],
  ['\\{', '{'],
  ['\\}', '}'],
  [/\\mbox\{.*?\}/g, ''],
  ['\\mathbf', ''],
  ['^{\\circ}', ''],
  ['^\\circ', ''],
  [/\\text\{(.*?)\}/g, '$1'],
];

const numberRules: readonly (readonly [string | RegExp, string])[] = [
  [/^[a-zA-Z]\s*=\s*/, ''],
  ['infinity', '\\infty'],
  // Also replaces `inf` inside of \infty, which becomes \\inftyty, as in Trinity-RFT.
  ['inf', '\\infty'],
  [/(?<=\d)\.0+(\D|$)/g, '$1'],
  [' .', ' 0.'],
  ['{.', '{0.'],
  [/^\./, '0.'],
  [' ', ''],
];

/**
 * Normalizes an answer. Returns null for null and for texts that become empty. Removes single
 * letters as if they were units, and removes outer brackets. If the text has number words, replaces
 * the whole text with the number that the words form.
 */
export function stripString(text: string | null): string | null {
  if (text === null) return null;
  if (text.length > maxLength) return text;
  const plain = rewrite(trimEnd(text.trim().replaceAll('\n', ''), '.'), latexRules);
  const named = eraseUnits(plain);
  const numbers = rewrite(wordNumber(named) ?? named, numberRules);
  const repaired = fixSlash(
    fixFractions(numbers.replace(/\\sqrt\s*([\p{L}\p{N}_]+)/gu, '\\sqrt{$1}')),
  );
  const bare = /^\{[^]*\}$|^\([^]*\)$/.test(repaired) ? repaired.slice(1, -1) : repaired;
  return bare === '' ? null : bare.trim();
}

function rewrite(text: string, rules: readonly (readonly [string | RegExp, string])[]): string {
  // The replacement is a function, so that a dollar sign in `to` is not special.
  return rules.reduce(
    (current, [from, to]) =>
      typeof from === 'string' ? current.replaceAll(from, () => to) : current.replace(from, to),
    text,
  );
}

/**
 * Rewrites `\frac12` as `\frac{1}{2}`. Returns the whole text unchanged if fewer than two
 * characters follow a `\frac`.
 */
export function fixFractions(text: string): string {
  const [start = '', ...parts] = text.split('\\frac');
  if (parts.some((part) => !part.startsWith('{') && part.length < 2)) return text;
  return (
    start +
    parts
      .map((part) => {
        if (part.startsWith('{')) return `\\frac${part}`;
        return part[1] === '{'
          ? `\\frac{${part[0]}}${part.slice(1)}`
          : `\\frac{${part[0]}}{${part[1]}}${part.slice(2)}`;
      })
      .join('')
  );
}

/** Rewrites `1/2` as `\frac{1}{2}` if both sides are integers or contain a root. */
function fixSlash(text: string): string {
  const sides = text.split('/');
  const fits =
    sides.length === 2 &&
    sides.every((side) => side.includes('sqrt') || /^(?:0|-?[1-9]\d*)$/.test(side));
  return fits ? `\\frac{${sides[0]}}{${sides[1]}}` : text;
}
