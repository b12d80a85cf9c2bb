/**
 * Properties of all answers: spellings of one value are equal, other values are not, and no text of
 * a model does harm.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkBoxedAnswer,
  checkMathAnswer,
  extractAnswer,
  normalizeAnswer,
  sameMath,
} from '../../src/reward/index.js';
import { maxAnswerLength } from '../../src/reward/math/check.js';
import { everyReward } from './every-reward.js';

const integer = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
const small = fc.integer({ min: -5_000_000, max: 5_000_000 });

/** Ways to write a whole number. */
const spellings: readonly ((value: bigint) => string)[] = [
  String,
  (value) => `$${value}$`,
  (value) => `\\boxed{${value}}`,
  (value) => `${value}.0`,
  (value) => `${value}.`,
  (value) => `x = ${value}`,
  (value) => `\\frac{${3n * value}}{3}`,
  (value) => `${2n * value}/2`,
  (value) => `\\text{${value}}`,
  (value) => `${value} apples`,
  (value) => `${value}\\,\\text{cm}`,
  (value) => `\\left(${value}\\right)`,
  (value) => value.toLocaleString('en-US'),
  (value) => value.toLocaleString('en-US').replaceAll(',', '{,}'),
  (value) => `${value}%`,
  (value) => `${value}^1`,
  (value) => `${value - 1n} + 1`,
];

const alphabet = [
  ...Array.from('0123456789abcxyzAB.,;:()[]{}$%^_*/+-=<>|&!?\'"` \n\t\\°²½−×πé漢😀\u0000\ud800'),
  '\\frac',
  '\\sqrt',
  '\\boxed{',
  '\\text{',
  '\\left',
  '\\pm',
  '\\cup',
  '\\begin{pmatrix}',
  '\\end{pmatrix}',
  '\\\\',
  '\\{',
  '\\}',
  '\\quadx',
  '\\log_',
  '\\infty',
  '\\overline{3}',
  '{,}',
  '1,000',
  'e5',
  ' and ',
  'answer is ',
  '<answer>',
  '</answer>',
  '</think>',
  '####',
  'sin',
  'cm',
];
const scribble = fc
  .array(fc.constantFrom(...alphabet), { maxLength: 60 })
  .map((parts) => parts.join(''));

