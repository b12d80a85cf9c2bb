import type { RewardFn } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { scoreAnswer, scoreOutcome } from './agent-outcome.js';
import { scriptedModel } from '../scripted/scripted-model.js';
import { workflowContext } from '../scripted/try-workflow.js';

const context = (rewardFn?: RewardFn) =>
  workflowContext({
    rawTask: {},
    model: scriptedModel({ answers: [] }),
    ...(rewardFn && { rewardFn }),
  });
const lengthReward: RewardFn = ({ response }) => ({ length: response.length, constant: 1 });

describe('scoreAnswer', () => {
  it('gives the sum of the parts as the reward and the parts as metrics', async () => {
    expect(await scoreAnswer(context(lengthReward), 'four')).toEqual({
      reward: 5,
      metrics: { length: 4, constant: 1 },
    });
  });

  it('says which workflow needs a reward function', async () => {
    await expect(scoreAnswer(context(), 'four')).rejects.toMatchObject({
      code: 'REWARD_MISSING',
      message: expect.stringContaining('"tried"') as string,
    });
  });
});

describe('scoreOutcome', () => {
  it('scores text, and nothing as empty text', async () => {
    expect(await scoreOutcome(context(lengthReward), { result: 'four' }, -1)).toEqual({
      reward: 5,
      metrics: { model_fault: 0, length: 4, constant: 1 },
    });
    expect((await scoreOutcome(context(lengthReward), { result: undefined }, -1)).reward).toBe(1);
  });

  it('leaves a score of the agent as it is', async () => {
    expect(
      await scoreOutcome(context(), { result: { reward: 0.5, metrics: { turns: 2 } } }, -1),
    ).toEqual({
      reward: 0.5,
      metrics: { model_fault: 0, turns: 2 },
    });
  });

  it('gives a fault its reward, and its kind to read', async () => {
    const outcome = { fault: 'max_turns', error: new TypeError('no end') };
    expect(await scoreOutcome(context(lengthReward), outcome, -1)).toEqual({
      reward: -1,
      metrics: { model_fault: 1 },
      info: { fault: 'max_turns' },
    });
  });
});
