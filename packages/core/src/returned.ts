/**
 * Checks the results of user functions. Each result is read once, checked and copied. Errors name
 * the function.
 */
import { inspect, types } from 'node:util';
import { boundedText, describeError } from './errors.js';
import type { Metrics } from './metrics.js';
import { isUsableReward, usableReward } from './reward.js';
import { redactText } from './secrets.js';

/**
 * Maximum number of metrics that one function may return. Results above this limit, or the limits
 * below, would block the event loop or fill the disk.
 */
const mostMetrics = 500;
const longestMetricName = 200;
const longestShown = 200;
/** Maximum number of characters in a reason; longer reasons are cut. */
const longestReason = 20_000;
/**
 * Maximum size of all of `info`: the number of its values, plus the number of characters in its
 * keys and strings.
 */
const largestInfo = 1_000_000;
const deepestInfo = 100;
/** Maximum number of characters in a prompt or response. */
const longestText = 10_000_000;

/**
 * Reads the result of one function. All methods but `refuse` and `unusable` throw the errors that `toError` of
 * {@link returnedBy} creates.
 */
export interface Returned {
  /**
   * Creates the error for a value that is not as expected.
   * @param at text after "returned <value>" in the message, such as ` for "accuracy"`
   */
  readonly refuse: (value: unknown, expected: string, at?: string) => Error;
  /** Creates the error for a result with numbers or arrays that cannot be used. */
  readonly unusable: (why: string) => Error;
  /** Returns `value` as a usable reward; `true` is 1 and `false` is 0. */
  readonly reward: (value: unknown, at?: string) => number;
  /**
   * Returns the reward, its named parts and their reasons. The reward is the sum of the parts. A
   * bare number has no parts and no reasons.
   */
  readonly rewardParts: (value: unknown) => {
    readonly reward: number;
    readonly parts: Metrics;
    readonly reasons: Readonly<Record<string, string>>;
  };
  /**
   * Returns a copy of numbers keyed by name; empty for undefined and null. `true` is 1 and `false`
   * is 0.
   */
  readonly metrics: (value: unknown, at?: string) => Metrics;
  /** Copies the fields `names` of an object, whose getters or proxies may throw. */
  readonly fields: <Name extends string>(
    value: unknown,
    names: readonly Name[],
    expected: string,
  ) => Readonly<Partial<Record<Name, unknown>>>;
  readonly list: (value: unknown, expected: string) => readonly unknown[];
  readonly text: (value: unknown, at: string, longest?: number) => string;
  /**
   * Copies an object of plain JSON values of bounded size. Returns an empty object for undefined
   * and null.
   */
  readonly info: (value: unknown, at?: string) => Readonly<Record<string, unknown>>;
}

/**
 * Creates the reader of the result of one function.
 * @param who beginning of error messages: `Reward function "mine"`
 * @param place end of error messages: ` on task 1/2`. @default ''
 */
