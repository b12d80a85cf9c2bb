export { checkRecord, createGraphRuntime } from './create-runtime.js';
export { listAdapters, type AdapterFacts, type AdapterLimits } from './device/adapters.js';
export type { DeviceOptions } from './device/device.js';
