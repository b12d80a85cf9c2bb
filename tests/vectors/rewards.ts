// Reward functions, graders and their text rules.
import { createRewardFn, original } from '../../packages/workflow/src/reward/index.ts';
import { overlongPenalty } from '../../packages/workflow/src/internal.ts';
import { expectSame } from './compare.ts';
import type { RewardParts } from '../../packages/core/src/index.ts';
import type { VectorCase } from './suite.ts';

type Case = Readonly<Record<string, unknown>>;
interface RewardSet extends Case {
  readonly cases?: readonly (Case | readonly unknown[])[];
}

async function parts(
  name: string,
  args: Case,
  response: string,
  truth?: string,
): Promise<Readonly<Record<string, number>>> {
  const found = await createRewardFn(
    name,
    args,
  )({ response, truth, prompt: undefined, rawTask: {} });
  return typeof found === 'number' ? { [name]: found } : (found as RewardParts);
}
async function total(...given: Parameters<typeof parts>): Promise<number> {
  return Object.values(await parts(...given)).reduce((sum, part) => sum + part, 0);
}

/** Reads a case of a set: its name, our result, and the stated result. */
type Reader = (
  one: never,
  set: RewardSet,
) => Readonly<Record<string, readonly [found: unknown, expected: unknown]>>;
/** Reads cases as pairs of an input and the stated result. */
const pairs = (compute: (text: string, set: RewardSet) => unknown): Reader =>
  (([text, expected]: readonly [string, unknown], set: RewardSet) => ({
    '': [compute(text, set), expected],
  })) as Reader;
/** Reads cases as `{ in, out }`. */
const mapped = (compute: (text: string) => unknown): Reader =>
  (({ in: text, out }: { readonly in: string; readonly out: unknown }) => ({
    '': [compute(text), out],
  })) as Reader;

interface Answer {
  readonly response: string;
  readonly score: number;
}

const readers: Readonly<Record<string, Reader>> = {
  compute_score_v0: (c: { solution: string; truth: string; score: number }) => ({
    '': [original.computeScoreV0(c.solution, c.truth), c.score],
  }),
  extract_answer: (c: { text: string; answer: string | null }) => ({
    '': [original.extractAnswer(c.text), c.answer],
  }),
  verify_math_answer: (c: { response: string; truth: string; correct: boolean }) => ({
    '': [original.verifyMathAnswer(c.response, c.truth), c.correct],
  }),
  is_equiv: (c: { a: string | null; b: string | null; equal: boolean }) => ({
    '': [original.isEquiv(c.a, c.b), c.equal],
  }),
  math_workflow: pairs((text, { truth }) => total('math_reward', {}, text, truth as string)),
  math_fraction_workflow: pairs((text, { truth }) =>
    total('math_reward', {}, text, truth as string),
  ),
  math_complex_workflow: pairs((text, { truth }) =>
    total('math_reward', {}, text, truth as string),
  ),
  math_boxed_workflow: (
    c: { response: string; with_think_false: number; with_think_true: number },
    { truth, format_score_coef },
  ) => {
    const score = (with_think: boolean): Promise<number> =>
      total(
        'math_boxed_reward',
        { checker: 'trinity', format_score_coef, with_think },
        c.response,
        truth as string,
      );
    return {
      with_think_false: [score(false), c.with_think_false],
      with_think_true: [score(true), c.with_think_true],
    };
  },
  gsm8k_workflow: ({
    response,
    ...truths
  }: { response: string } & Record<string, number | string>) =>
    Object.fromEntries(
      Object.entries(truths)
        .filter(([key]) => key.startsWith('truth_'))
        .map(([key, expected]) => [
          key,
          [total('math_reward', {}, response, key.slice('truth_'.length)), expected] as const,
        ]),
    ),
  math_eval_workflow: pairs((text, { truth }) =>
    Number(original.verifyMathAnswer(text, truth as string)),
  ),
  format_reward: (c: { response: string; default: number; math_reward: number }) => ({
    default: [total('format_reward', { layout: 'strict' }, c.response), c.default],
    math_reward: [total('format_reward', { layout: 'loose' }, c.response), c.math_reward],
  }),
  countdown_reward: ({ response, score }: Answer, { truth }) => ({
    '': [
      parts('countdown_reward', { powers: true }, response, truth as string).then(
        (found) => found['score'],
      ),
      score,
    ],
  }),
  validate_think_pattern: (c: { text: string; ok: boolean }) => ({
    '': [original.validateThinkPattern(c.text), c.ok],
  }),
  last_boxed_only_string: (c: { text: string; out: string | null }) => ({
    '': [original.lastBoxedOnlyString(c.text), c.out],
  }),
  strip_string: mapped(original.stripString),
  toolcall_reward: ({ response, score }: Answer, { answer }) => ({
    '': [
      parts('tool_call_reward', {}, response, answer as string).then((found) => found['accuracy']),
      score,
    ],
  }),
  dapo_overlong: (c: { response_len: number; penalty: number }, set) => ({
    '': [overlong(set, c.response_len), c.penalty],
  }),
  qwen25_math_equal: (c: { a: string; b: string; equal: boolean }) => ({
    '': [original.mathEqual(original.stripString(c.a), original.stripString(c.b)), c.equal],
  }),
};

