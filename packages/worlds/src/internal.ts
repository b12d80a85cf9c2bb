/** What our own packages share; no promise of stability. */
export { environmentWorkflow } from './workflows/environment-workflow.js';
export { worldWorkflows } from './workflows/world-workflows.js';
