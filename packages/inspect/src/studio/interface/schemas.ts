/** Answers of the interface, as schemas: types are inferred from them, and the OpenAPI file is made of them. */
export * from './insight.js';
export * from './metrics.js';
export * from './rollouts.js';
export * from './runs.js';
