/** Rewards that arrive after their rollouts: lists waiting runs, and scores them. */
export { scoreRun, waitingRuns } from './late/late-rewards.js';
