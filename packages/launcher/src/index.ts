export { loadPlugins, type Plugins } from './plugins.js';
export { run, type RunOptions, type RunSummary } from './run.js';
export type { Terminal } from './build/monitor.js';
