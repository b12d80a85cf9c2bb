/** Assertions of promptfoo that neither ask a model nor run code. */
import { ConfigError, RewardError } from '@trinity-rft/core';
import { fillTemplate, pickRow, tryJson } from '@trinity-rft/core/support';
import { isDeepStrictEqual } from 'node:util';

/**
 * An assertion of promptfoo.
 * @see https://www.promptfoo.dev/docs/configuration/expected-outputs/
 */
export interface Assertion {
  /**
   * Type such as `contains` or `regex`. The prefix `not-`, as in `not-contains`, negates the
   * assertion.
   */
  readonly type: string;
  /** Expected value. `{{column}}` and `{{column.key}}` are replaced with values of the task. */
  readonly value?: unknown;
  /** Largest edit distance that `levenshtein` accepts. @default 5 */
  readonly threshold?: number;
  /** @default 1 */
  readonly weight?: number;
}

type Holds = (output: string, value: unknown, assertion: Assertion) => boolean;

const lower = (text: string): string => text.toLowerCase();
const textsOf = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : String(value).split(','))
    .map((text) => String(text).trim())
    .filter((text) => text !== '');

const kinds: Readonly<Record<string, Holds>> = {
  equals: (output, value) => output === value || sameJson(output, value),
  contains: (output, value) => output.includes(String(value)),
  icontains: (output, value) => lower(output).includes(lower(String(value))),
  'contains-any': (output, value) => textsOf(value).some((text) => output.includes(text)),
  'contains-all': (output, value) => textsOf(value).every((text) => output.includes(text)),
  'icontains-any': (output, value) =>
    textsOf(value).some((text) => lower(output).includes(lower(text))),
  'icontains-all': (output, value) =>
    textsOf(value).every((text) => lower(output).includes(lower(text))),
  'starts-with': (output, value) => output.startsWith(String(value)),
  regex: (output, value) => new RegExp(String(value)).test(output),
  'is-json': (output) => tryJson(output) !== undefined,
  'contains-json': holdsJson,
  levenshtein: (output, value, { threshold = 5 }) => isWithin(output, String(value), threshold),
};

/** Maximum number of brackets that are tried as the beginning of JSON. */
const mostOpenings = 50;
/** Assertion types whose optional value is a JSON schema. Schemas are not supported. */
const withSchema: readonly string[] = ['is-json', 'contains-json'];
/**
 * Assertion types whose value may be an empty text. For types such as `contains`, an empty value
 * would accept every answer.
 */
const withEmpty: readonly string[] = ['equals', 'levenshtein'];

/** Returns true for one assertion, or a list of assertions. */
export function isAssertions(value: unknown): value is Assertion | readonly Assertion[] {
  const [first]: readonly unknown[] = Array.isArray(value) ? value : [value];
  const { type } = (first ?? {}) as { readonly type?: unknown };
  return typeof type === 'string';
}

