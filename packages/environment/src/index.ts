export {
  checkEnvironment,
  type CheckOptions,
  type EnvironmentCheck,
} from './contract/check-environment.js';
export type { McpServer } from './drivers/mcp/server.js';
export {
  mcpEnvironment,
  type McpCall,
  type McpEnd,
  type McpEnvironmentOptions,
  type McpStart,
} from './drivers/mcp/mcp-environment.js';
export { mcp } from './drivers/mcp/mcp.js';
export {
  serveEnvironment,
  type EnvironmentServer,
  type EnvironmentServerOptions,
} from './drivers/openenv-server/serve.js';
export { miniwob } from './drivers/miniwob/miniwob.js';
export { openenv } from './drivers/openenv/openenv.js';
export { python } from './drivers/python/python.js';
export { nativeEnvironment, type World } from './native/native-environment.js';
export { rowsOfSplit } from './native/splits.js';
export {
  defineEnvironment,
  type EnvironmentContext,
  type EnvironmentDefinition,
  type EnvironmentOptions,
  type PlayDefaults,
} from './seam/define.js';
export type {
  Action,
  Environment,
  Episode,
  EpisodeStart,
  Judge,
  JudgeQuestion,
  Solver,
  StepResult,
  TextAction,
  ToolAction,
  Untimed,
} from './seam/types.js';
export type { SplitName, TaskRange } from '@trinity-rft/core';
