/** Checks assertions of promptfoo that neither call a model nor run code. */
import { ConfigError, RewardError } from '@trinity-rft/core';
import { fillTemplate, pickRow, tryJson } from '@trinity-rft/core/support';
import { isDeepStrictEqual } from 'node:util';
import { sharedMathChecker } from '../checker/checker.js';

/**
 * An assertion of promptfoo.
 * @see https://www.promptfoo.dev/docs/configuration/expected-outputs/
 */
export interface Assertion {
  /**
   * Type such as `contains` or `regex`. With the prefix `not-`, as in `not-contains`, the assertion
   * is negated.
   */
  readonly type: string;
  /** Expected value. `{{column}}` and `{{column.key}}` are replaced with values of the task. */
  readonly value?: unknown;
  /** Maximum edit distance that `levenshtein` accepts. @default 5 */
  readonly threshold?: number;
  /** Weight of the assertion in the score. @default 1 */
  readonly weight?: number;
  /** Code that would change the answer before the check. An assertion with such code is not checked. */
  readonly transform?: unknown;
}

type Holds = (output: string, value: unknown, assertion: Assertion) => boolean | Promise<boolean>;

/** Row of a task. Its columns are the variables of promptfoo. */
type Row = Readonly<Record<string, unknown>>;

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
  regex: (output, value) => matches(output, String(value)),
  'is-json': (output) => tryJson(output) !== undefined,
  'contains-json': holdsJson,
  levenshtein: (output, value, { threshold }) => isWithin(output, String(value), threshold ?? 5),
};

/** Maximum number of opening brackets at which an attempt is made to parse JSON. */
const mostOpenings = 50;
/** Assertion types whose optional value is a JSON schema. Schemas are not supported. */
const withSchema: readonly string[] = ['is-json', 'contains-json'];
/**
 * Assertion types whose value may be an empty string. For types such as `contains`, an empty value
 * would accept every answer.
 */
const withEmpty: readonly string[] = ['equals', 'levenshtein'];

/**
 * Returns true if the response contains a match of the pattern. The search runs in the worker
 * thread of the math checker, because a regular expression may practically never end.
 * @throws RewardError for a pattern that is invalid or takes too long
 */
async function matches(response: string, pattern: string): Promise<boolean> {
  const { equal, reason } = await sharedMathChecker.check({
    rule: 'pattern',
    response,
    truth: pattern,
  });
  if (reason === undefined) return equal;
  const what = reason === 'deadline' ? 'took too long' : 'could not be searched for';
  // The code differs from that of other problems, because the next answer may be searched in time.
  throw new RewardError(
    `The pattern ${JSON.stringify(pattern)} of an assertion ${what}. Correct it.`,
    { code: 'SCORER_PATTERN' },
  );
}

const formError = (message: string): RewardError =>
  new RewardError(message, { code: 'SCORER_FORM' });

const hasType = (value: unknown): value is Assertion =>
  typeof (value as { readonly type?: unknown } | null | undefined)?.type === 'string';

/** Returns true if the value is an assertion or a list that contains assertions. */
export const isAssertions = (value: unknown): value is Assertion | readonly Assertion[] =>
  Array.isArray(value) ? value.some(hasType) : hasType(value);

/**
 * Returns the assertions as a list.
 * @throws RewardError if an assertion has no type
 */
function listOf(given: Assertion | readonly Assertion[]): readonly Assertion[] {
  const list = 'type' in given ? [given] : given;
  const wrong = list.findIndex((entry) => !hasType(entry));
  if (wrong >= 0)
    throw formError(
      `Entry ${wrong} of a list of assertions is ${JSON.stringify(list[wrong])}; expected an object with the text "type".`,
    );
  return list;
}

/** @throws RewardError if the weight or threshold is not a number of at least 0 */
function checkAmounts(assertion: Assertion): void {
  const { type, weight, threshold } = assertion;
  const fields = kindOf(assertion) === 'levenshtein' ? { weight, threshold } : { weight };
  for (const [name, value] of Object.entries(fields))
    if (!isAmount(value ?? 0))
      throw formError(
        `The assertion "${type}" has the ${name} ${shownValue(value)}; expected a number of at least 0.`,
      );
}

const isAmount = (value: unknown): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

