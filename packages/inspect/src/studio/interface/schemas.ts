/** Schemas of the interface's answers, from which types and the OpenAPI file are made. */
export * from './insight.js';
export * from './metrics.js';
export * from './rollouts.js';
export * from './runs.js';
export * from './story.js';
