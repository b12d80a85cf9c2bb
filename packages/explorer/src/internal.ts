/** What our own packages share; no promise of stability. */
export { keyMetrics } from './metrics/eval-metrics.js';
export { expectedBestOfDraws } from './metrics/pass-at-n.js';
export { runPipeline } from './pipeline.js';
