export { createModel, type CreateModelOptions } from './create-model.js';
export { loadPlugins, type Plugins } from './plugins.js';
export { run, type RunOptions, type RunSummary } from './run.js';
export { isUnfinished } from './stage-progress.js';
export { standardTerminal } from './terminal.js';
export type { Terminal } from './build/monitor.js';
export { renderVerification } from './verify/render.js';
export { verifyRun, type VerifyOptions } from './verify/verify.js';
export type { Verification, VerifiedVersion, VerifiedStore, Worst } from './verify/report.js';
