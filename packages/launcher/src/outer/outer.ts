/**
 * Exports the parts of the outer ring, which training itself does not need, to the composition
 * root. No other file of the core ring imports the outer ring (checked by `pnpm structure`), so its
 * parts can be changed or removed without changing training.
 */
export { sglangSampler, vllmSampler } from '@trinity-rft/engine-vllm';
export type { EnvironmentDefinition, SplitName } from '@trinity-rft/environment';
export {
  beginEpisode,
  createEnvironments,
  demonstrate,
  drivers,
  isEnvironmentDefinition,
  type Demonstration,
  type Environments,
  type GuardedEpisode,
} from '@trinity-rft/environment/playing';
export {
  createCommit,
  createServe,
  openTurnStore,
  type Commit,
  type ServeOptions,
  type TurnStore,
} from '@trinity-rft/serve';
export { tinkerEngine, type TinkerSettings } from '@trinity-rft/tinker';
export {
  builtInEnvironments,
  environmentWorkflow,
  withWorldTypes,
  worldWorkflows,
} from '@trinity-rft/worlds';
export * as environment from '@trinity-rft/environment';
