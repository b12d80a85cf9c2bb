/** Exports for packages of this repository only. This interface is not stable. */
export { telemetrySink } from './telemetry/metric-sink.js';
export { inModelSpan, type ModelAnswer } from './telemetry/model-span.js';
export {
  activeContext,
  hasMeter,
  hasSdk,
  inRequestContext,
  noteFailure,
  type TraceContext,
} from './telemetry/spans.js';
export { inToolSpan } from './telemetry/tool-span.js';
export { inWorkflowSpan } from './telemetry/workflow-span.js';
