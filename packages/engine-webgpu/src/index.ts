export { listAdapters, type AdapterFacts, type AdapterLimits } from './device/adapters.js';