export function returnedBy(who: string, toError: (message: string) => Error, place = ''): Returned {
  const refuse: Returned['refuse'] = (value, expected, at = '') =>
    toError(redactText(`${who} returned ${shown(value)}${at}${place}; expected ${expected}.`));
  const reward: Returned['reward'] = (value, at) => {
    const number = typeof value === 'boolean' ? Number(value) : value;
    if (typeof number === 'number' && isUsableReward(number)) return number;
    throw refuse(value, `${usableReward}, or true or false`, at);
  };
  /** Reads each own enumerable entry of an object once. */
  const entriesOf = (
    value: unknown,
    expected: string,
    at?: string,
  ): readonly (readonly [string, unknown])[] => {
    if (!isPlain(value)) throw refuse(value, expected, at);
    return readable(() => Object.entries(value), expected, at);
  };
  const readable = <T>(read: () => T, expected: string, at = ''): T => {
    try {
      return read();
    } catch (error) {
      throw toError(
        redactText(
          `${who} returned an object that cannot be read${at}${place} (${describeError(error)}); expected ${expected}.`,
        ),
      );
    }
  };
  const metrics: Returned['metrics'] = (value, at = ' as metrics') => {
    if (value === undefined || value === null) return {};
    const entries = entriesOf(value, 'numbers by name', at);
    if (entries.length > mostMetrics)
      throw toError(
        `${who} returned ${entries.length} metrics${place}; expected at most ${mostMetrics}. Return sums or means of them.`,
      );
    return Object.fromEntries(
      entries
        .filter(([, number]) => number !== undefined)
        .map(([name, number]) => {
          if (!isMetricName(name)) throw refuse(name, metricName, ' as the name of a metric');
          const shortAt = ` for the metric ${JSON.stringify(name)}`;
          if (typeof number !== 'number' && typeof number !== 'boolean')
            throw refuse(number, 'a number, or true or false', shortAt);
          return [name, Number(number)];
        }),
    );
  };
  const text: Returned['text'] = (value, at, longest = longestText) => {
    if (typeof value === 'string' && value.length <= longest) return value;
    throw refuse(value, `a text of at most ${longest} characters`, at);
  };
  const info: Returned['info'] = (value, at = ' as info') => {
    if (value === undefined || value === null) return {};
    if (!isPlain(value)) throw refuse(value, 'an object of plain JSON values', at);
    return readable(
      () => plainCopy(value, largestInfo, (part, what) => refuse(part, what, at)),
      'an object of plain JSON values',
      at,
    );
  };
  const reasonsOf = (value: Plain): Readonly<Record<string, string>> =>
    Object.fromEntries(
      entriesOf(value['reasons'] ?? {}, 'texts by the names of parts', ' as reasons').map(
        ([name, reason]) => [
          name,
          boundedText(text(reason, ` as the reason for ${JSON.stringify(name)}`), longestReason),
        ],
      ),
    );
  const fields: Returned['fields'] = (value, names, expected) => {
    if (!isPlain(value)) throw refuse(value, expected);
    return readable(
      () => Object.fromEntries(names.map((name) => [name, value[name]])),
      expected,
    ) as Readonly<Partial<Record<(typeof names)[number], unknown>>>;
  };
  return {
    refuse,
    unusable: (why) => toError(redactText(`${who} returned what cannot be used${place}. ${why}`)),
    reward,
    rewardParts: (given) => {
      const { value, reasons } =
        isPlain(given) && isPlain(given['parts'])
          ? { value: given['parts'], reasons: reasonsOf(given) }
          : { value: given, reasons: {} };
      if (!isPlain(value)) {
        const expected = `${usableReward}, true or false, or such numbers by name: { accuracy: 1 }`;
        if (typeof value !== 'number' && typeof value !== 'boolean') throw refuse(value, expected);
        return { reward: reward(value), parts: {}, reasons };
      }
      const entries = entriesOf(value, 'numbers by name');
      if (entries.length === 0)
        throw refuse(value, `${usableReward}, or at least one by name: { accuracy: 1 }`);
      const parts = metrics(
        Object.fromEntries(
          entries.map(([name, part]) => [
            name,
            reward(part, ` for ${JSON.stringify(boundedText(name, longestMetricName))}`),
          ]),
        ),
      );
      const sum = Object.values(parts).reduce((all, part) => all + part, 0);
      return { reward: reward(sum, ' as the sum of its parts'), parts, reasons };
    },
    metrics,
    fields,
    list: (value, expected) => {
      if (!Array.isArray(value)) throw refuse(value, expected);
      return readable(() => [...(value as readonly unknown[])], expected);
    },
    text,
    info,
  };
}

const metricName = `one line of 1 to ${longestMetricName} characters without secrets`;

const isMetricName = (name: string): boolean =>
  name.length > 0 &&
  name.length <= longestMetricName &&
  name !== '__proto__' &&
  !/[\p{Cc}\u2028\u2029]/u.test(name) &&
  redactText(name) === name;

type Plain = Readonly<Record<string, unknown>>;

/**
 * Returns false for lists, typed arrays, Promises, Maps and other built-in objects. Does not throw.
 */
function isPlain(value: unknown): value is Plain {
  try {
    return Object.prototype.toString.call(value) === '[object Object]';
  } catch {
    return false;
  }
}

/** Describes a value without calling its getters. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (types.isPromise(value)) return 'a Promise that was not awaited';
  if (ArrayBuffer.isView(value)) return `a ${value.constructor.name}`;
  const options = { depth: 1, maxArrayLength: 5, maxStringLength: 80, breakLength: Infinity };
  const whole = inspect(value, { ...options, customInspect: false, compact: true });
  return boundedText(whole, longestShown);
}

/**
 * Copies plain JSON values.
 * @throws the error of `refuse` for other values, and if the copy exceeds `budget` characters and
 * values
 */
function plainCopy(
  whole: Plain,
  budget: number,
  refuse: (value: unknown, expected: string) => Error,
): Plain {
  let left = budget;
  const spend = (amount: number): void => {
    left -= amount;
    if (left < 0) throw refuse(undefined, `at most ${budget} characters and values`);
  };
  const copy = (value: unknown, depth: number): unknown => {
    spend(typeof value === 'string' ? value.length + 1 : 1);
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value;
    if (depth > deepestInfo) throw refuse(value, `at most ${deepestInfo} levels`);
    if (Array.isArray(value)) return value.map((item) => copy(item ?? null, depth + 1));
    if (!isPlain(value)) throw refuse(value, 'plain JSON values only');
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return Object.fromEntries(
      entries.map(([key, item]) => {
        if (key === '__proto__') throw refuse(key, 'another key');
        spend(key.length);
        return [key, copy(item, depth + 1)];
      }),
    );
  };
  return copy(whole, 0) as Plain;
}
