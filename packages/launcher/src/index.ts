export {
  loadExtensions,
  readConfiguration,
  timestamp,
  type Configuration,
  type ConfigurationOptions,
  type Extensions,
  type PluginOptions,
} from './run/configuration.js';
export { engineTable } from './assembly/models/engines.js';
export { createModel, type CreateModelOptions, type NewTokenizer } from './create-model.js';
export { findRecords, type FindRecordsOptions, type RecordsPlace } from './debug/find-records.js';
export {
  serveDebugModel,
  type DebugModelOptions,
  type ServedDebugModel,
} from './debug/inference-model.js';
export type { DebugOptions } from './debug/open.js';
export { renderWorkflowDebug, type RenderOptions } from './debug/render.js';
export type { Span, WorkflowDebugReport } from './debug/report.js';
export { debugFiles, debugWorkflow, type DebugWorkflowOptions } from './debug/workflow.js';
export { loadPlugins, type Plugins } from './run/plugins.js';
export { openRollouts, type Rollouts, type RolloutsOptions } from './debug/rollouts.js';
export { run, type RunOptions, type RunSummary } from './run/run.js';
export { isUnfinished } from './run/progress.js';
export { standardTerminal } from './terminal.js';
export type { ServeAddress, ServeOptions } from './context/stage-context.js';
export type { Terminal } from './assembly/monitor.js';
export { renderVerification } from './verify/render.js';
export { verifyRun, type VerifyOptions } from './verify/verify.js';
export type { Verification, VerifiedVersion, VerifiedStore, Worst } from './verify/report.js';
