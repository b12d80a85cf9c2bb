// Advantages over groups of experiences, and over packed train batches.
import {
  createExperience,
  type AdvantageFn,
  type Experience,
} from '../../packages/core/src/index.ts';
import type { AdvantageInput } from '../../packages/core/src/internal.ts';
import { builtInTables, createAlgorithm } from '../../packages/algorithm/src/index.ts';
import { advantageTolerance, expectSame } from './compare.ts';
import {
  camelCased,
  flat,
  maskOf,
  offsetsOf,
  toExperience,
  type ExperienceVector,
  type Mask,
  type Matrix,
} from './inputs.ts';
import {
  inputOf,
  type InputVectors,
  type Numbers,
  type VectorCase,
  type VectorFile,
} from './suite.ts';

/** Arguments that give Trinity-RFT's numbers where our default differs on purpose. */
const originals: Readonly<Record<string, object>> = {
  grpo: { rankPenaltyRawNumerator: true },
  step_wise_grpo: { runReward: 'last_listed' },
  asymre: { rewardMeanFromBaseline: true },
  asymre_verl: { rewardMeanFromBaseline: true },
  jsd: { form: 'original' },
  gigpo: { anchorScope: 'batch' },
};

function argsOf(
  fn: string,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const known = builtInTables.advantageFns[fn]?.args ?? {};
  const restoring = Object.entries({ compare: 'calls', ...originals[fn] }).filter(([name]) =>
    Object.hasOwn(known, name),
  );
  return { ...camelCased(given), ...Object.fromEntries(restoring) };
}

/** Experience in the output of an advantage function. */
interface Scored {
  readonly task: number;
  readonly run: number;
  readonly step: number;
  readonly advantages?: readonly number[];
}

interface GroupVector {
  readonly id: string;
  readonly fn: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly experiences: readonly ExperienceVector[];
  readonly expect: {
    readonly output?: readonly Scored[];
    readonly returns_equal_advantages?: boolean;
    readonly metrics?: Numbers;
  };
}

/**
 * Cases of group advantages. Results are compared by task, run and step; random draws are only distinguished by their
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
      if (expect.output)
        expectSame(sorted(output), sorted(expect.output), advantageTolerance, 'output');
      expectSame(result.metrics, expect.metrics, advantageTolerance, 'metrics');
      if (expect.returns_equal_advantages) {
        for (const { advantages, returns } of result.experiences)
          expectSame(returns, advantages, 0, 'returns');
      }
    },
  }));
}

const sorted = (output: readonly Scored[]): readonly Scored[] =>
  output.toSorted(
    (a, b) =>
      a.task - b.task ||
      a.run - b.run ||
      a.step - b.step ||
      (a.advantages?.[0] ?? 0) - (b.advantages?.[0] ?? 0),
  );

interface BatchVector {
  readonly id: string;
  readonly fn?: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly input: string;
  readonly expect: {
    readonly advantages?: Matrix;
    readonly returns?: Matrix;
    readonly response_mask?: Mask;
    readonly metrics?: Numbers;
  };
}

/**
 * Cases of batch advantages. Trinity-RFT pads rows. Each case runs on padded rows, on rows without
 * padding, and on experiences if the function takes them; trained tokens must get equal values.
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
      const given = inputOf(file, name);
      const padded = given['response_mask']!;
      const { batchAdvantage, advantage } = row.make(
        `advantage function "${fn}"`,
        argsOf(fn, args),
        0,
      );
      const lengths = padded.map((mask) => mask.lastIndexOf(1) + 1);
      for (const vectors of [given, withoutPadding(given, lengths)]) {
        const input = advantageInput(vectors);
        const { advantages, returns, actionMask, metrics } = batchAdvantage!(input);
        const trained = (values: ArrayLike<number>): number[] =>
          Array.from(values).filter((_, t) => input.actionMask[t] === 1);
        const stated = (matrix: Matrix | undefined): number[] | undefined =>
          matrix?.flat().filter((_, t) => padded.flat()[t] === 1);
        expectSame(
          trained(advantages),
          stated(expect.advantages),
          advantageTolerance,
          'advantages',
        );
        expectSame(trained(returns), stated(expect.returns), advantageTolerance, 'returns');
        expectSame(metrics, expect.metrics, advantageTolerance, 'metrics');
        if (expect.response_mask) {
          const mask = maskOf(expect.response_mask, padded);
          expectSame(trained(actionMask ?? input.actionMask), stated(mask), 0, 'mask');
        }
      }
      if (advantage) expectOfExperiences(advantage(toExperiences(given, lengths)), lengths, expect);
    },
  }));
}

function expectOfExperiences(
  { experiences, metrics }: ReturnType<AdvantageFn>,
  lengths: readonly number[],
  expect: BatchVector['expect'],
): void {
  for (const { eid, advantages } of experiences) {
    const stated = expect.advantages?.[eid.run]?.slice(0, lengths[eid.run]);
    expectSame(advantages, stated, advantageTolerance, `advantages of experience ${eid.run}`);
  }
  expectSame(metrics, expect.metrics, advantageTolerance, 'metrics of experiences');
}

const withoutPadding = (vectors: InputVectors, lengths: readonly number[]): InputVectors =>
  Object.fromEntries(
    Object.entries(vectors).map(([name, column]) => [
      name,
      column.map((row, i) => (Array.isArray(row) ? row.slice(0, lengths[i]) : row)),
    ]),
  );

/** Converts rows to experiences, with the rows of a task one after the other. */
function toExperiences(vectors: InputVectors, lengths: readonly number[]): readonly Experience[] {
  const { response_mask: masks = [], reward_baselines: baselines } = vectors;
  const tasks = vectors['uid'] as unknown as readonly string[];
  const rewards = vectors['token_level_rewards']!;
  const experiences = masks.map((mask, row) => {
    const cut = (name: string) => vectors[name]?.[row]?.slice(0, lengths[row]);
    return createExperience({
      tokens: Array.from({ length: lengths[row]! + 1 }, () => 1),
      promptLength: 1,
      actionMask: mask.slice(0, lengths[row]),
      logprobs: cut('old_log_probs')!,
      teacherLogprobs: cut('teacher_logprobs'),
      reward: rewards[row]!.reduce((sum, reward) => sum + reward, 0),
      info: { reward_baseline: baselines?.[row] as number | undefined },
      eid: { batch: 0, task: tasks[row]!, run: row, step: 0 },
    });
  });
  return experiences.toSorted(
    (a, b) => tasks.indexOf(String(a.eid.task)) - tasks.indexOf(String(b.eid.task)),
  );
}

function advantageInput(vectors: InputVectors): AdvantageInput {
  const mask = vectors['response_mask']!;
  const names = vectors['uid'] as unknown as readonly string[];
  const known = [...new Set(names)];
  const column = (name: string): Float32Array | undefined => vectors[name] && flat(vectors[name]);
  const zeros = mask.map((row) => row.map(() => 0));
  return {
    offsets: offsetsOf(mask),
    actionMask: Uint8Array.from(mask.flat()),
    rewards: flat(vectors['token_level_rewards'] ?? zeros),
    tasks: Int32Array.from(names, (name) => known.indexOf(name)),
    oldLogprobs: flat(vectors['old_log_probs'] ?? zeros),
    values: column('values'),
    teacherLogprobs: column('teacher_logprobs'),
    entropy: column('entropys'),
    necs: column('necs'),
    rewardBaselines: column('reward_baselines'),
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
