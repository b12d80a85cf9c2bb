import { describe, expect, it } from 'vitest';
import { InvariantError } from './errors.js';
import {
  actionCount,
  assertAligned,
  createExperience,
  responseLength,
  withFields,
  type Experience,
} from './experience.js';

const good = (): Experience =>
  createExperience({
    tokens: [10, 11, 12],
    promptLength: 1,
    logprobs: [-0.2, -0.3],
    reward: 1,
    eid: { batch: 1, task: 2 },
  });

describe('createExperience', () => {
  it('trains on the whole response unless it is given a mask', () => {
    expect([...good().actionMask]).toEqual([1, 1]);
    const masked = createExperience({
      tokens: [1, 2, 3, 4],
      promptLength: 1,
      actionMask: [true, false, true],
    });
    expect([...masked.actionMask]).toEqual([1, 0, 1]);
    expect([responseLength(masked), actionCount(masked)]).toEqual([3, 2]);
  });

  it('copies its lists', () => {
    const tokens = [1, 2];
    const made = createExperience({ tokens, promptLength: 1 });
    tokens[1] = 9;
    expect([...made.tokens]).toEqual([1, 2]);
  });

  it('takes a response that ran out of tokens as truncated', () => {
    const made = (fields: object) =>
      createExperience({ tokens: [1, 2], promptLength: 1, ...fields }).truncateStatus;
    expect(made({ finishReason: 'length' })).toBe('response_truncated');
    expect(made({ finishReason: 'stop' })).toBeUndefined();
    expect(made({ finishReason: 'length', truncateStatus: 'prompt_truncated' })).toBe(
      'prompt_truncated',
    );
  });

  it.each([
    [
      { tokens: [1, 2, 3], promptLength: 0 },
      'promptLength is 0 with 3 tokens; expected 1 <= promptLength < tokens.length',
    ],
    [
      { tokens: [1, 2], promptLength: 2 },
      'promptLength is 2 with 2 tokens; expected 1 <= promptLength < tokens.length',
    ],
    [
      { tokens: [1, 2], promptLength: 5 },
      'promptLength is 5 with 2 tokens; expected 1 <= promptLength < tokens.length',
    ],
    [
      { tokens: [1, 2, 3], promptLength: 1.5 },
      'promptLength is 1.5 with 3 tokens; expected 1 <= promptLength < tokens.length',
    ],
    [
      { tokens: [1, 2, 3, 4], promptLength: 1, logprobs: [-1, -1, -1, -1] },
      'logprobs has 4 entries; expected one per response token, 3',
    ],
    [
      { tokens: [1, 2, 3], promptLength: 1, actionMask: [1] },
      'actionMask has 1 entries; expected one per response token, 2',
    ],
    [
      { tokens: [1, 2, 3], promptLength: 1, actionMask: [1, 2] },
      'actionMask holds 2 at response token 1; expected 0 or 1',
    ],
    [
      { tokens: [1, 2, 3], promptLength: 1, actionMask: [0.5, 256] },
      'actionMask holds 0.5 at response token 0; expected 0 or 1',
    ],
    [
      { tokens: [1, 2, 3], promptLength: 1, actionMask: [1, 256] },
      'actionMask holds 256 at response token 1; expected 0 or 1',
    ],
    [
      { tokens: [1, 1.7, 3], promptLength: 1 },
      'tokens holds 1.7 at token 1; expected a token id, a whole number from 0 to 2147483647',
    ],
    [
      { tokens: [1, 4_294_967_301, 3], promptLength: 1 },
      'tokens holds 4294967301 at token 1; expected a token id, a whole number from 0 to 2147483647',
    ],
    [
      { tokens: [1, -1, 3], promptLength: 1 },
      'tokens holds -1 at token 1; expected a token id, a whole number from 0 to 2147483647',
    ],
    [
      { tokens: [1, 2, 3], promptLength: 1, logprobs: [-1, 0.1] },
      /logprobs holds 0.1\d* at response token 1; expected a finite number <= 0/,
    ],
    [
      { tokens: [1, 2, 3], promptLength: 1, logprobs: [NaN, -1] },
      'logprobs holds NaN at response token 0; expected a finite number <= 0',
    ],
    [
      { tokens: [1, 2, 3], promptLength: 1, tokenRewards: [0, Infinity] },
      'tokenRewards holds Infinity at response token 1; expected a finite number',
    ],
    [
      { tokens: [1, 2, 3], promptLength: 1, reward: NaN },
      'reward is NaN; expected a finite number',
    ],
  ])('refuses %j', (init, message) => {
    expect(() => createExperience(init)).toThrow(message);
    expect(() => createExperience(init)).toThrow(InvariantError);
  });

  it.each([1n, '1', Object.create(null)])('refuses an entry that is no number: %o', (entry) => {
    const [init, list] = [{ tokens: [1, 2], promptLength: 1 }, [entry as number]];
    const holds = `holds a value of type ${typeof entry} at`;
    expect(() => createExperience({ ...init, tokens: list })).toThrow(
      `tokens ${holds} token 0; expected a token id`,
    );
    expect(() => createExperience({ ...init, actionMask: list })).toThrow(
      `actionMask ${holds} response token 0; expected 0 or 1`,
    );
    for (const field of ['logprobs', 'tokenRewards', 'teacherLogprobs'])
      expect(() => createExperience({ ...init, [field]: list })).toThrow(
        `${field} ${holds} response token 0; expected a finite number`,
      );
  });
});

describe('assertAligned', () => {
  it('names the experience and the field', () => {
    expect(() => assertAligned(withFields(good(), { advantages: new Float32Array(1) }))).toThrow(
      expect.objectContaining({
        message:
          'Experience 1/2/0/0/: advantages has 1 entries; expected one per response token, 2.',
        code: 'EXPERIENCE_MISALIGNED',
        details: { uid: '1/2/0/0/', field: 'advantages' },
      }) as Error,
    );
  });

  it.each(['advantages', 'returns', 'teacherLogprobs'] as const)('checks %s', (field) => {
    expect(() => assertAligned(withFields(good(), { [field]: Float32Array.of(0, NaN) }))).toThrow(
      `${field} holds NaN at response token 1`,
    );
  });
});
