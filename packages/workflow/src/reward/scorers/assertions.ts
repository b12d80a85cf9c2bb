/** Assertions of promptfoo that neither ask a model nor run code. */
import { RewardError } from '@trinity-rft/core';
import { fillTemplate, pickRow, tryJson } from '@trinity-rft/core/support';

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
  (Array.isArray(value) ? value : String(value).split(',')).map((text) => String(text).trim());

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
  levenshtein: (output, value, { threshold = 5 }) => distance(output, String(value)) <= threshold,
};

/** Maximum number of brackets that are tried as the beginning of JSON. */
const mostOpenings = 50;
/** Maximum number of characters in a text that the edit distance compares. */
const longestCompared = 5000;

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

/**
 * Creates a scorer. The score is the weighted mean of the assertions, as in promptfoo. The reason
 * names the assertions that do not hold.
 * @throws ConfigError for an unknown type, such as one that asks a model or runs code; RewardError
 * if the weights add up to 0 or less
 */
export function assertionScorer(given: Assertion | readonly Assertion[]) {
  const assertions = 'type' in given ? [given] : given;
  const checks = assertions.map((assertion) => {
    const isNot = assertion.type.startsWith('not-');
    const holds = pickRow('assertion', kinds, assertion.type.slice(isNot ? 4 : 0));
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
 * --from promptfoo` writes. Skips assertions that ask a model, execute code, or measure time or
 * cost, and names them in the reason.
 * @throws RewardError for a task without an assertion that can be checked
 */
export function taskAssertions({ output, metadata = {} }: AssertionArguments) {
  const { assert: given, vars } = metadata;
  const all: readonly Assertion[] = isAssertions(given) ? [given].flat() : [];
  const canCheck = ({ type }: Assertion): boolean =>
    Object.hasOwn(kinds, type.replace(/^not-/, ''));
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

const sameJson = (output: string, value: unknown): boolean =>
  JSON.stringify(tryJson(output)) === JSON.stringify(value);

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

/** Computes the edit distance: the number of characters that are inserted, deleted or replaced. */
function distance(a: string, b: string): number {
  const [from, to] = [a.slice(0, longestCompared), b.slice(0, longestCompared)];
  let above = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      row.push(Math.min(row[j - 1]! + 1, above[j]! + 1, above[j - 1]! + same));
    }
    above = row;
  }
  return above[to.length]!;
}
