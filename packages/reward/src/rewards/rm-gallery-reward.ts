/** `rm_gallery_reward`: a name of Trinity-RFT that is refused, with what to use instead. */
import { ConfigError } from '@trinity-rft/core';
import type { RewardKind } from './shared/define.js';

/** RM-Gallery is a Python package, which nothing here can call. */
export const rmGalleryReward: RewardKind = {
  summary: 'Refused: RM-Gallery is a Python package; the message says what to use instead.',
  parts: {},
  args: {},
  create: () => {
    throw new ConfigError(
      'rm_gallery_reward scores with RM-Gallery, a Python package that cannot run here. For math use math_reward; to score with a language model use the workflow rubric_judge_workflow or ruler_workflow; for a reward model behind an HTTP address write a reward function that fetches its score: defineReward({ name, score }) in a module of --plugin-dir.',
      { code: 'REWARD_UNSUPPORTED' },
    );
  },
};
