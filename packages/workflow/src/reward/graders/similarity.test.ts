import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { similarity, similarityNames, type SimilarityName } from './similarity.js';

/**
 * Results of rapidfuzz 3.14 (`fuzz.ratio`), sacrebleu 2.6 (`sentence_bleu` with
 * use_effective_order), nltk 3.10 (`sentence_gleu`) and rouge-score 0.1.2 in the order of
 * `similarityNames`.
 */
// prettier-ignore
const golden: readonly (readonly [string, string, readonly number[]])[] = [
  ["fuzzy wuzzy was a bear", "fuzzy wuzzy had no hair", [0.7555555556, 0.2136435032, 0.2142857143, 0.4, 0.25, 0.0, 0.0, 0.0, 0.4]],
  ["the cat is on the mat", "there is a cat on the mat", [0.7826086957, 0.2905925408, 0.3636363636, 0.7692307692, 0.3636363636, 0.2222222222, 0.0, 0.0, 0.6153846154]],
  ["the the the the the the the", "the cat is on the mat", [0.5416666667, 0.0780984984, 0.0909090909, 0.3076923077, 0.0, 0.0, 0.0, 0.0, 0.3076923077]],
  ["It is a guide to action which ensures that the military always obeys the commands of the party", "It is a guide to action that ensures that the military will forever heed Party commands", [0.7513812155, 0.4118037636, 0.4393939394, 0.7058823529, 0.5, 0.4, 0.2857142857, 0.1538461538, 0.6470588235]],
  ["a b", "a b c d e f", [0.4285714286, 0.1353352832, 0.1666666667, 0.5, 0.3333333333, 0.0, 0.0, 0.0, 0.5]],
  ["completely different", "nothing in common here", [0.3333333333, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
  ["The quick brown fox jumps over the lazy dog, twice!", "the quick brown dog jumps over the lazy fox", [0.8085106383, 0.2709198855, 0.3571428571, 0.9473684211, 0.5882352941, 0.4, 0.1538461538, 0.0, 0.7368421053]],
];

describe('similarities', () => {
  it.each(golden)('of %j and %j are those of the usual packages', (input, reference, expected) => {
    const found = similarityNames.map((name) => similarity(name, input, reference));
    expect(found).toEqual(expected.map((value) => expect.closeTo(value, 9) as number));
  });

  it.each([
    ['fuzzy_match', 'Paris.', 'Paris', 10 / 11],
    ['bleu', 'Paris', 'Paris', 1],
    ['rouge_5', 'two words', 'Two words!', 1],
    ['rouge_5', 'two words', 'other words', 0],
    ['rouge_l', '', 'words', 0],
    ['bleu', '', 'words', 0],
    ['rouge_1', '北京是首都', '首都是北京', 1],
    ['rouge_2', '北京是首都', '首都是北京', 0.5],
    ['fuzzy_match', '😀😃', '😀', 2 / 3],
  ] as const)('%s(%j, %j) is %d', (name, input, reference, expected) => {
    expect(similarity(name, input, reference)).toBeCloseTo(expected, 12);
  });

  const word = fc.constantFrom('the', 'The', 'cat', 'sat', ',', 'ö', '北', 'x_1');
  const text = fc.oneof(
    fc.array(word, { maxLength: 12 }).map((words) => words.join(' ')),
    fc.string({ maxLength: 20 }),
  );
  const name = fc.constantFrom(...similarityNames);

  it('are from 0 to 1, and 1 for equal texts', () => {
    fc.assert(
      fc.property(name, text, text, (metric, a, b) => {
        const value = similarity(metric, a, b);
        expect(value >= 0 && value <= 1 + 1e-12).toBe(true);
        expect(similarity(metric, a, a)).toBeCloseTo(1, 12);
      }),
    );
  });

  it('are symmetric, but for bleu', () => {
    fc.assert(
      fc.property(name, text, text, (metric, a, b) => {
        fc.pre(metric !== 'bleu');
        expect(similarity(metric, a, b)).toBeCloseTo(similarity(metric, b, a), 12);
      }),
    );
  });

  it('compare long texts soon, and refuse longer ones', () => {
    const half = 'abcde fghij '.repeat(2000);
    const times = (metric: SimilarityName) => similarity(metric, half, `${half}x`);
    for (const metric of similarityNames) expect(times(metric)).toBeGreaterThan(0.99);
    expect(() => similarity('bleu', 'a', 'b'.repeat(50_001))).toThrow('at most 50000 characters');
  });
});
