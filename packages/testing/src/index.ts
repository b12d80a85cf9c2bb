export { describeAgentAdapter } from './agent-contract/describe-agent-adapter.js';
export type { ConversationName, Deviation, Expected } from './agent-contract/expected.js';
export type {
  AgentContract,
  AgentRollout,
  AgentRun,
  AgentTool,
  AgentUnderTest,
} from './agent-contract/fixture.js';
export type { AgentMode } from './agent-contract/expected.js';
export { describeEngine } from './engine-contract/describe-engine.js';
export type { EngineContract } from './engine-contract/fixture.js';
export {
  describeExperienceStore,
  type ExperienceStoreContract,
} from './experience-store/describe-experience-store.js';
export type { CreateExperienceStore, ExperienceStoreOptions } from './experience-store/fixture.js';
export {
  fakeEngine,
  openFakeEngine,
  type FakeEngine,
  type FakeEngineOptions,
  type FakeEngineVerb,
} from './fake-engine/fake-engine.js';
export {
  fakeValueEngine,
  type FakeValueEngine,
  type FakeValueEngineOptions,
  type FakeValueVerb,
} from './fake-engine/fake-value-engine.js';
export { describeRunStore } from './run-store/describe-run-store.js';
export type { CreateRunStore, RunStoreUnderTest } from './run-store/fixture.js';
export { manualClock, type ManualClock } from './runtime/manual-clock.js';
export { recordingLogger, type LogLine, type RecordingLogger } from './runtime/recording-logger.js';
export { testRuntime, type TestRuntime } from './runtime/test-runtime.js';
export { testTask } from './runtime/test-task.js';
export {
  scriptedSampler,
  type SamplerCall,
  type SamplerScript,
  type ScriptedReply,
  type ScriptedSampler,
  type ScriptedSamplerOptions,
} from './scripted-sampler/scripted-sampler.js';
export { describeValueEngine } from './value-contract/describe-value-engine.js';
export type { ValueEngineContract } from './value-contract/fixture.js';
