/** Schemas of the responses of the studio's HTTP API. */
export * from './insight.js';
export * from './metrics.js';
export * from './rollouts.js';
export * from './runs.js';
export * from './story.js';
