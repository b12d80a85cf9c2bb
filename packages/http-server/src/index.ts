export { parseJson, readBytes, readJson, type BodyLimits, type JsonText } from './body.js';
export { decodeSegment } from './decode-segment.js';
export {
  errorBody,
  errorResponse,
  stopping,
  withoutCause,
  type ErrorBody,
} from './error-response.js';
export { bearerKey, keyCheck } from './key.js';
export {
  addProcess,
  createRegistry,
  prometheusType,
  routeLabel,
  type Counter,
  type Histogram,
  type Labels,
  type Registry,
} from './prometheus.js';
export { openHttpServer, type HttpServer, type HttpServerOptions, type Upgrade } from './server.js';
export { defaultHttpLimits, type HttpLimits } from './limits.js';
export { whenSent } from './when-sent.js';
