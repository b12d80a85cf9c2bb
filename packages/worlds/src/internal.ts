/** What our own packages share; no promise of stability. */
export {
  environmentWorkflow,
  withWorldTypes,
  worldWorkflows,
} from './workflows/world-workflows.js';
