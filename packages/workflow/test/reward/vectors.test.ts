/**
 * Trinity-RFT's own test cases, from `trinity-rewards.json`; with the reason where results differ.
 */
import { describe, expect, it } from 'vitest';
import {
  checkBoxedAnswer,
  checkMathAnswer,
  createRewardFn,
  extractAnswer,
  normalizeAnswer,
  sameMath,
} from '../../src/reward/index.js';
import { boxedAnswer } from '../../src/reward/math/marks.js';
import vectors from './trinity-rewards.json' with { type: 'json' };

/** Reasons for other results here. */
const reasons = {
  prose: 'the number behind "the answer is" counts although the sentence goes on',
  letters: 'Trinity-RFT erases single letters as if they were units',
  hundred:
    'Trinity-RFT lets every number equal its hundredth and hundredfold, also without a percent sign',
  latex: 'Trinity-RFT never parses LaTeX, so that fractions do not equal decimals',
  case: 'Trinity-RFT ignores the case of variables',
} as const;

/** Result here and reason, keyed by the text of the case. */
const deviations: Readonly<
  Record<string, readonly [result: boolean, reason: keyof typeof reasons]>
> = {
  'The answer is 36, but I forgot the box.': [true, 'prose'],
  'a+b|c+b': [false, 'letters'],
  '50 km/h|50/': [false, 'letters'],
  'a/b|/b': [false, 'letters'],
  '50|0.5': [false, 'hundred'],
  '\\frac{1}{3}|0.333333': [true, 'latex'],
  'X and Y|x , y': [false, 'case'],
};

const expected = (key: string, original: boolean): boolean => deviations[key]?.[0] ?? original;

async function total(
  name: string,
  args: Record<string, unknown>,
  response: string,
  truth: string | undefined,
): Promise<number> {
  const parts = await createRewardFn(
    name,
    args,
  )({ response, truth, prompt: undefined, rawTask: {} });
  return Object.values(parts).reduce((sum: number, part: number) => sum + part, 0);
}

const evaluations = vectors.math_eval_workflow.cases.map(([response, score]) => ({
  response: String(response),
  equal: score === 1,
}));

const comparisons = [
  ...[...vectors.is_equiv.cases, ...vectors.qwen25_math_equal.cases].flatMap(({ a, b, equal }) =>
    a === null || b === null ? [] : [{ a, b, equal }],
  ),
  // The original rewrites texts until they are equal; here both spellings must be equal.
  ...[...vectors.strip_string.cases, ...vectors.naive_dapo_parts._normalize].map((row) => ({
    a: row.in,
    b: row.out,
    equal: true,
  })),
];

describe('the checker', () => {
  it.each(vectors.compute_score_v0.cases)('scores boxes: $id', ({ solution, truth, score }) => {
    expect(Number(checkBoxedAnswer(solution, truth))).toBe(score);
  });

  it.each(vectors.extract_answer.cases.filter(({ text }) => typeof text === 'string'))(
    'extracts $answer',
    ({ text, answer }) => {
      expect(extractAnswer(String(text)) ?? null).toBe(answer);
    },
  );

  it.each(vectors.verify_math_answer.cases)('judges $response', ({ response, truth, correct }) => {
    expect(checkMathAnswer(response, truth)).toBe(correct);
  });

  it.each(evaluations)('judges $response', ({ response, equal }) => {
    expect(checkMathAnswer(response, vectors.math_eval_workflow.truth)).toBe(
      expected(response, equal),
    );
  });

  it.each(comparisons)('compares $a and $b', ({ a, b, equal }) => {
    expect(sameMath(a, b)).toBe(expected(`${a}|${b}`, equal));
  });

  it('differs from Trinity-RFT only for a reason, and where it says so', () => {
    const originals = new Map([
      ...evaluations.map(({ response, equal }) => [response, equal] as const),
      ...comparisons.map(({ a, b, equal }) => [`${a}|${b}`, equal] as const),
    ]);
    for (const [key, [result, reason]] of Object.entries(deviations)) {
      expect(originals.get(key)).toBe(!result);
      expect(reasons[reason]).not.toBe('');
    }
  });

  it.each(vectors.last_boxed_only_string.cases)('finds the last box in $text', ({ text, out }) => {
    const box = boxedAnswer(text);
    expect(box ?? null).toBe(
      out === null ? null : out.replace(/^\\boxed(?:\{(.*)\}| (.*))$/, '$1$2'),
    );
  });

  it('reads a Markdown table of spellings as one', () => {
    expect(
      new Set(['\\dfrac{1}{2}', '$\\tfrac{1}{2}$', '\\frac{1}{2}.'].map(normalizeAnswer)).size,
    ).toBe(1);
  });
});

describe('math_reward', () => {
  const sets = [
    vectors.math_workflow,
    vectors.math_fraction_workflow,
    vectors.math_complex_workflow,
  ];
  const rows = sets.flatMap(({ truth, cases }) =>
    cases.map(([response, reward]) => ({
      response: String(response),
      truth,
      reward: Number(reward),
    })),
  );

  it.each(rows)('gives $reward for $response', async ({ response, truth, reward }) => {
    expect(await total('math_reward', {}, response, truth)).toBeCloseTo(reward, 12);
  });

  it.each(vectors.gsm8k_workflow.cases)(
    'gives $truth_36 and $truth_35 for $response',
    async ({ response, truth_36, truth_35 }) => {
      expect(await total('math_reward', {}, response, '36')).toBeCloseTo(truth_36, 12);
      expect(await total('math_reward', {}, response, '35')).toBeCloseTo(truth_35, 12);
    },
  );
});

describe('math_boxed_reward', () => {
  const { truth, format_score_coef: coef, cases } = vectors.math_boxed_workflow;

  it.each(cases)('gives $with_think_false and $with_think_true for $response', async (row) => {
    const args = { format_score_coef: coef };
    expect(await total('math_boxed_reward', args, row.response, truth)).toBeCloseTo(
      row.with_think_false,
      12,
    );
    expect(
      await total('math_boxed_reward', { ...args, with_think: true }, row.response, truth),
    ).toBeCloseTo(row.with_think_true, 12);
  });

  it.each(vectors.validate_think_pattern.cases)(
    'sees one thought in $text: $ok',
    async ({ text, ok }) => {
      expect(await total('math_boxed_reward', { with_think: true }, text, '1')).toBe(ok ? 0 : -0.1);
    },
  );
});

describe('format_reward', () => {
  it.each(vectors.format_reward.cases)(
    'gives $default and $math_reward for $response',
    async (row) => {
      expect(await total('format_reward', {}, row.response, undefined)).toBe(row.default);
      expect(await total('format_reward', { layout: 'loose' }, row.response, undefined)).toBe(
        row.math_reward,
      );
    },
  );
});
