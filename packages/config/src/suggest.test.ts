import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance, nearest } from './suggest.js';

describe('the nearest word', () => {
  it.each([
    ['repeat_time', ['repeat_times', 'batch_size'], 'repeat_times'],
    ['bacth_size', ['batch_size', 'name'], 'batch_size'],
    ['syncInterval', ['sync_interval', 'sync_offset'], 'sync_interval'],
    ['GRPO', ['gspo', 'grpo'], 'grpo'],
    ['prompt', ['prompt_key', 'split'], 'prompt_key'],
    ['zebra', ['level', 'name'], undefined],
    ['x', ['level'], undefined],
  ])('to %s is found', (word, known, expected) => {
    expect(nearest(word, known)).toBe(expected);
  });
});

describe('the edit distance', () => {
  it('is a symmetric count that is zero only for equals', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
        expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
      }),
    );
  });

  it('counts a swap of neighbours as one', () => {
    expect(editDistance('bacth', 'batch')).toBe(1);
  });
});
