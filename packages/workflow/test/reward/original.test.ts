/** The functions with Trinity-RFT's names, against its results in `trinity-rewards.json`. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRewardFn, original } from '../../src/reward/index.js';
import vectors from './trinity-rewards.json' with { type: 'json' };

const { naive_dapo_parts: dapo } = vectors;

describe("Trinity-RFT's functions", () => {
  it.each(vectors.compute_score_v0.cases)('compute_score_v0: $id', ({ solution, truth, score }) => {
    expect(original.computeScoreV0(solution, truth)).toBe(score);
  });

  it.each(vectors.extract_answer.cases)('extract_answer: $text', ({ text, answer }) => {
    expect(original.extractAnswer(text)).toBe(answer);
  });

  it.each(vectors.verify_math_answer.cases)(
    'verify_math_answer: $response',
    ({ response, truth, correct }) => {
      expect(original.verifyMathAnswer(response, truth)).toBe(correct);
    },
  );

  it.each(vectors.math_eval_workflow.cases)(
    'verify_math_answer in math_eval_workflow: %s is %s',
    (response, accuracy) => {
      expect(
        Number(original.verifyMathAnswer(String(response), vectors.math_eval_workflow.truth)),
      ).toBe(accuracy);
    },
  );

  it.each(vectors.is_equiv.cases)('is_equiv: $a and $b', ({ a, b, equal }) => {
    expect(original.isEquiv(a, b)).toBe(equal);
  });

  it.each(vectors.strip_string.cases)('strip_string: $in', (row) => {
    expect(original.stripString(row.in)).toBe(row.out);
  });

  it.each(vectors.qwen25_math_equal.cases)('math_equal: $a and $b', ({ a, b, equal }) => {
    expect(original.mathEqual(original.stripString(a), original.stripString(b))).toBe(equal);
  });

  it.each(vectors.last_boxed_only_string.cases)(
    'last_boxed_only_string: $text',
    ({ text, out }) => {
      expect(original.lastBoxedOnlyString(text)).toBe(out);
    },
  );

  it.each(vectors.validate_think_pattern.cases)('validate_think_pattern: $text', ({ text, ok }) => {
    expect(original.validateThinkPattern(text)).toBe(ok);
  });

  it.each(dapo._normalize)('_normalize: $in', (row) => {
    expect(original.normalizeDapo(row.in)).toBe(row.out);
  });

  it.each(dapo.split_tuple)('split_tuple: $in', (row) => {
    expect(original.splitTuple(row.in)).toEqual(row.out);
  });

  it.each(dapo.is_frac)('_is_frac: %s is %s', (text, answer) => {
    expect(original.isFraction(String(text))).toBe(answer);
  });

  it.each(dapo.should_allow_eval)('should_allow_eval: %s is %s', (text, answer) => {
    expect(original.shouldAllowEval(String(text))).toBe(answer);
  });
});

describe('rules of Trinity-RFT that no case shows', () => {
  it.each([
    ['50\\%', '50\\'],
    ['infinity', '\\\\inftyty'],
    ['twenty two apples', '22'],
    ['two hundred and five', '205'],
    ['042', '42'],
    ['\\mbox{so }7', '7'],
    ['\\begin{array}{cc}1&2\\end{array}', '\\begin{pmatrix}1&2\\end{pmatrix}'],
    ['{1,2}', '1,2'],
    ['', null],
    ['...', null],
    ['\\sqrt 3/2', '\\frac{\\sqrt{3}}{2}'],
    ['\\frac1{10}', '\\frac{1}{10}'],
    ['\\frac1', '\\frac1'],
    ['x \\leq 2.000', 'x\\le2'],
  ])('strip_string makes %s to %s', (text, out) => {
    expect(original.stripString(text)).toBe(out);
  });

  it.each([
    ['\\boxed{1} then the answer is 7.', '1'],
    ['\\boxed{unclosed', 'unclosed'],
    ['\\boxed 7$', '7'],
    ['The final answer is: x = 5.', '5'],
    ['The answer is\n12 of them', '12ofthem'],
    ['the answer is', null],
    ['from -3 to +4.5', '+4.5'],
    ['so boxed', null],
    ['', null],
  ])('extract_answer finds in %s: %s', (text, out) => {
    expect(original.extractAnswer(text)).toBe(out);
  });

  it.each([
    ['[1,2)', '[1.00001,2]', true],
    ['2*x+y', 'y+x*2', true],
    ['2x', 'x*2', false],
    ['x+1=3', 'x=2', true],
    ['x+1=3', 'x=3', false],
    ['2**3', '8', true],
    ['0.1234', '12.34', true],
    ['1/3+1', '1.33333', true],
    [
      '\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}',
      '\\begin{pmatrix}1.0&2\\\\3&4\\end{pmatrix}',
      true,
    ],
    ['abc', 'bca', false],
  ])('math_equal of %s and %s is %s', (a, b, equal) => {
    expect(original.mathEqual(a, b)).toBe(equal);
  });

  it.each([
    ['\\frac{1}{2}', '1/2'],
    ['7\\frac{3}{4}', '7+3/4'],
    ['\\sqrt{3}\\pi', 'sqrt(3)pi'],
    ['\\begin{pmatrix}1&22\\\\3&\\frac12\\end{pmatrix}', '[   1+22;   3+1/2 ]'],
    ['(-\\infty, 1) \\cup [2, \\pi)', '(-inf, 1) u[2, pi)'],
    ['5 minutes', '5'],
    ['X or Y', 'x , y'],
    ['1e3', '1000'],
  ])('_normalize makes %s to %s', (text, out) => {
    expect(original.normalizeDapo(text)).toBe(out);
  });

  it.each([
    ['<think>\\boxed{1}</think> \\boxed{36.0}', '36', 1],
    ['\\boxed{\\dfrac12}', '\\frac{1}{2}', 1],
    ['\\boxed{2/4}', '1/2', 1],
    ['\\boxed{2x+1}', '1+2x', 0],
    ['\\boxed{\\pi}', '3.14', 0],
  ])('the grader of DAPO scores %s for %s', (response, truth, score) => {
    expect(original.naiveDapoScore(response, truth)).toBe(score);
  });
});

describe('checker: trinity', () => {
  it('restores the comparison of texts of math_boxed_reward', async () => {
    const input = {
      response: '\\boxed{0.5}',
      truth: '\\frac{1}{2}',
      prompt: undefined,
      rawTask: {},
    };
    expect(await createRewardFn('math_boxed_reward', {})(input)).toMatchObject({ accuracy: 1 });
    expect(await createRewardFn('math_boxed_reward', { checker: 'trinity' })(input)).toMatchObject({
      accuracy: 0,
    });
  });
});

describe('hostile texts', () => {
  const units = [
    '\\sqrt{',
    '\\frac{',
    '\\frac{1}{',
    'the answer is ',
    'boxed{',
    '\\boxed ',
    '\\frac',
    '\\sqrt ',
    '1,000,',
    '(',
    '9**',
    '9^',
    '\\begin{array}{',
    ' a ',
    '\\text{',
    '-',
    '\n',
    'x=',
    '.0',
  ];

  it.each(units)('cost time in proportion to their length: %j repeated', (unit) => {
    const text = unit.repeat(Math.ceil(300_000 / unit.length));
    for (const response of [text, `${text}7`, `\\boxed{${text}}`]) {
      expect(typeof original.verifyMathAnswer(response, '7')).toBe('boolean');
      expect(
        original.computeScoreV0(response, '7') + original.naiveDapoScore(response, '7'),
      ).toBeLessThan(3);
    }
  });

  it.each(units)('cost little where all of it is read: %j repeated', (unit) => {
    const text = unit.repeat(Math.floor(980 / unit.length));
    for (const response of [text, `\\boxed{${text}7}`]) {
      expect(typeof original.verifyMathAnswer(response, '7')).toBe('boolean');
      expect(
        original.computeScoreV0(response, `${text}8`) +
          original.naiveDapoScore(response, `${text}8`),
      ).toBeLessThan(3);
    }
  });

  it('never throw', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.array(fc.constantFrom(...units, '7', ')', '}', '/', '&')).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, text, (response, truth) => {
        expect([0, 1]).toContain(original.computeScoreV0(response, truth));
        expect([0, 1]).toContain(original.naiveDapoScore(response, truth));
        expect([false, true]).toContain(original.verifyMathAnswer(response, truth));
        expect(original.isEquiv(response, response)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