/** Returns the value as JSON, or as a text if it is not JSON, such as NaN and 1n. */
const shownValue = (value: unknown): string =>
  typeof value === 'number' || typeof value === 'bigint' ? String(value) : JSON.stringify(value);

interface AssertionArguments {
  readonly output: string;
  readonly metadata?: Row;
}

const kindOf = ({ type }: Assertion): string => type.replace(/^not-/, '');

/**
 * Returns the reason why an assertion of a known type cannot be checked, or undefined if it can.
 * Patterns that refer to columns of the task are not validated here, because they are complete only
 * when an answer is scored.
 */
function problemOf(assertion: Assertion): string | undefined {
  if (assertion.transform)
    return 'has a transform, which is not run. Remove it to check the answer itself.';
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
 * Creates a scorer from assertions. The score is the weighted mean of their results, as in
 * promptfoo. The reason names the assertions that fail.
 * @throws ConfigError for an unknown type, such as one that calls a model or runs code, and for a
 * value that is missing or cannot be used; RewardError if an assertion has no type or an invalid
 * weight or threshold, if the weights add up to 0, and (when an answer is scored) for a placeholder
 * without a value, an empty value, or a pattern that cannot be searched for
 */
export function assertionScorer(given: Assertion | readonly Assertion[]) {
  const checks = listOf(given).map((assertion) => {
    const isNot = assertion.type.startsWith('not-');
    const holds = pickRow('assertion', kinds, kindOf(assertion));
    const problem = problemOf(assertion);
    if (problem !== undefined)
      throw new ConfigError(`The assertion "${assertion.type}" ${problem}`, {
        code: 'SCORER_FORM',
      });
    checkAmounts(assertion);
    return { assertion, weight: assertion.weight ?? 1, holds: negatedIf(isNot, holds) };
  });
  const total = checks.reduce((sum, { weight }) => sum + weight, 0);
  if (!(total > 0))
    throw formError('The weights of the assertions add up to 0. Give one of them a weight.');
  return async (args: unknown) => {
    const { output, metadata = {} } = args as AssertionArguments;
    const failing: typeof checks = [];
    for (const check of checks) {
      const { assertion, holds } = check;
      if (!(await holds(output, filled(assertion, metadata), assertion))) failing.push(check);
    }
    const lost = failing.reduce((sum, { weight }) => sum + weight, 0);
    return { score: (total - lost) / total, reason: reasonOf(failing.map((one) => one.assertion)) };
  };
}

/** An assertion that is not checked. */
interface Unchecked {
  readonly assertion: Assertion;
  /** Sentence that names the assertion and the reason; undefined if its type is not checked. */
  readonly problem?: string;
}

/** Assertions of a task. */
interface TaskAssertions {
  readonly checked: readonly Assertion[];
  readonly unchecked: readonly Unchecked[];
}

/**
 * Returns which assertions in the column `assert` of a task `taskAssertions` checks.
 * @throws RewardError for an entry without a type
 */
export function assertionsOf(task: Row): TaskAssertions {
  const { assert: given } = task;
  const all = isAssertions(given) ? listOf(given) : [];
  const row = variablesOf(task);
  const isKnown = (assertion: Assertion): boolean => Object.hasOwn(kinds, kindOf(assertion));
  const known = all.filter(isKnown).map((assertion) => ({
    assertion,
    problem: problemInTask(assertion, row),
  }));
  const checked = known.filter(({ problem }) => problem === undefined).map((one) => one.assertion);
  const unknown = all.filter((assertion) => !isKnown(assertion));
  return {
    checked,
    unchecked: [
      ...known.filter(({ problem }) => problem !== undefined),
      ...unknown.map((assertion) => ({ assertion })),
    ],
  };
}

/** Returns the columns of a task, and the variables of promptfoo among them. */
const variablesOf = (task: Row): Row => {
  const { vars } = task;
  return { ...task, ...(typeof vars === 'object' ? vars : {}) };
};

function problemInTask(assertion: Assertion, row: Row): string | undefined {
  const problem = problemOf(assertion);
  return problem === undefined
    ? fillIn(assertion, row).problem
    : `The assertion "${assertion.type}" ${problem}`;
}

/**
 * Scores an answer by the assertions in the column `assert` of the task, which `trinity import
 * --from promptfoo` writes. Skips assertions that call a model, execute code, measure time or cost,
 * have a JSON schema, or whose value is missing, invalid, or refers to a column without a value,
 * and names them in the reason.
 * @throws RewardError for a task without an assertion that can be checked, for an entry without a
 * type, for a checked assertion with an invalid weight or threshold, for weights that add up to 0,
 * and for a pattern that takes too long
 */
export async function taskAssertions({ output, metadata = {} }: AssertionArguments) {
  const { checked, unchecked } = assertionsOf(metadata);
  if (checked.length === 0)
    throw formError(
      [
        'A task has no assertion that can be checked in its column "assert".',
        ...unchecked.map(
          ({ assertion, problem = `The type "${assertion.type}" is not checked.` }) => problem,
        ),
        `Leave the task out, or give it one of ${Object.keys(kinds).join(', ')}.`,
      ].join(' '),
    );
  const { score, reason } = await assertionScorer(checked)({
    output,
    metadata: variablesOf(metadata),
  });
  const types = unchecked.map(({ assertion }) => assertion.type).join(', ');
  const rest = types === '' ? [] : [`Not checked: ${types}.`];
  const problems = unchecked.flatMap(({ problem }) => problem ?? []);
  return { name: 'assertions', score, reason: [reason, ...rest, ...problems].join(' ') };
}

/**
 * Returns the value of an assertion in which columns of the task replace the placeholders, after
 * checking it.
 * @throws RewardError if a column has no value, or if the result is empty or not a valid pattern
 */
function filled(assertion: Assertion, row: Row): unknown {
  const { value, problem } = fillIn(assertion, row);
  if (problem === undefined) return value;
  throw formError(problem);
}

/**
 * Replaces the placeholders in the value of an assertion with the columns of the task. A
 * placeholder whose name does not begin with a letter, as in the pattern `a{{1}}`, is ordinary text
 * unless there is a column of that name.
 */
function fillIn(
  assertion: Assertion,
  row: Row,
): { readonly value: unknown; readonly problem?: string } {
  const { type } = assertion;
  const missing: string[] = [];
  const value: unknown = fillTemplate(assertion.value, row, ({ whole, name, value: own, text }) => {
    if (own !== undefined && own !== null) return text;
    if (own === undefined && !/^[\p{L}_$]/u.test(name)) return whole;
    missing.push(`has ${whole}, but the task has no value under "${name}"`);
    return '';
  });
  if (missing[0] !== undefined) {
    const columns = Object.keys(row).join(', ') || 'none';
    return {
      value,
      problem: `The assertion "${type}" ${missing[0]}; its columns are ${columns}. Correct the name, or give the task a value.`,
    };
  }
  const problem = problemOf({ ...assertion, value });
  if (problem === undefined) return { value };
  const of = JSON.stringify(assertion.value);
  return {
    value,
    problem: `Filled in for the task, the assertion "${type}" of ${of} ${problem}`,
  };
}

const reasonOf = (failing: readonly Assertion[]): string =>
  failing.length === 0
    ? 'All assertions hold.'
    : `Do not hold: ${failing.map(({ type, value }) => `${type}${value === undefined ? '' : ` ${JSON.stringify(value)}`}`).join(', ')}.`;

const negatedIf =
  (isNot: boolean, holds: Holds): Holds =>
  async (...args) =>
    (await holds(...args)) !== isNot;

/** Converts a value to JSON and back, so that -0 becomes 0. */
const asJson = (value: unknown): unknown => tryJson(JSON.stringify(value));

const sameJson = (output: string, value: unknown): boolean =>
  isDeepStrictEqual(asJson(tryJson(output)), asJson(value));

/** Returns true if the text contains valid JSON that begins and ends with matching brackets. */
function holdsJson(output: string): boolean {
  for (const { index } of [...output.matchAll(/[{[]/g)].slice(0, mostOpenings)) {
    const end = endOfBrackets(output, index);
    if (end !== undefined && tryJson(output.slice(index, end)) !== undefined) return true;
  }
  return false;
}

/**
 * Returns the index after the bracket that closes the bracket at `begin`; undefined if there is
 * none. Brackets within strings do not count.
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
