export * from './model.js';
export * from './outcome.js';
export * from './runner.js';
export * from './with-model.js';
export * from './workflow.js';
