/**
 * Exports the parts of the outer ring that the composition root uses. No other file of the core
 * ring imports the outer ring (checked by `pnpm structure`). So parts of the outer ring can change
 * or be removed without a change to training.
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
