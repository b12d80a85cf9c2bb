// What only packages of this repository share.
export { keyMetrics } from './metrics/eval-metrics.js';
export { expectedBestOfDraws } from './metrics/pass-at-n.js';
export { runPipeline } from './pipeline.js';
