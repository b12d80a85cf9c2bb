/** Schemas of the interface's responses. */
export * from './insight.js';
export * from './metrics.js';
export * from './rollouts.js';
export * from './runs.js';
export * from './story.js';
