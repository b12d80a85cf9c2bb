export { sglangSampler, vllmSampler } from './factory.js';
export { openVllmSampler } from './sampler.js';
