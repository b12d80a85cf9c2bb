export * from './engine-contract/describe-engine.js';
export type { EngineContract } from './engine-contract/fixture.js';
export * from './experience-store/describe-experience-store.js';
export type { CreateExperienceStore, ExperienceStoreOptions } from './experience-store/fixture.js';
export * from './fake-engine/fake-engine.js';
export * from './manual-clock.js';
export * from './recording-logger.js';
export * from './scripted-sampler.js';
export * from './test-runtime.js';
