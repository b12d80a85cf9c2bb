export * from './create.js';
export * from './extract.js';
export * from './math/check.js';
