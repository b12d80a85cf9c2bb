export {
  characterFormat,
  inProcessRollouts,
  servedRollouts,
  type TestRollout,
  type TestRolloutOptions,
  type TestRollouts,
} from './rollouts.js';
