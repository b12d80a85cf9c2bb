export * from './resolved-algorithm.js';
export * from './resolved.js';
export * from './load.js';
