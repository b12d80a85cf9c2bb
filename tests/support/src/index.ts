export { afterFile } from './after-file.js';
export { findChromium } from './browser/chromium.js';
export { noSwiftShader, swiftShaderEnvironment, useSwiftShader } from './gpu/swiftshader.js';
export { isRunning } from './is-running.js';
export { freePort } from './network/free-port.js';
export {
  findPostgres,
  startPostgres,
  type StartPostgresOptions,
  type TestPostgres,
} from './postgres/start-postgres.js';
export { findPython, runPip, runPython, type FoundPython } from './python/python.js';
export { installOnce, type Installation, type Installed } from './python/uv.js';
export {
  trackingKey,
  trackingServices,
  type SeenRequest,
  type TrackingServices,
} from './tracking-services/stand-in.js';
export { findVllm, type FoundVllm } from './vllm/install.js';
export {
  vllmStandIn,
  type GeneratedAnswer,
  type StandInFault,
  type VllmStandIn,
  type VllmStandInOptions,
} from './vllm/stand-in.js';
