/**
 * Wraps plugin functions with checks. Functions that return data get copies of their arguments, so
 * that they may modify them. If a result is invalid, the error names the plugin.
 */
import { inspect, types } from 'node:util';
import {
  ConfigError,
  describeError,
  TrinityError,
  type AdvantageFn,
  type AlgorithmNeeds,
  type ArgSpec,
  type BatchAdvantageFn,
  type ExperienceOperator,
  type LossInput,
  uid,
} from '@trinity-rft/core';
import { readExperience, type AdvantageOutput } from '@trinity-rft/core/internal';
import type { RowFeedback } from '@trinity-rft/core/store';
import { copyOf, returnedBy, type Returned } from '@trinity-rft/core/support';
import type { AdvantageStrategy } from '../parts/advantage-part.js';
import type { AnyTokenLoss, BatchLossDefinition } from '../parts/policy-loss-part.js';
import type { BatchLoss, TokenLoss, TokenQuantities, TokenResult } from '../parts/token-loss.js';

const failed = (message: string, cause?: unknown): ConfigError =>
  new ConfigError(message, { code: 'ALGORITHM_RESULT', cause });

type AnyFunction = (...given: readonly never[]) => unknown;

/**
 * Calls a plugin's function with copies of its arguments, and reads the result.
 * @param who name of the function in error messages, such as `Operator "x"`
 * @throws ConfigError if the function throws an error other than a TrinityError
 */
function call<T>(
  who: string,
  [work, ...given]: readonly [AnyFunction, ...unknown[]],
  read: (value: unknown, by: Returned) => T,
): T {
  const value = calling(who, () => work(...(given.map(copyOf) as never[])));
  return read(value, returnedBy(who, failed));
}

/** Calls a plugin's function. @throws ConfigError with its name, except for a TrinityError */
export function calling<T>(who: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw TrinityError.is(error) ? error : failed(`${who} threw: ${describeError(error)}`, error);
  }
}

/** Checks an advantage strategy that a plugin created, and wraps its functions. */
export function checkedStrategy(who: string, made: unknown): AdvantageStrategy {
  const by = returnedBy(`The create function of ${who}`, failed);
  const names = ['advantage', 'batchAdvantage', 'needs'] as const;
  const { advantage, batchAdvantage, needs } = by.fields(made, names, 'an advantage strategy');
  return {
    ...(advantage !== undefined && { advantage: checkedAdvantage(who, functionOf(advantage, by)) }),
    ...(batchAdvantage !== undefined && {
      batchAdvantage: checkedBatchAdvantage(who, functionOf(batchAdvantage, by)),
    }),
    ...(needs !== undefined && { needs: needs as AdvantageStrategy['needs'] & object }),
  };
}

/** Checks an operator that a plugin created, and wraps it. */
export function checkedOperator(who: string, made: unknown): ExperienceOperator['apply'] {
  const apply = functionOf(made, returnedBy(`The create function of ${who}`, failed));
  return (experiences) =>
    call(who, [apply, experiences], (value, by) => {
      const names = ['experiences', 'metrics', 'feedback'] as const;
      const { feedback, ...rest } = by.fields(value, names, '{ experiences, metrics }');
      const list = feedback === undefined ? undefined : by.list(feedback, 'a list as feedback');
      const read = list?.map((one) => readFeedback(one, by));
      return { ...readExperiences(rest, by), ...(read && { feedback: read }) };
    });
}

function readFeedback(value: unknown, by: Returned): RowFeedback {
  const names = ['taskset', 'row', 'value'] as const;
  const {
    taskset,
    row,
    value: mean,
  } = by.fields(value, names, '{ taskset, row, value } as feedback');
  if (!Number.isInteger(row)) throw by.refuse(row, 'the number of a row', ' as feedback.row');
  return {
    taskset: by.text(taskset, ' as feedback.taskset'),
    row: row as number,
    value: by.reward(mean, ' as feedback.value'),
  };
}

const checkedAdvantage =
  (who: string, advantage: AnyFunction): AdvantageFn =>
  (experiences) =>
    call(who, [advantage, experiences], (value, by) => {
      const names = ['experiences', 'metrics'] as const;
      return readExperiences(by.fields(value, names, '{ experiences, metrics }'), by);
    });

const checkedBatchAdvantage =
  (who: string, advantage: AnyFunction): BatchAdvantageFn =>
  (input) =>
    call(who, [advantage, input], (value, by): AdvantageOutput => {
      const names = ['advantages', 'returns', 'actionMask', 'metrics'] as const;
      const read = by.fields(value, names, '{ advantages, returns, metrics }');
      const size = input.actionMask.length;
      return {
        advantages: Float32Array.from(numbers(read.advantages, size, ' as advantages', by)),
        returns: Float32Array.from(numbers(read.returns, size, ' as returns', by)),
        ...(read.actionMask !== undefined && {
          actionMask: Uint8Array.from(numbers(read.actionMask, size, ' as actionMask', by)),
        }),
        metrics: by.metrics(read.metrics),
      };
    });

/**
 * Wraps the functions of a plugin's policy loss, so that their errors and results name it, and its
 * formulas, so that they can read only the quantities that `needs` declares.
 */
export function checkedLoss<D extends object>(who: string, definition: D): D {
  const { batch, constants, wrap, needs } = definition as Partial<
    AnyTokenLoss<ArgSpec> & BatchLossDefinition<ArgSpec>
  >;
  if (batch) return { ...definition, batch: checkedBatchLoss(who, batch) };
  return {
    ...definition,
    ...(constants && { constants: (args: never) => calling(who, () => constants(args)) }),
    wrap: (loss: TokenLoss, args: never) =>
      checkedTokenLoss(who, wrap ? calling(who, () => wrap(loss, args)) : loss, needs),
  };
}

