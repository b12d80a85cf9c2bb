/** Rewards that arrive after their rollout: which runs wait, and giving them one. */
export { scoreRun, waitingRuns } from './late/late-rewards.js';
