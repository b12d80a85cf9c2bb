/**
 * Wraps plugin functions with checks. Each function gets copies of its arguments, so that it may
 * modify them. If its result is invalid, the error names the plugin.
 */
import { inspect } from 'node:util';
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
    throw thrownBy(who, error);
  }
  return read(value, returnedBy(who, failed));
}

const thrownBy = (who: string, error: unknown): unknown =>
  TrinityError.is(error) ? error : failed(`${who} threw: ${describeError(error)}`, error);

/** Checks an advantage strategy that a plugin created, and wraps its functions. */
export function checkedStrategy(who: string, create: () => unknown): AdvantageStrategy {
  return call(`The create function of ${who}`, [create], (made, by) => {
    const names = ['advantage', 'batchAdvantage', 'needs'] as const;
    const { advantage, batchAdvantage, needs } = by.fields(made, names, 'an advantage strategy');
    return {
      ...(advantage !== undefined && {
        advantage: checkedAdvantage(who, functionOf(advantage, by)),
      }),
      ...(batchAdvantage !== undefined && {
        batchAdvantage: checkedBatchAdvantage(who, functionOf(batchAdvantage, by)),
      }),
      ...(needs !== undefined && { needs: needs as AdvantageStrategy['needs'] & object }),
    };
  });
}

/** Checks an operator that a plugin created, and wraps it. */
export function checkedOperator(who: string, create: () => unknown): ExperienceOperator['apply'] {
  const apply = call(`The create function of ${who}`, [create], functionOf);
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
 * Wraps the functions of a plugin's policy loss, so that their results are checked, and so that
 * they can read only the quantities that `needs` declares.
 */
export function checkedLoss<D extends object>(who: string, definition: D): D {
  const { batch, constants, prepare, row, token, metrics, needs } = definition as Partial<
    AnyTokenLoss<ArgSpec> & BatchLossDefinition<ArgSpec>
  >;
  const declared = declaredBy(who, needs ?? { rollouts: true });
  const same = (value: unknown): unknown => value;
  return {
    ...definition,
    ...(batch && { batch: checkedBatchLoss(who, batch, declared) }),
    ...(constants && { constants: (args: never) => call(who, [constants, args], same) }),
    ...(prepare && {
      prepare: (input: LossInput, given: unknown) =>
        call(
          who,
          [(copy: LossInput, own: unknown) => prepare(declared(copy), own), input, given],
          same,
        ),
    }),
    ...(row && { row: checkedFormula(who, row, declared) }),
    ...(token && { token: checkedToken(who, token, declared, needs?.entropy === 'gradient') }),
    ...(metrics && {
      metrics: (state: unknown) => call(who, [metrics, state], (value, by) => by.metrics(value)),
    }),
  };
}

type Declared = <T extends object>(given: T) => T;
type TokenFormula = AnyTokenLoss<ArgSpec>['token'];

/** The need that a loss must declare in order to read a quantity of a token, a row or a batch. */
const needOf = {
  advantage: 'rollouts',
  advantages: 'rollouts',
  oldLogprobs: 'rollouts',
  logRatio: 'rollouts',
  ratio: 'rollouts',
  ratioSlope: 'rollouts',
  meanLogRatio: 'rollouts',
  meanRatio: 'rollouts',
  sequenceRatio: 'rollouts',
  drift: 'rollouts',
  refLogRatio: 'referenceLogprobs',
  refLogprobs: 'referenceLogprobs',
  entropy: 'entropy',
} as const satisfies Readonly<Record<string, keyof AlgorithmNeeds>>;

/**
 * Returns a function that makes a live view of a token, a row or a batch. Undeclared quantities,
 * which would be constants such as 0, throw when they are read.
 */
function declaredBy(who: string, needs: Partial<AlgorithmNeeds>): Declared {
  const refusals = Object.entries(needOf)
    .filter(([, need]) => !needs[need] || needs[need] === 'none')
    .map(([name, need]): [string, PropertyDescriptor] => {
      const missing = inspect({ ...needs, [need]: need === 'entropy' ? 'value' : true });
      const error = `${who} reads \`${name}\`, which it does not declare. Define it with needs: ${missing}.`;
      const get = (): never => {
        throw failed(error);
      };
      return [name, { get }];
    });
  const views = new WeakMap<object, object>();
  const view = (given: object): object => {
    const known = views.get(given);
    if (known) return known;
    const values = given as Readonly<Record<string, object>>;
    const own = Object.keys(values).map((key): [string, PropertyDescriptor] => {
      const get = (): object => (key === 'row' ? view(values[key]!) : values[key]!);
      return [key, { enumerable: true, get }];
    });
    const made = Object.defineProperties({}, Object.fromEntries([...own, ...refusals]));
    views.set(given, made);
    return made;
  };
  return <T extends object>(given: T) => view(given) as T;
}

/** Calls a formula, which must set the fields of `out` and return nothing. */
const checkedFormula =
  <Given extends object, Out>(
    who: string,
    formula: (given: Given, out: Out, state: unknown) => unknown,
    declared: Declared,
  ) =>
  (given: Given, out: Out, state: unknown): void => {
    let value: unknown;
    try {
      value = formula(declared(given), out, state);
    } catch (error) {
      throw thrownBy(who, error);
    }
    if (value === undefined) return;
    const expected = 'nothing: set `out.loss` and `out.gradient`, or add to `out.sums`';
    throw returnedBy(who, failed).refuse(value, expected);
  };

const outputs = ['loss', 'gradient', 'entropyGradient'] as const;

function checkedToken(
  who: string,
  token: TokenFormula,
  declared: Declared,
  differentiatesEntropy: boolean,
): TokenFormula {
  const formula = checkedFormula(who, token, declared);
  return (given, out, state) => {
    formula(given, out, state);
    if (out.entropyGradient !== 0 && !differentiatesEntropy)
      throw failed(`${who} set out.entropyGradient; define it with entropy: 'gradient' in needs.`);
    for (const name of outputs)
      if (!Number.isFinite(out[name]))
        throw failed(
          `${who} set out.${name} to ${String(out[name])}; expected a finite number. The token was ${JSON.stringify(declared(given))}.`,
        );
  };
}

const checkedBatchLoss =
  (who: string, batch: BatchLossDefinition<ArgSpec>['batch'], declared: Declared): typeof batch =>
  (input, ...more) =>
    call(
      who,
      [(copy: LossInput, ...rest: typeof more) => batch(declared(copy), ...rest), input, ...more],
      (value, by) => {
        const names = ['loss', 'gradLogprobs', 'metrics'] as const;
        const { loss, gradLogprobs, metrics } = by.fields(
          value,
          names,
          '{ loss, gradLogprobs, metrics }',
        );
        if (!Number.isFinite(loss)) throw by.refuse(loss, 'a finite number', ' as loss');
        const { actionMask } = input;
        const gradient = Float64Array.from(
          numbers(gradLogprobs, actionMask.length, ' as gradLogprobs', by),
        );
        const wrong = gradient.findIndex(
          (each, t) => actionMask[t] === 1 && !Number.isFinite(each),
        );
        if (wrong >= 0)
          throw by.refuse(gradient[wrong], 'a finite number', ` as gradLogprobs[${wrong}]`);
        return { loss: loss as number, gradLogprobs: gradient, metrics: by.metrics(metrics) };
      },
    );

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