/**
 * Wraps a token loss. Its formula gets copies of the quantities, in an object that is reused. Refuses
 * a Promise, which sets `out` too late, and a returned loss if `out` is not set.
 */
function checkedTokenLoss(
  who: string,
  loss: TokenLoss,
  needs: Partial<AlgorithmNeeds> = { rollouts: true },
): TokenLoss {
  const { lossMetric, tokenMeans, rowMeans, row, metrics } = loss;
  const token = Object.create(undeclaredQuantities(who, needs)) as Mutable<TokenQuantities>;
  const by = returnedBy(who, failed);
  return {
    lossMetric,
    tokenMeans,
    rowMeans,
    prepare: (input) => calling(who, () => loss.prepare(input)),
    ...(row && {
      row: (given, out, state) => {
        const value: unknown = calling(who, () => row.call(loss, given, out, state));
        if (types.isPromise(value)) throw by.refuse(value, 'nothing');
      },
    }),
    token: (given, out, state) => {
      copyToken(given, token);
      const value: unknown = calling(who, () => loss.token(token, out, state));
      const { loss: one, gradient } = (value ?? {}) as Partial<TokenResult>;
      const isUnset = out.loss === 0 && out.gradient === 0 && out.entropyGradient === 0;
      if (types.isPromise(value) || (isUnset && (one || gradient)))
        throw by.refuse(value, 'nothing: `token` sets `out.loss` and `out.gradient`');
      if (out.entropyGradient !== 0 && needs.entropy !== 'gradient')
        throw failed(
          `${who} set out.entropyGradient; define it with entropy: 'gradient' in needs.`,
        );
      if (Number.isFinite(out.loss + out.gradient + out.entropyGradient)) return;
      throw failed(
        `${who} set ${inspect(out)}; expected finite numbers. The token was ${inspect({ ...token }, { breakLength: Infinity })}.`,
      );
    },
    ...(metrics && {
      metrics: (state) => by.metrics(calling(who, () => metrics.call(loss, state))),
    }),
  };
}

/** The need that a loss must declare in order to read a quantity of a token. */
const needOf = {
  advantage: 'rollouts',
  logRatio: 'rollouts',
  ratio: 'rollouts',
  ratioSlope: 'rollouts',
  refLogRatio: 'referenceLogprobs',
  entropy: 'entropy',
} as const satisfies Partial<Record<keyof TokenQuantities, keyof AlgorithmNeeds>>;

/**
 * Prototype on which undeclared quantities throw when they are read, because they are constants or,
 * for `entropy: 'metric'`, means of a sample. Declared ones become properties of the object itself,
 * because an object with getters of its own is slow to spread.
 */
function undeclaredQuantities(who: string, needs: Partial<AlgorithmNeeds>): object {
  const prototype = {};
  for (const [name, need] of Object.entries(needOf)) {
    if ([true, 'value', 'gradient'].includes(needs[need] ?? false)) continue;
    const missing = inspect({ ...needs, [need]: need === 'entropy' ? 'value' : true });
    const get = (): never => {
      throw failed(
        `${who} reads \`${name}\`, which it does not declare. Define it with needs: ${missing}.`,
      );
    };
    Object.defineProperty(prototype, name, { get, set: () => {} });
  }
  return prototype;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Copies each quantity by name, because a loop over the names takes longer than a formula. */
function copyToken(from: TokenQuantities, to: Mutable<TokenQuantities>): void {
  to.index = from.index;
  to.logprob = from.logprob;
  to.logRatio = from.logRatio;
  to.ratio = from.ratio;
  to.ratioSlope = from.ratioSlope;
  to.advantage = from.advantage;
  to.refLogRatio = from.refLogRatio;
  to.entropy = from.entropy;
  to.row = from.row;
}

const checkedBatchLoss =
  (who: string, batch: AnyFunction) =>
  (input: LossInput, ...more: readonly unknown[]): BatchLoss =>
    call(who, [batch, input, ...more], (value, by) => {
      const names = ['loss', 'gradLogprobs', 'metrics'] as const;
      const read = by.fields(value, names, '{ loss, gradLogprobs, metrics }');
      if (typeof read.loss !== 'number') throw by.refuse(read.loss, 'a number', ' as loss');
      const size = input.actionMask.length;
      return {
        loss: read.loss,
        gradLogprobs: Float64Array.from(numbers(read.gradLogprobs, size, ' as gradLogprobs', by)),
        metrics: by.metrics(read.metrics),
      };
    });

/**
 * Reads the experiences that a plugin returned. Rejects duplicate ids, because a store accepts each
 * id only once.
 */
function readExperiences(
  { experiences, metrics }: { readonly experiences?: unknown; readonly metrics?: unknown },
  by: Returned,
): ReturnType<AdvantageFn> {
  const list = by.list(experiences, 'a list as experiences').map((one) => readExperience(one, by));
  const seen = new Set<string>();
  for (const { eid } of list) {
    const id = uid(eid);
    if (seen.has(id))
      throw by.refuse(id, 'each experience once; copies need another eid.suffix', ' twice');
    seen.add(id);
  }
  return { experiences: list, metrics: by.metrics(metrics) };
}

function numbers(value: unknown, size: number, at: string, by: Returned): ArrayLike<number> {
  if (!Array.isArray(value) && !(ArrayBuffer.isView(value) && 'length' in value))
    throw by.refuse(value, 'a Float32Array', at);
  const list = value as ArrayLike<number>;
  if (list.length === size) return list;
  throw by.refuse(value, `${size} numbers, one per token, instead of ${list.length}`, at);
}

function functionOf(value: unknown, by: Returned): AnyFunction {
  if (typeof value === 'function') return value as AnyFunction;
  throw by.refuse(value, 'a function');
}
