export {
  runRollout,
  type RolloutOptions,
  type RolloutRequest,
  type RolloutVerdict,
} from './env-server.js';
export { verifiersWorkflow } from './workflow.js';