interface AssertionArguments {
  readonly output: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const kindOf = ({ type }: Assertion): string => type.replace(/^not-/, '');

/**
 * Returns the reason why an assertion of a known type cannot be checked, or undefined if it can.
 * Patterns that refer to columns of the task are not validated here, because they are complete only
 * when an answer is scored.
 */
function problemOf(assertion: Assertion): string | undefined {
  const kind = kindOf(assertion);
  const value = asJson(assertion.value);
  const isEmpty = value === undefined || value === '';
  if (withSchema.includes(kind))
    return isEmpty || value === null
      ? undefined
      : 'has a JSON schema, which is not supported. Leave its value out to accept any JSON.';
  const lacksText = kind.endsWith('-any') || kind.endsWith('-all') ? noTexts(value) : isEmpty;
  if (value === undefined || (lacksText && !withEmpty.includes(kind)))
    return 'has no value to compare the answer with. Add its value.';
  return kind === 'regex' && !isPattern(String(assertion.value))
    ? `has the value ${JSON.stringify(value)}, which is not a regular expression. Correct it.`
    : undefined;
}

const noTexts = (value: unknown): boolean => textsOf(value).length === 0;

function isPattern(source: string): boolean {
  try {
    return source.includes('{{') || new RegExp(source) instanceof RegExp;
  } catch {
    return false;
  }
}

/**
 * Creates a scorer. The score is the weighted mean of the assertions, as in promptfoo. The reason
 * names the assertions that do not hold.
 * @throws ConfigError for an unknown type, such as one that asks a model or runs code, and for a
 * value that is missing or cannot be used; RewardError if the weights add up to 0 or less
 */
export function assertionScorer(given: Assertion | readonly Assertion[]) {
  const assertions = 'type' in given ? [given] : given;
  const checks = assertions.map((assertion) => {
    const isNot = assertion.type.startsWith('not-');
    const holds = pickRow('assertion', kinds, kindOf(assertion));
    const problem = problemOf(assertion);
    if (problem !== undefined)
      throw new ConfigError(`The assertion "${assertion.type}" ${problem}`, {
        code: 'SCORER_FORM',
      });
    return { assertion, weight: assertion.weight ?? 1, holds: negatedIf(isNot, holds) };
  });
  const total = checks.reduce((sum, { weight }) => sum + weight, 0);
  if (!(total > 0))
    throw new RewardError('The weights of the assertions add up to 0. Give one of them a weight.', {
      code: 'SCORER_FORM',
    });
  return (args: unknown) => {
    const { output, metadata = {} } = args as AssertionArguments;
    const filled = (value: unknown): unknown =>
      fillTemplate(value, metadata, (place) =>
        place.value === undefined ? place.whole : place.text,
      );
    const failing = checks.filter(
      ({ assertion, holds }) => !holds(output, filled(assertion.value), assertion),
    );
    const lost = failing.reduce((sum, { weight }) => sum + weight, 0);
    return { score: (total - lost) / total, reason: reasonOf(failing.map((one) => one.assertion)) };
  };
}

/**
 * Scores an answer by the assertions in the column `assert` of the task, which `trinity import
 * --from promptfoo` writes. Skips assertions that ask a model, execute code, measure time or cost,
 * have a JSON schema, or whose value is missing or invalid, and names them in the reason.
 * @throws RewardError for a task without an assertion that can be checked
 */
export function taskAssertions({ output, metadata = {} }: AssertionArguments) {
  const { assert: given, vars } = metadata;
  const all: readonly Assertion[] = isAssertions(given) ? [given].flat() : [];
  const canCheck = (assertion: Assertion): boolean =>
    Object.hasOwn(kinds, kindOf(assertion)) && problemOf(assertion) === undefined;
  const checked = all.filter(canCheck);
  if (checked.length === 0)
    throw new RewardError(
      `A task has no assertion that can be checked in its column "assert". Leave it out, or give it one of ${Object.keys(kinds).join(', ')}.`,
      { code: 'SCORER_FORM' },
    );
  const row = { ...metadata, ...(typeof vars === 'object' ? vars : {}) };
  const { score, reason } = assertionScorer(checked)({ output, metadata: row });
  const others = all.filter((assertion) => !canCheck(assertion)).map(({ type }) => type);
  const rest = others.length === 0 ? '' : ` Not checked: ${others.join(', ')}.`;
  return { name: 'assertions', score, reason: `${reason}${rest}` };
}

const reasonOf = (failing: readonly Assertion[]): string =>
  failing.length === 0
    ? 'All assertions hold.'
    : `Do not hold: ${failing.map(({ type, value }) => `${type}${value === undefined ? '' : ` ${JSON.stringify(value)}`}`).join(', ')}.`;

const negatedIf =
  (isNot: boolean, holds: Holds): Holds =>
  (...args) =>
    holds(...args) !== isNot;

/** Returns the value as it is after a round trip through JSON, where -0 is 0. */
const asJson = (value: unknown): unknown => tryJson(JSON.stringify(value));

const sameJson = (output: string, value: unknown): boolean =>
  isDeepStrictEqual(asJson(tryJson(output)), asJson(value));

/** Returns true if the text contains valid JSON between matching brackets. */
function holdsJson(output: string): boolean {
  for (const { index } of [...output.matchAll(/[{[]/g)].slice(0, mostOpenings)) {
    const end = endOfBrackets(output, index);
    if (end !== undefined && tryJson(output.slice(index, end)) !== undefined) return true;
  }
  return false;
}

/**
 * Returns the index after the bracket that closes the bracket at `begin`. Ignores brackets within
 * strings.
 */
function endOfBrackets(text: string, begin: number): number | undefined {
  let depth = 0;
  let isText = false;
  for (let at = begin; at < text.length; at++) {
    const sign = text[at]!;
    if (isText && sign === '\\') at++;
    else if (sign === '"') isText = !isText;
    else if (!isText && '{['.includes(sign)) depth++;
    else if (!isText && '}]'.includes(sign) && --depth === 0) return at + 1;
  }
  return undefined;
}

/**
 * Returns true if at most `most` insertions, deletions and replacements of characters turn `a` into
 * `b`. Computes only the cells (i, j) of the table of edit distances with |i - j| ≤ `most`, because
 * all others are greater. `band[k]` is the cell of column j = i + k - `width`.
 * @see Ukkonen, Algorithms for approximate string matching, 1985
 */
function isWithin(a: string, b: string, most: number): boolean {
  const width = Math.min(Math.floor(most), Math.max(a.length, b.length));
  if (Math.abs(a.length - b.length) > width) return false;
  const band = Array.from({ length: 2 * width + 1 }, (_, k) => (k < width ? Infinity : k - width));
  for (let i = 1; i <= a.length; i++)
    for (let k = 0; k < band.length; k++) {
      const change = a[i - 1] === b[i + k - width - 1] ? 0 : 1;
      const [left = Infinity, diagonal, above = Infinity] = [band[k - 1], band[k]!, band[k + 1]];
      band[k] = Math.min(diagonal + change, above + 1, left + 1);
    }
  return band[b.length - a.length + width]! <= most;
}
