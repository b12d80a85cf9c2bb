export {
  consoleSink,
  type ConsoleSink,
  type ConsoleSinkOptions,
  type Terminal,
} from './console-sink.js';
export { fileWriter, type FileWriterOptions, type LineWriter } from './file-writer.js';
export { jsonlSink, type JsonlSinkOptions } from './jsonl-sink.js';
export { createLogger, type LoggerOptions } from './logger.js';
export { curveOf, metricNames, readMetrics, type MetricLine } from './lines/metric-lines.js';
export { MonitorError } from './lines/monitor-error.js';
export { plotCurve, type PlotOptions } from './plot-curve.js';
export { readCurve, type CurveOptions } from './read-curve.js';
export type { ResumePoint } from './resume-point.js';
export { evaluatedAfter, figureMetrics, isExploreStep } from './status.js';
export { teeSink, type TeeSinkOptions } from './tee-sink.js';
export { trimPreview } from './trim-jsonl.js';
export { tensorBoardSink, type TensorBoardSinkOptions } from './tensorboard-sink.js';
export type { RunOutcome, ServiceName } from './services/service.js';
export {
  serviceNeeds,
  serviceSink,
  type ServiceSink,
  type ServiceSinkOptions,
} from './services/service-sink.js';
