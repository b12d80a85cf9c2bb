/**
 * Experience operators by their names in YAML's `data_processor.experience_pipeline.operators`. To
 * add an operator, write a file in this folder, and an entry below.
 */
import type { OperatorPart } from '../parts/part.js';
import { dapoDynamicSampling } from './dapo-dynamic-sampling.js';
import { invalidRewardFilter } from './invalid-reward-filter.js';
import { maskResponseTruncated } from './mask-response-truncated.js';
import { overlongPenalty } from './overlong-penalty.js';
import { passRateCalculator } from './pass-rate-calculator.js';
import { rewardFilter } from './reward-filter.js';
import { rewardShapingMapper } from './reward-shaping-mapper.js';
import { rewardStdFilter } from './reward-std-filter.js';

export const experienceOperators = {
  reward_filter: rewardFilter,
  reward_std_filter: rewardStdFilter,
  invalid_reward_filter: invalidRewardFilter,
  reward_shaping_mapper: rewardShapingMapper,
  dapo_dynamic_sampling: dapoDynamicSampling,
  mask_response_truncated: maskResponseTruncated,
  overlong_penalty: overlongPenalty,
  pass_rate_calculator: passRateCalculator,
} satisfies Readonly<Record<string, OperatorPart>>;
