export * from './agent-contract/describe-agent-adapter.js';
export type { Deviation, Expected } from './agent-contract/expected.js';
export type {
  AgentContract,
  AgentMode,
  AgentRollout,
  AgentRun,
  AgentTool,
  AgentUnderTest,
} from './agent-contract/fixture.js';
export * from './engine-contract/describe-engine.js';
export type { EngineContract } from './engine-contract/fixture.js';
export * from './experience-store/describe-experience-store.js';
export type { CreateExperienceStore, ExperienceStoreOptions } from './experience-store/fixture.js';
export * from './fake-engine/fake-engine.js';
export * from './fake-engine/fake-value-engine.js';
export * from './runtime/manual-clock.js';
export * from './runtime/recording-logger.js';
export * from './scripted-sampler/scripted-sampler.js';
export * from './runtime/test-runtime.js';
export * from './value-contract/describe-value-engine.js';
export type { ValueEngineContract } from './value-contract/fixture.js';
