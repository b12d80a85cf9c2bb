export * from './model.js';
export * from './outcome.js';
export { redirected, redirectModel, runConfig, runModel } from './redirect.js';
export type { RunConfig, RunConfigOptions } from './redirect.js';
export { unstableToolNames } from './unstable-tools.js';
export * from './workflow.js';
