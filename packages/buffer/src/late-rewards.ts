/** Rewards that arrive after their rollouts: lists waiting runs, and scores them. */
export { lateRewardsBeside, scoreRun, waitingRuns } from './late/late-rewards.js';
export { refusals } from './late/schema.js';
