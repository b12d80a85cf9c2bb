/** `rm_gallery_reward`: a name of Trinity-RFT that is not supported; the error says what to use instead. */
import { ConfigError } from '@trinity-rft/core';
import type { RewardKind } from './shared/reward-kind.js';

/** RM-Gallery is a Python package, which cannot be called from here. */
export const rmGalleryReward: RewardKind = {
  summary: 'Not supported: RM-Gallery is a Python package; the error says what to use instead.',
  parts: {},
  args: {},
  create: () => {
    throw new ConfigError(
      'rm_gallery_reward scores with RM-Gallery, a Python package that cannot run here. For math use ' +
        'math_reward; to score with a language model use the workflow rubric_judge_workflow or ' +
        'ruler_workflow; for a reward model behind an HTTP address write a reward function that ' +
        'fetches its score: defineReward({ name, score }) in a module of --plugin-dir.',
      { code: 'REWARD_UNSUPPORTED' },
    );
  },
};
