/** `rm_gallery_reward`: of RM-Gallery's rewards, supports only `math_verify_reward`. */
import { ConfigError, stringArg } from '@trinity-rft/core';
import { rewardKind } from './shared/reward-kind.js';

const name = 'rm_gallery_reward';

/**
 * Error text for rewards of RM-Gallery other than `math_verify_reward`. RM-Gallery is a Python
 * package, which cannot be called from here.
 */
const refusal =
  'RM-Gallery is a Python package that cannot run here; of its rewards only math_verify_reward is known. ' +
  'To score with a language model use the workflow rubric_judge_workflow or ruler_workflow; for a reward ' +
  'model behind an HTTP address write a reward function that fetches its score: ' +
  'defineReward({ name, score }) in a module of --plugin-dir.';

/**
 * Computes the reward with the rule `answer` of the math checker, like `math_verify_reward` of
 * RM-Gallery.
 */
export const rmGalleryReward = rewardKind(name, {
  summary:
    'The name of a reward of RM-Gallery; math_verify_reward: is the answer the expected one?',
  parts: { accuracy: '1 when the answer is the expected one, else 0' },
  args: { reward_name: stringArg('Which reward of RM-Gallery: math_verify_reward.') },
  create: ({ reward_name: which }, isRight) => {
    if (which !== 'math_verify_reward')
      throw new ConfigError(`reward_name is ${JSON.stringify(which)}. ${refusal}`, {
        code: 'REWARD_UNSUPPORTED',
        details: { name: 'reward_name' },
      });
    return async (input) => ({
      accuracy: Number(await isRight('answer', input)),
    });
  },
});
