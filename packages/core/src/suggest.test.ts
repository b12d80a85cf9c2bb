import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { didYouMean, nearest } from './suggest.js';

describe('nearest', () => {
  it.each([
    ['bach_size', ['batch_size', 'repeat_times'], 'batch_size'],
    ['gropo', ['ppo', 'grpo', 'sft'], 'grpo'],
    ['batchSize', ['batch_size'], 'batch_size'],
    ['reward', ['math_reward_fn'], 'math_reward_fn'],
    ['lr', ['weight_decay', 'betas'], undefined],
    ['xyz', [], undefined],
  ])('of %s in %j is %s', (word, known, expected) => {
    expect(nearest(word, known)).toBe(expected);
  });

  it('finds a word that is known', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1 })),
        fc.string({ minLength: 1 }),
        (known, word) => {
          expect(
            nearest(word, [...known, word])
              ?.toLowerCase()
              .replaceAll(/[-_ .]/g, ''),
          ).toBe(word.toLowerCase().replaceAll(/[-_ .]/g, ''));
        },
      ),
    );
  });
});

describe('didYouMean', () => {
  it('is a sentence to append, or nothing', () => {
    expect(didYouMean('pp', ['ppo'])).toBe(' Did you mean "ppo"?');
    expect(didYouMean('zzzzzz', ['ppo'])).toBe('');
  });
});
