/** What our own packages share; no promise of stability. */
export { environmentWorkflow, worldWorkflows } from './workflows/world-workflows.js';