const overlong = (set: RewardSet, length: number): number =>
  overlongPenalty(length, {
    penaltyFactor: set['penalty_factor'] as number,
    maxResponseLength: set['max_response_length'] as number,
    cacheLength: set['cache_length'] as number,
  });

/** Readers of the parts of the DAPO grader, each with a list of cases. */
const dapoParts: Readonly<Record<string, Reader>> = {
  _normalize: mapped(original.normalizeDapo),
  split_tuple: mapped(original.splitTuple),
  is_frac: pairs(original.isFraction),
  should_allow_eval: pairs(original.shouldAllowEval),
};

export function rewards(sets: Readonly<Record<string, RewardSet>>): readonly VectorCase[] {
  return Object.entries(sets).flatMap(([name, set]) => {
    if (name === 'naive_dapo_parts') {
      return Object.entries(dapoParts).flatMap(([part, reader]) =>
        casesOf(`${name}/${part}`, reader, (set[part] ?? []) as Case[], set),
      );
    }
    const reader = readers[name];
    if (!reader) return [unknownSet(`rewards/${name}`)];
    const newer = set['newer_upstream_test'] as RewardSet | undefined;
    return [
      ...casesOf(name, reader, set.cases ?? [], set),
      ...casesOf(
        `${name}/newer`,
        pairs((length) => overlong(set, Number(length))),
        newer?.cases ?? [],
        set,
      ),
    ];
  });
}

function casesOf(
  name: string,
  reader: Reader,
  cases: readonly unknown[],
  set: RewardSet,
): readonly VectorCase[] {
  return cases.map((one, i) => ({
    id: `rewards/${name}/${(one as { readonly id?: string }).id ?? i}`,
    run: async () => {
      for (const [place, [found, expected]] of Object.entries(reader(one as never, set)))
        expectSame(await found, expected, 1e-9, place);
    },
  }));
}

const unknownSet = (id: string): VectorCase => ({
  id,
  run: () => {
    throw new RangeError('no function is known for this set');
  },
});

interface RlcrVectors {
  readonly default_weights: Readonly<Record<string, number>>;
  readonly cases: readonly ({
    readonly answer_correct: boolean;
    readonly confidence: number;
  } & Readonly<Record<string, number | boolean>>)[];
  readonly extreme: Readonly<Record<string, number>>;
}

export function rlcr({
  default_weights: weights,
  cases,
  extreme,
}: RlcrVectors): readonly VectorCase[] {
  const score = (answer: string, confidence: number | string): ReturnType<typeof parts> =>
    parts(
      'rlcr_reward',
      { weights },
      `<think>t</think><answer>${answer}</answer><analysis>x</analysis><confidence>${confidence}</confidence>`,
      '4',
    );
  return [
    ...cases.map(({ answer_correct: correct, confidence, sum, ...stated }, i) => ({
      id: `rlcr/${i}`,
      run: async () => {
        const found = await score(correct ? '4' : '5', confidence);
        const all = Object.values(found).reduce((whole, part) => whole + part, 0);
        expectSame({ ...found, sum: all }, { ...stated, ...(sum !== undefined && { sum }) }, 1e-9);
      },
    })),
    ...Object.entries(extreme).map(([confidence, value]) => ({
      id: `rlcr/extreme/${confidence}`,
      run: async () =>
        expectSame((await score('4', confidence))['confidence_one_or_zero'], value, 1e-12),
    })),
  ];
}
