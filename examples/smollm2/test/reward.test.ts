import { describe, expect, it } from 'vitest';
import { rightSum } from '../plugins/right-sum.ts';

const score = (response: string): unknown =>
  rightSum.create({})({
    response,
    truth: '42',
    prompt: undefined,
    rawTask: {},
  });

describe('the reward', () => {
  it.each([
    ['42', { accuracy: 1, format: 0 }],
    ['17 + 25 = 42.', { accuracy: 1, format: 0 }],
    ['41', { accuracy: 0, format: 0.2 }],
    ['The sum is 41', { accuracy: 0, format: 0 }],
    ['142', { accuracy: 0, format: 0.2 }],
    ['17 + 25 = 42\n\nThis is an addition', { accuracy: 1, format: 0 }],
    ['42 is the sum', { accuracy: 0, format: 0 }],
    ['', { accuracy: 0, format: 0 }],
  ])('of %j is %j', (response, parts) => {
    expect(score(response)).toEqual(parts);
  });
});
