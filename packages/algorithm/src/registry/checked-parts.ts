/**
 * Wraps plugin functions with checks. Each function gets copies of its arguments, so that it may
 * modify them. If its result is invalid, the error names the plugin.
 */
import {
  ConfigError,
  describeError,
  TrinityError,
  type AdvantageFn,
  type BatchAdvantageFn,
  type ExperienceOperator,
  type LossInput,
  uid,
} from '@trinity-rft/core';
import { readExperience, type AdvantageOutput } from '@trinity-rft/core/internal';
import type { RowFeedback } from '@trinity-rft/core/store';
import { copyOf, returnedBy, type Returned } from '@trinity-rft/core/support';
import type { AdvantageStrategy } from '../parts/advantage-part.js';
import type { BatchLoss } from '../parts/token-loss.js';

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
  let value: unknown;
  try {
    value = work(...(given.map(copyOf) as never[]));
  } catch (error) {
    if (TrinityError.is(error)) throw error;
    throw failed(`${who} threw: ${describeError(error)}`, error);
  }
  return read(value, returnedBy(who, failed));
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
 * Wraps the functions of a plugin's policy loss that handle a whole batch, so that their results
 * are checked.
 */
export function checkedLoss<D extends object>(who: string, definition: D): D {
  const { batch, metrics } = definition as { batch?: AnyFunction; metrics?: AnyFunction };
  return {
    ...definition,
    ...(batch && { batch: checkedBatchLoss(who, batch) }),
    ...(metrics && {
      metrics: (state: unknown) => call(who, [metrics, state], (value, by) => by.metrics(value)),
    }),
  };
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
