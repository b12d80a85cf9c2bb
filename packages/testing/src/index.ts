export { describeAgentAdapter } from './agent-contract/describe-agent-adapter.js';
export type { Deviation } from './agent-contract/expected.js';
export type {
  AgentContract,
  AgentRollout,
  AgentTool,
  AgentUnderTest,
} from './agent-contract/fixture.js';
export { describeEngine } from './engine-contract/describe-engine.js';
export { describeExperienceStore } from './experience-store/describe-experience-store.js';
export { fakeEngine, openFakeEngine } from './fake-engine/fake-engine.js';
export { fakeValueEngine } from './fake-engine/fake-value-engine.js';
export { describeRunStore } from './run-store/describe-run-store.js';
export { manualClock } from './runtime/manual-clock.js';
export { recordingLogger } from './runtime/recording-logger.js';
export { testRuntime, type TestRuntime } from './runtime/test-runtime.js';
export { testTask } from './runtime/test-task.js';
export { scriptedSampler, type ScriptedSampler } from './scripted-sampler/scripted-sampler.js';
export { describeValueEngine } from './value-contract/describe-value-engine.js';
