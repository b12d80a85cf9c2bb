import { readFileSync } from 'node:fs';
import { ConfigError, type RewardInput, type RewardParts, RewardError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { everyReward } from '../../test/reward/every-reward.js';
import { createRewardFn, rewardFnNames, rewardKinds } from './create.js';

const input = (response: string, truth?: string): RewardInput => ({
  response,
  truth,
  prompt: undefined,
  rawTask: { question: '', solution: '' },
});
const parts = async (
  name: string,
  args: Record<string, unknown>,
  response: string,
  truth?: string,
) => (await createRewardFn(name, args)(input(response, truth))) as RewardParts;

const tidy = '<think>\nHm.\n</think>\n<answer>\n4\n</answer>';

describe('createRewardFn', () => {
  it('knows the names of Trinity-RFT, and more', () => {
    const originals =
      'accuracy_reward countdown_reward format_reward math_boxed_reward math_dapo_reward math_reward rm_gallery_reward';
    expect(rewardFnNames).toEqual(expect.arrayContaining(originals.split(' ')));
    expect(rewardFnNames).toEqual(rewardFnNames.toSorted());
  });

  it.each(Object.entries(rewardKinds))(
    'has a sentence for all that %s is, takes and returns',
    (_name, { summary, parts, args }) => {
      for (const text of [
        summary,
        ...Object.values(parts),
        ...Object.values(args).map(({ help }) => help),
      ])
        expect(text).toMatch(/^.{8,}$/);
    },
  );

  it('is in the README, with every argument', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    for (const [name, { args }] of Object.entries(rewardKinds)) {
      for (const word of [name, ...Object.keys(args)]) expect(readme).toContain(`\`${word}\``);
    }
  });

  it('rejects the other rewards of RM-Gallery and says what to use instead', () => {
    expect(() => createRewardFn('rm_gallery_reward', { reward_name: 'x' })).toThrow(
      /rubric_judge_workflow.*defineReward/,
    );
  });

  it('rejects a name it does not know and suggests one that it does', () => {
    expect(() => createRewardFn('math_rewards', {})).toThrow(ConfigError);
    expect(() => createRewardFn('math_rewards', {})).toThrow(
      /no reward function "math_rewards".*"math_reward"/,
    );
    expect(() => createRewardFn('constructor', {})).toThrow(ConfigError);
  });

  it('rejects arguments it does not know, and values out of range', () => {
    expect(() => createRewardFn('math_reward', { format_score_coeff: 1 })).toThrow(
      /"format_score_coeff".*"format_score_coef"/,
    );
    expect(() => createRewardFn('math_reward', { format_score_coef: -1 })).toThrow(/>= 0/);
    expect(() => createRewardFn('format_reward', { layout: 'wild' })).toThrow(
      /one of "strict", "loose"/,
    );
    expect(() => createRewardFn('math_boxed_reward', { with_think: 'yes' })).toThrow(
      /true or false/,
    );
  });
});

describe('rewards', () => {
  it('weigh accuracy and format as reported, and a weight of zero is zero', async () => {
    expect(await parts('math_reward', {}, tidy, '4')).toEqual({ accuracy: 1, format_score: 0.1 });
    expect(
      await parts('math_reward', { accuracy_coef: 2, format_score_coef: 0.5 }, '4', '4'),
    ).toEqual({ accuracy: 2, format_score: -0.5 });
    expect(
      await parts(
        'math_boxed_reward',
        { with_think: true, format_score_coef: 0 },
        '\\boxed{4}',
        '4',
      ),
    ).toEqual({
      accuracy: 1,
      format_score: 0,
    });
    expect(
      await parts('accuracy_reward', { accuracy_coef: 0.5 }, 'The answer is 4.', '#### 4'),
    ).toEqual({ accuracy: 0.5 });
  });

  it('do what the README shows', async () => {
    const response = '<think>1 of 2 halves</think>\n<answer>\\frac{1}{2}</answer>';
    expect(
      await parts(
        'math_reward',
        { format_score_coef: 0.1 },
        response,
        'Half of them went. #### 0.5',
      ),
    ).toEqual({
      accuracy: 1,
      format_score: 0.1,
    });
  });

  it('compare texts exactly but for the blanks around them', async () => {
    expect(await parts('exact_match_reward', {}, ' Yes\n', 'Yes')).toEqual({ accuracy: 1 });
    expect(await parts('exact_match_reward', {}, 'yes', 'Yes')).toEqual({ accuracy: 0 });
    expect(await parts('exact_match_reward', { case_sensitive: false }, 'yes', 'Yes')).toEqual({
      accuracy: 1,
    });
    expect(await parts('exact_match_reward', {}, '4.0', '4')).toEqual({ accuracy: 0 });
  });

  const withTruth = everyReward.filter(
    ({ name }) => !['format_reward', 'overlong_penalty_reward'].includes(name),
  );

  it.each(withTruth)(
    'blame the data when there is no expected answer: $name',
    async ({ reward }) => {
      const scored = async () => reward(input('4'));
      await expect(scored()).rejects.toThrow(RewardError);
      await expect(scored()).rejects.toThrow(/question, solution.*response_key/);
    },
  );

  it.each(everyReward)(
    'return the parts that they declare: $name',
    async ({ name, reward, truth }) => {
      const parts = await reward({ ...input('4', truth ?? '4'), responseTokens: 1 });
      expect(Object.keys(parts)).toEqual(Object.keys(rewardKinds[name]!.parts));
    },
  );

  it('need no expected answer for the format', async () => {
    expect(await parts('format_reward', {}, tidy)).toEqual({ format_score: 0.1 });
    expect(await parts('format_reward', { format_score_coef: 0.3 }, '4')).toEqual({
      format_score: -0.3,
    });
  });
});