describe('numbers', () => {
  it('agree in all their spellings', () => {
    const pair = fc.constantFrom(...spellings);
    fc.assert(
      fc.property(integer, pair, pair, (value, write, rewrite) => {
        expect(sameMath(write(value), rewrite(value))).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  it('differ in all their spellings when they are different whole numbers', () => {
    // A percent sign on one side may turn a number into another.
    const pair = fc.constantFrom(...spellings.filter((write) => !write(7n).endsWith('%')));
    fc.assert(
      fc.property(
        integer,
        fc.oneof(integer, fc.constantFrom(1n, -1n, 10n)),
        pair,
        pair,
        (value, step, write, rewrite) => {
          fc.pre(step !== 0n);
          expect(sameMath(write(value), rewrite(value + step))).toBe(false);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('agree as decimal and as fraction', () => {
    fc.assert(
      fc.property(small, fc.integer({ min: 1, max: 9 }), (digits, places) => {
        const decimal = (digits / 10 ** places).toFixed(places);
        expect(sameMath(decimal, `\\frac{${digits}}{${10 ** places}}`)).toBe(true);
        expect(sameMath(decimal, `${digits + 1}/${10 ** places}`)).toBe(false);
      }),
    );
  });

  it('are equal as fractions exactly when they are crosswise', () => {
    const part = fc.integer({ min: 1, max: 12 });
    fc.assert(
      fc.property(part, part, part, part, (a, b, c, d) => {
        expect(sameMath(`\\frac{${a}}{${b}}`, `${c}/${d}`)).toBe(a * d === b * c);
      }),
    );
  });
});

describe('expressions', () => {
  const linear = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }));

  it('agree with their expansion, and with no other one', () => {
    fc.assert(
      fc.property(linear, linear, ([a, b], [c, d]) => {
        const product = `(${a}x+${b})(${c}x+${d})`;
        expect(sameMath(product, `${a * c}x^2+${a * d + b * c}x+${b * d}`)).toBe(true);
        expect(sameMath(product, `${a * c}x^2+${a * d + b * c}x+${b * d + 1}`)).toBe(false);
      }),
    );
  });

  it('are equal to themselves, whatever they are', () => {
    fc.assert(
      fc.property(scribble, (text) => {
        expect(sameMath(text, ` ${text} `)).toBe(true);
      }),
    );
  });

  // Decimals are compared digit by digit, so two roundings of one fraction are two numbers.
  it.each([
    ['rounded', (a: number, b: number) => (a / b).toFixed(12)],
    ['unrounded', (a: number, b: number) => String(a / b)],
  ])('form classes, with %s decimals: what equals two spellings equals both', (_, decimal) => {
    const value = fc.tuple(fc.integer({ min: -40, max: 40 }), fc.integer({ min: 1, max: 8 }));
    const writing = fc.constantFrom<(a: number, b: number) => string>(
      (a, b) => `\\frac{${a}}{${b}}`,
      (a, b) => `${a}/${b}`,
      (a, b) => `x = \\frac{${2 * a}}{${2 * b}}`,
      (a, b) => `$${a} \\div ${b}$`,
      (a, b) => `\\dfrac{${a}}{${b}} \\text{ cm}`,
      (a, b) => `\\{${a}/${b}\\}`,
      decimal,
    );
    fc.assert(
      fc.property(
        value,
        value,
        value,
        writing,
        writing,
        writing,
        (first, second, third, write, rewrite, again) => {
          const [a, b, c] = [write(...first), rewrite(...second), again(...third)];
          expect(sameMath(a, c) || !(sameMath(a, b) && sameMath(b, c))).toBe(true);
          expect(sameMath(a, b)).toBe(first[0] * second[1] === second[0] * first[1]);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('are equal in both orders or in none', () => {
    fc.assert(
      fc.property(scribble, scribble, (a, b) => {
        expect(sameMath(a, b)).toBe(sameMath(b, a));
      }),
    );
  });
});

describe('normalizeAnswer', () => {
  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(scribble, (text) => {
        expect(normalizeAnswer(normalizeAnswer(text))).toBe(normalizeAnswer(text));
      }),
      { numRuns: 1000 },
    );
  });

  it('changes no meaning', () => {
    fc.assert(
      fc.property(fc.constantFrom(...spellings), integer, (write, value) => {
        expect(sameMath(normalizeAnswer(write(value)), write(value))).toBe(true);
      }),
    );
  });
});

describe('what a model writes', () => {
  it('never makes a reward throw or return what is no number', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(scribble, fc.string({ unit: 'binary', maxLength: 200 })),
        scribble,
        async (response, truth) => {
          for (const { reward, truth: readable = truth } of everyReward) {
            const parts = await reward({
              response,
              truth: readable,
              prompt: undefined,
              rawTask: {},
              responseTokens: response.length,
            });
            expect(Object.values(parts).every(Number.isFinite)).toBe(true);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  // Unbounded work on texts of this length would not end within the test's timeout.
  it.each(
    `( { [ \\boxed{ \\boxed_ \\boxed{1}_and_ a\\boxed{1}_ \\boxed{\\boxed{1}} \\frac{1 \\sqrt 9^ 9^{9 7 1,000, , . the_answer_is_ answer:¶ <answer> </answer>
     <think></think> </think>_¶_ ####_ _ ¶ $1 \\(x 1\\pm - 1_cm_ x abc_ 1,_ x=_ \\begin{pmatrix} x_{ ² √ 1e9 ** 1._ \ufdfa Answer___ 1/ % \\)`
      .trim()
      .split(/\s+/)
      .map((unit) => unit.replaceAll('_', ' ').replaceAll('¶', '\n')),
  )('costs time in proportion to its length: %s repeated', async (unit) => {
    const response = unit.repeat(Math.ceil(300_000 / unit.length));
    for (const { reward, truth = '(1, 2)' } of everyReward) {
      const parts = await reward({
        response,
        truth,
        prompt: undefined,
        rawTask: {},
        responseTokens: response.length,
      });
      expect(Object.values(parts).every(Number.isFinite)).toBe(true);
    }
  });

  // These are short enough to be read as formulas.
  it.each(
    `9^ \\sqrt 1/3+ 123456789* x^9* 1, x, (x+1)^9 1\\pm √ ² ( { [ \\{ 1_cm_ \\begin{matrix} x_and_ {1, sin x/ [, \\cup( 1: = x= x< \\frac \\frac1 \\log_ - x^{ _3`
      .split(' ')
      .map((unit) => unit.replaceAll('_', ' ')),
  )('costs little where all of it is read: %s repeated', (unit) => {
    const text = unit.repeat(Math.floor((maxAnswerLength - 1) / unit.length));
    expect(sameMath(`${text}2`, `${text}2`)).toBe(true);
    expect(sameMath(`${text}2`, 'apple')).toBe(false);
    expect(typeof sameMath(`${text}2`, `${text}3`)).toBe('boolean');
  });

  it('may nest brackets as deep as it likes', () => {
    expect(sameMath(`${'('.repeat(400)}7${')'.repeat(400)}`, '7')).toBe(true);
    expect(sameMath(`${'(1+'.repeat(240)}7${')'.repeat(240)}`, '247')).toBe(false);
    expect(sameMath(`${'(1,'.repeat(240)}7${')'.repeat(240)}`, '7')).toBe(false);
  });

  it.each([
    ['ten thousand nested braces', '{'.repeat(10_000) + '}'.repeat(10_000)],
    ['ten thousand nested boxes', '\\boxed{'.repeat(10_000) + '}'.repeat(10_000)],
    ['nested roots', '\\sqrt{'.repeat(140) + '2' + '}'.repeat(140)],
    ['nested fractions', '\\frac{1}{'.repeat(90) + '2' + '}'.repeat(90)],
    ['a million digits', '7'.repeat(1_000_000)],
    ['a tower of powers', '9**9**9**9'],
    ['a factorial of a factorial', '9!!!!'],
    ['a huge binomial', '\\binom{10^9}{5*10^8}'],
    ['a huge exponent', '1e9999^{1e9999}'],
    ['what makes expressions backtrack', `${'a'.repeat(500_000)}!`],
    ['many answers', 'the answer is '.repeat(100_000)],
    ['many tags', '<answer></answer>'.repeat(50_000)],
    ['many blanks', `The answer is a${' '.repeat(500_000)}b`],
    ['many parentheses', `The answer is a${' ('.repeat(200_000)}b`],
    ['many dollars', `The answer is a${' $'.repeat(200_001)}b`],
  ])('costs little: %s', (_what, text) => {
    for (const response of [text, `\\boxed{${text}}`, `<answer>${text}</answer>`]) {
      expect(checkMathAnswer(response, '(1, 2)')).toBe(false);
      expect(typeof sameMath(response, `${text}1`)).toBe('boolean');
    }
  });

  it('is compared as plain text when the answer is very long', () => {
    const long = '1'.repeat(2_000);
    expect(checkBoxedAnswer(`\\boxed{${long}}`, long)).toBe(true);
    expect(checkBoxedAnswer(`\\boxed{${long}}`, `${long}.0`)).toBe(false);
  });

  it('is found wherever it stands', () => {
    const response = fc.constantFrom<(answer: string) => string>(
      (answer) => `So \\boxed{${answer}}.`,
      (answer) => `<think>It is 999.</think>\n<answer>\n${answer}\n</answer>`,
      (answer) => `12 + 1 = 13\n#### ${answer}`,
      (answer) => `The answer is: ${answer}. I checked it 3 times.`,
      (answer) => `**Final answer:** ${answer}`,
      (answer) => `First 17 and then ${answer}`,
    );
    fc.assert(
      fc.property(response, small, (write, value) => {
        expect(extractAnswer(write(String(value)))).toBe(String(value));
        expect(checkMathAnswer(write(String(value)), `#### ${value}`)).toBe(true);
      }),
    );
  });
});
