import type { Rule } from '../evidence/rule.js';
import { answerRules } from './answers.js';
import { dataRules } from './data.js';
import { learningRules } from './learning.js';
import { rewardCollapse, rewardRules } from './reward.js';
import { runRules } from './runs.js';

/** Rules in the order in which findings are reported: causes come before their consequences. */
export const rules: readonly Rule[] = [
  ...dataRules,
  ...runRules,
  rewardCollapse,
  ...answerRules,
  ...rewardRules,
  ...learningRules,
];
