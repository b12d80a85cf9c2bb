import type { MetricInfo } from '@trinity-rft/inspect/studio/interface';
import { keyOf } from '../metrics.js';

/** Patterns of key metrics in display order. */
const telling = [
  /^explorer rollout\/reward\/mean$/,
  /^explorer eval\/.+\/reward\/mean@\d+$/,
  /^explorer rollout\/response_tokens\/mean$/,
  /^trainer actor\/(?:final_loss|entropy|grad_norm|ppo_kl)$/,
  /^trainer sample\/staleness\/mean$/,
] as const;
const most = 8;

/** Key metrics that the runs have, at most eight. */
export const tellingOf = (metrics: readonly MetricInfo[]): readonly MetricInfo[] =>
  telling
    .flatMap((pattern) => metrics.filter((metric) => pattern.test(keyOf(metric))))
    .slice(0, most);
