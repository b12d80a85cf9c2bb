export { createModel, type CreateModelOptions } from './create-model.js';
export { loadPlugins, type Plugins } from './plugins.js';
export { run, type RunOptions, type RunSummary } from './run.js';
export { isUnfinished } from './stage-progress.js';
export { standardTerminal } from './terminal.js';
export type { Terminal } from './build/monitor.js';
