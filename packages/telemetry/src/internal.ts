/** What our own packages share; no promise of stability. */
export { telemetrySink } from './metric-sink.js';
export { inModelSpan, type ModelAnswer, type ModelCall } from './model-span.js';
export { activeContext, inRequestContext, noteFailure, type TraceContext } from './spans.js';
export { wantsTelemetry } from './start.js';
export { inToolSpan } from './tool-span.js';
export { inWorkflowSpan } from './workflow-span.js';
