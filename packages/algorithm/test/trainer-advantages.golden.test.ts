import {
  createExperience,
  type AdvantageInput,
  type AdvantageOutput,
  type Experience,
} from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { builtInTables, type AdvantageStrategy } from '../src/index.js';
import { expectClose, expectMetrics, readVectors } from './support.js';
import { camelCased, type Matrix } from './vector-inputs.js';

interface Case {
  readonly id: string;
  readonly fn: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly expect: {
    readonly advantages: Matrix;
    readonly returns?: Matrix;
    readonly response_mask?: Matrix;
    readonly metrics: Readonly<Record<string, number>>;
  };
}

interface Vectors {
  readonly tolerance: number;
  readonly input: Readonly<
    Record<
      | 'token_level_rewards'
      | 'response_mask'
      | 'values'
      | 'old_log_probs'
      | 'teacher_logprobs'
      | 'entropys'
      | 'necs',
      Matrix
    >
  > & { readonly reward_baselines: readonly number[]; readonly uid: readonly string[] };
  readonly cases: readonly Case[];
}

const vectors = readVectors<Vectors>('trainer-advantages');
const given = vectors.input;
const flat = (matrix: Matrix): Float32Array => Float32Array.from(matrix.flat());

/** The padded matrices as they are: padding counts as tokens that are not trained. */
const input: AdvantageInput = {
  offsets: Int32Array.from([
    0,
    ...given.response_mask.map((_, i) => given.response_mask.slice(0, i + 1).flat().length),
  ]),
  actionMask: Uint8Array.from(given.response_mask.flat()),
  rewards: flat(given.token_level_rewards),
  tasks: Int32Array.from(given.uid, (uid) => given.uid.indexOf(uid)),
  oldLogprobs: flat(given.old_log_probs),
  values: flat(given.values),
  teacherLogprobs: flat(given.teacher_logprobs),
  entropy: flat(given.entropys),
  necs: flat(given.necs),
  rewardBaselines: Float32Array.from(given.reward_baselines),
};

const make = ({ fn, args }: Case): AdvantageStrategy =>
  builtInTables.advantageFns[fn]!.make(`advantage function "${fn}"`, camelCased(args), 0);

describe('trainer-side advantages of the original', () => {
  it.each(vectors.cases)('$id', (each) => {
    const { advantages, returns, actionMask, metrics } = make(each).batchAdvantage!(input);
    expectClose(advantages, each.expect.advantages.flat(), vectors.tolerance);
    const { returns: wanted = [[...returns]], response_mask: mask = [[...(actionMask ?? [])]] } =
      each.expect;
    expectClose(returns, wanted.flat(), vectors.tolerance);
    expect([...(actionMask ?? [])]).toEqual(mask.flat());
    expectMetrics(metrics, each.expect.metrics, vectors.tolerance);
  });

  it('takes the reward of greedy answers off the returns (remax)', () => {
    const { advantages, returns } = builtInTables.advantageFns['remax']!.make('remax', {}, 0)
      .batchAdvantage!(input);
    expectClose(
      returns,
      [1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0, 0, 2, 2, 2, 2, 2],
      vectors.tolerance,
    );
    expectClose(
      advantages,
      [
        0.9, 0.9, 0.9, 0.9, 0.9, -0.2, -0.2, -0.2, -0.2, 0, 0.2, 0.5, 0.2, 0, 0, 1.6, 1.6, 1.6, 1.6,
        1.6,
      ],
      vectors.tolerance,
    );
  });
});

/** The same rows without their padding, as experiences in the order of their tasks. */
const lengths = given.response_mask.map((mask) => mask.lastIndexOf(1) + 1);
const experiences: readonly Experience[] = [0, 1, 3, 2].map((row) => {
  const cut = (matrix: Matrix): readonly number[] => matrix[row]!.slice(0, lengths[row]);
  return createExperience({
    tokens: Array.from({ length: lengths[row]! + 1 }, () => 1),
    promptLength: 1,
    actionMask: cut(given.response_mask),
    logprobs: cut(given.old_log_probs),
    teacherLogprobs: cut(given.teacher_logprobs),
    reward: given.token_level_rewards[row]!.reduce((a, b) => a + b),
    info: { reward_baseline: given.reward_baselines[row] },
    eid: { batch: 0, task: given.uid[row]!, run: row, step: 0 },
  });
});

describe('trainer-side advantages on experiences', () => {
  const cases = vectors.cases.filter((each) => make(each).advantage);

  it.each(cases)('$id', (each) => {
    const { experiences: scored, metrics } = make(each).advantage!(experiences);
    for (const { eid, advantages } of scored) {
      expectClose(
        advantages!,
        each.expect.advantages[eid.run]!.slice(0, lengths[eid.run]),
        vectors.tolerance,
      );
    }
    expect(scored).toHaveLength(4);
    expectMetrics(metrics, each.expect.metrics, vectors.tolerance);
  });

  it('covers all but those that need a critic or entropies', () => {
    const missing = Object.entries(builtInTables.advantageFns).filter(
      ([, part]) => !part.make('it', {}, 0).advantage,
    );
    expect(missing.map(([name]) => name)).toEqual(['ppo', 'clipb', 'clipv']);
  });
});

/** Every function gives the same on the rows without padding. */
describe('padding', () => {
  it.each(vectors.cases)('does not count in $id', (each) => {
    const padded: AdvantageOutput = make(each).batchAdvantage!(input);
    const keep = given.response_mask.flatMap((mask, row) => mask.map((_, t) => t < lengths[row]!));
    const shrink = <A extends Float32Array | Uint8Array>(values: A): A =>
      values.filter((_, t) => keep[t]!) as A;
    const { values, teacherLogprobs, entropy, necs } = input;
    const packed = make(each).batchAdvantage!({
      ...input,
      offsets: Int32Array.from([
        0,
        ...lengths.map((_, i) => lengths.slice(0, i + 1).reduce((a, b) => a + b)),
      ]),
      actionMask: shrink(input.actionMask),
      rewards: shrink(input.rewards),
      oldLogprobs: shrink(input.oldLogprobs),
      values: shrink(values!),
      teacherLogprobs: shrink(teacherLogprobs!),
      entropy: shrink(entropy!),
      necs: shrink(necs!),
    });
    expectClose(packed.advantages, shrink(padded.advantages), 1e-6);
    expectClose(packed.returns, shrink(padded.returns), 1e-6);
    expect(packed.actionMask).toEqual(padded.actionMask && shrink(padded.actionMask));
  });
});
