/** Extraction of answers from responses, case by case. */
import { describe, expect, it } from 'vitest';
import { checkMathAnswer, extractAnswer } from '../../src/reward/index.js';

describe('extractAnswer', () => {
  it.each([
    ['So we get \\frac{1}{2}.', '\\frac{1}{2}'],
    ['So we get (1,2)', '(1,2)'],
    ['We find x=7, so it is 7!', '7'],
    ['It costs $1,250.', '$1,250'],
    ['There are 5 apples and 3 pears.', '3'],
    ['We get 1/2. The rest is obvious.', '1/2'],
    ['We get 1/2.5 of it.', '2.5'],
    ['<answer>The total is 6 + 30 = 10^3</answer>', '10^3'],
    ['<answer>The total is 6 + 30 = 36 apples.</answer>', '36 apples.'],
    ['<answer>(B) because of 7</answer>', 'B'],
    ['The answer is x = 5 because 2x = 10.', 'x = 5'],
    ['So the answer is 7, as 3 + 5 = 8.', '7'],
    ['The answer is 36 (30 + 6 = 36, and 1 + 1 = 2).', '36'],
    ['The answer is twice as large: 12', '12'],
    ['The answer is C because A is wrong.', 'C'],
    ['The correct answer is option C.', 'C'],
    ['The answer is choice (B), not (A).', 'B'],
    ['The answer is a triangle of 5', '5'],
    ['So $\\boxed{11}$.\n\n$\\boxed{ 11}$', '11'],
    ['$\\boxed{10}$\n$\\boxed{11}$', '10, 11'],
    ['#### 72\nchecked 3 times', '72'],
    ['sin 2x', 'sin 2x'],
    ['nothing', 'nothing'],
    ['', undefined],
  ])('finds in %j: %j', (response, answer) => {
    expect(extractAnswer(response)).toBe(answer);
  });

  it('takes no part of a formula for the answer', () => {
    expect(checkMathAnswer('So we get (x+1)^2', '2')).toBe(false);
    expect(checkMathAnswer('So we get (1,2)', '2')).toBe(false);
    expect(checkMathAnswer('So we get 2\\sqrt{2}.', '\\sqrt{8}')).toBe(true);
  });
});
