export * from './gate.js';
export * from './synchronizer.js';
export * from './transport.js';
