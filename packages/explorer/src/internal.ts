/** What our own packages share; no promise of stability. */
export { keyMetrics } from './metrics/eval-metrics.js';
export { expectedBestOfDraws } from './metrics/pass-at-n.js';
export { runPipeline } from './pipeline.js';
export { currentRun } from './runs/current-run.js';
export { createPauseMeter } from './runs/pause-meter.js';
