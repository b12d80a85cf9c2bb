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
    ['\\[\\boxed{11}\\]\n\\(\\boxed{11}\\).', '11'],
    ['$x=\\boxed{2}$ and $y=\\boxed{2}$', '2, 2'],
    ['$\\boxed{2}$, $\\boxed{2}$', '2, 2'],
    ['$x=\\boxed{2}$, $\\boxed{3}$.\n$\\boxed{3}$', '2, 3'],
    ['The answer is $2 (x + 1)$, where x is any integer.', '2 (x + 1)'],
    ['The answer is $x = 3 (2k+1)$ for integers $k$.', 'x = 3 (2k+1)'],
    ['The answer is $f(x) = 3 (x - 1)^2$, as shown above.', '$f(x) = 3 (x - 1)^2$'],
    ['The answer is f(x) = 3 (x - 1)^2, as shown above.', 'f(x) = 3 (x - 1)^2'],
    ['The answer is \\(3 (n + 1)\\) for every n.', '3 (n + 1)'],
    ['The answer is $6 \\pi (r + h)$ square units.', '6 \\pi (r + h)'],
    ['The answer is $18 (9 eggs at $2).', '18'],
    ['The answer is 5 because $2x = 10$.', '5'],
    ['The answer is 3 (from Monday) + 4 (from Tuesday) = 7.', '7'],
    ['#### 3 (from Monday) + 4 (from Tuesday) = 7', '7'],
    ['#### 12 (dozen) x 3 = 36', '36'],
    ['#### 36 (that is (a) 30 and (b) 6)', '36'],
    ['The answer is 36 (30 + 6) (see above).', '36'],
    ['The answer is 2 (x+1)(x+2), as shown.', '2 (x+1)(x+2)'],
    ['#### 72\nchecked 3 times', '72'],
    ['sin 2x', 'sin 2x'],
    ['nothing', 'nothing'],
    ['', undefined],
  ])('finds in %j: %j', (response, answer) => {
    expect(extractAnswer(response)).toBe(answer);
  });

  it.each([
    ['The answer is **2\\sqrt{3} (about 3.46)**', '2\\sqrt{3}'],
    ['#### **2\\pi (about 6.28)**', '2\\pi'],
    ['The answer is **(2, 5) (in interval notation)**', '(2, 5)'],
    ['The answer is **x^2 (a parabola, degree 2)**.', 'x^2'],
    ['The answer is **B (Paris, population 2.1 million)**.', 'B'],
    ['**The answer is B (Paris)** because it has 2 million people.', 'B'],
    ['The answer is B (mitochondria) - it makes energy.', 'B'],
    ['The answer is $\\frac{1}{2}$ (half) - see $x = 3$', '\\frac{1}{2}'],
    ['**Answer:** 2\\sqrt{3} (about 3.46) - exact', '2\\sqrt{3}'],
    ['The answer is $5 because each of the 3 pens costs $2 and 3*2 = 6.', '5'],
    ['The answer is $20 because she had $25 and spent $5 = 25/5.', '20'],
    ['The answer is \\$5 because \\$10 = 2 * 5.', '5'],
    ['The answer is $20 because $25 - $5 = $20, and 5 = 5 * 1', '20'],
    ['\\boxed{11} \\quad \\boxed{11}', '11'],
    ['\\boxed{2}\\ \\boxed{2}', '2'],
    ['$\\boxed{A}$;\n$\\boxed{A}$', 'A'],
    ['\\boxed{A} , \\boxed{A}', 'A'],
  ])('reads %j as %j', (response, truth) => {
    expect(checkMathAnswer(response, truth)).toBe(true);
  });

  it('takes no part of a formula for the answer', () => {
    expect(checkMathAnswer('So we get (x+1)^2', '2')).toBe(false);
    expect(checkMathAnswer('So we get (1,2)', '2')).toBe(false);
    expect(checkMathAnswer('So we get 2\\sqrt{2}.', '\\sqrt{8}')).toBe(true);
  });
});
