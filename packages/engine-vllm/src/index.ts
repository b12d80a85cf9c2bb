export { vllmSampler } from './factory.js';
export { openVllmSampler } from './sampler.js';
