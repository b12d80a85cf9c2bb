// Advantages over groups of experiences, and over packed train batches.
import { createExperience, type AdvantageInput } from '../../packages/core/src/index.ts';
import { builtInTables, createAlgorithm } from '../../packages/algorithm/src/index.ts';
import { advantageTolerance, expectSame } from './compare.ts';
import {
  camelCased,
  flat,
  offsetsOf,
  toExperience,
  type ExperienceVector,
  type Matrix,
} from '../../packages/algorithm/test/vector-inputs.ts';
import {
  inputOf,
  rowsLike,
  type InputVectors,
  type Numbers,
  type VectorCase,
  type VectorFile,
} from './suite.ts';

/**
 * Where our default differs from the original on purpose: the argument that gives the original's
 * numbers.
 */
const originals: Readonly<Record<string, object>> = {
  grpo: { rankPenaltyRawNumerator: true },
  step_wise_grpo: { runReward: 'last_listed' },
  asymre: { rewardMeanFromBaseline: true },
  asymre_verl: { rewardMeanFromBaseline: true },
  jsd: { form: 'original' },
  gigpo: { anchorScope: 'batch' },
};

function argsOf(fn: string, given: Readonly<Record<string, unknown>>): object {
  const known = builtInTables.advantageFns[fn]?.args ?? {};
  const restoring = Object.entries(originals[fn] ?? {}).filter(([name]) =>
    Object.hasOwn(known, name),
  );
  return { ...camelCased(given), ...Object.fromEntries(restoring) };
}

interface GroupVector {
  readonly id: string;
  readonly fn: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly experiences: readonly ExperienceVector[];
  readonly expect: {
    readonly output: readonly {
      readonly task: number;
      readonly run: number;
      readonly step: number;
      readonly advantages: readonly number[];
    }[];
    readonly returns_equal_advantages?: boolean;
    readonly metrics: Numbers;
  };
}

/**
 * Results are compared by task, run and step; draws at random are only told apart by their
 * advantages.
 */
export function groupAdvantages(vectors: readonly GroupVector[]): readonly VectorCase[] {
  return vectors.map(({ id, fn, args, experiences, expect }) => ({
    id,
    run: () => {
      const { advantage } = createAlgorithm({
        advantageFn: { name: fn, args: argsOf(fn, args) },
        policyLossFn: { name: 'ppo' },
      });
      const result = advantage!(experiences.map(toExperience));
      const output = result.experiences.map(({ eid: { task, run, step }, advantages }) => ({
        task: Number(task),
        run,
        step,
        advantages: [...advantages!],
      }));
      expectSame(sorted(output), sorted(expect.output), advantageTolerance, 'output');
      expectSame(result.metrics, expect.metrics, advantageTolerance, 'metrics');
      if (expect.returns_equal_advantages) {
        for (const { advantages, returns } of result.experiences)
          expectSame(returns, advantages, 0, 'returns');
      }
    },
  }));
}

type Output = GroupVector['expect']['output'];
const sorted = (output: Output): Output =>
  output.toSorted(
    (a, b) =>
      a.task - b.task ||
      a.run - b.run ||
      a.step - b.step ||
      (a.advantages[0] ?? 0) - (b.advantages[0] ?? 0),
  );

interface BatchVector {
  readonly id: string;
  readonly fn?: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly input: string;
  readonly expect: {
    readonly advantages: Matrix;
    readonly returns?: Matrix;
    readonly response_mask?: Matrix;
    readonly metrics: Numbers;
  };
}

/**
 * Rows of the original are padded; here each is a whole row, so what stands in masked places is
 * compared on trained ones.
 */
export function batchAdvantages(
  vectors: readonly BatchVector[],
  file: VectorFile,
): readonly VectorCase[] {
  return vectors.map(({ id, fn = id.slice(0, id.indexOf('/')), args, input: name, expect }) => ({
    id,
    run: () => {
      const row = builtInTables.advantageFns[fn];
      if (!row) throw new RangeError(`there is no advantage function "${fn}"`);
      const input = advantageInput(inputOf(file, name));
      const { batchAdvantage } = row.make(`advantage function "${fn}"`, argsOf(fn, args), 0);
      const { advantages, returns, actionMask, metrics } = batchAdvantage!(input);
      const trained = (values: ArrayLike<number>): number[] =>
        Array.from(values).filter((_, t) => input.actionMask[t] === 1);
      expectSame(
        trained(advantages),
        trained(expect.advantages.flat()),
        advantageTolerance,
        'advantages',
      );
      if (expect.returns)
        expectSame(trained(returns), trained(expect.returns.flat()), advantageTolerance, 'returns');
      if (expect.response_mask)
        expectSame(
          rowsLike(actionMask ?? input.actionMask, expect.response_mask),
          expect.response_mask,
          0,
          'mask',
        );
      expectSame(metrics, expect.metrics, advantageTolerance, 'metrics');
    },
  }));
}

function advantageInput(vectors: InputVectors): AdvantageInput {
  const mask = vectors['response_mask']!;
  const names = vectors['uid'] as unknown as readonly string[];
  const known = [...new Set(names)];
  const optional = (field: string, name: string): object =>
    vectors[name] ? { [field]: flat(vectors[name]) } : {};
  return {
    offsets: offsetsOf(mask),
    actionMask: Uint8Array.from(mask.flat()),
    rewards: flat(vectors['token_level_rewards']!),
    tasks: Int32Array.from(names, (name) => known.indexOf(name)),
    oldLogprobs: flat(vectors['old_log_probs']!),
    ...optional('values', 'values'),
    ...optional('teacherLogprobs', 'teacher_logprobs'),
    ...optional('entropy', 'entropys'),
    ...optional('necs', 'necs'),
    ...(vectors['reward_baselines'] && {
      rewardBaselines: Float32Array.from(
        vectors['reward_baselines'] as unknown as readonly number[],
      ),
    }),
  };
}

interface GigpoVectors {
  readonly args: Readonly<Record<string, unknown>>;
  readonly steps: readonly {
    readonly run: number;
    readonly step: number;
    readonly step_reward: number;
    readonly hash: string;
  }[];
  readonly advantages: readonly number[];
  readonly metrics: Numbers;
}

export function gigpo({ args, steps, advantages, metrics }: GigpoVectors): readonly VectorCase[] {
  const run = (): void => {
    const { advantage } = createAlgorithm({
      advantageFn: { name: 'gigpo', args: argsOf('gigpo', args) },
      policyLossFn: { name: 'ppo' },
    });
    const experiences = steps.map(({ run: of, step, step_reward, hash }) =>
      createExperience({
        tokens: [1, 2],
        promptLength: 1,
        reward: step_reward,
        eid: { batch: 0, task: 0, run: of, step },
        info: { step_reward, env_state_hash: hash },
      }),
    );
    const result = advantage!(experiences);
    const found = result.experiences.toSorted(
      (a, b) => a.eid.run - b.eid.run || a.eid.step - b.eid.step,
    );
    expectSame(
      found.map((experience) => experience.advantages![0]),
      advantages,
      advantageTolerance,
      'advantages',
    );
    expectSame(result.metrics, metrics, advantageTolerance, 'metrics');
  };
  return [{ id: 'gigpo', run }];
}
