export * from './create.js';
export * from './math/check.js';
